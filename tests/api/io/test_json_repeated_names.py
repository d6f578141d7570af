"""Objects of JSON that have a name twice: of a row the first member fills the column, within a value the last counts, in every reader."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from sframe_spark import SArray, SFrame, config
from sframe_spark.api.io.json import block_reader

# Values with repeated names at some depth, as texts.
VALUES = [
    '{"a":1,"a":2}',
    '{"a":1,"b":0,"a":3,"a":4}',
    '{"p":{"a":1,"a":2},"q":1}',
    '{"p":{"a":1},"p":{"b":2}}',
    '[{"a":1,"a":2}]',
    '[1,"s",{"a":1,"a":[{"z":1,"z":2}]}]',
    '{"a":"\\u0041","a":"\\n"}',
    '{"a":1,"\\u0061":2}',
    '{"a":null,"a":2}',
    '{"a":1,"a":"s"}',
    '{"a":[1],"a":[2,3]}',
]
# Other rows, after which readers have other ways to read the same.
OTHERS = {"alone": [], "plain": ['{"x":1}'], "many": ['{"x":{"a":5}}'] * 300, "escapes": ['{"x":"\\\\"}'] * 40}


@pytest.mark.sampled(4)
@pytest.mark.parametrize("others", OTHERS)
@pytest.mark.parametrize("value", VALUES)
def test_within_values_the_last_counts(value: str, others: str, tmp_path: Path) -> None:
    rows, expected = [*OTHERS[others], *[f'{{"x":{value}}}'] * 3], json.loads(value)
    (tmp_path / "l.json").write_text("\n".join(rows))
    (tmp_path / "r.json").write_text("[" + ",\n".join(rows) + "]")
    found = [SFrame.read_json(str(tmp_path / "l.json"), orient="lines")["x"], SFrame.read_json(str(tmp_path / "r.json"))["x"]]
    for column in found:
        # Beside values of other classes a value is its text.
        last = column[-1]
        assert (json.loads(last) if isinstance(last, str) else last) == expected
    elements = SArray.read_json(str(tmp_path / "r.json"))
    assert elements[-1] == {"x": expected}


@pytest.mark.parametrize("value", VALUES)
def test_texts_that_become_values_follow_the_same_rule(value: str, tmp_path: Path) -> None:
    kind = list if value.startswith("[") else dict
    expected = json.loads(value)
    (tmp_path / "x.csv").write_text(f"n\tc\n1\t{value}\n")
    # Texts of columns know other escapes and no null: these stay out.
    if "null" not in value and "\\" not in value:
        assert SArray([value]).astype(kind)[0] == expected
        assert SFrame.read_csv(str(tmp_path / "x.csv"), delimiter="\t", verbose=False)["c"][0] == expected
    (tmp_path / "x.json").write_text(f"[{value}]")
    assert SArray.read_json(str(tmp_path / "x.json"))[0] == expected


@pytest.mark.parametrize("others", ["", '{"b":1}\n', '{"a":7,"b":1}\n' * 300])
@pytest.mark.parametrize("row", ['{"a":1,"a":2}', '{"a":1,"\\u0061":2}', '{"a":1,"c":{"k":1,"k":2},"a":2}'])
def test_of_a_row_the_first_counts(row: str, others: str, tmp_path: Path) -> None:
    (tmp_path / "l.json").write_text(others + row + "\n")
    (tmp_path / "r.json").write_text("[" + (others + row).replace("\n", ",\n") + "]")
    for frame in (SFrame.read_json(str(tmp_path / "l.json"), orient="lines"), SFrame.read_json(str(tmp_path / "r.json"))):
        assert frame["a"][-1] == 1
        if "c" in frame.column_names():
            assert frame["c"][-1] == {"k": 2}


@pytest.mark.parametrize("size", [30, 100, 1000])
def test_blocks_of_any_size_follow_one_rule(size: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(block_reader, "BLOCK_BYTES", size)
    rows: list[Any] = ['{"a":1,"a":2,"x":{"k":1,"k":2}}', '{"a":1,"x":{"k":2}}'] * 40
    (tmp_path / "l.json").write_text("\n".join(rows))
    (tmp_path / "r.json").write_text("[" + ",".join(rows) + "]")
    with config.using(memory_budget=1 << 20):
        for frame in (SFrame.read_json(str(tmp_path / "l.json"), orient="lines"), SFrame.read_json(str(tmp_path / "r.json"))):
            assert list(frame) == [{"a": 1, "x": {"k": 2}}] * 80
