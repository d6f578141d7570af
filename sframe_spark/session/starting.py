"""Spark being started: Ctrl-C ends the wait for it, never the start, which would leave half a Spark behind."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from sframe_spark.process.memory import require_room_for_thread
from sframe_spark.process.threads import POLL_SECONDS
from sframe_spark.session.build import start_spark
from sframe_spark.session.progress import WaitingLine, others_draw

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


class SparkStart:
    """A start of Spark in a thread of its own; whoever is interrupted while waiting may wait again."""

    def __init__(self) -> None:
        # Not a session that the user has made since the start was asked for.
        self.is_ours = True
        self._done = threading.Event()
        self._session: SparkSession | None = None
        self._error: BaseException | None = None
        require_room_for_thread()
        threading.Thread(target=self._run, name="sframe_spark start", daemon=True).start()

    def _run(self) -> None:
        try:
            self._session, self.is_ours = start_spark()
        except BaseException as error:
            self._error = error
        finally:
            self._done.set()

    @property
    def failed(self) -> bool:
        """True when it has ended without a session."""
        return self._error is not None

    def wait(self) -> SparkSession:
        """Return the session when it is there, or raise what kept it from being started; a wait of more than a moment is told."""
        line = WaitingLine("Spark is starting, once in a session")
        with others_draw():
            try:
                while not self._done.wait(POLL_SECONDS):
                    line.update()
            finally:
                line.close()
        if self._error is not None:
            raise self._error
        assert self._session is not None
        return self._session
