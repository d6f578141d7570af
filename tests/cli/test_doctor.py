"""What `python -m sframe_spark doctor` says about good and bad machines."""

from __future__ import annotations

import re
import sys
import types
from pathlib import Path
from typing import Any

import pytest

from sframe_spark.__main__ import main
from sframe_spark.cli import doctor
from sframe_spark.cli.doctor import (
    INSTALL_PICTURES,
    Diagnosis,
    check_java,
    check_machine,
    check_module,
    check_pictures,
    check_plugins,
    check_python,
    check_spark,
    check_temporary_directory,
    findings,
    run_doctor,
)
from sframe_spark.config import config
from sframe_spark.errors import JavaNotFoundError
from sframe_spark.process.memory import AvailableMemory
from sframe_spark.session.java import INSTALL_COMMAND
from tests.plugin_packages import FUNCTION, PLUGIN, InstalledPackages


def test_good_lines() -> None:
    assert check_python().fix is None
    for name, minimum in doctor.REQUIRED_MODULES:
        assert str(check_module(name, minimum)).startswith(f"ok     {name}: ")


def test_missing_module_comes_with_the_command() -> None:
    finding = check_module("no_such_package", (2, 1))
    assert finding.fix == 'python -m pip install "no_such_package>=2.1"'
    assert str(finding).startswith("WRONG  no_such_package: cannot be imported")


def test_pictures_are_told_of_and_not_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    assert re.fullmatch(r"ok     pictures: vl-convert \d[\d.]*", str(check_pictures()))
    monkeypatch.setattr(doctor, "PICTURE_MODULE", "no_such_package")
    assert str(check_pictures()).startswith("ok     pictures: not available") and check_pictures().fix is None
    assert INSTALL_PICTURES in check_pictures().detail
    monkeypatch.setattr(doctor, "check_spark", lambda: Diagnosis("spark", "fine"))
    assert check_pictures() in list(findings())


@pytest.mark.parametrize(("version", "good"), [("4.2.9", False), ("4.3.0.dev1", True), ("10.0", True), ("4", False)])
def test_old_module(monkeypatch: pytest.MonkeyPatch, version: str, good: bool) -> None:
    module = types.ModuleType("made_up")
    module.__version__ = version  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "made_up", module)
    assert (check_module("made_up", (4, 3)).fix is None) is good


def test_old_python(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "MINIMUM_PYTHON", (99, 0))
    assert "99.0" in str(check_python().fix)


def test_no_java(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("SFRAME_SPARK_JAVA", raising=False)
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr("sframe_spark.session.java.importlib.util.find_spec", lambda name: None)
    assert check_java().fix == INSTALL_COMMAND
    monkeypatch.setenv("SFRAME_SPARK_JAVA", str(tmp_path / "nothing"))
    assert "unset SFRAME_SPARK_JAVA" in str(check_java().fix)


def test_temporary_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "MINIMUM_FREE_BYTES", 1)
    with config.using(temporary_directory=str(tmp_path)):
        assert check_temporary_directory().fix is None
    with config.using(temporary_directory=str(tmp_path / "missing")):
        finding = check_temporary_directory()
    assert "cannot be written" in finding.detail
    assert "SFRAME_SPARK_TMP" in str(finding.fix)


def test_full_temporary_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "MINIMUM_FREE_BYTES", 1 << 60)
    with config.using(temporary_directory=str(tmp_path)):
        assert check_temporary_directory().fix is not None


@pytest.mark.parametrize(
    ("error", "said"),
    [(JavaNotFoundError("no Java\nsecond line"), "no Java"), (OSError("no port"), "OSError: no port")],
)
def test_spark_that_does_not_start(monkeypatch: pytest.MonkeyPatch, error: Exception, said: str) -> None:
    def fail() -> Any:
        raise error

    monkeypatch.setattr(doctor, "get_session", fail)
    finding = check_spark()
    assert (finding.detail, finding.fix is None) == (said, False)


def test_exit_status_and_last_line(monkeypatch: pytest.MonkeyPatch) -> None:
    lines: list[str] = []
    monkeypatch.setattr(doctor, "findings", lambda: iter([Diagnosis("a", "fine"), Diagnosis("b", "bad", "mend it")]))
    assert run_doctor(lines.append) == 1
    assert lines == ["ok     a: fine", "WRONG  b: bad\n       fix: mend it", "something is wrong: see the fixes above"]
    lines.clear()
    monkeypatch.setattr(doctor, "findings", lambda: iter([Diagnosis("a", "fine")]))
    assert run_doctor(lines.append) == 0
    assert lines[-1] == "all is well"


def test_command_line(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(doctor, "findings", lambda: iter([Diagnosis("a", "bad", "mend it")]))
    monkeypatch.setattr("sframe_spark.__main__.stop", lambda: None)
    assert main(["doctor"]) == 1
    assert "fix: mend it" in capsys.readouterr().out
    with pytest.raises(SystemExit):
        main(["nonsense"])


@pytest.mark.spark
def test_spark_line(spark: Any) -> None:
    finding = check_spark()
    assert finding.fix is None
    assert finding.detail.startswith(spark.version)


def test_a_temporary_directory_elsewhere_is_left_to_clean() -> None:
    with config.using(temporary_directory="s3a://bucket/tmp"):
        finding = check_temporary_directory()
    assert finding.fix is None and "s3://bucket/tmp" in finding.detail and "clean --dry-run" in finding.detail


def test_what_this_process_may_use_is_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "available_cores", lambda: 1)
    monkeypatch.setattr(doctor, "all_memory", lambda: 2 << 30)
    monkeypatch.setattr(doctor, "available_memory", lambda: AvailableMemory(1 << 30, "left in this container"))
    assert str(check_machine()) == "ok     machine: 1 core(s), 2.0 GiB of memory, of which 1.0 GiB are left in this container"
    monkeypatch.setattr(doctor, "available_memory", lambda: None)
    assert str(check_machine()) == "ok     machine: 1 core(s), 2.0 GiB of memory"


@pytest.mark.parametrize("in_memory", [True, False])
def test_a_temporary_directory_in_memory_is_said_to_be(in_memory: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "is_in_memory", lambda directory: in_memory)
    assert ("SFRAME_SPARK_TMP can name a directory on a disk" in check_temporary_directory().detail) is in_memory


def test_plugins_are_listed_and_those_that_are_left_out_are_wrong(installed: InstalledPackages, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, text in (("bad", "1 / 0"), ("good", FUNCTION.format(name="test_good")), ("off", "")):
        installed.install(f"sframe-{name}", PLUGIN.format(namespace=name, module=f"module_{name}"), **{f"module_{name}": text})
    monkeypatch.setenv("SFRAME_SPARK_DISABLED_PLUGINS", "sframe-off")
    lines = [str(finding) for finding in check_plugins() if "sframe-lag" not in finding.detail]
    place = installed.directory / "first"
    fault = "its entry point bad = module_bad of sframe_spark.plugins fails: ZeroDivisionError: division by zero"
    assert lines == [
        f"WRONG  plug-in: sframe-bad 1.0 ({place}): left out: {fault}\n"
        "       fix: repair or uninstall it, or switch it off: SFRAME_SPARK_DISABLED_PLUGINS=sframe-bad",
        f"ok     plug-in: sframe-good 1.0 ({place}): scalar functions test_good",
        f"ok     plug-in: sframe-off 1.0 ({place}): switched off by config.disabled_plugins",
    ]
