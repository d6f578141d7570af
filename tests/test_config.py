"""Options: where a value comes from, what is refused, and that a change stays where it was made."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import pytest

from sframe_spark.config import Configuration, config
from sframe_spark.errors import InvalidArgumentError


@pytest.fixture
def fresh(monkeypatch: pytest.MonkeyPatch) -> Iterator[Configuration]:
    """A configuration without assignments, in an environment without variables."""
    configuration = Configuration()
    for option in configuration._options().values():
        if option.variable:
            monkeypatch.delenv(option.variable, raising=False)
    yield configuration


@pytest.mark.parametrize(
    ("name", "value"),
    [("nope", 1), ("TURI_NUM_GPUS", 1), ("TURI_CACHE_FILE_LOCATIONS", "/no/such/place"), ("TURI_FILEIO_MAXIMUM_CACHE_CAPACITY", "x")],
)
def test_settings_of_the_reference_that_mean_nothing_are_refused(name: str, value: Any) -> None:
    before = config.get_runtime_config()
    with pytest.raises(RuntimeError, match=name):
        config.set_runtime_config(name, value)
    assert config.get_runtime_config() == before


@pytest.mark.parametrize("name", ["TURI_DEFAULT_NUM_PYLAMBDA_WORKERS", "TURI_SFRAME_JOIN_BUFFER_NUM_CELLS"])
def test_settings_of_the_reference_that_only_make_programs_quicker_are_taken(name: str) -> None:
    before = config.as_dict()
    with pytest.warns(UserWarning, match=f"{name} has no effect here") as warned:
        config.set_runtime_config(name, 16)
    assert warned[0].filename == __file__ and config.as_dict() == before


def test_defaults_pass_their_own_checks(fresh: Configuration) -> None:
    for name, option in fresh._options().items():
        assert option.checked(option.default, name) == option.default
        assert getattr(fresh, name) == option.default


def test_every_option_is_documented_and_has_its_own_variable(fresh: Configuration) -> None:
    options = fresh._options().values()
    assert all((option.__doc__ or "").endswith(".") for option in options)
    variables = [option.variable for option in options if option.variable]
    assert len(set(variables)) == len(variables)
    assert all(variable.startswith("SFRAME_SPARK_") for variable in variables)


def test_look_up_order(fresh: Configuration, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SFRAME_SPARK_BATCH_ROWS", "7")
    assert fresh.batch_rows == 7
    fresh.batch_rows = 8
    assert fresh.batch_rows == 8
    with fresh.using(batch_rows=9):
        assert fresh.batch_rows == 9
    assert fresh.batch_rows == 8
    fresh.reset()
    assert fresh.batch_rows == 7


def test_empty_variable_counts_as_not_set(fresh: Configuration, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SFRAME_SPARK_SMALL_ROWS", "")
    assert fresh.small_rows == Configuration.small_rows.default


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("small_rows", -1, "from 0 to"),
        ("small_rows", "many", "many"),
        ("small_rows", True, "whole number"),
        ("small_rows", 1.5, "whole number"),
        ("batch_rows", 0, "from 1 to 2147483647"),
        ("batch_rows", 3 * 10**9, "from 1 to 2147483647"),
        ("default_segments", 10**20, "from 1 to"),
        ("small_rows", "abc", "whole number"),
        ("check", "maybe", "off, plan, result"),
        ("progress", None, "auto, on, off"),
        ("temporary_directory", 3, "temporary_directory"),
    ],
)
def test_wrong_values_are_refused_and_change_nothing(fresh: Configuration, name: str, value: object, said: str) -> None:
    before = fresh.as_dict()
    with pytest.raises(InvalidArgumentError, match=said):
        setattr(fresh, name, value)
    with pytest.raises(InvalidArgumentError, match=name), fresh.using(**{name: value}):
        pytest.fail("the block must not be entered")
    assert fresh.as_dict() == before


def test_wrong_variable_is_named(fresh: Configuration, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SFRAME_SPARK_SMALL_ROWS", "lots")
    with pytest.raises(InvalidArgumentError, match="SFRAME_SPARK_SMALL_ROWS = 'lots'"):
        _ = fresh.small_rows


def test_misspelled_options_are_refused(fresh: Configuration) -> None:
    with pytest.raises(InvalidArgumentError, match=r"small_row'.*small_rows"):
        fresh.small_row = 3
    with pytest.raises(InvalidArgumentError, match="no option"), fresh.using(batchrows=1):
        pytest.fail("the block must not be entered")


def test_block_ends_with_an_error_too(fresh: Configuration) -> None:
    with pytest.raises(ZeroDivisionError), fresh.using(batch_rows=3):
        _ = 1 // 0
    assert fresh.batch_rows == Configuration.batch_rows.default


def test_assignment_inside_a_block_ends_with_it(fresh: Configuration) -> None:
    with fresh.using(batch_rows=3):
        fresh.batch_rows = 4
        fresh.segment_rows = 5
        assert fresh.batch_rows == 4
    assert fresh.batch_rows == Configuration.batch_rows.default
    assert fresh.segment_rows == 5


def test_block_of_one_thread_is_not_seen_by_another() -> None:
    seen: list[int] = []
    with config.using(batch_rows=3):
        worker = threading.Thread(target=lambda: seen.append(config.batch_rows))
        worker.start()
        worker.join(10)
    assert seen == [Configuration.batch_rows.from_environment()]


def test_paths_and_names(fresh: Configuration, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/me")
    monkeypatch.setenv("SFRAME_SPARK_TMP", "~/scratch")
    assert fresh.temporary_directory == "/home/me/scratch"
    monkeypatch.setenv("SFRAME_SPARK_DISABLED_LAWS", "a = b; c = d;")
    assert fresh.disabled_laws == {"a = b", "c = d"}


def test_text_shows_every_option(fresh: Configuration) -> None:
    assert "small_rows=262144" in repr(fresh)
    assert all(name in repr(fresh) for name in fresh.as_dict())


def test_options_of_bytes_say_so() -> None:
    with pytest.raises(ValueError, match=r"work_memory = '1GB': must be a whole number of bytes, as 1 << 30, from 0 to"):
        config.work_memory = "1GB"
    with pytest.raises(ValueError, match="must be a whole number from 1 to"):
        config.batch_rows = 0


@pytest.mark.parametrize("name", ["small_rows", "single_task_rows"])
def test_numbers_of_rows_are_not_called_bytes(name: str) -> None:
    with pytest.raises(InvalidArgumentError, match="a whole number of rows from 0"):
        setattr(config, name, -1)
