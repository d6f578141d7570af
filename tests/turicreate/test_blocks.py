"""Blocks, byte by byte: those that the specification works through, values of all types that were written for the test, and wrong ones."""

from __future__ import annotations

import array
import datetime
import random
import struct
from typing import Any

import numpy as np
import pytest

from sframe_spark.errors import BrokenPayload
from sframe_spark.turicreate.archive import decoded
from sframe_spark.turicreate.block import COLUMN_TYPES, EXTENDED, MIXED, TYPED, Block, BlockForm
from sframe_spark.turicreate.string_and_object_decoding import DICTIONARY, IMAGE, INTEGER, LIST, MISSING, REAL, TENSOR, TEXT, TIMESTAMP, VECTOR
from sframe_spark.types import ENCODED_DICT, ENCODED_LIST, FLOAT, INT, STR, ColumnType
from sframe_spark.values.arrow_to_python import decode
from sframe_spark.values.plain_values import agree
from tests.examples import examples
from tests.random_tables import content, made_block, run_bytes, tagged

UTC = datetime.UTC


def block_of(payload: str | bytes, rows: int, kind: int | ColumnType, flags: int = TYPED) -> Block:
    data = bytes.fromhex(payload.replace("·", "")) if isinstance(payload, str) else payload
    return Block(data, len(data), rows, flags, BlockForm(COLUMN_TYPES[kind] if isinstance(kind, int) else kind, decoded))


def values(block: Block, first: int = 0, last: int | None = None) -> list[Any]:
    return decode(block.values(first, block.rows if last is None else last), block.form.column_type)


def words(*numbers: int) -> bytes:
    return struct.pack(f"<{len(numbers)}Q", *numbers)


FIVE_HOURS = datetime.timezone(datetime.timedelta(hours=5, minutes=30))
WORKED: list[tuple[str | bytes, int, int, list[Any]]] = [
    ("01 02 01 04 02 61 02 62 04 00 40", TEXT, TYPED, ["a", "b", "a"]),
    ("02 00 04 00 00 00 00 00 00 00 04 0a 80", INTEGER, TYPED, [5, 6, None]),
    ("01 00 · 00 0e", INTEGER, TYPED, [7, 7, 7]),
    ("01 00 · 0c 14 · 00 31 f0", INTEGER, TYPED, [10, 11, 13, 10, 25]),
    ("01 00 · 04 a1 0f · 50", INTEGER, TYPED, [1000, 1001, 1000, 1001, 1000]),
    ("01 00 · 09 c8 · 99", INTEGER, TYPED, [100, 101, 103, 104, 106]),
    ("01 00 · 0e a1 0f · 10 54", INTEGER, TYPED, [1000, 999, 1001, 998]),
    ("01 00 · 16 00 · 01 00 5a 02", INTEGER, TYPED, [0, -1, 300]),
    ("01 01 · 01 · 05 02 c0", REAL, TYPED | EXTENDED, [1.0, 2.0, 3.0]),
    ("01 01 · 00 · 1c 7f 00 00 00 00 00 00 c0 7f · 00 00 00 00 00 00 20 00 · 00 00 00 00 00 00 00 00", REAL, TYPED | EXTENDED, [1.0, 0.5]),
    ("01 07", TEXT, TYPED, [None, None]),
    (b"\x01\x04" + words(3) + b"\x80" + words(1) + b"\x82" + words(2) + "é".encode() + b"\x87", LIST, TYPED, [[1, "é", None]]),
    (b"\x01\x05" + words(1) + b"\x82" + words(1) + b"k\x81" + struct.pack("<d", 2.5), DICTIONARY, TYPED, [{"k": 2.5}]),
    ("01 06 · 68 67 bb 38 00 00 00 2f 05 00 00 00 · 00 00 00 00 00 00 00 59 00 00 00 00", TIMESTAMP, TYPED,
     [datetime.datetime(2000, 2, 29, 12, 0, 0, 5, FIVE_HOURS), datetime.datetime(1970, 1, 1)]),
    ("01 03 00 · 04 02 40 · 01 · 05 02 c0", VECTOR, TYPED | EXTENDED, [array.array("d", [1, 2]), array.array("d", [3])]),
    ("01 09 00 · 00 04 · 00 0c · 04 04 80 · 08 02 20 · 01 05 00 f8", TENSOR, TYPED | EXTENDED,
     [np.arange(6.0).reshape(2, 3)]),
]  # fmt: skip


@pytest.mark.parametrize(("payload", "kind", "flags", "expected"), WORKED)
def test_worked_bytes(payload: str | bytes, kind: int, flags: int, expected: list[Any]) -> None:
    block = block_of(payload, len(expected), kind, flags)
    assert agree(values(block), expected)
    assert agree([values(block, row, row + 1)[0] for row in range(len(expected))], expected)


def random_value(choose: random.Random, kind: int, depth: int = 2) -> Any:
    if kind == INTEGER:
        return choose.choice((0, -1, choose.randrange(-(2**63), 2**63), choose.randrange(100)))
    if kind == REAL:
        return choose.choice((0.0, -0.0, 1.5, float("inf"), 1e300, choose.random(), 5e-324, -(2.0**62)))
    if kind == TEXT:
        return choose.choice(("", "\0", "é", "日本😀", "a" * choose.randrange(300), str(choose.randrange(10))))
    if kind == VECTOR:
        return array.array("d", [choose.choice((0.0, -0.0, 1.0, 0.1, 1e300)) for _ in range(choose.choice((0, 1, 2, 200)))])
    if kind == TIMESTAMP:
        zone = choose.choice((None, UTC, datetime.timezone(datetime.timedelta(minutes=15 * choose.randrange(-48, 49)))))
        return datetime.datetime(1971, 1, 1, tzinfo=zone) + datetime.timedelta(microseconds=choose.randrange(-(10**15), 10**15))
    inner = [
        choose.choice((MISSING, INTEGER, REAL, TEXT, VECTOR, TIMESTAMP, LIST, DICTIONARY)[: 8 if depth else 6]) for _ in range(choose.randrange(5))
    ]
    items = [None if of == MISSING else random_value(choose, of, depth - 1) for of in inner]
    if kind == LIST:
        return items
    return dict(zip(choose.sample(("a", "b", 1, 2.5, None, ("x", 1), "é"), len(items)), items, strict=True))


@pytest.mark.sampled(4)
@pytest.mark.parametrize("kind", [INTEGER, REAL, TEXT, VECTOR, LIST, DICTIONARY, TIMESTAMP])
@pytest.mark.parametrize("seed", range(examples(4, every=1)))
def test_what_was_written_is_read(kind: int, seed: int) -> None:
    choose = random.Random(seed)
    for count in (1, 2, 63, 64, 65, 300):
        share = choose.choice((0.0, 0.5, 0.99, 1.0))
        given = [None if choose.random() < share else random_value(choose, kind) for _ in range(count)]
        made = made_block(kind, given)
        block = block_of(made.payload, count, kind, made.flags)
        assert repr(values(block)) == repr(given)
        for _ in range(4):
            first, last = sorted((choose.randrange(count + 1), choose.randrange(count + 1)))
            assert repr(values(block, first, last)) == repr(given[first:last])


def test_a_block_of_several_types_is_widened_or_refused() -> None:
    def mixed(*given: Any) -> bytes:
        return b"\x03" + words(len(given)) + b"".join(map(tagged, given))

    assert values(block_of(mixed(1, None, 2.5), 3, FLOAT, TYPED | MIXED)) == [1.0, None, 2.5]
    assert values(block_of(mixed([1], array.array("d", [2.5])), 2, ENCODED_LIST, TYPED | MIXED)) == [[1], [2.5]]
    assert values(block_of(mixed("a", "b"), 2, STR, TYPED | MIXED)) == ["a", "b"]
    with pytest.raises(BrokenPayload, match="a value of type float, and its column is of type int"):
        block_of(mixed(1, 2.5), 2, INT, TYPED | MIXED)
    with pytest.raises(BrokenPayload, match="type str, and its column is of type dict"):
        block_of(mixed("a"), 1, ENCODED_DICT, TYPED | MIXED)
    with pytest.raises(BrokenPayload, match="2 values, and its record says 3"):
        block_of(mixed(1, 2), 3, INT, TYPED | MIXED)


def test_blocks_of_another_type_than_their_column_are_widened_or_refused() -> None:
    ints, vectors, lists = made_block(INTEGER, [1, None, -3]), made_block(VECTOR, [array.array("d", [1.5]), None]), made_block(LIST, [["a"]])
    assert values(block_of(ints.payload, 3, FLOAT)) == [1.0, None, -3.0]
    assert values(block_of(vectors.payload, 2, ENCODED_LIST, vectors.flags)) == [[1.5], None]
    for made, column_type in ((ints, STR), (vectors, FLOAT), (lists, COLUMN_TYPES[VECTOR]), (made_block(REAL, [1.5]), INT)):
        with pytest.raises(BrokenPayload, match="and its column is of type"):
            block_of(made.payload, made.rows, column_type, made.flags)


WRONG: list[tuple[str | bytes, int, int, int, str]] = [
    ("", INTEGER, 3, TYPED, "how many types a block has would take 1 bytes"),
    ("00", INTEGER, 3, TYPED, "says that its values have 0 types"),
    ("03 00 00 0e", INTEGER, 3, TYPED, "says that its values have 3 types"),
    ("01", INTEGER, 3, TYPED, "the type of a block"),
    ("01 0a 00 0e", INTEGER, 3, TYPED, "unknown type 10"),
    ("01 00 00 0e 00", INTEGER, 3, TYPED, "1 bytes are left over"),
    ("01 07 00", INTEGER, 3, TYPED, "1 bytes are left over"),
    ("02 00 08 00 00 00 00 00 00 00 00 0e", INTEGER, 3, TYPED, "missing behind the last one"),
    ("02 00 07 00 00 00", INTEGER, 3, TYPED, "the missing ones of 3 rows"),
    ("01 01 02 00 0e", REAL, 3, TYPED | EXTENDED, "unknown way 2"),
    ("01 02 02 00 0e", TEXT, 3, TYPED, "unknown way 2"),
    ("01 02 00 00 14 61", TEXT, 3, TYPED, "something is 10 long, more than the block can hold"),
    ("01 02 00 00 02 61 62", TEXT, 3, TYPED, "texts would take 3 bytes, and 2 are left"),
    (b"\x01\x02\x00\x1c\x7f" + b"\xff" * 8 + bytes(24), TEXT, 3, TYPED, "long, more than the block can hold"),
    ("01 02 01 7f ff ff ff ff ff ff ff 7f", TEXT, 3, TYPED, "a dictionary of 9223372036854775807 texts"),
    ("01 02 01 02 20 61", TEXT, 3, TYPED, "a text would take 16 bytes, and 1 are left"),
    (b"\x01\x03\x00\x00\x7f" + b"\xff" * 8, VECTOR, 3, TYPED | EXTENDED, "long, more than the block can hold"),
    (b"\x01\x04" + words(1 << 60), LIST, 1, TYPED, "a list of 1152921504606846976 items"),
    (b"\x01\x04" + words(1) + b"\x8a", LIST, 1, TYPED, "unknown type 10"),
    (b"\x01\x04" + words(1) + b"\x82" + words((1 << 64) - 1), LIST, 1, TYPED, "a text would take 18446744073709551615 bytes"),
    (b"\x01\x05" + words(1) + tagged({}) + tagged(1), DICTIONARY, 1, TYPED, "a dict or an image as key"),
    (b"\x01\x04" + words(1) + b"\x83" + words(1 << 61), LIST, 1, TYPED, "a vector of 2305843009213693952 items"),
    (b"\x01\x04" + words(1) + b"\x84" + (words(1) + b"\x84") * 200 + words(0), LIST, 1, TYPED, "more than 200 lists and dicts inside each other"),
    (b"\x01\x06" + bytes(7) + b"\x4a" + bytes(4), TIMESTAMP, 1, TYPED, "unknown zone or too many microseconds"),
    (b"\x01\x06" + bytes(7) + b"\x59" + struct.pack("<i", 1_000_000), TIMESTAMP, 1, TYPED, "unknown zone or too many microseconds"),
    (b"\x01\x06" + bytes(7) + b"\x59" + struct.pack("<i", -1), TIMESTAMP, 1, TYPED, "unknown zone or too many microseconds"),
    (b"\x01\x06" + bytes(7) + b"\x01" + bytes(4), TIMESTAMP, 1, TYPED, "unknown zone or too many microseconds"),
    (b"\x01\x04" + words(1) + b"\x86" + bytes(7) + b"\x4a" + bytes(4), LIST, 1, TYPED, "the unknown code 74"),
    (b"\x01\x08\x01" + words(1, 1, 1, 4, 1) + b"a", IMAGE, 1, TYPED, "unknown format 4"),
    (b"\x01\x08\x01" + words(1, 1, 1, 2, 1 << 40) + b"a", IMAGE, 1, TYPED, "an image would take 1099511627776 bytes"),
    (b"\x01\x08\x01" + words(1 << 63, 1, 1, 2, 1) + b"a", IMAGE, 1, TYPED, "larger than there are numbers for"),
    (b"\x01\x04" + words(1) + b"\x89\x00" + words(1, 2, 1, 1, 1) + bytes(8), LIST, 1, TYPED, "do not fit its shape"),
    (b"\x01\x04" + words(1) + b"\x89\x00" + words(1, 1, 2, 1, 1, 1) + bytes(8), LIST, 1, TYPED, "1 dimensions and 2 strides"),
    (b"\x01\x04" + words(1) + b"\x89\x00" + words(1, 2, 1, 1 << 61, 2) + bytes(16), LIST, 1, TYPED, "do not fit its strides"),
    (b"\x01\x04" + words(1) + b"\x89\x00" + words(2, 1 << 31, 0, 2, 1, 1, 0), LIST, 1, TYPED, "do not fit its shape"),
]  # fmt: skip


@pytest.mark.parametrize(("payload", "kind", "rows", "flags", "message"), WRONG)
def test_wrong_bytes_are_told(payload: str | bytes, kind: int, rows: int, flags: int, message: str) -> None:
    with pytest.raises(BrokenPayload, match=message):
        block_of(payload, rows, kind, flags).values(0, rows)


def test_arrays_of_numbers_that_do_not_fit_each_other_are_told() -> None:
    def tensors(shape: list[int], strides: list[int], count: int) -> bytes:
        runs = [run_bytes([len(shape)]), run_bytes([count]), run_bytes(shape), run_bytes(strides)]
        return b"\x01\x09\x00" + b"".join(runs) + b"\x01" + run_bytes(list(range(count)))

    made = [(([3, 2], [1, 3], 6), np.arange(6.0).reshape(2, 3).T), (([], [], 0), np.zeros(0)), (([2], [1], 2), np.arange(2.0))]
    for parts, wanted in made:
        assert agree(values(block_of(tensors(*parts), 1, TENSOR, TYPED | EXTENDED)), [wanted])
    wrong = [([3, 2], [1, 4], 6), ([3, 3], [1, 1], 6), ([2], [1 << 63], 2), ([33], [1], 34), ([1 << 32, 1 << 32], [0, 0], 1)]
    for shape, strides, count in [*wrong, ([], [], 1)]:
        with pytest.raises(BrokenPayload, match=r"do not fit|dimensions"):
            block_of(tensors(shape, strides, count), 1, TENSOR, TYPED | EXTENDED).values(0, 1)
    many = b"\x01\x09\x00" + run_bytes([1 << 40])
    with pytest.raises(BrokenPayload):
        block_of(many, 1, TENSOR, TYPED | EXTENDED)


def test_rows_before_a_value_that_no_column_holds_are_read() -> None:
    late = content(TIMESTAMP, datetime.datetime(2000, 1, 1)) + (2**50).to_bytes(7, "little") + b"\x59" + bytes(4)
    block = block_of(b"\x01\x06" + late, 2, TIMESTAMP)
    assert values(block, 0, 1) == [datetime.datetime(2000, 1, 1)]
    with pytest.raises(OverflowError):
        block.values(0, 2)
    assert block.first_refused(0, 2) == 1
    texts = made_block(LIST, [["a"], None, ["x"], ["b"]]).payload.replace(b"x", b"\xe9")
    lists = block_of(texts, 4, LIST)
    assert values(lists, 0, 2) == [["a"], None]
    with pytest.raises(UnicodeDecodeError):
        lists.values(1, 4)
    assert lists.first_refused(1, 4) == 2
    dictionary = block_of(b"\x01\x02\x01\x04\x02a\x02\xe9" + run_bytes([0, 0, 1, 0]), 4, TEXT)
    assert values(dictionary, 0, 2) == ["a", "a"]
    assert dictionary.first_refused(0, 4) == 2


@pytest.mark.parametrize(("payload", "kind", "rows"), [
    (b"\x01\x00" + b"\x00\x02" * (1 << 17), INTEGER, 1 << 24),
    (b"\x01\x07", TEXT, 1 << 24),
    (b"\x01\x02\x01\x02" + b"\x7f" + words(1 << 20) + bytes(1 << 20) + b"\x00\x00" * (1 << 11), TEXT, 1 << 18),
])  # fmt: skip
def test_few_rows_of_a_block_of_very_many_take_little(payload: bytes, kind: int, rows: int) -> None:
    block = block_of(payload, rows, kind)
    assert block.values(rows - 2, rows).nbytes < 4 << 20
    assert block.bytes_between(0, rows) >= block.values(0, 100).nbytes / 2 - 100
