"""Members whose mixins are imported on first use: the table is that of the mixins, and classes are as if all had been imported."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest

import sframe_spark
from sframe_spark.api.class_registry import MEMBERS, MemberOnFirstUse
from sframe_spark.lazy_imports import LazyName

# What Python gives to each class.
OF_EACH_CLASS = set(dir(type("Empty", (), {}))) | {"__annotations__", "__orig_bases__", "__parameters__", "__abstractmethods__", "_abc_impl"}
OF_EACH_CLASS -= {"__eq__", "__ne__", "__lt__", "__le__", "__gt__", "__ge__", "__hash__", "__reduce_ex__", "__setattr__"}


def is_loaded(kind: type[Any]) -> bool:
    """Import all mixins of a class, by asking for each member."""
    for name in dir(kind):
        getattr(kind, name, None)
    return not any(isinstance(member, MemberOnFirstUse) for member in vars(kind).values())


@pytest.mark.parametrize("kind", [sframe_spark.SFrame, sframe_spark.SArray])
def test_the_table_has_the_members_of_the_mixins(kind: type[Any]) -> None:
    assert is_loaded(kind)
    bases = kind.__bases__
    assert {base.__name__ for base in vars(kind)["__orig_bases__"] if not isinstance(base, LazyName)} <= {base.__name__ for base in bases}
    lazy = [base for base in bases if base not in vars(kind)["__orig_bases__"]]
    wrong = {}
    for mixin in lazy:
        # Of other mixins that it inherits from, each has its own line, if the class names it.
        owners = [owner for owner in mixin.__mro__[:-1] if owner is mixin or owner not in bases]
        names = {name for owner in owners for name in vars(owner)} - OF_EACH_CLASS
        if names != set(MEMBERS.get(mixin.__name__, "").split()):
            wrong[mixin.__name__] = " ".join(sorted(names))
    assert wrong == {}, "the table of sframe_spark/api/class_registry.py lacks these, or has others"


def test_the_table_has_no_other_mixins() -> None:
    bases = {base.name if isinstance(base, LazyName) else base.__name__ for k in (sframe_spark.SFrame, sframe_spark.SArray) for base in orig(k)}
    assert set(MEMBERS) <= bases
    for kind in (sframe_spark.SFrame, sframe_spark.SArray):
        names = [name for base in orig(kind) for name in MEMBERS.get(base.name if isinstance(base, LazyName) else base.__name__, "").split()]
        assert len(names) == len(set(names)), "two mixins have one member"


def orig(kind: type[Any]) -> tuple[Any, ...]:
    """Base classes as the class statement names them."""
    return tuple(vars(kind)["__orig_bases__"])


PROGRAMS = {
    "a subclass asks for the member by super()": (
        "class Own(SFrame):\n    def topk(self, *a, **k): return super().topk(*a, **k)\nprint(list(Own({'a': [1, 3]}).topk('a', k=1)['a']))",
        "[3]",
    ),
    "a replaced member stays replaced": ("SFrame.sort = lambda self: 5\nframe = SFrame({'a': [1]})\nframe.topk('a')\nprint(frame.sort())", "5"),
    "what is named of a class is there": ("print('sort' in dir(SFrame), 'sort' in vars(SFrame), hasattr(SFrame, 'sort'))", "True True True"),
    "names are those of the class": ("print(SFrame.sort.__qualname__, SFrame.sort.__module__)", "SFrame.sort sframe_spark.api.sframe.sframe"),
    "class methods": ("print(SFrame.from_arrow.__self__ is SFrame, SArray.date_range.__self__ is SArray)", "True True"),
    "properties": ("print(list(SArray(['a']).str.upper()), type(vars(type(SArray([1])))['shape']).__name__)", "['A'] property"),
    "operators, and their reflections": (
        "a = SArray([1, 2])\nprint(list(a + 1), list(1 + a), list(-a), list(a == 1), 1 in a)",
        "[2, 3] [2, 3] [-1, -2] [1, 0] True",
    ),
    "columns are not hashable": ("import collections.abc\nprint(isinstance(SArray([1]), collections.abc.Hashable))", "False"),
    "frames where no column was used": (
        "try:\n    SFrame.from_dict\nexcept AttributeError as error:\n    print(str(error)[:30], SFrame({'a': [1, 1]}).unique()['a'].dtype)",
        "SFrame has no 'from_dict': use <class 'int'>",
    ),
    "columns where no frame was used": ("print(SArray([1]).value_counts().num_rows())", "1"),
    "copies": ("import copy, pickle\nf = SFrame({'a': [1]})\nprint(len(copy.copy(f)), len(pickle.loads(pickle.dumps(f))))", "1 1"),
    "numpy": ("import numpy as np\nprint(np.asarray(SArray([1, 2])).sum(), list(np.negative(SArray([1]))))", "3 [-1]"),
    "errors of calls": (
        "try:\n    SFrame({'a': [1]}).sort()\nexcept TypeError as error:\n    print(str(error)[:32])",
        "sort() needs the argument 'key_c",
    ),
    "unknown names": (
        "try:\n    SFrame({'a': [1]}).srot\nexcept AttributeError as error:\n    print(error)",
        "an SFrame has no member 'srot', did you mean 'sort'?",
    ),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_process_that_has_used_no_member_yet(name: str) -> None:
    program, expected = PROGRAMS[name]
    names = [kind for kind in ("SArray", "SFrame") if kind in program]
    program = f"from sframe_spark import {', '.join(names)}\n{program}"
    done = subprocess.run([sys.executable, "-W", "error", "-c", program], capture_output=True, text=True, check=False, timeout=100)
    assert (done.stderr, done.stdout.strip()) == ("", expected)
