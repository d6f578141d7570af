"""A package whose plug-ins cannot be loaded is left out whole, with one warning, and harms nothing else."""

from __future__ import annotations

import os
import sys
import threading
import warnings
from typing import Any

import pytest

import sframe_spark as sfs
from sframe_spark import SArray, config
from sframe_spark.errors import InvalidArgumentError, PluginWarning
from sframe_spark.expressions.functions.scalar_function import FUNCTIONS
from sframe_spark.planner import registry
from sframe_spark.planner.law_registry import registered_laws
from sframe_spark.planner.plugin_loading import Plugin, load_plugins
from sframe_spark.planner.registry import is_registered
from sframe_spark.plugin import call, graph_from_json, graph_to_json, node_of
from tests.plugin_packages import FUNCTION, PLUGIN, InstalledPackages

KINDS = """
from typing import ClassVar
import attrs
from sframe_spark.plugin import INT, Operator, define_aggregate, law, register, register_law

define_aggregate({name!r}, lambda types, parameters: INT, lambda arrays, types, parameters: len(arrays[0]))

@register
@attrs.frozen
class Own(Operator):
    name: ClassVar[str] = {name!r}

register_law(law({name!r} + "(x) = x", stage="pushdown", on={name!r})(lambda node: None))
"""


def plugin_of(name: str) -> Plugin:
    (plugin,) = [plugin for plugin in sfs.plugins() if plugin.distribution == name]
    return plugin


FAULTS = {
    "an error": ("raise ValueError('odd\\nsecond line')", "ValueError: odd"),
    "an error without text": ("raise ImportError", "ImportError"),
    "an error that has no text": ("class Odd(Exception):\n    def __str__(self):\n        return 1 / 0\nraise Odd", "Odd"),
    "the end": ("import sys\nsys.exit(2)", "SystemExit: 2"),
    "a test's end": ("import pytest\npytest.skip('not here', allow_module_level=True)", "Skipped: not here"),
    "a missing dependency": ("import there_is_none", "ModuleNotFoundError: No module named 'there_is_none'"),
    "a syntax error": ("def", "SyntaxError: invalid syntax"),
    "a name of ours": (FUNCTION.format(name="add"), "the name 'add' is taken by a built-in scalar function"),
    "an operator of ours": (KINDS.format(name="sort"), "the operator name 'sort' is taken by sframe_spark.operators."),
    "a law of ours": (
        "from sframe_spark.plugin import *\nregister_law(law('reverse(reverse(x)) = x', stage='pushdown', on='reverse')(lambda node: None))",
        "the name 'reverse(reverse(x)) = x' is taken by a built-in law",
    ),
    "an unknown stage": (
        "from sframe_spark.plugin import *\nregister_law(law('odd(x) = x', stage='pushdwn', on='reverse')(lambda node: None))",
        "the law 'odd(x) = x' should run in the stage 'pushdwn'",
    ),
    "an unknown operator": (
        "from sframe_spark.plugin import *\nregister_law(law('odd(x) = x', stage='pushdown', on='revers')(lambda node: None))",
        "about the operator 'revers', which is not registered",
    ),
    "no law": ("from sframe_spark.plugin import register_law\nregister_law('x = x')", "'x = x' is not a law"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_package_that_fails_is_left_out_whole(fault: str, installed: InstalledPackages) -> None:
    text, reason = FAULTS[fault]
    installed.install("sframe-whole", PLUGIN.format(namespace="whole", module="whole_one"), whole_one=FUNCTION.format(name="test_whole"))
    half = FUNCTION.format(name="test_half") + KINDS.format(name="test_half_kind") + text
    installed.install("sframe-half", "[sframe_spark.plugins]\nhalf = half_one\n", version="2.5", half_one=half)
    with pytest.warns(PluginWarning) as told:
        assert list(SArray([3, 1]).sort()) == [1, 3]
    (message,) = [str(warning.message) for warning in told]
    assert message.startswith("the plug-in sframe-half 2.5 is left out: "), message
    assert reason in message and "config.disabled_plugins" in message and "\n" not in message, message
    assert list(SArray([3, 1]).sort()) == [1, 3]
    assert list(call("test_whole", SArray([1]))) == [2]
    assert "test_half" not in FUNCTIONS and not is_registered("test_half_kind")
    assert "test_half_kind(x) = x" not in [rule.equation for rule in registered_laws()]
    left_out = plugin_of("sframe-half")
    assert (left_out.status, left_out.registered) == ("left out", {}) and reason in left_out.fault and "Traceback" in left_out.traceback
    of_it = r"plug-ins that are left out: sframe-half 2\.5;" if fault == "a syntax error" else r"sframe-half 2\.5 has it, and was left out: "
    with pytest.raises(InvalidArgumentError, match=rf"'test_half'.*{of_it}"):
        call("test_half", SArray([1]))
    assert plugin_of("sframe-whole").registered == {"scalar functions": ("test_whole",)}


LAWS = """
from sframe_spark.plugin import law, register_law

@law("test_idle(x) = x", stage="pushdown", on="reverse")
def idle(node):
    return None

@law("test_busy(x) = x", stage="pushdown", on="reverse")
def busy(node):
    return None

register_law(busy)
"""


def test_a_law_that_no_module_registers_is_told_once(installed: InstalledPackages) -> None:
    installed.install("sframe-laws", PLUGIN.format(namespace="laws", module="laws_one"), laws_one=LAWS)
    with pytest.warns(PluginWarning, match=r"'test_idle\(x\) = x': its module must call register_law\(idle\)") as told:
        load_plugins()
    assert len(told) == 1 and "test_busy" not in str(told[0].message)
    assert plugin_of("sframe-laws").status == "loaded"


ENTRIES = {
    "a vanished module": ("gone = gone_one", "ModuleNotFoundError: No module named 'gone_one'"),
    "a vanished name": ("gone = json:gone", "AttributeError: module 'json' has no attribute 'gone'"),
    "no plug-in": ("gone = math:pi", "3.14.* is neither a module nor a law nor a list of laws"),
    "a list of others": ("gone = string:__all__", "'ascii_letters' is not a law"),
    "no name of a module": ("gone = a module", "'a module' is not the name of a module"),
    "no namespace": ("for = json", "its functions would be named 'for', which is not a valid name in Python"),
}


@pytest.mark.parametrize("entry", ENTRIES)
def test_entry_points_that_lead_to_no_plugin(entry: str, installed: InstalledPackages) -> None:
    text, reason = ENTRIES[entry]
    installed.install("sframe-gone", f"[sframe_spark.plugins]\n{text}\n")
    with pytest.warns(PluginWarning, match=rf"^the plug-in sframe-gone 1\.0 is left out: .*{reason}") as told:
        load_plugins()
    assert len(told) == 1


def test_what_a_package_registered_before_an_entry_point_that_fails_is_taken_back(installed: InstalledPackages) -> None:
    entries = "[sframe_spark.plugins]\nboth = first_one\n[sframe_spark.laws]\nb = math:pi\n"
    installed.install("sframe-both", entries, first_one=FUNCTION.format(name="test_first"))
    with pytest.warns(PluginWarning, match="its entry point b = math:pi of sframe_spark.laws fails"):
        load_plugins()
    assert "test_first" not in FUNCTIONS


def test_of_two_packages_with_one_name_the_second_is_left_out(installed: InstalledPackages) -> None:
    for name in ("aa", "bb"):
        modules = {f"module_{name}": FUNCTION.format(name="test_of_two")}
        installed.install(f"sframe-{name}", PLUGIN.format(namespace=name, module=f"module_{name}"), **modules)
    with pytest.warns(PluginWarning, match=r"sframe-bb 1\.0 .*the name 'test_of_two' is taken by the scalar function of module_aa\.infer"):
        assert list(call("test_of_two", SArray([1]))) == [2]


def test_of_two_packages_with_one_namespace_the_second_is_left_out(installed: InstalledPackages) -> None:
    for name in ("aa", "bb"):
        installed.install(f"sframe-{name}", PLUGIN.format(namespace="same", module=f"module_{name}"), **{f"module_{name}": ""})
    with pytest.warns(PluginWarning, match=r"sframe-bb 1\.0 .*the namespace 'same' of its functions is taken by sframe-aa"):
        load_plugins()


def test_groups_of_before_are_loaded_alike(installed: InstalledPackages) -> None:
    entries = "[sframe_spark.operators]\nz = operators_old\na = functions_old\n[sframe_spark.laws]\na = laws_old:ONE\nb = laws_old:MORE\n"
    laws = """
    from sframe_spark.plugin import law
    ONE, TWO, THREE = (law(f"{name}(x) = x", stage="pushdown", on="test_old")(lambda node: None) for name in ("one", "two", "three"))
    MORE = [TWO, THREE]
    """
    modules = {"operators_old": KINDS.format(name="test_old"), "functions_old": FUNCTION.format(name="test_old_function"), "laws_old": laws}
    installed.install("sframe-old", entries, **modules)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        plugin = plugin_of("sframe-old")
    laws_of_it = ("one(x) = x", "test_old(x) = x", "three(x) = x", "two(x) = x")
    registered = {"aggregates": ("test_old",), "laws": laws_of_it, "operators": ("test_old",), "scalar functions": ("test_old_function",)}
    assert (plugin.status, plugin.registered, plugin.namespaces) == ("loaded", registered, ("old",))
    assert str(plugin).startswith(f"sframe-old 1.0 ({installed.directory / 'first'}): aggregates test_old; laws one(x) = x, ")


def test_what_was_imported_before_is_of_its_package_too(installed: InstalledPackages) -> None:
    text = FUNCTION.format(name="test_early")
    installed.install("sframe-early", PLUGIN.format(namespace="early", module="early_one"), early_one=text)
    import early_one  # noqa: F401

    assert plugin_of("sframe-early").registered == {"scalar functions": ("test_early",)}


def test_what_the_program_imported_itself_stays_where_its_package_is_left_out(installed: InstalledPackages) -> None:
    entries = "[sframe_spark.plugins]\nearly = early_two\n[sframe_spark.laws]\na = math:pi\n"
    installed.install("sframe-early", entries, early_two=FUNCTION.format(name="test_kept"))
    import early_two  # noqa: F401

    with pytest.warns(PluginWarning):
        assert list(call("test_kept", SArray([1]))) == [2]
        load_plugins()


@pytest.mark.parametrize("disabled", ["*", "sframe-off", "Sframe_Off; another", {"sframe.off"}])
def test_plugins_are_switched_off_by_the_option(disabled: Any, installed: InstalledPackages) -> None:
    installed.install("sframe-off", PLUGIN.format(namespace="off", module="off_one"), off_one="raise ValueError")
    with config.using(disabled_plugins=disabled):
        assert list(SArray([3, 1]).sort()) == [1, 3]
        assert plugin_of("sframe-off").status == "switched off"
        with pytest.raises(InvalidArgumentError, match=r"plug-ins that are switched off: .*sframe-off 1\.0"):
            call("test_off", SArray([1]))
    with pytest.warns(PluginWarning):
        load_plugins()


def test_plugins_are_switched_off_by_the_environment(installed: InstalledPackages, monkeypatch: pytest.MonkeyPatch) -> None:
    installed.install("sframe-off", PLUGIN.format(namespace="off", module="off_one"), off_one="raise ValueError")
    monkeypatch.setenv("SFRAME_SPARK_DISABLED_PLUGINS", "another;sframe-off")
    assert plugin_of("sframe-off").status == "switched off"


def test_laws_of_a_package_that_is_switched_off_later_are_not_applied(installed: InstalledPackages) -> None:
    text = """
    from sframe_spark.plugin import law, register_law
    fired = []
    register_law(law("test_seen(x) = x", stage="pushdown", on="reverse")(lambda node: fired.append(1)))
    """
    installed.install("sframe-seen", PLUGIN.format(namespace="seen", module="seen_one"), seen_one=text)
    reversed_rows = sfs.plugin.reverse
    node = reversed_rows(node_of(SArray([1, 2]).sort()))
    sfs.plugin.column_of(node).explain()
    import seen_one

    assert seen_one.fired.pop() == 1
    seen_one.fired.clear()
    with config.using(disabled_plugins="sframe-seen"):
        sfs.plugin.column_of(node).explain()
    assert seen_one.fired == []


def test_a_disabled_law_of_a_package_that_is_left_out_harms_no_plan(installed: InstalledPackages) -> None:
    installed.install("sframe-bad", PLUGIN.format(namespace="bad", module="bad_one"), bad_one=KINDS.format(name="test_bad") + "1 / 0")
    with config.using(disabled_laws="test_bad(x) = x"):
        with pytest.warns(PluginWarning):
            assert list(SArray([3, 1]).sort()) == [1, 3]
        assert list(SArray([3, 2]).sort()) == [2, 3]


def test_warnings_that_are_errors_leave_plugins_out_all_the_same(installed: InstalledPackages) -> None:
    installed.install("sframe-bad", PLUGIN.format(namespace="bad", module="bad_one"), bad_one="1 / 0")
    installed.install("sframe-good", PLUGIN.format(namespace="good", module="good_one"), good_one=FUNCTION.format(name="test_good"))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(PluginWarning):
            load_plugins()
        assert list(call("test_good", SArray([1]))) == [2]


@pytest.mark.parametrize("stop", ["KeyboardInterrupt", "MemoryError"])
def test_what_says_nothing_of_the_package_stops_and_is_tried_again(stop: str, installed: InstalledPackages) -> None:
    text = FUNCTION.format(name="test_tried_again") + f"import os\nif 'TEST_AGAIN' not in os.environ:\n    raise {stop}"
    installed.install("sframe-again", PLUGIN.format(namespace="again", module="again_one"), again_one=text)
    with pytest.raises((KeyboardInterrupt, MemoryError)):
        load_plugins()
    assert "test_tried_again" not in FUNCTIONS
    os.environ["TEST_AGAIN"] = "1"
    try:
        assert list(call("test_tried_again", SArray([1]))) == [2]
    finally:
        del os.environ["TEST_AGAIN"]


def test_a_plugin_may_compute_while_it_is_loaded(installed: InstalledPackages) -> None:
    text = """
    from sframe_spark import SFrame, config
    with config.using(small_rows=1000, default_segments=4):
        sf = SFrame({"a": range(200_000)})
        TOTAL = sf[sf["a"] % 2 == 0].sort("a", ascending=False)["a"].sum()
    """
    installed.install("sframe-busy", PLUGIN.format(namespace="busy", module="busy_one"), busy_one=text)
    assert plugin_of("sframe-busy").status == "loaded"
    import busy_one

    assert sum(range(0, 200_000, 2)) == busy_one.TOTAL


def test_threads_that_plan_at_once_wait_until_plugins_are_loaded(installed: InstalledPackages) -> None:
    text = "import time\ntime.sleep(0.2)\n" + FUNCTION.format(name="test_awaited")
    installed.install("sframe-slow", PLUGIN.format(namespace="slow", module="slow_one"), slow_one=text)
    found: list[Any] = []

    def run() -> None:
        found.append(list(call("test_awaited", SArray([1]))))

    threads = [threading.Thread(target=run) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [[2]] * 4


def test_plans_as_text_name_the_package_that_has_the_operator(installed: InstalledPackages) -> None:
    text = graph_to_json(node_of(SArray([1, 2]))).replace("memory_source", "test_of_lost")
    installed.install("sframe-lost", PLUGIN.format(namespace="lost", module="lost_one"), lost_one=KINDS.format(name="test_of_lost") + "1 / 0")
    with (
        pytest.warns(PluginWarning),
        pytest.raises(InvalidArgumentError, match=r"'test_of_lost'.*sframe-lost 1\.0 has it, and was left out: .*ZeroDivisionError"),
    ):
        graph_from_json(text)


def test_a_taken_name_of_an_operator_whose_module_is_not_imported(installed: InstalledPackages, monkeypatch: pytest.MonkeyPatch) -> None:
    del registry._OPERATORS["suffix_sort"]
    monkeypatch.delitem(sys.modules, registry.BUILTIN_MODULES["suffix_sort"])
    installed.install("sframe-thief", PLUGIN.format(namespace="thief", module="thief_one"), thief_one=KINDS.format(name="suffix_sort"))
    with pytest.warns(PluginWarning, match="the operator name 'suffix_sort' is taken by sframe_spark"):
        load_plugins()


def test_what_a_package_imports_of_another_one_belongs_to_that_one(installed: InstalledPackages) -> None:
    """The first fails after it has imported the second, which is whole."""
    first = "import second_whole\n" + FUNCTION.format(name="test_of_first") + "1 / 0"
    installed.install("sframe-aa", PLUGIN.format(namespace="aa", module="first_failing"), first_failing=first)
    installed.install("sframe-bb", PLUGIN.format(namespace="bb", module="second_whole"), second_whole=FUNCTION.format(name="test_of_second"))
    with pytest.warns(PluginWarning, match="sframe-aa") as told:
        assert list(call("test_of_second", SArray([1]))) == [2]
    assert len(told) == 1 and "test_of_first" not in FUNCTIONS
    assert plugin_of("sframe-bb").registered == {"scalar functions": ("test_of_second",)}


def test_a_dependency_that_fails_leaves_both_out_whole(installed: InstalledPackages) -> None:
    second = FUNCTION.format(name="test_half_of_second") + "1 / 0"
    installed.install("sframe-aa", PLUGIN.format(namespace="aa", module="first_of_failing"), first_of_failing="import second_of_failing")
    installed.install("sframe-bb", PLUGIN.format(namespace="bb", module="second_of_failing"), second_of_failing=second)
    with pytest.warns(PluginWarning) as told:
        load_plugins()
    assert len(told) == 2 and "test_half_of_second" not in FUNCTIONS


@pytest.mark.parametrize("stop", ["KeyboardInterrupt", "ValueError"])
def test_modules_of_a_package_that_failed_register_again_when_they_are_imported(stop: str, installed: InstalledPackages) -> None:
    inner = FUNCTION.format(name="test_inner")
    outer = f"import inner_of_outer\nimport os\nif 'TEST_OUTER' not in os.environ:\n    raise {stop}"
    folder = installed.directory / "first" / "outer_of_inner"
    folder.mkdir()
    (folder / "functions.py").write_text(inner)
    (folder / "__init__.py").write_text(outer.replace("import inner_of_outer", "import outer_of_inner.functions"))
    installed.install("sframe-outer", PLUGIN.format(namespace="outer", module="outer_of_inner"))
    with pytest.warns(PluginWarning) if stop == "ValueError" else pytest.raises(KeyboardInterrupt):
        load_plugins()
    assert "test_inner" not in FUNCTIONS
    os.environ["TEST_OUTER"] = "1"
    try:
        import outer_of_inner.functions  # noqa: F401

        assert list(call("test_inner", SArray([1]))) == [2]
    finally:
        del os.environ["TEST_OUTER"]


def test_a_failed_import_of_the_program_leaves_nothing_half_registered(installed: InstalledPackages) -> None:
    installed.install(
        "sframe-half", PLUGIN.format(namespace="half", module="tried_half"), tried_half=FUNCTION.format(name="test_tried_half") + "1 / 0"
    )
    with pytest.raises(ZeroDivisionError):
        import tried_half  # noqa: F401
    with pytest.warns(PluginWarning):
        load_plugins()
    assert "test_tried_half" not in FUNCTIONS
