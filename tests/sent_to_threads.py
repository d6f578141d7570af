"""Threads in place of Spark's tasks: they are sent what tasks are sent, and send back what tasks do."""

from __future__ import annotations

import pickle
import random
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import attrs
import pyarrow as pa

from sframe_spark.engine.runtime.task_runners import SparkTaskRunner, ThreadRunner
from sframe_spark.engine.spark.callables_as_job import TaskOutcome, files_read_by
from sframe_spark.engine.spark.messages_between_tasks import ExchangeResults, Frame, MessageStage, Senders, Share, results_of_exchange
from sframe_spark.engine.task_pickling import pack_tasks
from sframe_spark.errors import CarriedError
from sframe_spark.storage.filesystem.files_kept_by_spark import KEPT_FILES, FileBlock, FilesOfTask
from sframe_spark.udf.error_transport import error_transport


@attrs.frozen
class SentToThreads(SparkTaskRunner):
    """Threads that are sent what tasks are sent, and send back what tasks do; some work is done twice, as Spark does where a machine is lost."""

    def parallelism(self) -> int:
        return 2

    def require_readable(self, node: Any) -> None:
        """They see all that is here."""

    def require_writable(self, directory: str) -> None:
        """They do."""

    def run(self, works: Sequence[Callable[[], Any]], description: str, tasks: Sequence[Any] = ()) -> list[Any]:
        parcels, shared = pack_tasks(works)
        again = pickle.loads(pickle.dumps([parcel.content for parcel in parcels])), pickle.loads(pickle.dumps(shared))
        assert len(again[0]) == len(works)

        def done(number: int) -> Any:
            for _ in range(2 if number % 3 == 1 else 1):
                result = parcels[number].unpack(again[1])()
            return pickle.loads(pickle.dumps(result))

        return ThreadRunner().run([partial(done, number) for number in range(len(works))], description)

    def exchange(
        self, senders: Sequence[Any], receivers: Sequence[Any], description: str, tasks: Sequence[Any], relays: Sequence[Any] = ()
    ) -> ExchangeResults:
        try:
            return results_of_exchange(senders, relays, receivers, description, 3, moved_by_threads)
        except CarriedError as error:
            # Spark fails with a message that has it.
            carried = error_transport().unpacked(f"CarriedError: {error}")
            assert carried is not None
            raise carried from None


class KeptHere:
    """What Spark would keep, as bytes in this process."""

    def __init__(self) -> None:
        self.files: dict[str, bytes] = {}
        # How many tasks were given files, and wrote some.
        self.given = self.written = 0

    def read(self, file: str, ranges: Sequence[tuple[int, int]]) -> list[bytes]:
        if file not in self.files:
            raise FileNotFoundError(file)
        return [self.files[file][start:stop] for start, stop in ranges]

    def write(self, local: str, file: str) -> None:
        self.files[file] = Path(local).read_bytes()

    def sizes_below(self, directory: str) -> dict[str, int]:
        return {file: len(content) for file, content in self.files.items() if file.startswith(directory)}

    def forget(self, directory: str) -> None:
        for file in self.sizes_below(directory):
            del self.files[file]

    @contextmanager
    def of_task(self, reads: Iterable[str]) -> Iterator[None]:
        """The block is a task: it sees the files that it is given, and none else; what it writes is kept when it ends well."""
        with FilesOfTask() as files:
            for file in reads:
                files.add(FileBlock(file, 0, pa.py_buffer(self.files[file])))
                self.given += 1
            with KEPT_FILES.kept_by(files):
                yield
            for block in files.drained():
                self.written += not block.start
                self.files[block.file] = self.files.get(block.file, b"") + block.content.to_pybytes()


@attrs.frozen
class KeptBySparkOfThreads(SentToThreads):
    """As if Spark shared no directory, and kept what tasks write: each task has its own files, as Spark's do, so they run one after the other."""

    def run(self, works: Sequence[Callable[[], Any]], description: str, tasks: Sequence[Any] = ()) -> list[Any]:
        payloads, shared = pack_tasks(works)
        results = []
        for payload in payloads:
            with kept_here().of_task(payload.kept.read):
                results.append(pickle.loads(pickle.dumps(payload.unpack(pickle.loads(pickle.dumps(shared)))())))
        return results

    def exchange(
        self, senders: Sequence[Any], receivers: Sequence[Any], description: str, tasks: Sequence[Any], relays: Sequence[Any] = ()
    ) -> ExchangeResults:
        return results_of_exchange(senders, relays, receivers, description, 3, moved_with_files)


def kept_here() -> KeptHere:
    """What keeps the files of this process."""
    assert isinstance(KEPT_FILES.keeper, KeptHere)
    return KEPT_FILES.keeper


def moved_with_files(shares: Sequence[Share], senders: Senders, stages: Sequence[MessageStage]) -> list[TaskOutcome]:
    """The outcomes of an exchange of tasks that are given files, and write some."""
    payloads = [*(payload for share in shares for _, payload in share), *(payload for stage in stages for payload in stage.payloads)]
    with kept_here().of_task(files_read_by(payloads)):
        return moved_by_threads(shares, senders, stages)


def moved_by_threads(shares: Sequence[Share], senders: Senders, stages: Sequence[MessageStage]) -> list[TaskOutcome]:
    """The outcomes of an exchange without Spark: messages arrive in any order; of functions that run twice one attempt counts."""
    shares, senders, stages = pickle.loads(pickle.dumps((shares, senders, list(stages))))

    def send(attempt: Callable[[], Iterator[Frame]], number: int) -> None:
        for _ in range(2 if number % 3 == 1 else 1):
            frames = list(attempt())
        for place, header, content in frames:
            places[place].append((header, pa.py_buffer(content.to_pybytes())))

    places = [list[Any]() for _ in stages[0].payloads]
    for number, share in enumerate(shares):
        send(partial(senders.frames_of, share), number)
    for stage, following in pairwise(stages):
        before, places = places, [list[Any]() for _ in following.payloads]
        for number, frames in enumerate(before):
            random.Random(number).shuffle(frames)
            send(partial(stage.frames_from, frames), number)
    outcomes = list[TaskOutcome]()
    for number, frames in enumerate(places):
        random.Random(number).shuffle(frames)
        for _ in range(2 if number % 3 == 1 else 1):
            found = list(stages[-1].outcomes_from(frames))
        outcomes += found
    return outcomes
