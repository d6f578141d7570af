"""Arrow arrays of every layout, nested in each other, sliced, and cut where offsets of 32 bits end, have the values that Arrow shows of them."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from sframe_spark import SArray
from sframe_spark.errors import TooLargeError
from sframe_spark.values.arrow_layouts import in_one_array, maps_of_dicts, parts_of, standard_parts, standard_type
from tests.examples import examples
from tests.interpreters import run_program
from tests.needs import needs
from tests.values.foreign_layouts import expected, foreign_arrays


@settings(max_examples=examples(300, every=4), deadline=None, suppress_health_check=list(HealthCheck))
@given(foreign_arrays(), st.sampled_from([None, 60, 25]))
def test_values_stay_what_they_are(values: pa.Array, max_bytes: int | None) -> None:
    try:
        parts = standard_parts(values, max_bytes)
    except TooLargeError:
        assert max_bytes is not None
        return
    for part in parts:
        part.validate(full=True)
        assert part.type == standard_type(values.type) and (max_bytes is None or _texts_of(part) <= max_bytes)
    assert repr([cell for part in parts for cell in part.to_pylist()]) == repr(expected(values))


def _texts_of(values: pa.Array) -> int:
    """Bytes of texts that are not in lists or structs."""
    if not (pa.types.is_string(values.type) or pa.types.is_binary(values.type)):
        return 0
    return sum(len(cell if isinstance(cell, bytes) else cell.encode()) for cell in values.to_pylist() if cell is not None)


def test_standard_arrays_are_not_copied_and_chunks_are_taken_one_by_one() -> None:
    chunks = pa.chunked_array([["a", None], [], ["b"]])
    assert [part.buffers()[2].address for part in standard_parts(chunks)] == [chunks.chunk(place).buffers()[2].address for place in (0, 2)]
    assert [len(part) for part in standard_parts(pa.chunked_array([], pa.string_view()))] == [0]
    # Together they have more entries than an index of 8 bits has numbers.
    coded = [pa.DictionaryArray.from_arrays(pa.array(range(100), pa.int8()), pa.array([f"{row} {chunk}" for row in range(100)])) for chunk in "ab"]
    found = [cell for part in standard_parts(pa.chunked_array(coded)) for cell in part.to_pylist()]
    assert found == [f"{row} {chunk}" for chunk in "ab" for row in range(100)]


def test_one_value_that_is_too_large_is_named() -> None:
    with pytest.raises(TooLargeError, match="row 1 alone has 12"):
        standard_parts(pa.array(["a", "b" * 12], pa.string_view()), max_bytes=10)


@pytest.mark.parametrize("kind", [pa.map_(pa.string(), pa.string()), pa.map_(pa.int64(), pa.float64())])
def test_maps_of_dicts(kind: pa.DataType) -> None:
    cells = [{"a": "x", "b": None}, None, {}] if kind.key_type == pa.string() else [{1: 0.5, 2: None}, None, {}]
    assert maps_of_dicts(cells, kind).to_pylist() == pa.array([None if cell is None else list(cell.items()) for cell in cells], kind).to_pylist()
    with pytest.raises(pa.ArrowInvalid):
        maps_of_dicts([{None: cells[0]["a" if "a" in cells[0] else 1]}], kind)
    assert in_one_array(parts_of(maps_of_dicts([], kind))).to_pylist() == []


def _with_hidden(data_type: pa.DataType, inside: pa.Array) -> pa.Array:
    """Three rows, of which the second is missing and has items, as SQL's ``nullif`` makes them."""
    offsets = pa.array([0, 2, 4, 5], pa.int32()).buffers()[1]
    return pa.Array.from_buffers(data_type, 3, [pa.py_buffer(bytes([0b101])), offsets], children=[inside])


def test_missing_lists_and_maps_have_no_items() -> None:
    kind = pa.map_(pa.string(), pa.int64())
    entries = pa.StructArray.from_arrays([pa.array(list("abcde")), pa.array(range(1, 6))], fields=[kind.key_field, kind.item_field])
    hidden = _with_hidden(kind, entries)
    assert standard_parts(hidden)[0].items.to_pylist() == [1, 2, 5]
    assert list(SArray(hidden).dict_trim_by_keys(["a", "c"])) == [{"b": 2}, None, {"e": 5}]
    assert list(SArray(hidden).dict_trim_by_values(2, 5)) == [{"b": 2}, None, {"e": 5}]
    lists = _with_hidden(pa.list_(pa.int64()), pa.array(range(1, 6))).slice(1)
    assert [part.values.to_pylist() for part in standard_parts(lists)] == [[5]] and list(SArray(lists)) == [None, [5]]


LISTS, TEXTS = pa.list_(pa.string()), pa.map_(pa.string(), pa.string())
# Types with lists inside, and a row of each without any of them.
WITHOUT_LISTS: dict[str, tuple[pa.DataType, object]] = {
    "lists in a map": (pa.map_(pa.string(), LISTS), []),
    "maps in a map": (pa.map_(pa.string(), TEXTS), []),
    "lists in lists": (pa.list_(LISTS), []),
    "maps in lists": (pa.list_(TEXTS), []),
    "lists in structs in lists": (pa.list_(pa.struct([("a", LISTS), ("b", pa.int64())])), []),
    "lists in lists in a struct": (pa.struct([("a", pa.list_(LISTS))]), {"a": []}),
}
# Reads what came from Java: empty arrays have no bytes at all. It would end the process that tests run in.
OF_JAVA = """
import sys
import pyarrow as pa
from sframe_spark import SArray, SFrame
from sframe_spark.compute.spark_columns import fit
from sframe_spark.values.arrow_layouts import batch_with_offsets
from tests.values.test_layouts import WITHOUT_LISTS, as_java_sends
kind, row = WITHOUT_LISTS[sys.argv[1]]
for rows in ([row, None], [None], [row], [None, row, None]):
    values = as_java_sends(pa.array(rows, kind))
    assert values.slice(1).to_pylist() == pa.array(rows, kind).slice(1).to_pylist()
    for part in (values, values.slice(1), values.slice(0, 1)):
        # What comes from Spark goes through these.
        for whole in (fit(part, kind), fit(pa.chunked_array([part, part]), kind), batch_with_offsets(pa.RecordBatch.from_arrays([part], ["x"]))):
            whole.validate(full=True)
            assert whole.nbytes >= 0 and len(whole) in (len(part), 2 * len(part))
        expected = repr(list(SArray(pa.array(part.to_pylist(), kind))))
        for made in (SArray(part), SFrame(pa.table({"x": part}))["x"], SFrame(pa.RecordBatch.from_arrays([part], ["x"]))["x"]):
            assert repr(list(made)) == expected, (rows, list(made))
            made.materialize()
            assert repr(list(made.append(made))) == repr(eval(expected) * 2)
print("all is well")
"""


def as_java_sends(values: pa.Array) -> pa.Array:
    """The same rows from a stream in which empty arrays of lists have no offsets, as Java writes them."""
    batch, sink = pa.RecordBatch.from_arrays([_without_bytes(values)], ["x"]), pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, batch.schema) as stream:
        stream.write_batch(batch)
    return pa.ipc.open_stream(sink.getvalue()).read_next_batch().column(0)


def _without_bytes(values: pa.Array) -> pa.Array:
    kind, rows = values.type, len(values)
    if not pa.types.is_nested(kind):
        return values if rows else pa.Array.from_buffers(kind, 0, [None, *[pa.py_buffer(b"")] * (len(values.buffers()) - 1)])
    if pa.types.is_struct(kind):
        return pa.Array.from_buffers(kind, rows, values.buffers()[:1], children=[_without_bytes(field) for field in values.flatten()])
    if pa.types.is_map(kind):
        entries = pa.struct([kind.key_field, kind.item_field])
        inside = pa.Array.from_buffers(entries, len(values.keys), [None], children=[_without_bytes(part) for part in (values.keys, values.items)])
    else:
        inside = _without_bytes(values.values)
    return pa.Array.from_buffers(kind, rows, values.buffers()[:2] if rows else [None, pa.py_buffer(b"")], children=[inside])


@pytest.mark.parametrize("name", WITHOUT_LISTS)
def test_empty_arrays_of_lists_from_java_have_no_offsets(name: str) -> None:
    """Spark 3.5 sends a partition so whose dicts are all missing: the size of such an array was read from where nothing is."""
    done = run_program(OF_JAVA, name, directory=Path(__file__).parents[2])
    assert done.stdout == "all is well\n", done.stderr[-2000:]


NARROW = needs("pyarrow>=19")


@pytest.mark.parametrize(("bits", "digits"), [pytest.param(32, 5, marks=NARROW), pytest.param(64, 18, marks=NARROW), (128, 18), (256, 18)])
def test_whole_decimals_of_any_width(bits: int, digits: int) -> None:
    kind = getattr(pa, f"decimal{bits}")(digits, 0)
    assert list(SArray(pa.array([Decimal(-10), None, Decimal(99_999)], kind))) == [-10, None, 99_999]


@pytest.mark.parametrize("encoded", ["plain", "dictionary", "run ends"])
def test_offsets_in_any_layout(encoded: str) -> None:
    """Arrow's canonical extension allows encoded offsets, and whoever writes them may leave out the moment of a missing value."""
    plain = pa.array([60, -30, 0], pa.int16())
    run_ends = pa.RunEndEncodedArray.from_arrays(pa.array([1, 2, 3], pa.int32()), plain)
    offsets = {"plain": plain, "dictionary": plain.dictionary_encode(), "run ends": run_ends}[encoded]
    moments = pa.array([0, 1_000_000, None], pa.timestamp("us", "UTC"))
    kind = [pa.field("timestamp", moments.type, nullable=False), pa.field("offset_minutes", offsets.type, nullable=False)]
    found = list(SArray(pa.StructArray.from_arrays([moments, offsets], fields=kind)))
    assert [None if moment is None else moment.isoformat() for moment in found] == ["1970-01-01T01:00:00+01:00", "1969-12-31T23:30:01-00:30", None]


@pytest.mark.parametrize("kind", [pa.time64("ns"), pa.duration("ns")])
def test_nanoseconds_of_times_and_durations_in_structs(kind: pa.DataType) -> None:
    times = pa.array([1, None], kind)
    assert list(SArray(times)) == [1e-9, None]
    assert list(SArray(pa.StructArray.from_arrays([times], ["t"]))) == [{"t": 1e-9}, {"t": None}]
    assert list(SArray(pa.StructArray.from_arrays([times, pa.array(["a", "b"])], ["t", "x"]))) == [{"t": 1e-9, "x": "a"}, {"t": None, "x": "b"}]
