"""JSON files: written so that every reader of JSON takes them, read so that no value is changed."""

from __future__ import annotations

import array
import datetime
import gzip
import json
import os
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, strategies as st

from sframe_spark import SFrame, load_sframe
from sframe_spark.api.io.json import block_reader, reader
from sframe_spark.config import config
from sframe_spark.errors import InvalidArgumentError, StorageError

ORIENTS = ("records", "lines")
MOMENT = datetime.datetime(2012, 1, 1, 3, 4, 5, 6)


def read(text: str | bytes, orient: str, place: Path) -> SFrame:
    (place / "x.json").write_bytes(text if isinstance(text, bytes) else text.encode())
    return SFrame.read_json(place / "x.json", orient=orient)


def values(frame: SFrame) -> dict[str, list[Any]]:
    return {name: list(frame[name]) for name in frame.column_names()}


def objects(path: Path, orient: str) -> list[Any]:
    text = path.read_text()
    return json.loads(text) if orient == "records" else [json.loads(line) for line in text.split("\n")[:-1]]


def frame_of_every_type() -> SFrame:
    return SFrame(
        {
            "int": [2**62, None],
            "float": [0.5, float("nan")],
            'odd "name"\n': ['a"b\n\\é\u2028', None],
            "array": [array.array("d", [1, 2.5]), None],
            "datetime": [MOMENT, None],
            "zoned": [MOMENT.replace(tzinfo=datetime.UTC), None],
            "list": [[1, "a", None, {"b": [2]}], None],
            "dict": [{"a": 1, "b": None}, {}],
            "mixed": [{1: "x"}, None],
        }
    )


@pytest.mark.parametrize("orient", ORIENTS)
def test_every_type_is_written(orient: str, tmp_path: Path) -> None:
    frame_of_every_type().export_json(str(tmp_path / "x.json"), orient=orient)
    first, second = objects(tmp_path / "x.json", orient)
    assert first == {
        "int": 2**62, "float": 0.5, 'odd "name"\n': 'a"b\n\\é\u2028', "array": [1.0, 2.5], "datetime": MOMENT.isoformat(),
        "zoned": MOMENT.isoformat() + "+00:00", "list": [1, "a", None, {"b": [2]}], "dict": {"a": 1, "b": None}, "mixed": {"1": "x"},
    }  # fmt: skip
    assert set(second) == {"float", "dict"} and str(second["float"]) == "nan"


def test_the_text_is_that_of_the_reference(tmp_path: Path) -> None:
    frame = SFrame({"f": [1.5, None], "i": [1, None], "s": ['a"b\n', None]})
    frame.export_json(str(tmp_path / "x.json"))
    assert (tmp_path / "x.json").read_text() == '[\n{"f":1.5,"i":1,"s":"a\\"b\\n"}\n,{}\n]\n'
    frame.export_json(str(tmp_path / "x.json"), orient="lines")
    assert (tmp_path / "x.json").read_text() == '{"f":1.5,"i":1,"s":"a\\"b\\n"}\n{}\n'
    for orient, text in (("records", "[\n]\n"), ("lines", "")):
        for empty in (SFrame(), frame[:0]):
            empty.export_json(str(tmp_path / "x.json.gz"), orient=orient)
            assert gzip.decompress((tmp_path / "x.json.gz").read_bytes()).decode() == text


@pytest.mark.parametrize("orient", ORIENTS)
@given(names=st.lists(st.sampled_from("abcdé"), min_size=1, max_size=8))
def test_members_stay_in_their_order_where_a_name_is_written_twice(orient: str, names: list[str], tmp_path_factory: pytest.TempPathFactory) -> None:
    """The last of one name is the one that is read, and it stands where the first stood, as in Python."""
    inner = ",".join(f'"{name}":{number}' for number, name in enumerate(names))
    row = f'{{"x":{{{inner}}}}}'
    found = read(f"[{row},{row}]" if orient == "records" else f"{row}\n{row}\n", orient, tmp_path_factory.mktemp("x"))["x"][0]
    assert list(found.items()) == list({name: number for number, name in enumerate(names)}.items())


def test_wrong_calls(tmp_path: Path) -> None:
    for call in (lambda: SFrame({"a": [1]}).export_json(str(tmp_path / "x"), orient="rows"), lambda: SFrame.read_json("x", orient=None)):
        with pytest.raises(InvalidArgumentError, match="orient must be 'records'"):
            call()
    with pytest.raises(StorageError, match="is a directory"):
        SFrame({"a": [1]}).export_json(str(tmp_path))
    assert os.listdir(tmp_path) == []


# Recorded from the reference; where a value was lost or changed there, what it is here.
READ = [
    ('[{"a":1,"b":"x"},{"a":2.5}]', {"a": [1.0, 2.5], "b": ["x", None]}, [float, str]),
    ('[{"a":1},{"b":"y"}]', {"a": [1, None], "b": [None, "y"]}, [int, str]),
    ('[{"a":null}]', {"a": [None]}, [float]),
    ('[{"a":[1,2]},{"a":[1.5,"x"]}]', {"a": [[1, 2], [1.5, "x"]]}, [list]),
    ('[{"a":true},{"a":7}]', {"a": [1, 7]}, [int]),
    ('[{"a":1},{"a":"x"}]', {"a": ["1", "x"]}, [str]),
    ('[{"a":[1]},{"a":{"b":2}}]', {"a": ["[1]", '{"b":2}']}, [str]),
    ('[{"a":{"b":1}}]', {"a": [{"b": 1}]}, [dict]),
    ('[{"a":12345678901234567890},{"a":1}]', {"a": ["12345678901234567890", "1"]}, [str]),
    ('[{"a":[1.5,2]},{"a":[]}]', {"a": [[1.5, 2], []]}, [list]),
    ('[{"a":"2012-01-01"}]', {"a": ["2012-01-01"]}, [str]),
    ('[{"a":1,"a":2}]', {"a": [1]}, [int]),
    ('[{"b":1,"a":2}]', {"a": [2], "b": [1]}, [int, int]),
    ('[{"":1}]', {"X1": [1]}, [int]),
    ('[null,{"a":1}]', {"a": [None, 1]}, [int]),
    ('[{"a":[null,[1,[true]]]}]', {"a": [[None, [1, [1]]]]}, [list]),
    ('\ufeff [ {"a" : "\\u00e9"} ] \n', {"a": ["é"]}, [str]),
    ("[]", {}, []),
    ("", {}, []),
    ("  \n", {}, []),
]


@pytest.mark.parametrize("block", [1 << 20, 3])
@pytest.mark.parametrize("orient", ORIENTS)
@pytest.mark.parametrize(("text", "expected", "types"), READ)
def test_values_and_types(
    text: str, expected: Any, types: list[type], orient: str, block: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(block_reader, "BLOCK_BYTES", block)
    if orient == "lines" and text.strip("\ufeff \n"):
        text = "\r\n\n".join(map(json.dumps, json.loads(text.strip("\ufeff")))) if '"a":2}' not in text else text.strip("[]")
    for budget in (config.memory_budget, 1):
        with config.using(memory_budget=budget):
            frame = read(text, orient, tmp_path)
            assert values(frame) == expected and frame.column_types() == types


NO_JSON: list[tuple[str | bytes, str, str]] = [
    ('{"a":1}', "records", "line 1: the file is not one array of objects; orient='lines'"),
    ("[1,2]", "records", "line 1: the value is a int, not an object"),
    ('[{"a":1},\n[2]]', "records", "line 2: the value is a list, not an object"),
    ("nope", "records", "line 1: the file is not one array"),
    ('[{"a":1},\n{"a":nope}]', "records", "line 2: it is not JSON"),
    ('[{"a":1}\n{"a":2}]', "records", "line 2: a comma or the end of the array is missing"),
    ('[{"a":1},\n', "records", "the array has no end: the file was cut off"),
    ('[{"a":"x', "records", "line 1: it is not JSON"),
    ('[{"a":1}]\n[]', "records", "line 2: something follows the end"),
    ("[{},{}]", "records", "has 2 rows, but no object has a member"),
    ("[" * 100_000, "records", "nested too deep"),
    ('{"a":1}\nnope\n{"a":2}', "lines", r"line 2: 'nope' is not JSON .*orient='lines'"),
    ('{"a":1}{"a":2}', "lines", "line 1: .*Extra data"),
    ('{"a":1}\n\n2', "lines", "line 3: the value is a int, not an object"),
    ('1\n{"a":1}', "lines", "line 2: the value is an object"),
    ('{"a":"\\ud83d"}', "lines", r"column 'a': a text is not valid Unicode"),
    ('{"\\ud83d":1}', "lines", "line 1: the name .* is not valid Unicode text"),
    (b'{"a":1}\n{"a":"\xff"}', "lines", "line 2, column 7: the byte 0xff is not text in UTF-8"),
    (b"PK\x03\x04\x00xl/", "lines", "is not JSON: it is an Excel workbook"),
    ('{"a":' + "9" * 5000 + "}", "lines", "line 1: a whole number has thousands of digits"),
    ("[" + '{"a":' * 300 + "1" + "}" * 300 + "]", "records", "column 'a'|nested too deep"),
]


# What is longer, and bytes, are refused for what is in the first block.
@pytest.mark.parametrize(
    ("text", "orient", "words", "block"),
    [(*case, block) for case in NO_JSON for block in (1 << 20, 3) if block > 3 or (isinstance(case[0], str) and len(case[0]) <= 1000)],
)
def test_what_is_no_json_is_told_with_its_line(
    text: Any, orient: str, words: str, block: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(block_reader, "BLOCK_BYTES", block)
    with pytest.raises(StorageError, match=words) as caught:
        read(text, orient, tmp_path)
    assert "x.json" in str(caught.value) and len(str(caught.value)) < 500


def test_values_that_are_no_objects_are_one_column(tmp_path: Path) -> None:
    assert values(read("1\n2.5\nnull", "lines", tmp_path)) == {"X1": [1.0, 2.5, None]}
    assert values(read('"x"\n"y"', "lines", tmp_path)) == {"X1": ["x", "y"]}
    assert values(read('[1,2]\n["a"]', "lines", tmp_path)) == {"X1": [[1, 2], ["a"]]}


def test_several_files_and_directories_of_a_partitioned_table(tmp_path: Path) -> None:
    for year in (2023, 2024):
        (tmp_path / f"year={year}").mkdir()
        (tmp_path / f"year={year}" / "x.json.gz").write_bytes(gzip.compress(b'{"n":%d}\n' % (year % 10)))
    assert values(SFrame.read_json(tmp_path, orient="lines")) == {"n": [3, 4], "year": [2023, 2024]}
    assert values(SFrame.read_json([tmp_path / "year=2024" / "x.json.gz", str(tmp_path / "*3" / "*")], orient="lines")) == {"n": [4, 3]}


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(st.characters(blacklist_categories=("Cs",)), max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(st.characters(blacklist_categories=("Cs",)), max_size=3), inner, max_size=3),
    max_leaves=5,
)


@given(rows=st.lists(st.fixed_dictionaries({"a": JSON}, optional={"b": JSON}), min_size=1, max_size=6), block=st.integers(1, 40))
def test_both_forms_give_the_same_rows(rows: list[dict[str, Any]], block: int, tmp_path_factory: pytest.TempPathFactory) -> None:
    place = tmp_path_factory.getbasetemp()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(block_reader, "BLOCK_BYTES", block)
        first = read(json.dumps(rows, indent=1), "records", place)
        second = read("\n".join(map(json.dumps, rows)), "lines", place)
        assert values(first) == values(second) and first.column_types() == second.column_types()
        assert len(first) == len(rows)
        for name, kind in zip(first.column_names(), first.column_types(), strict=True):
            for row, found in zip(rows, first[name], strict=True):
                if kind in (int, float) or row.get(name) is None:
                    assert found == row.get(name)


ODD_TEXTS = st.sampled_from(["},{", "}\n,{", '"', "\\", "true", "é", ""])
ELEMENTS = st.fixed_dictionaries(
    {"a": st.one_of(JSON, ODD_TEXTS, st.sampled_from([10**18, 10**19, 1e200])), "b": st.lists(st.fixed_dictionaries({"c": ODD_TEXTS}))}
)


@given(rows=st.lists(ELEMENTS, min_size=1, max_size=12), between=st.sampled_from([",", ", ", ",\n", "\n,", "\n\n , \n"]), block=st.integers(1, 200))
def test_elements_that_are_read_together_are_those_read_one_by_one(
    rows: list[dict[str, Any]], between: str, block: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    file = tmp_path_factory.getbasetemp() / "x.json"
    file.write_text(f"[\n{between.join(map(json.dumps, rows))}\n]\n")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(block_reader, "BLOCK_BYTES", block)
        together = list(block_reader.values_of(str(file), is_array=True))
        patch.setattr(block_reader.JsonText, "_block", lambda *given: None)
        alone = list(block_reader.values_of(str(file), is_array=True))
    assert [value for found in together for value in found.values] == [value for found in alone for value in found.values] == rows
    assert [line for found in together for line in found.lines] == [line for found in alone for line in found.lines]
    assert not any("true" in json.dumps(found.values) for found in together if found.is_plain)


def test_usual_elements_are_read_together(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """All but the last ones."""
    # Floats below 0.01 have more than 18 digits.
    columns = {"a": range(3000), "f": [row / 300_000 for row in range(3000)], "s": [{"k": row} for row in range(3000)]}
    SFrame(columns).export_json(str(tmp_path / "x.json"), orient="records")
    monkeypatch.setattr(block_reader, "BLOCK_BYTES", 10_000)
    alone: list[int] = []
    real = block_reader.JsonText._element
    monkeypatch.setattr(block_reader.JsonText, "_element", lambda self, begin: alone.append(begin) or real(self, begin))
    frame = SFrame.read_json(tmp_path / "x.json", orient="records")
    assert list(frame["a"]) == list(range(3000)) and frame["s"][2999] == {"k": 2999} and len(alone) < 1000


def test_a_large_file_is_read_a_block_at_a_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = 3_000
    SFrame({"a": range(rows), "s": ["x" * 20] * rows}).export_json(str(tmp_path / "x.json"), orient="lines")
    monkeypatch.setattr(block_reader, "BLOCK_BYTES", 10_000)
    monkeypatch.setattr(reader, "IN_MEMORY_ROWS", 100)
    longest = max(len(found.values) for found in block_reader.values_of(str(tmp_path / "x.json"), is_array=False))
    assert longest < 300
    for kept_memory, source in ((1, "segment_source"), (None, "memory_source")):
        with config.using(segment_rows=1_000, kept_memory=kept_memory):
            frame = SFrame.read_json(tmp_path / "x.json", orient="lines")
        assert list(frame["a"]) == list(range(rows)) and frame._node.operator_type == source


@pytest.mark.spark
@pytest.mark.parametrize("orient", ORIENTS)
def test_tasks_write_the_rows_in_order(orient: str, everything_on_spark: None, spark: Any, tmp_path: Path) -> None:
    rows = 200_000
    SFrame(pa.table({"a": range(rows)})).save(str(tmp_path / "saved"))
    frame = load_sframe(str(tmp_path / "saved"))
    with config.using(default_segments=4):
        frame[frame["a"] >= 150_000].export_json(str(tmp_path / "x.json"), orient=orient)
    assert [row["a"] for row in objects(tmp_path / "x.json", orient)] == list(range(150_000, rows))
    assert sorted(os.listdir(tmp_path)) == ["saved", "x.json"]
    assert spark.read.option("multiLine", orient == "records").json(f"file://{tmp_path}/x.json").count() == 50_000


@pytest.mark.parametrize("orient", ORIENTS)
def test_a_file_changed_between_two_readings_is_told(orient: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reader, "IN_MEMORY_ROWS", 0)
    path = tmp_path / "x.json"

    def changed(*given: Any) -> Any:
        path.write_text('[{"a":1,"b":2}]' if orient == "records" else '{"a":1,"b":2}\n')
        return keep_runs(*given)

    keep_runs = reader.keep_runs
    monkeypatch.setattr(reader, "keep_runs", changed)
    with pytest.raises(StorageError, match="was changed while it was read"):
        read('[{"a":1}]' if orient == "records" else '{"a":1}', orient, tmp_path)


def test_lines_are_counted_once(tmp_path: Path) -> None:
    # As long as the lines of each element were counted from the start of a block, these took ten seconds.
    rows, count = ",\n".join(f'{{"a":{number}}}' for number in range(200_000)), block_reader.JsonText._line_at
    asked: list[int] = []

    def counted(text: Any, position: int) -> int:
        asked.append(abs(position - text._counted))
        return count(text, position)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(block_reader.JsonText, "_line_at", counted)
        assert read(f"[{rows}]", "records", tmp_path)["a"].sum() == 200_000 * 199_999 // 2
    assert sum(asked) <= len(rows) + 2
    with pytest.raises(StorageError, match="line 200001: a comma or the end"):
        read(f"[{rows}\n x]", "records", tmp_path)


@pytest.mark.parametrize("cell", [{1: "a", "1": "b"}, {None: 1, "null": 2}, [{"x": {1.5: 1, "1.5": 2}}], {MOMENT: 1, MOMENT.isoformat(): 2}])
def test_keys_that_are_one_text_are_refused(cell: Any, tmp_path: Path) -> None:
    frame, told = SFrame({"odd": [None, cell]}), "column 'odd': a dict has the keys .* one value would be lost"
    for orient in ORIENTS:
        with pytest.raises(InvalidArgumentError, match=told):
            frame.export_json(str(tmp_path / "x.json"), orient=orient)
    for write in (frame.write_parquet, frame.write_orc):
        with pytest.raises(InvalidArgumentError, match=told):
            write(str(tmp_path / "rows"))
    assert os.listdir(tmp_path) == []


def test_date_times_are_the_same_texts_as_keys(tmp_path: Path) -> None:
    SFrame({"a": [{MOMENT: 1}]}).export_json(str(tmp_path / "x.json"))
    assert objects(tmp_path / "x.json", "records") == [{"a": {MOMENT.isoformat(): 1}}]


@pytest.mark.parametrize("orient", ORIENTS)
@pytest.mark.parametrize("encoding", ["latin-1", "utf-16", "utf-16-le", "cp1252", "utf-8-sig"])
def test_other_encodings(encoding: str, orient: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(block_reader, "BLOCK_BYTES", 7)
    rows = [{"é": "ü", "n": 1}, {"é": "ß" * 20, "n": None}]
    text = json.dumps(rows, ensure_ascii=False) if orient == "records" else "\n".join(json.dumps(row, ensure_ascii=False) for row in rows)
    (tmp_path / "x.json").write_bytes(text.encode(encoding))
    assert values(SFrame.read_json(tmp_path / "x.json", orient, encoding)) == {"n": [1, None], "é": ["ü", "ß" * 20]}


def test_bytes_that_are_no_text_in_an_encoding(tmp_path: Path) -> None:
    (tmp_path / "x.json").write_bytes('[{"a":\n"é"}]'.encode("latin-1"))
    with pytest.raises(StorageError, match=r"x\.json, line 2, column 2: the byte 0xe9 is not text in UTF-8; .*encoding='latin-1'"):
        SFrame.read_json(tmp_path / "x.json")
    with pytest.raises(StorageError, match=r"line 2, column 2: the byte 0xe9 is not text in ascii"):
        SFrame.read_json(tmp_path / "x.json", encoding="ascii")
    with pytest.raises(InvalidArgumentError, match="encoding: 'rot13' is not a text encoding"):
        SFrame.read_json(tmp_path / "x.json", encoding="rot13")
    (tmp_path / "x.json").write_bytes("[]".encode("utf-16"))
    with pytest.raises(StorageError, match=r"it is text in UTF-16; read it with .*encoding='utf-16'\), or with read_json"):
        SFrame.read_json(tmp_path / "x.json")


def test_date_times_are_written_as_python_writes_them(tmp_path: Path) -> None:
    values = [
        *(datetime.datetime(1, 1, 1), datetime.datetime(9999, 12, 31, 23, 59, 59, 999999), datetime.datetime(1969, 12, 31, 23, 59, 59, 1)),
        *(None, datetime.datetime(2024, 2, 29, 12), datetime.datetime(1400, 6, 5, 4, 3, 2, 100000), datetime.datetime(800, 1, 2)),
    ]
    SFrame({"t": values, "n": range(len(values))}).export_json(str(tmp_path / "rows.json"))
    written = json.loads((tmp_path / "rows.json").read_text())
    assert [row.get("t") for row in written] == [None if value is None else value.isoformat() for value in values]
