"""Pickling of tasks: each task has its own payload, and values that several tasks share are pickled once."""

from __future__ import annotations

import io
import pickle
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, ClassVar

import attrs

from sframe_spark.errors import ExecutionError, SFrameError
from sframe_spark.optional_libraries import import_cloudpickle
from sframe_spark.storage.filesystem.files_kept_by_spark import KEPT_FILES, is_kept_by_spark
from sframe_spark.storage.filesystem.path_joining_and_escaping import join
from sframe_spark.storage.manifest.manifest import Manifest


class SharedValue:
    """Base class of values that several tasks refer to: they are pickled once, apart from the payloads."""

    travels_once: ClassVar[bool] = True


@attrs.frozen
class KeptLocations:
    """What a task names of the files that Spark keeps.

    Parameters
    ----------
    read
        The URIs of files that it reads, as manifests in it or in shared values name them.
    written
        The URIs of directories for new files.
    """

    read: frozenset[str] = frozenset()
    written: frozenset[str] = frozenset()


NOTHING_KEPT = KeptLocations()


@attrs.frozen(eq=False)
class TaskPayload:
    """A pickled task without the values that it shares with other tasks.

    Parameters
    ----------
    content
        The pickled task, with indices in place of shared values.
    kept
        What the task names of the files that Spark keeps.
    """

    content: bytes
    kept: KeptLocations = attrs.field(factory=lambda: NOTHING_KEPT)

    def unpack(self, shared: Sequence[Any]) -> Callable[..., Any]:
        """Return the task, given the shared values."""
        work: Callable[..., Any] = TaskUnpickler(self.content, shared).load()
        return work


class TaskUnpickler(pickle.Unpickler):
    """Unpickler of tasks that the driver has pickled."""

    def __init__(self, content: bytes, shared: Sequence[Any]) -> None:
        super().__init__(io.BytesIO(content))
        self.shared = shared

    def persistent_load(self, number: Any) -> Any:
        """Return the shared value at an index."""
        return self.shared[number]


def pack_tasks(callables: Sequence[Callable[..., Any]]) -> tuple[list[TaskPayload], list[Any]]:
    """Return the payloads of tasks, and the values that they share.

    Raises
    ------
    pickle.PicklingError
        If a task cannot be pickled.

    Examples
    --------
    >>> from functools import partial
    >>> payloads, shared = pack_tasks([partial(divmod, number, 3) for number in (7, 8)])
    >>> [payload.unpack(shared)() for payload in payloads], shared
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

    packed = [_pickle(work, number_of) for work in callables]
    # Shared values are pickled for that alone, so only if Spark keeps anything.
    of_all = NOTHING_KEPT if KEPT_FILES.keeper is None else _pickle(shared, lambda _: None)[1]
    return [TaskPayload(content, attrs.evolve(kept, read=kept.read | of_all.read)) for content, kept in packed], shared


@contextmanager
def translated_pickling_errors(description: str) -> Iterator[None]:
    """Raise pickling errors of the block as execution errors that say what was being done.

    Raises
    ------
    ExecutionError
        If something cannot be pickled.
    """
    try:
        yield
    except pickle.PicklingError as error:
        # The error of a user's function names the function already.
        if isinstance(error, SFrameError):
            raise
        raise ExecutionError(
            f"{description}: the input of its tasks cannot be pickled ({error}): states and parameters of operators must be picklable"
        ) from error


def pickle_by_value(value: Any) -> bytes:
    """Return a pickled value. Functions that workers could not import are pickled by value.

    Raises
    ------
    pickle.PicklingError
        If it cannot be pickled.
    """
    return _pickle(value, lambda _: None)[0]


def _pickle(work: Any, number_of: Callable[[Any], int | None]) -> tuple[bytes, KeptLocations]:
    # Functions that workers cannot import are pickled by value.
    pickler: Any = import_cloudpickle().Pickler

    read, written = set[str](), set[str]()

    class TaskPickler(pickler):
        def persistent_id(self, value: Any) -> int | None:
            if type(value) is str and is_kept_by_spark(value):
                written.add(value)
            return number_of(value)

        def reducer_override(self, value: Any) -> Any:
            # Python's own pickler is faster, as it calls no hook for each value inside.
            if getattr(type(value), "travels_as_one", False):
                if isinstance(value, Manifest) and is_kept_by_spark(value.directory):
                    read.update(join(value.directory, entry.file) for entry in value.segments if entry.rows)
                return pickle.loads, (pickle.dumps(value, pickle.HIGHEST_PROTOCOL),)
            return super().reducer_override(value)

    buffer = io.BytesIO()
    try:
        TaskPickler(buffer).dump(work)
    except pickle.PicklingError:
        raise
    except Exception as error:
        raise pickle.PicklingError(f"{type(error).__name__}: {error}") from error
    return buffer.getvalue(), KeptLocations(frozenset(read), frozenset(written))
