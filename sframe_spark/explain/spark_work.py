"""What Spark did for a section: its tasks, and what they put on disk for lack of memory."""

from __future__ import annotations

import contextlib
import uuid
from collections.abc import Iterator

from sframe_spark.engine.materialize_options import Work
from sframe_spark.explain.executed_plans import stages_of
from sframe_spark.session import get_session, is_remote, is_started


@contextlib.contextmanager
def work_in_spark() -> Iterator[Work]:
    """What Spark does for this thread in the block, complete after it; nothing is known where no Spark runs at its beginning."""
    work = Work()
    session = get_session() if is_started() else None
    if session is None or is_remote(session):
        yield work
        return
    tag = f"sframe_spark-analyze-{uuid.uuid4().hex}"
    session.sparkContext.addJobTag(tag)
    try:
        yield work
    finally:
        session.sparkContext.removeJobTag(tag)
        stages = stages_of(session, tag)
        work.tasks = sum(stage.numCompleteTasks() for stage in stages)
        work.spilled = sum(stage.diskBytesSpilled() for stage in stages)
