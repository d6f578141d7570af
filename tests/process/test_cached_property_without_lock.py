"""Cached properties hold no lock: a process that is forked while a thread computes one would wait for it for ever."""

from __future__ import annotations

import functools
import importlib
import pkgutil
import threading

import sframe_spark
from sframe_spark.cached_property_without_lock import cached_property


def test_a_value_is_computed_while_another_thread_computes_that_of_another_object() -> None:
    has_begun, may_end = threading.Event(), threading.Event()

    class Slow:
        @cached_property
        def value(self) -> int:
            if not has_begun.is_set():
                has_begun.set()
                assert may_end.wait(60)
            return 5

    first, second = Slow(), Slow()
    thread = threading.Thread(target=lambda: first.value, daemon=True)
    thread.start()
    assert has_begun.wait(60)
    assert second.value == 5 and vars(second) == {"value": 5}
    may_end.set()
    thread.join()
    assert vars(first) == {"value": 5}


def test_no_class_of_the_package_has_another_one() -> None:
    found = []
    for info in pkgutil.walk_packages(sframe_spark.__path__, "sframe_spark."):
        if info.name.endswith("__main__") or "hook-" in info.name:
            continue
        module = importlib.import_module(info.name)
        for kind in vars(module).values():
            if isinstance(kind, type) and kind.__module__ == module.__name__:
                found += [
                    f"{module.__name__}.{kind.__name__}.{name}" for name, value in vars(kind).items() if type(value) is functools.cached_property
                ]
    assert found == []
