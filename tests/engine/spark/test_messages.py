"""Messages between tasks of one Spark job: each receiver gets all that was sent to it, each once, whatever is tried again."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from sframe_spark.compute.int_with_spark_hash import int_with_hash
from sframe_spark.engine.spark import messages_between_tasks
from sframe_spark.engine.spark.error_translation import translated_errors
from sframe_spark.engine.spark.messages_between_tasks import Message, outcomes_from_job, outcomes_from_query, run_exchange
from sframe_spark.errors import ExecutionError, SchemaError, StorageError
from sframe_spark.session import get_session
from sframe_spark.session.spark_versions import to_arrow

pytestmark = pytest.mark.spark
SENDERS, RECEIVERS = 5, 7


@pytest.fixture(params=[outcomes_from_job, outcomes_from_query])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Jobs move messages, or queries do."""
    monkeypatch.setattr(messages_between_tasks, "jobs_start_python_of_queries", lambda session: request.param is outcomes_from_job)
    return request.param


def counted(number: int) -> Generator[Message, None, int]:
    """Messages for all receivers but the third, several for each."""
    for position in range(3 * RECEIVERS):
        if position % RECEIVERS != 2:
            yield Message(position % RECEIVERS, (number, position, -(1 << 60), 1 << 60), pa.py_buffer(f"{number} {position}".encode()))
    return number * 10


def listed(number: int, messages: Iterator[Message]) -> list[tuple[int, int, bytes]]:
    found = [(message.sender, message.number, message.content.to_pybytes()) for message in messages]
    assert all(text == f"{sender} {position}".encode() for sender, _, text in found for position in [int(text.split()[1])])
    return sorted(found)


@pytest.fixture
def senders() -> list[Callable[[], Any]]:
    return [partial(counted, number) for number in range(SENDERS)]


@pytest.fixture
def receivers() -> list[Callable[..., Any]]:
    return [partial(listed, number) for number in range(RECEIVERS)]


def test_each_receiver_gets_what_was_sent_to_it(way: Any, senders: Any, receivers: Any) -> None:
    results = run_exchange(senders, receivers, "sending")
    assert results.senders == [0, 10, 20, 30, 40] and sorted(results.receivers) == [0, 1, 3, 4, 5, 6] and results.relays == {}
    for number, found in results.receivers.items():
        expected = [(sender, f"{sender} {position}".encode()) for sender in range(SENDERS) for position in range(number, 3 * RECEIVERS, RECEIVERS)]
        assert [(sender, text) for sender, _, text in found] == expected
        assert all(first[:2] < second[:2] for first, second in pairwise(found))


def test_a_receiver_is_not_called_without_messages_and_one_may_get_all(way: Any) -> None:
    def nothing() -> Generator[Message, None, str]:
        yield from ()
        return "nothing"

    def all_to_one(number: int) -> Generator[Message, None, None]:
        for position in range(40):
            yield Message(3, (0, 0, 0, 0), pa.py_buffer(bytes([number, position]) * 300_000))

    def sizes(messages: Iterator[Message]) -> list[int]:
        return [sum(message.content.size for message in messages)]

    none = run_exchange([nothing, nothing], [sizes] * 4, "sending")
    assert (none.senders, none.receivers) == (["nothing"] * 2, {})
    assert run_exchange([nothing, partial(all_to_one, 1), partial(all_to_one, 2)], [sizes] * 4, "sending").receivers == {3: [48_000_000]}


def passing_on(number: int, messages: Iterator[Message]) -> Generator[Message, None, tuple[int, int]]:
    """All messages to two of three receivers."""
    count = 0
    for message in messages:
        yield Message(2 * (count % 2), (message.sender, 0, 0, 0), message.content)
        count += 1
    return number, count


def test_relays_are_between_senders_and_receivers(way: Any, senders: Any) -> None:
    def texts(messages: Iterator[Message]) -> list[tuple[int, bytes]]:
        return [(message.tags[0], message.content.to_pybytes()) for message in messages]

    relays = [partial(passing_on, number) for number in range(RECEIVERS)]
    results = run_exchange(senders, [texts] * 3, "sending", relays=relays)
    assert results.senders == [0, 10, 20, 30, 40] and sorted(results.receivers) == [0, 2]
    assert results.relays == {number: (number, 3 * SENDERS) for number in range(RECEIVERS) if number != 2}
    found = sorted(pair for pairs in results.receivers.values() for pair in pairs)
    positions = [position for position in range(3 * RECEIVERS) if position % RECEIVERS != 2]
    assert found == sorted((sender, f"{sender} {position}".encode()) for sender in range(SENDERS) for position in positions)


def test_errors_of_relays_are_raised_as_they_were(way: Any, senders: Any, receivers: Any) -> None:
    def refuses(messages: Iterator[Message]) -> Generator[Message, None, None]:
        yield Message(0, (0, 0, 0, 0), next(messages).content)
        raise SchemaError("no such key")

    relays = [*[partial(passing_on, number) for number in range(RECEIVERS - 1)], refuses]
    with pytest.raises(SchemaError, match="no such key"):
        run_exchange(senders, [lambda messages: len(list(messages))] * 3, "sending", relays=relays)


def test_errors_of_both_are_raised_as_they_were(way: Any, senders: Any, receivers: Any) -> None:
    def fails() -> Generator[Message, None, None]:
        yield Message(0, (0, 0, 0, 0), pa.py_buffer(b"9 0"))
        raise SchemaError("no such column")

    def refuses(messages: Iterator[Message]) -> None:
        next(messages)
        raise ExecutionError("enough")

    def exits(messages: Iterator[Message]) -> None:
        raise SystemExit(3)

    def unpicklable(messages: Iterator[Message]) -> Any:
        return lambda: messages

    with pytest.raises(SchemaError, match="no such column"):
        run_exchange([*senders, fails], [lambda messages: len(list(messages))] * RECEIVERS, "sending")
    for receiver, words in ((refuses, "enough"), (exits, "end"), (unpicklable, "cannot be pickled")):
        with pytest.raises(ExecutionError, match=words):
            run_exchange(senders, [*receivers[:4], receiver, *receivers[5:]], "sending")


@pytest.mark.parametrize("who", ["sender", "receiver"])
def test_storage_errors_fail_their_task_so_that_spark_tries_again(way: Any, senders: Any, receivers: Any, who: str) -> None:
    def fails() -> Generator[Message, None, None]:
        yield Message(0, (0, 0, 0, 0), pa.py_buffer(b"9 0"))
        raise StorageError("the disk of the sender is away")

    def refuses(messages: Iterator[Message]) -> None:
        raise StorageError("the disk of the receiver is away")

    if who == "sender":
        senders[-1] = fails
    else:
        receivers[4] = refuses
    with pytest.raises(StorageError, match=f"the disk of the {who} is away"), translated_errors("sending"):
        run_exchange(senders, receivers, "sending")


def test_ints_with_a_hash_are_those_of_spark() -> None:
    numbers = [*range(2_000), *np.random.default_rng(1).integers(0, 1 << 31, 2_000).tolist()]
    spark = get_session()
    hashed = to_arrow(spark.createDataFrame([(int_with_hash(number),) for number in numbers], "place int").selectExpr("hash(place) as hash"))
    assert hashed.column(0).to_pylist() == numbers
