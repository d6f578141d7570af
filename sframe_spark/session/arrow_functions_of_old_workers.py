"""Hands Arrow arrays to functions in Python workers of Spark 3.5 and 4.0, which know pandas UDFs only.

Pandas would make floats of ints with missing values, and would not tell NaN from missing. So a worker that unpickles one of our functions replaces
how rows are read and written, for this task alone. The function is declared as a pandas UDF over iterators: Spark evaluates each of these in a
query of its own steps, so no function of the user ever shares a task's rows with it.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from typing import Any

import pyarrow as pa

from sframe_spark.errors import PlanInvariantError
from sframe_spark.session.worker_sockets import acknowledge_at_once

# The function of Spark's worker that reads the functions of a task, and its variable that reads and writes rows.
READING_FUNCTIONS, SERIALIZER = "read_udfs", "ser"


class HeldArray:
    """An Arrow array in the place of a pandas Series.

    It has no length: Spark's worker compares how many rows a function was given and returned, and both are none. The rows are compared by
    :class:`ArrowBatches`.
    """

    def __init__(self, array: pa.Array) -> None:
        self.array = array

    def __len__(self) -> int:
        return 0


class ArrowBatches:
    """A function over Arrow arrays as one over an iterator of batches, as Spark's worker calls it.

    Parameters
    ----------
    function
        The function.
    is_struct
        Whether it returns structs, in whose place a worker expects a pandas DataFrame, and otherwise a Series.
    """

    def __init__(self, function: Callable[..., pa.Array], is_struct: bool) -> None:
        self.function = function
        self.is_struct = is_struct
        self._result: pa.Array | None = None

    def __call__(self, batches: Iterator[Any]) -> Iterator[Any]:
        """Call the function with each batch, and yield an empty value of pandas for each; ``write`` writes the results."""
        import pandas as pd

        placeholder = pd.DataFrame() if self.is_struct else pd.Series(dtype=object)
        for batch in batches:
            arrays = [held.array for held in (batch if isinstance(batch, tuple) else (batch,))]
            result = self.function(*arrays)
            if len(result) != len(arrays[0]):
                raise PlanInvariantError(f"a function over arrays returned {len(result)} values for {len(arrays[0])} rows")
            self._result = result
            yield placeholder

    def __reduce__(self) -> tuple[Any, ...]:
        return arrived_in_old_worker, (self.function, self.is_struct)

    def attach(self, serializer: Any) -> None:
        """Read and write the rows of the task of a serializer as Arrow arrays."""
        from pyspark.sql.pandas.serializers import ArrowStreamSerializer

        def read(stream: Any) -> Iterator[list[HeldArray]]:
            for batch in ArrowStreamSerializer.load_stream(serializer, stream):
                yield [HeldArray(column) for column in batch.columns]

        def write(results: Iterator[Any], stream: Any) -> None:
            ArrowStreamSerializer.dump_stream(serializer, self._announced(results, stream), stream)

        serializer.load_stream, serializer.dump_stream = read, write

    def _announced(self, results: Iterator[Any], stream: Any) -> Iterator[pa.RecordBatch]:
        """Yield the results as batches, the first one after telling Spark that Arrow follows and not an error."""
        from pyspark.serializers import SpecialLengths, write_int

        is_announced = False
        for _, arrow_type in results:
            result = self._result
            assert result is not None
            fitted = result if result.type.equals(arrow_type) else result.cast(arrow_type)
            if not is_announced:
                write_int(SpecialLengths.START_ARROW_STREAM, stream)
                is_announced = True
            yield pa.RecordBatch.from_arrays([fitted], ["_0"])


def arrived_in_old_worker(function: Callable[..., pa.Array], is_struct: bool) -> ArrowBatches:
    """Return the function over batches, attached to the task that this worker is starting; called to unpickle an :class:`ArrowBatches`."""
    acknowledge_at_once()
    batches, serializer = ArrowBatches(function, is_struct), serializer_of_task()
    if serializer is not None:
        batches.attach(serializer)
    return batches


def serializer_of_task() -> Any:
    """Return what reads and writes the rows of the task that this worker is starting; None in a process that is not a worker of Spark."""
    frame = sys._getframe(1)
    while frame is not None and frame.f_code.co_name != READING_FUNCTIONS:
        frame = frame.f_back  # type: ignore[assignment]
    return None if frame is None else frame.f_locals.get(SERIALIZER)
