"""Works as bytes: each with what it alone needs, so that a task is sent that of its own; what several share is pickled once."""

from __future__ import annotations

import io
import pickle
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, ClassVar

import attrs

from sframe_spark.errors import ExecutionError, SFrameError


class SharedValue:
    """Base of values that several works hold: they are sent once with all of them."""

    travels_once: ClassVar[bool] = True


@attrs.frozen(eq=False)
class TaskPayload:
    """A work without what it shares with others.

    Parameters
    ----------
    content
        The work, pickled, with numbers in place of shared values.
    """

    content: bytes

    def unpack(self, shared: Sequence[Any]) -> Callable[[], Any]:
        """The work, over the values that are shared."""
        work: Callable[[], Any] = TaskUnpickler(self.content, shared).load()
        return work


class TaskUnpickler(pickle.Unpickler):
    """Reads a work that this program's driver has pickled."""

    def __init__(self, content: bytes, shared: Sequence[Any]) -> None:
        super().__init__(io.BytesIO(content))
        self.shared = shared

    def persistent_load(self, number: Any) -> Any:
        """What stands for a number."""
        return self.shared[number]


def pack_tasks(works: Sequence[Callable[[], Any]]) -> tuple[list[TaskPayload], list[Any]]:
    """Works as parcels, and what they share.

    Raises
    ------
    pickle.PicklingError
        If one cannot be pickled.

    Examples
    --------
    >>> from functools import partial
    >>> parcels, shared = pack_tasks([partial(divmod, number, 3) for number in (7, 8)])
    >>> [parcel.unpack(shared)() for parcel in parcels], shared
    ([(2, 1), (2, 2)], [])
    """
    shared: list[Any] = []
    numbers: dict[int, int] = {}

    def number_of(value: Any) -> int | None:
        if not getattr(type(value), "travels_once", False):
            return None
        if id(value) not in numbers:
            numbers[id(value)] = len(shared)
            shared.append(value)
        return numbers[id(value)]

    return [TaskPayload(_pickle(work, number_of)) for work in works], shared


@contextmanager
def translated_pickling_errors(description: str) -> Iterator[None]:
    """Tell what those who work are sent and cannot be pickled.

    Raises
    ------
    ExecutionError
        If something cannot be.
    """
    try:
        yield
    except pickle.PicklingError as error:
        # Of a user's function it is told already whose it is.
        if isinstance(error, SFrameError):
            raise
        raise ExecutionError(
            f"{description}: what its tasks are sent cannot be pickled ({error}): states and parameters of operators must be"
        ) from error


def pickle_by_value(value: Any) -> bytes:
    """A value as bytes, functions by value where others could not import them.

    Raises
    ------
    pickle.PicklingError
        If it cannot be pickled.
    """
    return _pickle(value, lambda _: None)


def _pickle(work: Any, number_of: Callable[[Any], int | None]) -> bytes:
    # By value where workers cannot import: Spark's own pickler of functions.
    from pyspark import cloudpickle

    class TaskPickler(cloudpickle.Pickler):
        def persistent_id(self, value: Any) -> int | None:
            return number_of(value)

        def reducer_override(self, value: Any) -> Any:
            # By Python's own pickler, which asks nothing about each value within.
            if getattr(type(value), "travels_as_one", False):
                return pickle.loads, (pickle.dumps(value, pickle.HIGHEST_PROTOCOL),)
            return super().reducer_override(value)

    buffer = io.BytesIO()
    try:
        TaskPickler(buffer).dump(work)
    except pickle.PicklingError:
        raise
    except Exception as error:
        raise pickle.PicklingError(f"{type(error).__name__}: {error}") from error
    return buffer.getvalue()
