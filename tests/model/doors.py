"""Every door through which users read a frame or a column, each held against the model's rows."""

from __future__ import annotations

import array
import io
import itertools
import math
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas

from sframe_spark import SArray, SFrame, load_sframe
from tests.model.columns import Column
from tests.model.frames import Frame
from tests.model.values import CLASSES, is_nan, same

PLAIN = ("int", "float", "str")
MAX_DISPLAYED_ROWS, MAX_DISPLAYED_VALUES = 10, 100
# Sums of these are the same in any order, and so is their text.
EXACT = 1 << 20


class Mismatch(AssertionError):
    """A door shows something else than the model."""


def expect(found: Any, wanted: Any, what: str = "") -> None:
    if not same(found, wanted):
        raise Mismatch(f"{what or 'found'}: {found!r:.600}\nwanted: {wanted!r:.600}")


def is_exact(values: list[Any]) -> bool:
    """True where every float has the same text however it was added up."""
    return all(not isinstance(value, float) or not math.isfinite(value) or (value * EXACT).is_integer() for value in values)


def fresh_column(column: Column) -> SArray:
    return SArray(column.values, CLASSES[column.kind])


def fresh_frame(frame: Frame) -> SFrame:
    """The model's rows in a frame that has no history."""
    found = SFrame()
    for name, column in frame.columns.items():
        found[name] = fresh_column(column)
    return found


# Doors of frames and columns alike: they get the handle, the model, and two numbers to choose rows by.


def listed(handle: Any, model: Any, first: int, second: int) -> None:
    expect(list(handle), list(model))


def half_listed(handle: Any, model: Any, first: int, second: int) -> None:
    expect(list(itertools.islice(handle, first % 9)), list(itertools.islice(model, first % 9)))


def listed_twice_at_once(handle: Any, model: Any, first: int, second: int) -> None:
    ahead, behind = iter(handle), iter(handle)
    taken = list(itertools.islice(ahead, first % 5))
    expect(list(behind), list(model), "the iterator behind")
    expect(taken + list(ahead), list(model), "the iterator ahead")


def counted(handle: Any, model: Any, first: int, second: int) -> None:
    expect(len(handle), len(model))
    expect(handle.shape[0], len(model))


def one_row(handle: Any, model: Any, first: int, second: int) -> None:
    if not len(model):
        return
    row = first % len(model)
    expect(handle[row], model[row])
    expect(handle[row - len(model)], model[row])


def sliced(handle: Any, model: Any, first: int, second: int) -> None:
    for part in (
        slice(first % 7, second % 11),
        slice(-(first % 5) - 1, None),
        slice(None, -(second % 4) - 1),
        slice(first % 3, None, second % 3 + 1),
    ):
        expect(list(handle[part]), list(model)[part], f"{part}")


def first_rows(handle: Any, model: Any, first: int, second: int) -> None:
    expect(list(handle.head(first % 13)), list(model)[: first % 13])


def last_rows(handle: Any, model: Any, first: int, second: int) -> None:
    count = first % 13
    expect(list(handle.tail(count)), list(model)[max(0, len(model) - count) :])


def materialized(handle: Any, model: Any, first: int, second: int) -> None:
    handle.materialize()
    expect(handle.is_materialized(), True)
    expect(list(handle), list(model))


def explained(handle: Any, model: Any, first: int, second: int) -> None:
    for found in (handle.explain(), handle.explain(trace=True), handle.explain(why=True)):
        expect(bool(found), True)


def explained_alone(handle: Any, model: Any, first: int, second: int) -> None:
    before = handle.is_materialized(), handle.__has_size__()
    explained(handle, model, first, second)
    expect((handle.is_materialized(), handle.__has_size__()), before, "computed by explain")


def without_count(text: str) -> str:
    """A text of a frame up to its number of rows, which may not be known yet, or which another thread may come to know meanwhile."""
    return text.rpartition("[")[0]


def appended(handle: Any, model: Any, first: int, second: int) -> None:
    expect(list(handle.append(handle)), list(model) * 2)


def saved(handle: Any, model: Any, first: int, second: int) -> None:
    with tempfile.TemporaryDirectory() as directory:
        path = str(Path(directory) / "saved")
        handle.save(path)
        found = load_sframe(path) if isinstance(handle, SFrame) else SArray(path)
        expect(list(found), list(model))


ANY_DOORS = (
    listed, half_listed, listed_twice_at_once, counted, one_row, sliced, first_rows, last_rows, materialized, explained, appended, saved,
)  # fmt: skip


# Doors of columns.


def column_text(handle: SArray, model: Column, first: int, second: int) -> None:
    if not is_exact(model.values):
        return
    counts = [str(len(model)), *([] if handle.__has_size__() else ["?"])]
    shown = str(model.values) if len(model) <= MAX_DISPLAYED_VALUES else str(model.values[:MAX_DISPLAYED_VALUES])[:-1] + ", ... ]"
    expect(str(handle), shown)
    found = repr(handle)
    if found not in [f"dtype: {CLASSES[model.kind].__name__}\nRows: {count}\n{shown}" for count in counts]:
        raise Mismatch(found)


def reduced(handle: SArray, model: Column, first: int, second: int) -> None:
    present = [value for value in model.values if value is not None]
    expect(handle.countna(), len(model) - len(present))
    if model.kind != "datetime":
        expect(handle.nnz(), sum(map(bool, present)))
        expect(handle.any(), any(present))
    if model.kind == "int":
        expect(handle.sum(), sum(present))
        expect(handle.mean(), sum(present) / len(present) if present else None)
    if model.kind == "datetime" and len({value.utcoffset() for value in present}) > 1:
        return
    if model.kind in ("int", "float", "datetime") and not any(map(is_nan, present)) and 0.0 not in present:
        expect(handle.min(), min(present, default=None))
        expect(handle.max(), max(present, default=None))


def searched(handle: SArray, model: Column, first: int, second: int) -> None:
    wanted = model.values[first % len(model)] if len(model) else 7
    if model.kind in ("int", "str"):
        expect(wanted in handle, wanted in model.values)
        expect(list(handle[handle == wanted]), [value for value in model.values if value == wanted])


def column_as_numpy(handle: SArray, model: Column, first: int, second: int) -> None:
    if model.kind in ("list", "array"):
        # Lists of one length are a table, others are refused.
        return
    found = handle.to_numpy()
    expect(found.shape, (len(model),))
    if model.kind in ("int", "float") and len(model) and None not in model.values:
        expect(found.dtype.kind, model.kind[0])
    expect(found.tolist(), model.values)


def column_as_arrow(handle: SArray, model: Column, first: int, second: int) -> None:
    found = handle.to_arrow()
    expect([value is None for value in found.to_pylist()], [value is None for value in model.values])
    if model.kind in (*PLAIN, "array"):
        expect(found.to_pylist(), [list(value) if isinstance(value, array.array) else value for value in model.values])


# Other threads may compute meanwhile what these are not to compute.
ALONE = (explained_alone,)

COLUMN_DOORS = (*ANY_DOORS, *ALONE, column_text, reduced, searched, column_as_numpy, column_as_arrow)


# Doors of frames.


def of_columns(handle: SFrame, model: Frame, first: int, second: int) -> None:
    expect(handle.column_names(), model.names)
    expect([cls.__name__ for cls in handle.column_types()], [CLASSES[kind].__name__ for kind in model.kinds])
    for name in model.names:
        expect(list(handle[name]), model.columns[name].values, name)


def frame_text(handle: SFrame, model: Frame, first: int, second: int) -> None:
    if not is_exact([value for row in model.rows[:MAX_DISPLAYED_ROWS] for value in row]):
        return
    known, fresh = handle.__has_size__(), fresh_frame(model)
    for look in (str, lambda frame: frame._repr_html_()):
        texts = [look(frame) for frame in (handle, fresh)]
        expect(*(texts if known else map(without_count, texts)))
    if known:
        expect(repr(handle), repr(fresh))


def printed(handle: SFrame, model: Frame, first: int, second: int) -> None:
    if not is_exact([value for row in model.rows for value in row]):
        return
    outputs = io.StringIO(), io.StringIO()
    for frame, output in zip((handle, fresh_frame(model)), outputs, strict=True):
        frame.print_rows(first % 5 + 1, output_file=output)
    expect(outputs[0].getvalue(), outputs[1].getvalue())


def frame_as_pandas(handle: SFrame, model: Frame, first: int, second: int) -> None:
    found = handle.to_pandas()
    expect(list(found.columns), model.names)
    for name, column in model.columns.items():
        expect(in_pandas(found[name], column), column.values, name)


def in_pandas(series: Any, column: Column) -> list[Any]:
    """The values of a column of pandas as Python's own: missing numbers are NaN there, and integers beside them floats."""
    values = series.tolist()
    expect(len(values), len(column))
    if column.kind == "datetime":
        return [None if pandas.isna(value) else value.to_pydatetime() if isinstance(value, pandas.Timestamp) else value for value in values]
    if column.kind in ("int", "float"):
        kind = int if column.kind == "int" else float
        return [
            None if wanted is None and (value is None or is_nan(value)) else kind(value) for value, wanted in zip(values, column.values, strict=True)
        ]
    return list(values)


def frame_as_numpy(handle: SFrame, model: Frame, first: int, second: int) -> None:
    found = handle.to_numpy()
    if not model.names:
        return
    expect(found.shape, (len(model), len(model.names)))
    wanted = model.rows
    if found.dtype == object or not wanted:
        expect([tuple(row) for row in found.tolist()], wanted)
    else:
        # All cells are of one type: that of numbers, or text.
        cell = np.array(wanted).dtype.type
        expect([[cell(value).item() for value in row] for row in wanted], found.tolist())


def plain_part(model: Frame) -> dict[str, list[Any]]:
    return {name: column.values for name, column in model.columns.items() if column.kind in PLAIN}


def frame_as_arrow(handle: SFrame, model: Frame, first: int, second: int) -> None:
    found = handle.to_arrow()
    expect((found.num_rows, found.column_names), (len(model), model.names))
    for name, values in plain_part(model).items():
        expect(found[name].to_pylist(), values, name)


def in_batches(handle: SFrame, model: Frame, first: int, second: int) -> None:
    batches: list[Any] = []
    handle.materialize(on_batch=batches.append)
    if model.names:
        expect(sum(batch.num_rows for batch in batches), len(model))
        for name, values in plain_part(model).items():
            expect([value for batch in batches for value in batch[name].to_pylist()], values, name)


def as_csv(handle: SFrame, model: Frame, first: int, second: int) -> None:
    names = [name for name, column in model.columns.items() if column.kind in (*PLAIN, "datetime") and name.isprintable()]
    if not names:
        return
    part = handle[names]
    with tempfile.TemporaryDirectory() as directory:
        path = str(Path(directory) / "rows.csv")
        part.export_csv(path, na_rep="NA")
        found = SFrame.read_csv(path, column_type_hints={name: CLASSES[model.columns[name].kind] for name in names}, verbose=False)
        expect(found.column_names(), names)
        expect(list(found), model[names].dicts())


def in_spark(handle: SFrame, model: Frame, first: int, second: int) -> None:
    names = list(plain_part(model))
    rows = [tuple(row) for row in handle[names].to_spark().collect()] if names else []
    expect(rows, model[names].rows)


FRAME_DOORS = (
    *ANY_DOORS, *ALONE, of_columns, frame_text, printed, frame_as_pandas, frame_as_numpy, frame_as_arrow, in_batches, as_csv,
)  # fmt: skip
SPARK_DOORS = (in_spark,)
DOORS: dict[str, Callable[[Any, Any, int, int], None]] = {door.__name__: door for door in {*COLUMN_DOORS, *FRAME_DOORS, *SPARK_DOORS}}


def doors_of(model: Any, alone: bool = True) -> list[str]:
    """Names of the doors of a frame or column; not ``alone``: those through which several threads may look at once."""
    doors = FRAME_DOORS if isinstance(model, Frame) else COLUMN_DOORS
    return [door.__name__ for door in doors if alone or door not in ALONE]
