"""Functions of packages have a namespace in ``sframe_spark.functions``, and aggregates are beside the built-in ones."""

from __future__ import annotations

import inspect
import pickle
import pydoc
import sys
from typing import Any

import pytest

from sframe_spark import SArray, SFrame, aggregate, config, functions
from sframe_spark.errors import InvalidArgumentError, NoAttributeError, PluginWarning
from sframe_spark.plugin import INT, define_aggregate, define_function, public_aggregate, public_function
from tests.interpreters import run_program
from tests.plugin_packages import FUNCTION, PLUGIN, InstalledPackages

GEO = (
    FUNCTION.format(name="test_raised")
    + '''
from sframe_spark.plugin import SArray, SFrame, aggregate_of, call, define_aggregate, public_aggregate, public_function

def total(arrays, types, parameters):
    """The sum of the values."""
    return pc.sum(arrays[0]).as_py()

define_aggregate("test_total", lambda types, parameters: types[0], total)
define_aggregate("test_plain", lambda types, parameters: types[0], total)
define_function("_test_hidden", infer, kernel)

@public_function
def raised_twice(column: SArray, times: int = 2) -> SArray:
    """The ints, with one added some times."""
    for _ in range(times):
        column = call("test_raised", column)
    return column

@public_aggregate
def TEST_TOTAL(column: str):
    """The total."""
    return aggregate_of("test_total", column)
'''
)


@pytest.fixture
def geo(installed: InstalledPackages) -> Any:
    """A package with the namespace ``geo``."""
    installed.install("mine-of-places", PLUGIN.format(namespace="geo", module="places_of_mine"), version="3.1", places_of_mine=GEO)
    yield functions.geo
    sys.modules.pop("sframe_spark.functions.geo", None)
    # An import assigns what it has imported.
    vars(functions).pop("geo", None)


def test_functions_of_a_package_are_in_its_namespace(geo: Any) -> None:
    assert list(geo.test_raised(SArray([1, None]))) == [2, None]
    assert list(geo.raised_twice(SArray([1]), times=3)) == [4]
    assert [name for name in dir(geo) if not name.startswith("_")] == geo.__all__ == ["raised_twice", "test_raised"]
    assert "geo" in dir(functions) and "lag" in dir(functions) and "namespaces" not in dir(functions)
    assert repr(geo) == "<sframe_spark.functions.geo: functions of the plug-in mine-of-places 3.1>"


def test_they_are_imported_and_pickled_by_their_names(geo: Any) -> None:
    del sys.modules["sframe_spark.functions.geo"]
    names: dict[str, Any] = {}
    exec("from sframe_spark.functions.geo import raised_twice, test_raised\nimport sframe_spark.functions.geo as all_of_it", names)
    assert pickle.loads(pickle.dumps(names["test_raised"])) is names["test_raised"]
    assert pickle.loads(pickle.dumps(names["raised_twice"])) is geo.raised_twice
    exec("from sframe_spark.functions.geo import *", names := {})
    assert {"raised_twice", "test_raised"} <= set(names)
    with pytest.raises(ModuleNotFoundError):
        exec("import sframe_spark.functions.geology")


def test_help_has_their_documentation(geo: Any) -> None:
    text = pydoc.plain(pydoc.render_doc(geo))
    for line in (
        "Functions of the plug-in mine-of-places 3.1.",
        "The ints with one added.",
        "The ints, with one added some times.",
        "times: int = 2",
    ):
        assert line in text, text
    assert "Calls the scalar function 'test_raised' with columns and values" in text
    assert inspect.getdoc(aggregate.TEST_TOTAL) == "The total."
    assert str(inspect.getdoc(aggregate.TEST_PLAIN)).startswith("The sum of the values.\n\nRequests the aggregate 'test_plain'")


@pytest.mark.parametrize(
    "ask, message",
    [
        (lambda: functions.geo.test_rased, "sframe_spark.functions.geo has no 'test_rased', did you mean 'test_raised'?"),
        (lambda: functions.gea, "sframe_spark.functions has no 'gea', did you mean 'geo'?"),
        (lambda: aggregate.TEST_TOTTAL, "there is no aggregate 'TEST_TOTTAL', did you mean 'TEST_TOTAL'?"),
        (lambda: aggregate.mean, "there is no aggregate 'mean', did you mean 'MEAN'?"),
        (lambda: functions.geo.test_hiden, "sframe_spark.functions.geo has no 'test_hiden'"),
    ],
)
def test_misspelt_names_have_hints(geo: Any, ask: Any, message: str) -> None:
    with pytest.raises(NoAttributeError) as found:
        ask()
    assert str(found.value).startswith(message)


def test_aggregates_are_beside_the_built_in_ones(geo: Any) -> None:
    frame = SFrame({"k": [1, 2, 1], "v": [3, 4, 8]})
    found = frame.groupby("k", {"a": aggregate.TEST_TOTAL("v"), "b": aggregate.TEST_PLAIN("v"), "c": aggregate.SUM("v")}).sort("k")
    assert list(found["a"]) == list(found["b"]) == list(found["c"]) == [11, 4]
    assert {"TEST_TOTAL", "TEST_PLAIN", "SUM"} <= set(dir(aggregate))


def test_functions_and_aggregates_of_scripts_are_there_without_a_namespace(own_registry: None) -> None:
    define_function("test_of_script", lambda t, p: INT, lambda arguments, t, p, rows: arguments[0])
    define_aggregate("test_of_script", lambda t, p: INT, lambda arrays, t, p: len(arrays[0]))
    assert list(functions.test_of_script(SArray([5]))) == [5] and "test_of_script" in dir(functions)
    assert list(SFrame({"v": [1, 2]}).groupby([], {"n": aggregate.TEST_OF_SCRIPT("v")})["n"]) == [2]


def test_a_built_in_aggregate_is_not_hidden(own_registry: None) -> None:
    before = aggregate.AVG
    define_aggregate("avg", lambda t, p: INT, lambda arrays, t, p: 5)
    assert aggregate.AVG is before
    with pytest.raises(InvalidArgumentError, match=r"'AVG' is taken by the aggregate sframe_spark\.api\.aggregate\.AVG"):

        @public_aggregate
        def AVG(column: str) -> None:
            """Another one."""


def test_a_public_aggregate_has_one_owner(own_registry: None) -> None:
    def TEST_OWNED(column: str) -> None:
        """The first."""

    def other(column: str) -> None:
        """The second."""

    public_aggregate(TEST_OWNED)
    public_aggregate(TEST_OWNED)
    other.__name__ = "TEST_OWNED"
    with pytest.raises(InvalidArgumentError, match="'TEST_OWNED' is taken by the aggregate"):
        public_aggregate(other)
    with pytest.raises(InvalidArgumentError, match="a public function must be a function with a name"):
        public_function(5)  # type: ignore[type-var]


def test_a_package_with_two_namespaces(installed: InstalledPackages) -> None:
    entries = "[sframe_spark.plugins]\ntest-one = first_of_two\ntest.two = second_of_two\n"
    modules = {f"{module}_of_two": FUNCTION.format(name=f"test_in_{module}") for module in ("first", "second")}
    installed.install("sframe-two", entries, **modules)
    import second_of_two  # noqa: F401

    assert (functions.test_one.__all__, functions.test_two.__all__) == (["test_in_first"], ["test_in_second"])


def test_functions_of_before_have_a_namespace_by_the_name_of_the_package(installed: InstalledPackages) -> None:
    installed.install("sframe-older-one", "[sframe_spark.operators]\nany = of_before\n", of_before=FUNCTION.format(name="test_of_before"))
    assert functions.older_one.__all__ == ["test_of_before"]


def test_namespaces_of_packages_that_are_not_loaded(installed: InstalledPackages) -> None:
    installed.install("sframe-bad", PLUGIN.format(namespace="test_bad", module="bad_of_two"), bad_of_two="import there_is_none")
    installed.install("sframe-off", PLUGIN.format(namespace="test_off", module="off_of_two"), off_of_two="")
    with config.using(disabled_plugins="sframe-off"), pytest.warns(PluginWarning):
        with pytest.raises(NoAttributeError, match=r"has no 'test_bad'.*sframe-bad 1\.0 has it, and was left out: .*there_is_none"):
            _ = functions.test_bad
        with pytest.raises(NoAttributeError, match=r"plug-ins that are switched off: sframe-off 1\.0"):
            _ = functions.test_off
    assert functions.test_off.__all__ == []


def test_a_name_is_looked_for_in_a_new_process() -> None:
    found = run_program("from sframe_spark.functions.lag import fahrenheit; from sframe_spark import SArray; print(list(fahrenheit(SArray([0]))))")
    assert found.stdout == "[32.0]\n", found.stderr
