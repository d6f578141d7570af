"""What is public has an example in its docstring, which runs."""

from __future__ import annotations

import doctest
import inspect
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import sframe_spark
from sframe_spark import aggregate, util
from sframe_spark.data_structures import serialization
from sframe_spark.session.users_own_spark_session import user_session
from tests.derby import keep_quiet
from tests.examples import in_one_test

# What pickles call.
NO_EXAMPLE = {"restored"}
# Without Spark nothing can be shown of these.
ON_SPARK = {
    "SFrame.from_spark",
    "SFrame.from_table",
    "SFrame.read_jdbc",
    "SFrame.register_view",
    "SFrame.to_spark",
    "SFrame.to_table",
    "SFrame.write_jdbc",
    "sql",
}
FLAGS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS


def docstring_of(thing: Any) -> str:
    """What a class, function, module, property or method says of itself."""
    return inspect.cleandoc(getattr(thing, "__func__", thing).__doc__ or "")


def members_of(kind: type) -> Iterator[str]:
    """Public names of a class."""
    return (name for name in dir(kind) if not name.startswith("_"))


def public() -> Iterator[tuple[str, str]]:
    """Names with their docstrings: of what the package has, of the members of its classes, of the aggregates."""
    for name in sframe_spark.__all__:
        thing = getattr(sframe_spark, name)
        if not isinstance(thing, (str, tuple)):
            yield name, docstring_of(thing)
        for member in members_of(thing) if isinstance(thing, type) else ():
            # Members that are imported on first use.
            getattr(thing, member, None)
            yield f"{name}.{member}", docstring_of(inspect.getattr_static(thing, member))
    for module in (aggregate, util, serialization):
        for name in sorted(set(module.__all__) - NO_EXAMPLE):
            yield f"{module.__name__.rpartition('.')[2]}.{name}", docstring_of(getattr(module, name))


PUBLIC = dict(public())


def examples_of(name: str) -> doctest.DocTest:
    return doctest.DocTestParser().get_doctest(PUBLIC[name], {}, name, None, 0)


@in_one_test("name", PUBLIC)
def test_what_is_public_has_an_example_that_runs(name: str) -> None:
    examples = examples_of(name).examples
    assert examples, f"{name} has no example: add a section Examples to its docstring"
    assert any(not example.options.get(doctest.SKIP) and "import" not in example.source for example in examples) or name in ON_SPARK, (
        f"no example of {name} runs: leave out the +SKIP"
    )


def test_values_are_shown_in_the_docstring_of_the_package() -> None:
    shown = "".join(example.source for example in doctest.DocTestParser().get_examples(docstring_of(sframe_spark)))
    assert [name for name in sframe_spark.__all__ if isinstance(getattr(sframe_spark, name), (str, tuple)) and name not in shown] == []


@pytest.mark.spark
@pytest.mark.parametrize("name", sorted(ON_SPARK))
def test_an_example_that_needs_spark_runs_with_it(name: str, spark: Any, tmp_path: Path) -> None:
    test, users = examples_of(name), user_session()
    users.sql(f"CREATE DATABASE shop LOCATION '{tmp_path}/shop'")
    users.sql("USE shop")
    keep_quiet(users)
    assert any(example.options.pop(doctest.SKIP, False) for example in test.examples), f"{name} needs no Spark: take it from the list"
    for example in test.examples:
        example.options.pop(doctest.SKIP, None)
    test.globs["spark"] = users
    said: list[str] = []
    try:
        assert doctest.DocTestRunner(optionflags=FLAGS).run(test, out=said.append).failed == 0, "".join(said)
    finally:
        users.sql("USE default")
        users.sql("DROP DATABASE shop CASCADE")
        users.catalog.dropTempView("numbers")
