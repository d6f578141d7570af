"""What can be asked for is what a handle can reach: frames, columns, iterators, sketches and running actions."""

from __future__ import annotations

import copy
import gc
import os
import pickle
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sframe_spark import SArray, SFrame, Sketch, config
from sframe_spark.data_structures.serialization import enable_sframe_serialization
from sframe_spark.planner import handles
from sframe_spark.planner.handles import Handle, nodes_of_handles, reachable_directly, reachable_otherwise
from sframe_spark.planner.node import PlannerNode
from tests.planner.sample import Pair, leaf, step


def is_known(node: PlannerNode) -> bool:
    return any(node is known for known in nodes_of_handles())


def test_a_node_is_reached_through_its_handle_as_long_as_there_is_one() -> None:
    below = leaf()
    middle = step(below)
    root = step(middle)
    assert reachable_directly(root) == set()
    handle = Handle(middle)
    assert reachable_directly(root) == {id(middle)} and reachable_otherwise(root) == {id(middle), id(below)}
    del handle
    gc.collect()
    assert reachable_otherwise(root) == set()


def test_a_handle_of_the_root_or_above_it_reaches_nothing_else() -> None:
    below = leaf()
    root = step(below)
    kept = Handle(root), Handle(step(step(root)))
    assert reachable_otherwise(root) == set() and len(kept) == 2


def test_a_handle_of_another_graph_reaches_what_the_graphs_share() -> None:
    below = leaf()
    shared = step(below)
    root = step(step(shared))
    # Reached through the root and past it, however deep it is.
    other = Handle(step(Pair().make_planner_node(root, step(step(shared)))))
    assert reachable_directly(root) == {id(shared)}
    assert reachable_otherwise(root) == {id(shared), id(below)} and is_known(other._node)


def test_a_graph_that_was_spliced_reaches_what_it_reads_now() -> None:
    below = leaf()
    shared = step(below)
    root, other = step(shared), step(step(shared))
    handle = Handle(other)
    assert reachable_directly(root) == {id(shared)}
    other.inputs[0].splice(leaf())
    assert reachable_directly(root) == set() and is_known(handle._node)


class Sub(SFrame):
    """A user's class that has no hash, and compares as it likes."""

    __hash__ = None  # type: ignore[assignment]

    def __eq__(self, other: object) -> bool:
        raise AssertionError("compared")


def closure(column: SArray) -> Callable[[], SArray]:
    return lambda: column


def cycle(column: SArray) -> list[Any]:
    box: list[Any] = []
    box.append((box, column))
    return box


# How somebody comes to keep a node that has no other handle.
KEPT: dict[str, Callable[[PlannerNode], Any]] = {
    "column": lambda node: SArray(_node=node),
    "column of a column": lambda node: SArray(SArray(_node=node)),
    "frame": lambda node: SFrame(_node=node, _names=["a"]),
    "a class without a hash": lambda node: Sub(_node=node, _names=["a"]),
    "copy": lambda node: copy.copy(SArray(_node=node)),
    "deep copy": lambda node: copy.deepcopy({"a": [SFrame(_node=node, _names=["a"])]}),
    "iterator of a column": lambda node: iter(SArray(_node=node)),
    "iterator of a frame": lambda node: iter(SFrame(_node=node, _names=["a"])),
    "sketch to come": lambda node: Sketch(SArray(_node=node), background=True),
    "closure": lambda node: closure(SArray(_node=node)),
    "cycle": lambda node: cycle(SArray(_node=node)),
}


@pytest.mark.parametrize("way", KEPT)
def test_whoever_keeps_a_node_keeps_a_handle(way: str) -> None:
    shared = (SArray([1, 2, 3]) + 1)._node
    root = (SArray(_node=shared) * 2)._node
    gc.collect()
    assert id(shared) not in reachable_directly(root)
    kept = KEPT[way](shared)
    assert id(shared) in reachable_directly(root)
    del kept
    gc.collect()
    assert id(shared) not in reachable_directly(root)


def test_an_assigned_column_changes_what_a_frame_reaches() -> None:
    sf = SFrame({"a": [1, 2, 3]})
    before = sf._node
    root = (SArray(_node=before) + 1)._node
    gc.collect()
    assert id(before) in reachable_directly(root)
    sf["a"] = [4, 5, 6]
    assert id(before) not in reachable_directly(root)


def test_what_is_unpickled_is_a_handle(tmp_path: Path) -> None:
    enable_sframe_serialization(tmp_path)
    try:
        column, frame = pickle.loads(pickle.dumps((SArray([1, 2]), SFrame({"a": [1]}))))
    finally:
        enable_sframe_serialization(None)
    assert is_known(column._node) and is_known(frame._node)


def test_handles_that_are_gone_take_no_room() -> None:
    gc.collect()
    before = len(handles._HANDLES)
    for number in range(1_000):
        SArray([number])
    gc.collect()
    assert len(handles._HANDLES) <= before


def test_handles_of_several_threads() -> None:
    failed: list[BaseException] = []
    kept: list[Any] = []

    def work() -> None:
        try:
            for _ in range(300):
                column = SArray([1])
                above = column + 1
                kept.append(above)
                assert is_known(column._node) and reachable_directly(above._node) == {id(column._node)}
        except BaseException as error:
            failed.append(error)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failed and all(is_known(column._node) for column in kept[:5])


@pytest.mark.parametrize("late", ["iterator", "column", "sketch"])
def test_a_function_is_called_once_for_what_is_asked_for_later(late: str, tmp_path: Path) -> None:
    calls = tmp_path / "calls"

    def counted(value: int) -> int:
        with open(calls, "a") as file:
            file.write(f"{os.getpid()}\n")
        return value * 10

    rows = 3_000
    with config.using(small_rows=1_000, segment_rows=1_500, progress="off"):
        column = SArray(range(rows)).apply(counted, dtype=int)
        kept: Any = {"iterator": iter, "column": lambda column: column, "sketch": lambda column: Sketch(column, background=True)}[late](column)
        above = column + 1
        del column
        above.materialize()
        found = kept.max() if late == "sketch" else list(kept)
        assert found == (10 * (rows - 1) if late == "sketch" else [10 * value for value in range(rows)]) and above[1] == 11
    assert len(calls.read_text().splitlines()) == rows
