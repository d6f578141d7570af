"""Actions of Spark: run so that Ctrl-C ends them, their errors told as ours."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

from sframe_spark.engine.spark.actions import in_one_line, is_of_spark
from sframe_spark.errors import ExecutionError, SFrameError, StorageError
from sframe_spark.session.job_control import run_cancellable
from sframe_spark.storage.filesystem.io_errors import damage_told_by, full_disk, full_disk_of_executor, tells_of_full_disk
from sframe_spark.storage.filesystem.temporary_datasets import scratch_root
from sframe_spark.udf.errors import error_transport

Value = TypeVar("Value")


def run_spark(action: Callable[[], Value], description: str, location: str | None = None) -> Value:
    """Run a Spark action, which may write to a location, so that Ctrl-C cancels it and its errors are ours."""
    with translated_errors(description, location):
        return run_cancellable(action, description)


@contextmanager
def translated_errors(description: str, location: str | None = None) -> Iterator[None]:
    """Raise errors of users' functions as they were raised in the worker, and Spark's own as one readable line."""
    try:
        yield
    except SFrameError:
        raise
    except Exception as error:
        if not is_of_spark(error):
            raise
        text = str(error)
        carried = error_transport().unpacked(text)
        if carried is not None:
            raise carried from None
        damage = damage_told_by(text)
        if damage is not None:
            raise StorageError(damage) from None
        if tells_of_full_disk(text):
            place = location or scratch_root()
            raise StorageError(f"Spark failed while {description}: {full_disk_of_executor(text, place) or full_disk(place)}") from None
        raise ExecutionError(f"Spark failed while {description}: {in_one_line(text)}") from None
