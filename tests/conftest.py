"""Fixtures shared by all tests: one Spark session per process, options reset around each test."""

from __future__ import annotations

import gc
import itertools
import os
import re
import signal
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from _pytest.doctest import DoctestModule
from hypothesis import HealthCheck, settings

from tests.examples import examples
from tests.lazy_names import import_lazy_names

# Who mends a test needs all lines of a traceback.
os.environ.setdefault("SFRAME_SPARK_TRACEBACKS", "full")
# Many small queries: a JVM that compiles quickly beats one that compiles well.
os.environ.setdefault("SFRAME_SPARK_JVM_OPTIONS", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC")
# The same for the sessions that tests start as users do.
os.environ.setdefault("SPARK_SUBMIT_OPTS", os.environ["SFRAME_SPARK_JVM_OPTIONS"])

# Random examples are the same ones in every run: a failure seen once is seen again.
settings.register_profile(
    "deterministic",
    max_examples=examples(50),
    derandomize=True,
    database=None,
    deadline=None,
    # Programs are grown with many random decisions each, which the check takes for slow data.
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
settings.load_profile("deterministic")


def pytest_configure(config: pytest.Config) -> None:
    """Let tests press Ctrl-C where the run ignores it, as a shell's jobs in the background do, and collect without looking for garbage."""
    # What is collected stays; looking for garbage among it again and again takes a fifth of the time. `pytest_collection_finish` lets it go on.
    gc.disable()
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    # A save waits several times until bytes are on the disk, ten milliseconds each; `tests/faults` looks at when it asks for that.
    os.fsync = lambda descriptor: None


# Each of these starts processes, or tries the same thing hundreds of times.
ATTACKS = tuple(Path(__file__).with_name(folder) for folder in ("faults", "hostile", "model"))
# These take long: started last, one would leave the other worker without work.
LONG = tuple(
    Path(__file__).parent / place
    for place in (
        *("cluster", "process", "session", "testing", "ordered_matrix", "versions"),
        # On Spark, a minute each.
        *("engine/physical/test_physical_plans.py", "engine/physical/test_frames.py", "engine/execution/test_grouped_parts.py"),
        *("engine/spark/test_exchanges_on_spark.py", "storage/datasets/test_external_files_on_spark.py", "properties/test_members_elsewhere.py"),
        *("api/io/test_catalog_tables.py", "api/test_cuts.py", "expressions/aggregates/test_spark_columns.py", "plotting/test_counted.py"),
    )
)
# These have none of our marks, and some need Spark.
TESTS = Path(__file__).parent
PLUGIN_TESTS = Path(__file__).parents[1] / "examples" / "plugin_package"
# What a run of tests with Spark alone is asked for, and how a module of such tests spells their mark.
SPARK_ALONE = re.compile(r"spark( and not (campaign|cluster))*$")
MARK_OF_SPARK = "mark.spark"


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run tests of what users see twice: few rows on the driver, and everything on Spark."""
    if metafunc.definition.get_closest_marker("behaviour"):
        metafunc.fixturenames.append("small_rows_go_to")
        metafunc.parametrize("small_rows_go_to", ["driver", "spark"], indirect=True)


@pytest.fixture
def small_rows_go_to(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where few rows go; said in the environment, as users say it to a whole program."""
    if request.param == "spark":
        monkeypatch.setenv("SFRAME_SPARK_SMALL_ROWS", "0")


def require_marks_in_sight(items: list[pytest.Item]) -> None:
    """Refuse a mark `spark` that a module has from elsewhere: a run of tests with Spark alone would pass it over."""
    marked = {item.path for item in items if item.get_closest_marker("spark") and TESTS in item.path.parents}
    hidden = [str(path) for path in sorted(marked) if MARK_OF_SPARK not in path.read_text(encoding="utf-8")]
    if hidden:
        raise pytest.UsageError(f"write {MARK_OF_SPARK} in {', '.join(hidden)}")


def leave_to_campaigns(items: list[pytest.Item]) -> None:
    """Mark tests of sampled functions as campaigns but for one in so many, by turns: parameters that alternate are all met."""
    numbers: Counter[str] = Counter()
    for item in items:
        mark = item.get_closest_marker("sampled")
        if mark is not None and item.get_closest_marker("campaign") is None:
            (every,) = mark.args
            function = item.nodeid.partition("[")[0]
            number = numbers[function]
            numbers[function] += 1
            if (number + number // every) % every:
                item.add_marker("campaign")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark attacks, put files that take long first, and leave out long runs and those of clusters, servers and versions unless -m names them."""
    # Looked up once for each file: there are thousands of tests in hundreds of files.
    folders = {path: frozenset((path, *path.parents)) for path in {item.path for item in items}}
    for item in items:
        if not folders[item.path].isdisjoint(ATTACKS):
            item.add_marker("attack")
        if PLUGIN_TESTS in folders[item.path]:
            item.add_marker("spark")
    require_marks_in_sight(items)
    leave_to_campaigns(items)
    items.sort(key=lambda item: folders[item.path].isdisjoint(LONG))
    expression = config.getoption("-m") or ""
    for marker in ("campaign", "cluster", "matrix", "servers"):
        if marker in expression:
            continue
        gone = [item for item in items if item.get_closest_marker(marker)]
        if gone:
            config.hook.pytest_deselected(items=gone)
            items[:] = [item for item in items if not item.get_closest_marker(marker)]


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Import no module without the mark `spark` where only tests with it run: three in four have none."""
    if not SPARK_ALONE.match(config.getoption("-m") or "") or collection_path.suffix != ".py" or TESTS not in collection_path.parents:
        return None
    return True if MARK_OF_SPARK not in collection_path.read_text(encoding="utf-8") else None


@pytest.hookimpl(wrapper=True)
def pytest_collect_file(file_path: Path) -> Iterator[list[pytest.Collector]]:  # type: ignore[misc]
    """Look for examples in docstrings of the package, and of those modules of tests that have some: hundreds have none."""
    found = yield
    if file_path.suffix != ".py" or TESTS not in file_path.parents or ">>>" in file_path.read_text(encoding="utf-8"):
        return found
    return [each for each in found if not isinstance(each, DoctestModule)]


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[object]:
    """Load no installed plug-ins meanwhile, by whose functions tests would be parametrized: doctest asks modules for names that these may have."""
    from sframe_spark.config import config

    with config.using(disabled_plugins="*"):
        return (yield)


def pytest_collection_finish() -> None:
    """Import what is imported lazily; leave modules and tests out of later collections of garbage: tests ask for hundreds, in children too.

    A name that is first used while a test has replaced what it stands for would keep the replacement. Lazy imports have tests of their own, in
    processes of their own.
    """
    import_lazy_names()
    gc.enable()
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="module", autouse=True)
def few_objects_to_look_through() -> None:
    """What tests of other files have left, and is still there, is left out of collections of garbage too: in the middle of a run one takes 150 ms."""
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="session")
def numbers_of_directories() -> Iterator[int]:
    """One for each test that asks for a directory."""
    return itertools.count()


@pytest.fixture
def tmp_path(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, numbers_of_directories: Iterator[int]) -> Path:
    """A directory of the test's own. Pytest's fixture looks through those of all tests before it for a free number: milliseconds for each."""
    name = re.sub(r"\W", "_", request.node.name)[:30]
    place = tmp_path_factory.getbasetemp() / f"{name}_{next(numbers_of_directories)}"
    place.mkdir(0o700)
    return place


@pytest.fixture(scope="session")
def spark() -> Iterator[Any]:
    """The engine's Spark session, started once per process."""
    from sframe_spark.session import get_session

    yield get_session()


@pytest.fixture(autouse=True)
def no_java_unless_marked(request: pytest.FixtureRequest) -> Iterator[None]:
    """A test without the mark `spark` starts no JVM."""
    from sframe_spark.session import is_started
    from sframe_spark.session.session import _HOLDER

    before = is_started(), _HOLDER._start
    yield
    if not any(map(request.node.get_closest_marker, ("spark", "cluster", "matrix"))):
        # What starts in the background would be found by the tests after this one.
        assert (is_started(), _HOLDER._start) == before, "a test that starts Spark carries the mark `spark`"


@pytest.fixture(autouse=True)
def active_session_stays(request: pytest.FixtureRequest) -> Iterator[None]:
    """The session that a test makes active, as ``createDataFrame`` of a user's does, is not that of the tests after it."""
    from sframe_spark.session import is_started
    from sframe_spark.session.session import get_base
    from sframe_spark.session.users_own_spark_session import keeping_active

    if not is_started() or request.node.get_closest_marker("spark") is None:
        yield
        return
    with keeping_active(get_base()):
        yield


@pytest.fixture
def everything_on_spark(spark: Any) -> Iterator[None]:
    """No query runs on the driver."""
    from sframe_spark.config import config

    with config.using(small_rows=0, single_task_rows=0):
        yield


@pytest.fixture
def called_functions(monkeypatch: pytest.MonkeyPatch) -> None:
    """Users' functions are called, small ones too; said in the environment, so that other processes and threads know it."""
    monkeypatch.setenv("SFRAME_SPARK_TRANSLATE_FUNCTIONS", "off")


@pytest.fixture
def own_options() -> Iterator[None]:
    """Options that a test assigns are as before after it."""
    from sframe_spark.config import config

    yield
    config.reset()


@pytest.fixture
def own_registry(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """What a test adds to the registry of operators and to the tables of functions is gone after it.

    Installed packages are loaded before: they are loaded once in a process.
    """
    from sframe_spark.expressions.aggregates.aggregate_function import AGGREGATES
    from sframe_spark.expressions.functions.scalar_function import FUNCTIONS
    from sframe_spark.planner import law_registry, plugin_loading, registrations, registry

    registry.import_builtin_operators()
    plugin_loading.load_plugins()
    monkeypatch.setattr(registry, "_OPERATORS", dict(registry._OPERATORS))
    monkeypatch.setattr(registrations, "_REGISTERED", dict(registrations._REGISTERED))
    monkeypatch.setattr(law_registry._LAWS, "_added", law_registry._LAWS._added)
    tables = [(table, set(table)) for table in (FUNCTIONS, AGGREGATES)]
    yield
    for table, names in tables:
        for name in set(table) - names:
            del table[name]


@pytest.fixture
def installed(own_registry: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """Installs packages with plug-ins for the test (``tests/plugin_packages.py``); they are looked for when they are first needed."""
    from tests.plugin_packages import InstalledPackages

    packages = InstalledPackages(tmp_path, monkeypatch)
    yield packages
    packages.remove()
