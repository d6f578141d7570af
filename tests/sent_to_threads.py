"""Threads in place of Spark's tasks: they are sent what tasks are sent, and send back what tasks do."""

from __future__ import annotations

import pickle
import random
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import pairwise
from typing import Any

import attrs
import pyarrow as pa

from sframe_spark.engine.runtime.task_runners import SparkTaskRunner, ThreadRunner
from sframe_spark.engine.spark.callables_as_job import TaskOutcome
from sframe_spark.engine.spark.messages_between_tasks import ExchangeResults, Frame, MessageStage, Senders, Share, results_of_exchange
from sframe_spark.engine.task_pickling import pack_tasks
from sframe_spark.errors import CarriedError
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
