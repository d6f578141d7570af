"""Objects of JSON that are read as columns, beside Python's reader."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, strategies as st

from sframe_spark import SArray, SFrame
from sframe_spark.api.io.json import block_reader, reader
from sframe_spark.api.io.json.vectorized_parser import members_of

TEXTS = st.sampled_from(["", " ", "a", "é", "日", "},{", "[1]", "true", "null", "-0", "1.5", "'", "x\x7f", "\u2028"])
NUMBERS = st.one_of(
    st.integers(-5, 5),
    st.integers(-(2**63), 2**63 - 1),
    st.sampled_from([2**53, 2**53 + 1, 10**18 - 1, 10**18, 10**25]),
    st.floats(allow_nan=False, allow_infinity=False),
    st.sampled_from([0.0, -0.0, 1e22, 5e-324, 1e99, 1e100, 0.001234567890123456]),
)
SCALARS = st.none() | TEXTS | NUMBERS
ITEMS = st.one_of(SCALARS, st.booleans(), st.lists(SCALARS, max_size=3), st.dictionaries(TEXTS, SCALARS, max_size=3))
# Most columns hold values of one kind.
COLUMNS = (TEXTS, st.integers(-5, 5), NUMBERS, st.lists(st.integers(-5, 5), max_size=3), st.dictionaries(TEXTS, NUMBERS, max_size=3), ITEMS)
NAMES = ("a", "b b", "é")
SPACES = ((",", ":"), (", ", ": "), (" ,\t", " : "))


@st.composite
def rows_of_columns(draw: st.DrawFn) -> list[dict[str, Any]]:
    columns = draw(st.dictionaries(st.sampled_from(NAMES), st.sampled_from(COLUMNS), min_size=1))
    row = st.fixed_dictionaries({}, optional={name: st.none() | values for name, values in columns.items()})
    return draw(st.lists(row, min_size=1, max_size=8))


def everything(path: Path, orient: str) -> list[Any]:
    """All that readers tell of a file, errors too."""
    found: list[Any] = []
    for read in (lambda: SFrame.read_json(path, orient=orient), lambda: SArray.read_json(path)):
        try:
            column = read()
        except Exception as error:
            found.append((type(error), str(error)))
        else:
            types = column.column_types() if isinstance(column, SFrame) else column.dtype
            found.append((types, repr(list(column))))
    return found


@given(
    rows=rows_of_columns(), space=st.sampled_from(SPACES), escapes=st.booleans(), on_lines=st.booleans(), between=st.sampled_from(["", "\n", "\r\n"])
)
def test_columns_are_those_of_values_one_by_one(
    rows: list[dict[str, Any]], space: Any, escapes: bool, on_lines: bool, between: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.getbasetemp() / "members.json"
    texts = [json.dumps(row, separators=space, ensure_ascii=escapes) for row in rows]
    path.write_bytes(("\n".join(texts) if on_lines else f"[{f'{between},'.join(texts)}]").encode())
    orient = "lines" if on_lines else "records"
    for block, in_memory in ((1 << 20, 100), (40, 100), (40, 0)):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(block_reader, "BLOCK_BYTES", block)
            patch.setattr(reader, "IN_MEMORY_ROWS", in_memory)
            by_columns = everything(path, orient)
            patch.setattr(block_reader, "members_of", lambda *given, **named: None)
            assert by_columns == everything(path, orient)


USUAL = '{"a":1,"b":"x","c":[1,2],"d":{"k":1.5}}'


@pytest.mark.parametrize("text", [USUAL, f"{USUAL}\n\n {USUAL} \r\n", '{ "a" : null }'])
def test_usual_objects_are_columns(text: str) -> None:
    assert members_of(text, on_lines=True) is not None and members_of(text.strip().replace("\n\n", ","), on_lines=False) is not None


@pytest.mark.parametrize(
    "text",
    [
        *("", " ", "{}", "1", "[]", "x", f"x{USUAL}", f"{USUAL}x", f"{USUAL},", f",{USUAL}", f"{USUAL}{USUAL}", f"{USUAL},,{USUAL}", USUAL[:-1]),
        *('{"a":1,}', '{"a"}', '{"a":}', '{"a":01}', '{"a":1.}', '{"a":.5}', '{"a":+1}', '{"a":NaN}', '{"a":nul}', "{a:1}", "{'a':1}", '{"a":1 2}'),
        *('{"a":"\n"}', '{"a":"\\n"}', '{"a":[1,]}', '{"a":[1 2]}', '{"a":[[1]]}', '{"a":{"b":[]}}', '{"a":true}', '{"a":1,"a":2}', '{"a":{"b":1}'),
        *('{"a":1234567890123456789}', '{"a":1e400}', '{"a":1e100}', '{"a":-}', '{"a":1]', '["a":1}', '{"a":"x}', '{"a":1}{', '\ufeff{"a":1}'),
    ],
)
def test_what_is_not_usual_is_left_to_others(text: str) -> None:
    """Wrong texts among it."""
    assert members_of(text, on_lines=True) is None and members_of(text, on_lines=False) is None


def test_what_stands_between_objects_is_looked_at() -> None:
    assert members_of(f"{USUAL}\n{USUAL}", on_lines=False) is None and members_of(f"{USUAL},\n{USUAL}", on_lines=True) is None
    assert members_of('{"a":\n1}', on_lines=True) is None and members_of('{"a":\n1}', on_lines=False) is not None


@pytest.mark.sampled(4)
@pytest.mark.parametrize("late", ['{"a":"x"}', '{"b":1}', '{"a":1.5}', '{"a":null}', '{"a":9007199254740993}'])
@pytest.mark.parametrize("first", ['{"a":1}', '{"a":null}', '{"a":0.5}', "null"])
def test_rows_far_down_may_change_types(first: str, late: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "x.json").write_text("\n".join([first] * 50 + [late]))
    expected = everything(tmp_path / "x.json", "lines")
    monkeypatch.setattr(block_reader, "BLOCK_BYTES", 20)
    monkeypatch.setattr(reader, "IN_MEMORY_ROWS", 10)
    assert everything(tmp_path / "x.json", "lines") == expected


def test_a_file_whose_first_rows_tell_the_types_is_read_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(block_reader, "BLOCK_BYTES", 100)
    monkeypatch.setattr(reader, "IN_MEMORY_ROWS", 10)
    read: list[str] = []
    real = reader.open_json
    monkeypatch.setattr(reader, "open_json", lambda place, *given, **named: read.append(place.path) or real(place, *given, **named))
    for last, readings in (("1", 1), ('"x"', 2)):
        (tmp_path / "x.json").write_text('{"a":1}\n' * 500 + f'{{"a":{last}}}')
        read.clear()
        assert len(SFrame.read_json(tmp_path / "x.json", orient="lines")) == 501
        assert len(read) == readings
