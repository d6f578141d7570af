"""The kit names the globals of modules whose values this process has changed, through functions, classes and modules that an author's code names."""

from __future__ import annotations

import functools
import importlib
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from sframe_spark import SArray
from sframe_spark.errors import ContractBroken
from sframe_spark.plugin import FLOAT, Decomposition, call, define_aggregate, define_function, node_of
from sframe_spark.testing.changed_globals import changed_globals, globals_read
from sframe_spark.testing.function_and_aggregate_contracts import check_aggregate

pytestmark = pytest.mark.usefixtures("own_registry")

RATES = """
RATE = 1.0
UNREAD = 1.0
def rate(): return RATE
"""
KERNELS = """
import functools, threading
import pyarrow.compute as pc
import {rates}
from {rates} import rate
TABLE, CACHED, LOCK, SAME = {{}}, {{}}, threading.Lock(), [1]
class Table:
    def factor(self): return TABLE.get("factor", 1.0)
@functools.lru_cache(maxsize=1)
def cached(): return CACHED.get("factor", 1.0)
def directly(a, t, p, n): return pc.multiply(a[0], TABLE.get("factor", 1.0) * SAME[0])
def by_class(a, t, p, n): return pc.multiply(a[0], Table().factor())
def by_module(a, t, p, n): return pc.multiply(a[0], {rates}.RATE)
def by_function(a, t, p, n): return pc.multiply(a[0], rate())
def by_cached_function(a, t, p, n): return pc.multiply(a[0], cached())
def by_two(a, t, p, n): return pc.multiply(by_class(a, t, p, n), rate())
def by_lock(a, t, p, n):
    with LOCK: return directly(a, t, p, n)
def total(a, n, t, p): return pc.sum(directly(a, t, p, n)).as_py() or 0.0
def both(x, y, t): return x + y
def itself(x, t, p): return x
"""


@pytest.fixture
def kernels(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """A module of kernels, whose globals and those of another one are changed after their import."""
    # Names that no other test has: processes keep what they have imported.
    names = [f"{kind}_{tmp_path.parent.name}_{tmp_path.name}".replace("-", "_") for kind in ("kernels", "rates")]
    for name, text in zip(names, (KERNELS, RATES), strict=True):
        (tmp_path / f"{name}.py").write_text(text.format(rates=names[1]), encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    module, rates = (importlib.import_module(name) for name in names)
    module.rates, rates.RATE, rates.UNREAD = rates, 3.0, 3.0
    module.TABLE["factor"] = module.CACHED["factor"] = 2.0
    yield module
    for name in names:
        sys.modules.pop(name, None)


READ = {
    "directly": ["TABLE of kernels is {'factor': 2.0} here, and {} there"],
    "by_class": ["TABLE of kernels is {'factor': 2.0} here, and {} there"],
    "by_module": ["RATE of rates is 3.0 here, and 1.0 there"],
    "by_function": ["RATE of rates is 3.0 here, and 1.0 there"],
    "by_cached_function": ["CACHED of kernels is {'factor': 2.0} here, and {} there"],
    "by_two": ["RATE of rates is 3.0 here, and 1.0 there", "TABLE of kernels is {'factor': 2.0} here, and {} there"],
    # A lock cannot be sent, so nothing is said of it.
    "by_lock": ["TABLE of kernels is {'factor': 2.0} here, and {} there"],
}


def said_of(kernels: Any, text: str) -> list[str]:
    """What is said, with short names of modules."""
    return sorted(text.replace(kernels.__name__, "kernels").replace(kernels.rates.__name__, "rates").split("; "))


@pytest.mark.parametrize("name", READ)
@pytest.mark.parametrize("is_partial", [False, True])
def test_globals_that_differ_are_named(name: str, is_partial: bool, kernels: Any) -> None:
    kernel = getattr(kernels, name)
    define_function("test_scaled", lambda t, p: FLOAT, functools.partial(kernel) if is_partial else kernel)
    assert said_of(kernels, changed_globals(node_of(call("test_scaled", SArray([1.0]))).operator)) == READ[name]


def test_globals_that_are_the_same_are_not_named(kernels: Any) -> None:
    kernels.TABLE.clear()
    define_function("test_scaled", lambda t, p: FLOAT, kernels.directly)
    assert changed_globals(node_of(call("test_scaled", SArray([1.0]))).operator) == ""
    assert [variable.name for variable in globals_read([kernels.directly])] == ["SAME", "TABLE"]


def test_the_message_of_an_aggregate_names_them(kernels: Any) -> None:
    parts = Decomposition(kernels.total, kernels.both, kernels.itself)
    define_aggregate("test_total", lambda t, p: FLOAT, parts=parts, order_sensitive=False)
    with pytest.raises(ContractBroken, match=r"another process gives the same rows: .*: TABLE of \w+ is \{'factor': 2.0\} here, and \{\} there"):
        check_aggregate("test_total", [1.0, 2.0, 3.0, 4.0, 5.0, 6.0], spark=False, generated=0)
