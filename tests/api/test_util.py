"""Random frames, combinations, and what is saved under a path."""

from __future__ import annotations

import hashlib
import math
from pathlib import Path
from typing import Any

import pytest

from sframe_spark import SArray, SFrame, config, util
from sframe_spark.api.random_frames import RANDOM_COLUMNS
from sframe_spark.turicreate.string_and_object_decoding import INTEGER, TEXT
from sframe_spark.util import crossproduct, generate_random_sframe, get_archive_type, get_turicreate_object_type, is_directory_archive
from tests.random_tables import made_column, write_archive

CODES = "nNrRbzZsScCxXhHlLmMvVwWdD"
TYPES = [*["float"] * 4, *["int"] * 3, *["str"] * 8, *["list"] * 4, *["array"] * 4, *["dict"] * 2]


@pytest.fixture(scope="module")
def frame() -> SFrame:
    return generate_random_sframe(5000, CODES)


def values(frame: SFrame, code: str) -> list[Any]:
    return list(frame[f"X{CODES.index(code) + 1}-{code}"])


def test_columns_are_named_by_number_and_code(frame: SFrame) -> None:
    assert "".join(sorted(RANDOM_COLUMNS)) == "".join(sorted(CODES))
    assert frame.column_names() == [f"X{place}-{code}" for place, code in enumerate(CODES, 1)]
    assert [kind.__name__ for kind in frame.column_types()] == TYPES
    assert len(frame) == 5000 and frame.dropna("X1-n").num_rows() == 5000


@pytest.mark.parametrize(("code", "low", "high", "nan"), [("n", 0, 1, 0), ("N", 0, 1, 0.01), ("r", -100, 100, 0), ("R", -1000, 1000, 0.01)])
def test_floats_are_spread_evenly(code: str, low: float, high: float, nan: float, frame: SFrame) -> None:
    found = values(frame, code)
    numbers = [value for value in found if not math.isnan(value)]
    assert 1 - len(numbers) / len(found) == pytest.approx(nan, abs=0.005)
    assert low <= min(numbers) < low + (high - low) / 100 and high - (high - low) / 100 < max(numbers) < high
    assert sum(numbers) / len(numbers) == pytest.approx((low + high) / 2, abs=(high - low) / 50)


@pytest.mark.parametrize(("code", "wanted"), [("b", range(2)), ("z", range(1, 11)), ("Z", range(1, 101))])
def test_ints(code: str, wanted: range, frame: SFrame) -> None:
    assert set(values(frame, code)) == set(wanted)


@pytest.mark.parametrize(("code", "count"), [("s", 10), ("S", 100), ("c", 1000), ("C", 100_000)])
def test_texts(code: str, count: int, frame: SFrame) -> None:
    found = {int(value.removeprefix("C-")) for value in values(frame, code)}
    assert found <= set(range(count)) and (len(found) == count or count >= 1000)


@pytest.mark.parametrize(
    ("code", "digits", "least", "most"), [("x", 32, 900, 1000), ("X", 64, 4700, 4999), ("h", 32, 5000, 5000), ("H", 64, 5000, 5000)]
)
def test_hexadecimal_texts(code: str, digits: int, least: int, most: int, frame: SFrame) -> None:
    found = values(frame, code)
    assert {len(value) for value in found} == {digits} and set("".join(found)) == set("0123456789abcdef")
    assert least <= len(set(found)) <= most


@pytest.mark.parametrize(("code", "most", "last"), [("l", 10, 100), ("L", 100, 1000), ("m", 10, 100), ("M", 100, 1000)])
def test_lists(code: str, most: int, last: int, frame: SFrame) -> None:
    found = values(frame, code)
    assert {len(value) for value in found} == set(range(most + 1))
    items = {item for value in found for item in value}
    numbers = items if code in "lL" else {int(item.removeprefix("C-")) for item in items}
    assert numbers == set(range(last + 1))


@pytest.mark.parametrize(("code", "length", "nan"), [("v", 10, 0), ("V", 100, 0), ("w", 10, 0.01), ("W", 100, 0.01)])
def test_arrays(code: str, length: int, nan: float, frame: SFrame) -> None:
    found = values(frame, code)
    assert {len(value) for value in found} == {length}
    items = [item for value in found for item in value]
    assert sum(map(math.isnan, items)) / len(items) == pytest.approx(nan, abs=0.004)
    assert all(0 <= item < 1 or math.isnan(item) for item in items)


@pytest.mark.parametrize(("code", "most", "last"), [("d", 10, 100), ("D", 100, 1000)])
def test_dicts(code: str, most: int, last: int, frame: SFrame) -> None:
    found = values(frame, code)
    assert {len(value) for value in found} >= set(range(most - 5)) and max(map(len, found)) <= most
    keys = [[int(key.removeprefix("K-")) for key in value] for value in found]
    assert all(row == sorted(set(row)) for row in keys) and {key for row in keys for key in row} == set(range(1, last + 1))
    assert all(0 <= item < 1 for value in found for item in value.values())


def texts_of_columns(frame: SFrame) -> dict[str, str]:
    rows = list(frame)
    return {name: str([row[name] for row in rows]) for name in frame.column_names()}


def test_rows_follow_from_the_seed_and_their_number(frame: SFrame) -> None:
    again = generate_random_sframe(4097, CODES)
    # Of rows that begin another batch, all values.
    assert len(again) == 4097 and str(list(again[4_000:])) == str(list(frame[4_000:4097]))
    texts = texts_of_columns(frame[:100])
    for seed in (1, -1, 2**63 - 1, -(2**63)):
        other = texts_of_columns(generate_random_sframe(100, CODES, seed))
        assert [name for name in texts if other[name] == texts[name]] == []


def test_columns_of_one_code_differ() -> None:
    found = generate_random_sframe(50, "nnn")
    assert len({str(list(found[name])) for name in found.column_names()}) == 3


def test_rows_are_the_same_in_every_version() -> None:
    """What this package and numpy draw must not change: recorded programs depend on it."""
    text = str(list(generate_random_sframe(100, CODES, 7)))
    assert hashlib.sha256(text.encode()).hexdigest() == "b1a4095fca919076a9298c47da74afbe7b81176cf109c30347dc0721472f4dc5"


def test_more_rows_than_fit_go_to_files() -> None:
    with config.using(memory_budget=100_000):
        found = generate_random_sframe(20_000, "nh")
    assert found._node.operator_type == "segment_source"
    assert list(found.head(5000)) == list(generate_random_sframe(5000, "nh"))


def test_no_rows_and_no_columns() -> None:
    none = generate_random_sframe(0, CODES)
    assert len(none) == 0 and [kind.__name__ for kind in none.column_types()] == TYPES
    assert generate_random_sframe(3, "").column_names() == []


@pytest.mark.parametrize(
    ("arguments", "error", "told"),
    [
        ((3, "q"), RuntimeError, "no random column has the code 'q'"),
        ((-1, "n"), AssertionError, "num_rows"),
        ((2.5, "n"), AssertionError, "num_rows"),
        (("3", "n"), AssertionError, "num_rows"),
        ((3, None), AssertionError, "column_codes"),
        ((3, ["n", "s"]), AssertionError, "column_codes"),
        ((3, "n", None), AssertionError, "random_seed"),
        ((3, "n", 1.5), AssertionError, "random_seed"),
        ((3, "n", 2**70), OverflowError, "random_seed"),
        ((2**70, "n"), OverflowError, "num_rows"),
    ],
)
def test_mistakes(arguments: tuple[Any, ...], error: type[Exception], told: str) -> None:
    with pytest.raises(error, match=told):
        generate_random_sframe(*arguments)


def test_combinations() -> None:
    """As the reference has them: names in order, the last one given changes first."""
    found = crossproduct({"z": [0, 1], "a": ["a", "b", "c"]})
    assert found.column_names() == ["a", "z"]
    assert [(row["a"], row["z"]) for row in found] == [("a", 0), ("b", 0), ("c", 0), ("a", 1), ("b", 1), ("c", 1)]
    assert list(crossproduct({"a": "xy", "b": [1.5]})) == [{"a": "x", "b": 1.5}, {"a": "y", "b": 1.5}]
    assert list(crossproduct({"a": [1, "x"]})["a"]) == ["1", "x"]


@pytest.mark.parametrize(("given", "error"), [({}, RuntimeError), ({"a": []}, TypeError), ([1], TypeError), ({1: [1]}, TypeError)])
def test_no_combinations(given: Any, error: type[Exception]) -> None:
    with pytest.raises(error):
        crossproduct(given)


def test_what_is_saved(tmp_path: Path) -> None:
    SFrame({"a": [1]}).save(str(tmp_path / "frame"))
    SArray([1]).save(str(tmp_path / "column"))
    SArray(range(300_000)).save(str(tmp_path / "long"))
    # Of columns of saved frames the pages are copied.
    SFrame({"a": range(300_000), "b": range(300_000)}).save(str(tmp_path / "wide"))
    SFrame(str(tmp_path / "wide"))["b"].save(str(tmp_path / "copied"))
    SFrame(str(tmp_path / "wide"))[["b"]].save(str(tmp_path / "narrow"))
    kinds = {"copied": "sarray", "narrow": "sframe", "frame": "sframe", "column": "sarray", "long": "sarray", "frame/": "sframe"}
    for name, kind in kinds.items():
        path = f"{tmp_path}/{name}"
        assert get_archive_type(path) == get_turicreate_object_type(path) == kind
        assert is_directory_archive(path)
    for made, kind in ((made_column(INTEGER, [1, 2], [[2]]), "sarray"), (made_column(TEXT, ["a"], [[1]]), "sframe")):
        write_archive(str(tmp_path / "old" / kind), {"a": made}, kind == "sframe")
        path = f"{tmp_path}/old/{kind}"
        assert get_archive_type(path) == get_turicreate_object_type(path) == kind
        assert is_directory_archive(path) and not is_directory_archive(f"{tmp_path}/old")
    (tmp_path / "file").write_text("")
    (tmp_path / "empty").mkdir()
    for path in (str(tmp_path / "file"), str(tmp_path / "empty"), str(tmp_path / "nothing")):
        assert not is_directory_archive(path)
        with pytest.raises(TypeError, match="nothing is saved under"):
            get_archive_type(path)
        with pytest.raises(OSError):
            get_turicreate_object_type(path)
    for path in ("", None, 3):
        assert not is_directory_archive(path)
        with pytest.raises(TypeError, match="nothing is saved under"):
            get_archive_type(path)  # type: ignore[arg-type]
    with pytest.raises(ValueError):
        get_turicreate_object_type("")


def test_public_names() -> None:
    assert [name for name in util.__all__ if not getattr(util, name).__doc__] == []
