"""What Excel writes: a mark of the order of bytes, a first line that says what divides fields, ends of lines of Windows, text in UTF-16."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from sframe_spark import SArray, SFrame
from sframe_spark.errors import CsvEncodingError, CsvLineError

ROWS = [{"Name": "A; B", "Betrag": "1,5"}, {"Name": "C\r\nD", "Betrag": "2,5"}]
TEXT = 'Name;Betrag\r\n"A; B";1,5\r\n"C\r\nD";2,5\r\n'


@pytest.mark.parametrize("mark", ["", "\ufeff"])
@pytest.mark.parametrize("first", ["", "sep=;\r\n", '"sep=;"\r\n', "SEP=;\n"])
def test_a_line_that_says_what_divides_fields_is_no_header(first: str, mark: str, tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    for encoding in ("utf-8", "utf-16"):
        path.write_bytes((mark * (encoding == "utf-8") + first + TEXT).encode(encoding))
        assert list(SFrame.read_csv(str(path), delimiter=";", encoding=encoding, verbose=False)) == ROWS


def test_another_sign_than_was_asked_for_is_told(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_text("sep=;\n" + TEXT)
    with pytest.raises(CsvLineError, match="give delimiter=';'"):
        SFrame.read_csv(str(path), verbose=False)
    # Who leaves out lines, or has no header, has said what the first line is.
    assert list(SFrame.read_csv(str(path), delimiter=";", skiprows=1, verbose=False)) == ROWS
    assert SArray(str(path))[0] == "sep=;"


@pytest.mark.parametrize("header", ["sep=;x", "sep", "sep=", "separator=;"])
def test_headers_that_only_begin_so(header: str, tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_text(f"{header},b\n1,2\n")
    found: Any = SFrame.read_csv(str(path), verbose=False)
    assert found.column_names() == [header, "b"] and len(found) == 1


def test_text_in_utf_16_with_tabs(tmp_path: Path) -> None:
    path = tmp_path / "x.txt"
    path.write_bytes("Name\tn\r\n\u00c4\t1\r\n".encode("utf-16"))
    assert list(SFrame.read_csv(str(path), delimiter="\t", encoding="utf-16", verbose=False)) == [{"Name": "\u00c4", "n": 1}]
    with pytest.raises(CsvEncodingError, match="encoding='utf-16'"):
        SFrame.read_csv(str(path), delimiter="\t", verbose=False)
    with pytest.raises(CsvEncodingError, match="UTF-16"):
        SFrame.read_csv(str(path), delimiter="\t", encoding="latin-1", verbose=False)
