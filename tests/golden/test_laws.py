"""Golden plan pairs: every law alone, on plans given as text, one fixture file per module of laws."""

from __future__ import annotations

import importlib
import pkgutil
from pathlib import Path

import attrs
import pytest

from sframe_spark import rewrite_laws
from sframe_spark.planner.law import Law
from sframe_spark.rewrite_laws import LAWS, STAGES, builtin_laws
from sframe_spark.testing.golden_plans_of_laws import LawCase, laws_without_cases, main, read_case_files, rewritten, run_case

DIRECTORY = Path(__file__).parent / "laws"
FILES = read_case_files(DIRECTORY)
CASES = [case for cases in FILES.values() for case in cases]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_law_alone(case: LawCase) -> None:
    assert run_case(case, builtin_laws(), STAGES) is None


def test_every_law_has_a_case_where_it_fires_and_one_where_it_must_not() -> None:
    assert laws_without_cases(builtin_laws(), CASES) == []


def test_files_mirror_the_modules_of_laws() -> None:
    wanted: dict[str, set[str]] = {}
    for rule in LAWS:
        wanted.setdefault(rule.rewrite.__module__.rsplit(".", 1)[1], set()).add(rule.equation)
    assert {name: {case.equation for case in cases} for name, cases in FILES.items()} == wanted


def test_every_law_of_a_module_is_in_the_list_of_laws() -> None:
    modules = [importlib.import_module(f"{rewrite_laws.__name__}.{module.name}") for module in pkgutil.iter_modules(rewrite_laws.__path__)]
    defined = [value for module in modules for value in vars(module).values() if isinstance(value, Law)]
    assert len(set(LAWS)) == len(LAWS) and set(LAWS) == set(defined)


@pytest.mark.parametrize("name", sorted(FILES))
def test_files_are_as_they_are_written(name: str) -> None:
    text = (DIRECTORY / f"{name}.txt").read_text(encoding="utf-8")
    assert rewritten(text, builtin_laws(), STAGES) == text


def test_a_wrong_law_is_caught() -> None:
    case = next(case for case in CASES if case.equation.startswith("slice(slice(x, a), b)") and case.output_text is not None)
    given = builtin_laws()
    broken = [attrs.evolve(rule, rewrite=lambda node: node.inputs[0]) if rule.equation == case.equation else rule for rule in given]
    idle = [attrs.evolve(rule, rewrite=lambda node: None) if rule.equation == case.equation else rule for rule in given]
    assert run_case(case, idle, STAGES) == "the law does not fire"
    assert run_case(attrs.evolve(case, output_text=None), given, STAGES) is not None
    with pytest.raises(Exception, match="changes the number of rows"):
        run_case(case, broken, STAGES)


def test_files_are_compared_and_rewritten_from_a_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = (DIRECTORY / "slice_pushdown.txt").read_text(encoding="utf-8")
    (tmp_path / "slice_pushdown.txt").write_text(text, encoding="utf-8")
    assert main([str(tmp_path)]) == 0
    wrong = text.replace("\n=>\n", "\n=>\nr0 := range_source[start=0, rows=1, step=1]()\n", 1)
    (tmp_path / "slice_pushdown.txt").write_text(wrong, encoding="utf-8")
    assert main([str(tmp_path)]) == 1
    assert "slice_pushdown.txt: differs; --update rewrites it" in capsys.readouterr().out
    assert (tmp_path / "slice_pushdown.txt").read_text(encoding="utf-8") == wrong
    assert main([str(tmp_path), "--update"]) == 0
    assert (tmp_path / "slice_pushdown.txt").read_text(encoding="utf-8") == text
    with pytest.raises(SystemExit):
        main([str(tmp_path / "nowhere")])
    assert "there is no fixture file" in capsys.readouterr().err
