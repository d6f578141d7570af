"""Plans over files of others use the orders that these seem to be in, once their rows were found to be in them."""

from __future__ import annotations

import datetime
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, strategies as st

from sframe_spark import SFrame, aggregate as agg
from sframe_spark.engine import costs
from sframe_spark.engine.execution import claimed_row_orders
from sframe_spark.engine.runtime.task_runners import ThreadRunner
from sframe_spark.errors import StorageError
from sframe_spark.explain.verification_of_facts_and_stored_rows import first_wrong_rows, row_claims
from sframe_spark.operators.sources.base_and_segment_source import source_of
from sframe_spark.planner.length_and_order_inference import properties_of
from tests.storage.foreign_manifests import foreign_manifest

NAN = float("nan")


@pytest.fixture
def compared(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Any]]:
    """The orders that rows were compared with."""
    found: list[Any] = []
    original = claimed_row_orders.verified_order

    def watched(manifest: Any, ordering: Any, *rows: int) -> Any:
        found.append((tuple((manifest.names[column], up) for column, up in ordering), *rows))
        return original(manifest, ordering, *rows)

    monkeypatch.setattr(claimed_row_orders, "verified_order", watched)
    yield found


def write(path: Path, columns: dict[str, Any], group: int = 2, **options: Any) -> SFrame:
    pq.write_table(pa.table(columns), path, row_group_size=group, **options)
    return SFrame.read_parquet(str(path))


def sorts(sf: SFrame) -> bool:
    """Whether the plan that would run sorts rows."""
    return "sort[" in sf.explain().split("-- optimized plan")[1]


COLUMNS = {"t": [1, 2, 2, 5], "v": [4, 3, 9, 1], "s": ["d", "c", "b", "a"]}


def test_rows_are_compared_once_when_a_plan_could_use_their_order(tmp_path: Path, compared: list[Any]) -> None:
    sf = write(tmp_path / "f.parquet", COLUMNS)
    assert sf["v"].sum() == 17 and sf[sf["t"] > 1].num_rows() == 3 and sf.sort("v")["v"][0] == 1 and sf[2:].num_rows() == 2
    assert compared == [] and sf.ordering().orderings == []
    assert list(sf.sort("t")["v"]) == [4, 3, 9, 1]
    assert compared == [((("t", True),),)]
    assert not sorts(sf.sort("t")) and sf.is_sorted("t") and sf.sort(["t", "v"])["v"][1] == 3
    assert sf.ordering().orderings == [[("t", "asc")]] and len(compared) == 1
    assert sf.sort("s", ascending=False)["v"][0] == 4 and len(compared) == 2


def test_explain_compares_nothing_and_says_what_is_compared_first(tmp_path: Path, compared: list[Any]) -> None:
    sf = write(tmp_path / "f.parquet", COLUMNS)
    by_time, by_text = sf.sort("t"), sf.sort("s", ascending=False)
    assert not sorts(by_time) and not sorts(by_text) and not sorts(sf[sf["v"] > 1].sort("t"))
    assert f"first: the rows of the files in {tmp_path} are compared with the order by t, in which they seem to be" in by_time.explain()
    assert "with the order by s descending" in by_text.explain() and "seem to be in this order, and an action compares" in by_text.explain(why=True)
    assert "are compared" not in sf.sort("v").explain() and compared == []
    by_time.materialize()
    assert len(compared) == 1 and "are compared" not in sf.sort("t").explain() and "confirmed it" in sf.sort("t").explain(why=True)


def test_explain_says_what_runs_once_an_order_was_found_not_to_hold(tmp_path: Path, compared: list[Any]) -> None:
    sf = write(tmp_path / "f.parquet", {"t": [2, 1, 4, 3], "v": [1, 2, 3, 4]}, sorting_columns=[pq.SortingColumn(0)])
    before = sf.sort("t").explain()
    assert "this is the plan if they are in it" in before and "sort[" not in before.split("-- optimized plan")[1]
    ran = sf.sort("t").explain(analyze=True)
    assert "sort[" in ran.split("-- optimized plan")[1] and len(compared) == 1
    assert sorts(sf.sort("t")) and "are compared" not in sf.sort("t").explain() and len(compared) == 1


@pytest.mark.parametrize(
    "program",
    [
        lambda sf: sf.sort("t"),
        lambda sf: sf.sort("t", ascending=False),
        lambda sf: sf[sf["v"] > 1].sort("t"),
        lambda sf: sf.groupby("t", {"n": agg.COUNT()}),
        lambda sf: sf.topk("t", 2),
        lambda sf: SFrame({"t": [2], "x": [0]}).join(sf, on="t"),
        lambda sf: sf[["v", "t"]].rename({"t": "time"}).sort("time"),
        lambda sf: SFrame({"k": sf["t"] * 2, "v": sf["v"]}).sort("k"),
        lambda sf: SFrame({"n": [sf["t"].unique().shape[0]]}),
        lambda sf: SFrame({"t": [3]}).asof_join(sf, on="t"),
        lambda sf: sf.append(sf).sort("t"),
    ],
)
def test_programs_that_could_use_an_order_have_it_compared(tmp_path: Path, compared: list[Any], program: Any) -> None:
    sf, plain = write(tmp_path / "f.parquet", COLUMNS), SFrame(COLUMNS)
    assert [dict(row) for row in program(sf)] == [dict(row) for row in program(plain)]
    assert compared == [((("t", True),),)]


def test_an_order_that_does_not_hold_is_no_error_and_is_not_compared_again(tmp_path: Path, compared: list[Any]) -> None:
    sf = write(tmp_path / "f.parquet", {"t": [2, 1, 4, 3], "v": [1, 2, 3, 4]}, sorting_columns=[pq.SortingColumn(0), pq.SortingColumn(1)])
    assert list(sf.sort("t")["v"]) == [2, 1, 4, 3] and sorts(sf.sort("t"))
    assert not sf.is_sorted("t") and not sf.is_sorted(["t", "v"])
    assert compared == [((("t", True), ("v", True)),)]
    with pytest.raises(ValueError, match="row 1 is out of order by t: 1 comes after 2"):
        sf.assume_sorted("t")
    assert len(compared) == 1 and sf.ordering().orderings == []


def test_of_several_columns_those_count_that_hold(tmp_path: Path, compared: list[Any]) -> None:
    columns = {"a": [1, 1, 2, 2], "b": [9, 8, 8, 8], "c": [1, 2, 2, 1]}
    sf = write(tmp_path / "f.parquet", columns, 4, sorting_columns=[pq.SortingColumn(0), pq.SortingColumn(1, True), pq.SortingColumn(2)])
    assert not sorts(sf.sort([("a", True), ("b", False)]))
    assert sf.is_sorted([("a", True), ("b", False)]) and not sf.is_sorted([("a", True), ("b", False), ("c", True)])
    assert len(compared) == 1


def test_without_ties_the_columns_are_a_key(tmp_path: Path) -> None:
    sf = write(tmp_path / "f.parquet", {"a": [4, 3, 3, 1], "b": [1, 5, 7, 7]}, 4, sorting_columns=[pq.SortingColumn(0, True), pq.SortingColumn(1)])
    assert sf.is_sorted([("a", False), ("b", True)]).known
    assert sf.ordering().keys == [["a", "b"]]


def test_it_is_said_where_the_order_comes_from(tmp_path: Path) -> None:
    sf = write(tmp_path / "f\x1b.parquet", COLUMNS)
    assert "comparing their rows confirmed it" in str(sf.is_sorted("t"))
    assert "left out sort by t: the files in" in sf.sort("t").explain(why=True)
    once = write(tmp_path / "g.parquet", {"t": [1, 1, 2, 2]})
    assert "comparing" not in str(once.is_sorted("t")) and once.is_sorted("t")


def test_part_of_a_file_and_frames_of_ours_are_left_alone(tmp_path: Path, compared: list[Any]) -> None:
    sf = write(tmp_path / "f.parquet", {"t": list(range(40)), "v": list(range(40))[::-1]}, 10)
    assert list(sf[3:6].sort("t", ascending=False)["t"]) == [5, 4, 3]
    assert compared == []
    assert list(sf[3:36].sort("t", ascending=False)["t"])[:2] == [35, 34]
    assert compared == [((("t", True),),)]
    sf.save(str(tmp_path / "ours.sframe"))
    from sframe_spark import load_sframe

    assert load_sframe(str(tmp_path / "ours.sframe")).is_sorted("t") and len(compared) == 1


def test_statistics_that_lie_make_no_order(tmp_path: Path) -> None:
    path = tmp_path / "f.parquet"
    numbers = [1001, 1002, 1003, 1004, 2001, 2002]
    pq.write_table(pa.table({"t": numbers}), path, row_group_size=3, use_dictionary=False, compression="none", sorting_columns=[pq.SortingColumn(0)])
    content = path.read_bytes()
    values = b"".join(number.to_bytes(8, "little") for number in numbers[:3])
    assert content.count(values) == 1
    path.write_bytes(content.replace(values, values[16:] + values[:16]))
    sf = SFrame.read_parquet(str(path))
    assert not sf.is_sorted("t")
    assert list(sf.sort("t")["t"]) == numbers
    assert list(sf["t"]) == [1003, 1001, 1002, 1004, 2001, 2002]


def test_files_written_anew_are_refused_and_not_compared(tmp_path: Path) -> None:
    sf = write(tmp_path / "f.parquet", COLUMNS)
    write(tmp_path / "f.parquet", {**COLUMNS, "t": [5, 2, 2, 1]})
    with pytest.raises(StorageError, match="was changed since it was opened"):
        sf.is_sorted("t")
    with pytest.raises(StorageError, match="was changed since it was opened"):
        sf.sort("t").materialize()
    with pytest.raises(StorageError, match="was changed since it was opened"):
        sf.sort("t").explain()


def test_more_rows_are_compared_in_parts(tmp_path: Path, compared: list[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(costs, "MAX_ROWS_COMPARED_LOCALLY", 5)
    monkeypatch.setattr(costs, "ROWS_COMPARED_FIRST", 3)
    monkeypatch.setattr(claimed_row_orders, "runner_over", lambda node: ThreadRunner())
    monkeypatch.setenv("SFRAME_SPARK_SEGMENT_ROWS", "4")
    said = [pq.SortingColumn(0)]
    sf = write(tmp_path / "f.parquet", {"t": [1, 2, 3, 5, 4, 6, 7, 8], "u": [1, 2, 3, 4, 5, 5, 6, 7]}, 9, sorting_columns=said)
    assert not sf.is_sorted("t")
    assert [rows for _, *rows in compared] == [[0, 3], [0, 4], [3, 8]]
    sf = write(tmp_path / "g.parquet", {"t": [2, 1, 3, 4, 5, 6, 7, 8]}, 9, sorting_columns=said)
    assert not sf.is_sorted("t") and len(compared) == 4
    sf = write(tmp_path / "h.parquet", {"t": [1, 2, 3, 4, 5, 6, 7, 8]}, 9, sorting_columns=said)
    assert sf.is_sorted("t") and sf.ordering().keys == [["t"]]


def test_tables_of_delta_bring_their_order_too(tmp_path: Path, compared: list[Any]) -> None:
    import deltalake

    for low in (1, 11):
        deltalake.write_deltalake(str(tmp_path / "table"), pa.table({"t": [low, low + 1, low + 3], "v": [3, 2, 1]}), mode="append")
    sf = SFrame.read_delta(str(tmp_path / "table"))
    found = list(sf["t"])
    assert found in ([1, 2, 4, 11, 12, 14], [11, 12, 14, 1, 2, 4])
    assert bool(sf.is_sorted("t")) is (found == sorted(found))
    assert list(sf.sort("t")["t"]) == sorted(found)


MOMENT = datetime.datetime(1970, 1, 1)
KINDS = {
    "int": (pa.int64(), st.integers(-2, 2)),
    "small": (pa.uint8(), st.integers(0, 255)),
    "large": (pa.uint32(), st.integers(0, 2**32 - 1)),
    "float": (pa.float64(), st.sampled_from([-1.5, -0.0, 0.0, 2.0, float("inf"), NAN])),
    "half": (pa.float32(), st.sampled_from([-1.5, 0.25, NAN])),
    "str": (pa.string(), st.sampled_from(["", "a", "aé", "b", "\x00", "z" * 90])),
    "bool": (pa.bool_(), st.booleans()),
    "nano": (pa.timestamp("ns"), st.integers(-2, 2).map(lambda day: MOMENT + datetime.timedelta(days=day))),
    "zoned": (pa.timestamp("us", "Asia/Tokyo"), st.integers(-2, 2).map(lambda day: MOMENT + datetime.timedelta(days=day))),
    "day": (pa.date32(), st.integers(-2, 2).map(lambda day: (MOMENT + datetime.timedelta(days=day)).date())),
}


def rank(value: Any) -> tuple[int, Any]:
    """Where a value comes in the engine's order."""
    if value is None:
        return 0, 0
    return (2, 0) if value != value else (1, value)


@st.composite
def tables(draw: st.DrawFn) -> tuple[list[pa.Table], dict[str, Any]]:
    """Files that are mostly in an order, with options of which some are lies."""
    names = draw(st.lists(st.sampled_from(sorted(KINDS)), min_size=1, max_size=3, unique=True))
    size = draw(st.integers(0, 14))
    elements = [st.one_of(st.none(), KINDS[name][1]) if draw(st.booleans()) else KINDS[name][1] for name in names]
    rows = draw(st.lists(st.tuples(*elements), min_size=size, max_size=size))
    downs = draw(st.tuples(*(st.booleans() for _ in names)))
    for place in reversed(range(len(names))):
        rows.sort(key=lambda row: rank(row[place]), reverse=downs[place])
    if len(rows) > 1 and draw(st.booleans()):
        a, b = draw(st.integers(0, size - 1)), draw(st.integers(0, size - 1))
        rows[a], rows[b] = rows[b], rows[a]
    columns = {name: pa.array([row[place] for row in rows], KINDS[name][0]) for place, name in enumerate(names)}
    table = pa.table(columns)
    cut = draw(st.integers(0, size))
    parts = [table.slice(0, cut), table.slice(cut)]
    if draw(st.integers(0, 4)) == 0:
        parts.reverse()
    options: dict[str, Any] = {"row_group_size": draw(st.integers(1, 6)), "write_page_index": draw(st.booleans())}
    if draw(st.booleans()):
        said = [pq.SortingColumn(place, downs[place], draw(st.booleans())) for place in range(draw(st.integers(1, len(names))))]
        options["sorting_columns"] = said
    return parts, options


@given(tables())
def test_what_is_known_of_random_files_is_true(tmp_path_factory: pytest.TempPathFactory, drawn: Any) -> None:
    parts, options = drawn
    place = tmp_path_factory.mktemp("files")
    for number, part in enumerate(parts):
        pq.write_table(part, place / f"{number}.parquet", **options)
    sf = SFrame.read_parquet(str(place))
    values = {name: list(sf[name]) for name in sf.column_names()}
    for name in sf.column_names():
        for up in (True, False):
            if sf.is_sorted(name, ascending=up):
                ranks = [rank(value) for value in values[name]]
                assert ranks == sorted(ranks, reverse=not up)
            assert list(map(rank, sf.sort(name, ascending=up)[name])) == sorted(map(rank, values[name]), reverse=not up)
    node = sf._node
    assert node.operator_type == "segment_source"
    known, chunk = properties_of(node), source_of(node).read_all()
    claims = row_claims(known, node.schema)
    assert first_wrong_rows([chunk], node.schema, claims) == [None] * len(claims)
    for key in known.order.keys:
        cells = list(zip(*(map(repr, values[sf.column_names()[column]]) for column in key), strict=True))
        assert len(set(cells)) == sf.num_rows() or not key


def test_random_files_are_found_in_order_at_all(tmp_path: Path) -> None:
    found = 0
    for name, (kind, _) in KINDS.items():
        values = pa.array([False, True]) if name == "bool" else pa.array([0, 1_000 if name == "nano" else 1])
        column = values.cast(pa.string()) if name == "str" else values.cast(pa.int32()).cast(kind) if name == "day" else values.cast(kind)
        pq.write_table(pa.table({"x": column}), tmp_path / f"{name}.parquet", sorting_columns=[pq.SortingColumn(0)])
        sf = SFrame.read_parquet(str(tmp_path / f"{name}.parquet"))
        assert foreign_manifest([tmp_path / f"{name}.parquet"]).segments[0].columns[0].ascending is None
        found += bool(sf.is_sorted("x"))
    assert found == len(KINDS)
