"""An empty field in quotes among numbers is a missing value, and its column is named; or it makes the column one of texts, as the reference does."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

from sframe_spark import SFrame, errors
from sframe_spark.api.io.csv import block_reader

NAMED = "are missing values in column"


def written(directory: Path, text: str) -> str:
    path = directory / "rows.csv"
    path.write_text(text)
    return str(path)


# Of each: the text, options, types and column "a" with "missing", then with "text" (what Turi Create 6.4.1 gives, where no row is lost there).
CASES: dict[str, tuple[str, dict[str, Any], list[Any], list[Any]]] = {
    "in quotes": ('a,b\n1,2\n"",3\n4,5\n', {}, [1, None, 4], ["1", "", "4"]),
    "without quotes": ("a,b\n1,2\n,3\n4,5\n", {}, [1, None, 4], [1, None, 4]),
    "without, beside texts in quotes": ('a,b\n1,"x"\n,"y"\n4,""\n', {}, [1, None, 4], [1, None, 4]),
    "all in quotes": ('a,b\n"1.5","2"\n"","3"\n"4","5"\n', {}, [1.5, None, 4.0], ["1.5", "", "4"]),
    "blanks around": ('a,b\n1,2\n "" ,3\n4,5\n', {}, [1, None, 4], ["1", "", "4"]),
    "blanks within": ('a,b\n1,2\n"  ",3\n4,5\n', {}, ["1", "  ", "4"], ["1", "  ", "4"]),
    "a word for missing, in quotes": ('a,b\n1,2\n"NA",3\n4,5\n', {}, [1, None, 4], [1, None, 4]),
    "named as missing": ('a,b\n1,2\n"",3\n4,5\n', {"na_values": [""]}, [1, None, 4], [1, None, 4]),
    "another word named": ('a,b\n1,2\n"",3\nNA,5\n', {"na_values": ["NA"]}, [1, None, None], ["1", "", None]),
    "a type asked for": ('a,b\n1,2\n"",3\n4,5\n', {"column_type_hints": {"a": int}}, [1, None, 4], [1, None, 4]),
    "texts": ('a,b\nx,2\n"",3\n,5\n', {}, ["x", "", ""], ["x", "", ""]),
    "dicts": ('a,b\n{"x": 1},2\n"",3\n', {}, [{"x": 1}, None], ['{"x": 1}', ""]),
    "other quotes": ("a,b\n1,2\n'',3\n4,5\n", {"quote_char": "'"}, [1, None, 4], ["1", "", "4"]),
    "blanks kept": ('a,b\n1,2\n "",3\n4,5\n', {"skip_initial_space": False}, [1, None, 4], ["1", "", "4"]),
    "after the rows asked for": ('a,b\n1,2\n4,5\n"",3\n', {"nrows": 2, "nrows_to_infer": 2}, [1, 4], [1, 4]),
    "among rows that tell types only": ('a,b\n1,2\n4,5\n"",3\n', {"nrows": 2}, [1, 4], ["1", "4"]),
    "doubled quotes in texts": ('a,b\n1,"say """"" \n,"""x"""\n', {}, [1, None], [1, None]),
}


@pytest.mark.parametrize("case", CASES)
def test_each_answer_of_an_empty_field(case: str, tmp_path: Path) -> None:
    text, options, missing, as_text = CASES[case]
    path = written(tmp_path, text)
    assert list(SFrame.read_csv(path, verbose=False, **options)["a"]) == missing
    assert list(SFrame.read_csv(path, verbose=False, quoted_empty="text", **options)["a"]) == as_text


@pytest.mark.parametrize("case", CASES)
def test_a_warning_names_the_column_whose_texts_became_missing(case: str, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    text, options, missing, as_text = CASES[case]
    SFrame.read_csv(written(tmp_path, text), verbose=False, **options)
    differs = missing != as_text and case != "among rows that tell types only"
    assert (NAMED in caplog.text) == differs
    assert not differs or f"{NAMED} 'a'," in caplog.text
    caplog.clear()
    SFrame.read_csv(written(tmp_path, text), verbose=False, quoted_empty="text", **options)
    assert NAMED not in caplog.text


def test_only_columns_that_are_read_are_named(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = written(tmp_path, 'a,b,c\n1,"",""\n"",3,x\n')
    SFrame.read_csv(path, verbose=False)
    assert f"{NAMED}s 'a', 'b'," in caplog.text
    caplog.clear()
    SFrame.read_csv(path, verbose=False, usecols=["c", "b"])
    assert f"{NAMED} 'b'," in caplog.text


@pytest.mark.parametrize("seed", range(12))
def test_types_do_not_depend_on_where_blocks_end(seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    choose = random.Random(seed)
    rare = choose.choice(['""', ' ""', "x", '"a\nb"', ""])
    rows = [f"{choose.randrange(100)},{choose.choice(['x', '', chr(34) * 2, '1'])},{choose.choice(['7', '', '2.5'])}" for _ in range(300)]
    rows[choose.randrange(300)] = f"{rare},{rare},{rare}"
    path = written(tmp_path, "a,b,c\n" + "\n".join(rows) + "\n")
    whole = {option: SFrame.read_csv(path, verbose=False, quoted_empty=option) for option in ("missing", "text")}
    plain = rare in ("",)
    assert (whole["text"].column_types()[0] is int) == plain
    for name in ("BLOCK_BYTES", "FIRST_BYTES", "MIN_FIRST_BYTES"):
        monkeypatch.setattr(block_reader, name, choose.choice([7, 64, 500]))
    for option, frame in whole.items():
        again = SFrame.read_csv(path, verbose=False, quoted_empty=option)
        assert again.column_types() == frame.column_types()
        assert list(again) == list(frame)


def test_other_words_are_refused_before_the_file_is_looked_for() -> None:
    with pytest.raises(errors.InvalidArgumentError, match="quoted_empty is 'missing' or 'text', got 'null'"):
        SFrame.read_csv("no such file.csv", quoted_empty="null")
