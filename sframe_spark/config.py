"""The options of the library, which can be set by assignment, for a block of code, or by environment variables; among them those of file systems.

Read and assign options on :data:`config`; change them temporarily with :meth:`Configuration.using`::

    from sframe_spark.config import config

    config.progress = "off"
    with config.using(check="result", small_rows=0):
        ...

The value of an option is the first of: the innermost ``using`` block of the current thread or task, an assignment, the environment variable, the
default.
"""

from __future__ import annotations

import contextlib
import os
import sys
import threading
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, Generic, TypeVar, overload

from sframe_spark.errors import InvalidArgumentError, NoAttributeError, SettingError, StorageError, near_names, users_level
from sframe_spark.lazy_imports import lazy_imports
from sframe_spark.message_text import brief
from sframe_spark.optional_libraries import import_cloudpickle
from sframe_spark.paths_and_uris import is_in_process_memory, location_of, normalised, with_canonical_scheme
from sframe_spark.redaction import hide, hide_in_error, secrets_in, without_secrets

with lazy_imports(globals()):
    from uuid import uuid4

# Converters: each takes an assigned value, or the string of an environment variable, and returns the value of the option. If the given value is
# not allowed, it raises an error that says which values are. The page of options shows its docstring as what is allowed.

Value = TypeVar("Value")


def whole_number(minimum: int, maximum: int, of: str = "") -> Callable[[Any], int]:
    """Return a converter to an integer from ``minimum`` to ``maximum``; ``of`` is a part of the error message, such as "of bytes"."""

    allowed = f"a whole number {of}from {minimum} to {maximum}"

    def convert(value: Any) -> int:
        try:
            number = None if isinstance(value, bool | float) else int(value)
        except ValueError:
            number = None
        if number is None or not minimum <= number <= maximum:
            raise ValueError(f"must be {allowed}")
        return number

    convert.__doc__ = allowed
    return convert


def optional(convert: Callable[[Any], Value]) -> Callable[[Any], Value | None]:
    """Return a converter that returns None for None, and calls another converter for all other values."""

    def optionally(value: Any) -> Value | None:
        return None if value is None else convert(value)

    optionally.__doc__ = f"None, or {convert.__doc__}"
    return optionally


def one_of(*allowed: str) -> Callable[[Any], str]:
    """Return a converter that accepts only the given strings."""

    def convert(value: Any) -> str:
        if value not in allowed:
            raise ValueError(f"must be {convert.__doc__}")
        return str(value)

    convert.__doc__ = f"one of {', '.join(allowed)}"
    return convert


def path_text(value: Any) -> str:
    """a path or ``file:`` URI on this machine; it becomes an absolute path, with a leading ``~`` expanded"""
    if not os.fspath(value):
        raise ValueError("the path is empty")
    return normalised(value)


def place_text(value: Any) -> str:
    """a path or URI that other processes reach, too; a path becomes absolute"""
    if not os.fspath(value):
        raise ValueError("the path is empty")
    location = location_of(value)
    if is_in_process_memory(location):
        raise ValueError("that is in the memory of this process, which Spark's tasks do not have")
    return location


def set_of_names(value: Any) -> frozenset[str]:
    """names; a string, such as the value of an environment variable, is split at ``;``"""
    names: Iterable[Any] = value.split(";") if isinstance(value, str) else value
    return frozenset(str(name).strip() for name in names if str(name).strip())


# Options of remote file systems, and file system objects that users created, by prefixes of URIs.

# Options that are not secrets, and may be shown in messages.
NO_SECRETS = ("endpoint_url", "region_name", "profile", "host")
# Shorter strings are not treated as secrets, since they may be part of any word.
MIN_SECRET = 4


class UserFileSystem:
    """A file system object of fsspec or pyarrow that a user created; Spark tasks get a copy of it.

    Parameters
    ----------
    files
        The file system; None in a process to which it could not be sent, because it cannot be pickled.
    name
        The name of the file system's class.
    token
        A string that identifies the file system in all processes; empty for a new one.
    """

    __slots__ = ("_files", "_process", "name", "token")

    def __init__(self, files: Any, name: str = "", token: str = "") -> None:
        self._files, self._process = files, os.getpid()
        self.name, self.token = name or type(files).__name__, token or uuid4().hex

    def in_this_process(self) -> Any:
        """Return the file system as an object with the methods of fsspec.

        Raises
        ------
        StorageError
            If the file system could not be sent to this process, or does not work after a fork; or if it is pyarrow's and fsspec is not installed.
        """
        holder = f"the {self.name} that config.storage_options has"
        if self._files is None:
            raise StorageError(
                f"{holder} cannot be sent to other processes, such as Spark's tasks: set options instead, or a file system that can be pickled"
            )
        if self._process != os.getpid() and getattr(self._files, "async_impl", False):
            raise StorageError(f"{holder} belongs to the parent process, whose threads it needs: set a new one in this process")
        if not hasattr(self._files, "ls"):
            try:
                from fsspec.implementations.arrow import ArrowFSWrapper
            except ImportError:
                raise StorageError("file systems of pyarrow need fsspec: pip install 'sframe_spark[remote]'") from None
            # The instance cache of fsspec is skipped: it would identify the file system by its memory address, which may be reused.
            self._files = ArrowFSWrapper(self._files, skip_instance_cache=True)
        return self._files

    @property
    def can_be_sent(self) -> bool:
        """Whether the file system can be pickled and sent to other processes."""
        try:
            import_cloudpickle().dumps(self._files)
        except Exception:
            return False
        return self._files is not None

    def __reduce__(self) -> tuple[Any, ...]:
        # A file system that cannot be pickled is replaced by None. The error is raised only when the other process uses it.
        return UserFileSystem, (self._files if self.can_be_sent else None, self.name, self.token)

    def __repr__(self) -> str:
        return f"<{self.name}>"


def _is_file_system(value: Any) -> bool:
    """Return whether a value is a file system of fsspec or pyarrow.

    Nothing is imported: if the value is one, the module of its class is imported already.
    """
    classes = (("fsspec.spec", "AbstractFileSystem"), ("pyarrow.fs", "FileSystem"))
    return any(module in sys.modules and isinstance(value, getattr(sys.modules[module], name)) for module, name in classes)


class StorageOptions(Mapping[str, Any]):
    """Options of remote file systems by prefixes of URIs. The values are not shown by ``repr``, since some are passwords.

    Parameters
    ----------
    options
        For each URI, or scheme with ``://``, the options of fsspec's file system (None, bools, numbers, strings, lists and mappings of these), or a
        file system object of fsspec or pyarrow.

    Raises
    ------
    ValueError
        If a prefix is not a URI, or its options are neither a file system object nor a mapping of such values.

    Examples
    --------
    >>> options = StorageOptions({"s3a://": {"key": "abc", "secret": "xyz"}, "s3://bucket/mine": {"anon": True}})
    >>> options
    StorageOptions('s3://': ..., 's3://bucket/mine': ...)
    >>> options.of_place("s3://bucket/mine/frame"), sorted(options.of_place("s3://bucket/minerals"))
    ({'anon': True}, ['key', 'secret'])
    """

    def __init__(self, options: Mapping[str, Any] | None = None) -> None:
        if not isinstance(options or {}, Mapping):
            raise ValueError("must be a dict of dicts: options of file systems by prefixes of URIs")
        self._options = {_prefix(prefix): _checked_options(prefix, values) for prefix, values in (options or {}).items()}

    def of_place(self, uri: str) -> dict[str, Any]:
        """Return the options of the longest prefix that matches a URI; an empty dict if none matches, or if it has a file system object."""
        options = self._longest(uri)
        return {} if options is None or isinstance(options, UserFileSystem) else dict(options)

    def file_system_for(self, uri: str) -> UserFileSystem | None:
        """Return the file system object of the longest prefix that matches a URI; None if none matches, or if it has options."""
        options = self._longest(uri)
        return options if isinstance(options, UserFileSystem) else None

    def secrets(self) -> set[str]:
        """Return all strings in the options that must not be shown in messages.

        Examples
        --------
        >>> StorageOptions({"s3://": {"secret": "wxyz", "endpoint_url": "http://host:9000"}}).secrets()
        {'wxyz'}
        """
        return {text for options in self._options.values() if not isinstance(options, UserFileSystem) for text in secret_texts(options)}

    def _longest(self, uri: str) -> Any:
        prefixes = [prefix for prefix in self._options if uri == prefix or uri.startswith(prefix if prefix.endswith("/") else prefix + "/")]
        return self._options[max(prefixes, key=len)] if prefixes else None

    def __getitem__(self, prefix: str) -> Any:
        return self._options[prefix]

    def __iter__(self) -> Iterator[str]:
        return iter(self._options)

    def __len__(self) -> int:
        return len(self._options)

    def __repr__(self) -> str:
        return f"StorageOptions({', '.join(f'{prefix!r}: ...' for prefix in self._options)})"


def secret_texts(options: Any) -> Iterator[str]:
    """Yield all strings in the options of a file system, at any depth, that must not be shown in messages.

    These are strings of at least ``MIN_SECRET`` characters. Of an option in ``NO_SECRETS``, only a user name and a password in a URL are yielded.
    """
    if isinstance(options, Mapping):
        for name, item in options.items():
            if name not in NO_SECRETS:
                yield from secret_texts(item)
            elif isinstance(item, str) and "@" in item:
                # The URL may contain a user name and a password.
                yield from secret_texts(item.partition("://")[2].rpartition("@")[0].split(":"))
    elif isinstance(options, (list, tuple)):
        for item in options:
            yield from secret_texts(item)
    elif isinstance(options, str) and len(options) >= MIN_SECRET:
        yield options


def _prefix(prefix: Any) -> str:
    if not isinstance(prefix, str) or "://" not in prefix:
        raise ValueError("options are given by prefixes of URIs, such as 's3://' or 's3://bucket'")
    return with_canonical_scheme(prefix) if prefix.endswith("://") else location_of(prefix)


def _checked_options(prefix: str, options: Any) -> dict[str, Any] | UserFileSystem:
    if isinstance(options, UserFileSystem):
        return options
    if _is_file_system(options):
        return UserFileSystem(options)
    if not isinstance(options, Mapping) or not all(isinstance(name, str) for name in options) or not _is_plain(options):
        expected = "a file system of fsspec or pyarrow, or a dict of texts to None, bools, numbers, texts, lists and dicts of these"
        raise ValueError(f"options of {without_secrets(prefix)} must be {expected}")
    return dict(options)


def _is_plain(value: Any) -> bool:
    if isinstance(value, Mapping):
        return all(isinstance(key, str) and _is_plain(item) for key, item in value.items())
    return all(map(_is_plain, value)) if isinstance(value, (list, tuple)) else value is None or isinstance(value, (bool, int, float, str))


_OVERRIDES: ContextVar[Mapping[str, Any]] = ContextVar("sframe_spark_config_overrides")


class Option(Generic[Value]):
    """One option of the configuration: its default, its environment variable, and the converter that checks every value.

    Parameters
    ----------
    default
        The value if the option is neither assigned nor set in the environment.
    convert
        Returns the option's value for an assigned value or the string of the environment variable. Raises ``ValueError`` with a message that
        says which values are allowed.
    summary
        The docstring of the option.
    variable
        The name of the environment variable; None if there is none.
    is_secret
        Whether error messages must not contain values of the option.
    """

    def __init__(self, default: Value, convert: Callable[[Any], Value], summary: str, variable: str | None = None, is_secret: bool = False) -> None:
        self.default = default
        self.convert = convert
        self.variable, self.is_secret = variable, is_secret
        self.__doc__ = summary
        self.name = ""

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    @overload
    def __get__(self, configuration: None, owner: type) -> Option[Value]: ...
    @overload
    def __get__(self, configuration: Configuration, owner: type) -> Value: ...
    def __get__(self, configuration: Configuration | None, owner: type) -> Option[Value] | Value:
        return self if configuration is None else configuration.value_of(self)

    def __set__(self, configuration: Configuration, value: Value) -> None:
        configuration.assign(self.name, self.checked(value, self.name))

    def checked(self, value: Any, origin: str) -> Value:
        """Return the converted value, or raise an error that begins with ``origin``, the name of the option or environment variable.

        Raises
        ------
        InvalidArgumentError
            If the value is not allowed.
        StorageError
            If the value is a location that cannot be used.
        """
        try:
            return self.convert(value)
        except StorageError as error:
            raise StorageError(self._reason(origin, value, error)) from error
        except (TypeError, ValueError) as error:
            raise InvalidArgumentError(self._reason(origin, value, error)) from error

    def _reason(self, origin: str, value: Any, error: Exception) -> str:
        """Return the message of an error about a value. Passwords in URIs in the value are removed from the message and from ``error``."""
        secrets = secrets_in([value])
        hide_in_error(error, secrets)
        return hide(f"{origin} = {'...' if self.is_secret else brief(value)}: {error}", secrets)

    def from_environment(self) -> Value:
        """Return the converted value of the environment variable; the default if the variable is not set or empty."""
        text = os.environ.get(self.variable, "") if self.variable else ""
        return self.checked(text, self.variable or self.name) if text else self.default


# The largest 32-bit integer, since Spark counts the rows of a batch in 32 bits, and the largest 64-bit integer.
MAX_ROWS, MAX_BYTES = 2**31 - 1, 2**63 - 1
# A part of the messages about options that are numbers of bytes.
BYTES = "of bytes, as 1 << 30, "
DEFAULT_MEMORY_BUDGET = 128 << 20
# Planning a Spark job with more tasks would take longer than running it.
MAX_SEGMENTS = 100_000

# Settings of Turi Create that have an effect in this package, and the options that they set.
_RUNTIME = {
    "TURI_CACHE_FILE_LOCATIONS": "temporary_directory",
    "TURI_FILEIO_MAXIMUM_CACHE_CAPACITY": "memory_budget",
    "TURI_SFRAME_DEFAULT_NUM_SEGMENTS": "default_segments",
    "TURI_SFRAME_READ_BATCH_SIZE": "batch_rows",
}
# Settings that only tune the performance of Turi Create. They are accepted, so that programs run, but have no effect.
_TUNING = (
    "TURI_DEFAULT_NUM_PYLAMBDA_WORKERS", "TURI_FAST_COMPACT_BLOCKS_IN_SMALL_SEGMENT", "TURI_FILEIO_MAXIMUM_CACHE_CAPACITY_PER_FILE",
    "TURI_LAMBDA_WORKER_CONNECTION_TIMEOUT", "TURI_MIN_SECONDS_BETWEEN_TICK_PRINTS", "TURI_SFRAME_COMPACTION_THRESHOLD",
    "TURI_SFRAME_CSV_PARSER_READ_SIZE", "TURI_SFRAME_DEFAULT_BLOCK_SIZE", "TURI_SFRAME_FILE_HANDLE_POOL_SIZE",
    "TURI_SFRAME_GROUPBY_BUFFER_NUM_ROWS", "TURI_SFRAME_IO_READ_LOCK", "TURI_SFRAME_JOIN_BUFFER_NUM_CELLS", "TURI_SFRAME_MAX_BLOCKS_IN_CACHE",
    "TURI_SFRAME_MAX_LAZY_NODE_SIZE", "TURI_SFRAME_SHUFFLE_BUCKET_SIZE", "TURI_SFRAME_SORT_BUFFER_SIZE", "TURI_SFRAME_SORT_MAX_SEGMENTS",
    "TURI_SFRAME_SORT_PIVOT_ESTIMATION_SAMPLE_SIZE", "TURI_SFRAME_WRITER_MAX_BUFFERED_CELLS", "TURI_SFRAME_WRITER_MAX_BUFFERED_CELLS_PER_BLOCK",
)  # fmt: skip

_GRAPHLAB = "GRAPHLAB_"
_GPUS = "only models used graphics cards, and models are out of scope"
_LOGS = "use Python's logging: logging.getLogger('sframe_spark'), and spark.sparkContext.setLogLevel('INFO') for Spark's own"
_HINTS = {
    "get_environment_config": "every option can be assigned here or set by an environment variable: config.as_dict() lists them all",
    "get_client_log_location": f"there is no log file: {_LOGS}",
    "init_logger": _LOGS,
    "set_log_level": _LOGS,
    "get_num_gpus": _GPUS,
    "set_num_gpus": _GPUS,
    **dict.fromkeys(
        ("set", "get", "set_option", "get_option"), "options are attributes, as in config.memory_budget = 1 << 30; print(config) shows all"
    ),
}


class Configuration:
    """All options of the library; :data:`config` is the only instance that the library reads.

    Examples
    --------
    >>> config.small_rows = 1000
    >>> config.small_rows, config.as_dict()["small_rows"]
    (1000, 1000)
    >>> config.reset()
    """

    small_rows = Option(
        262_144,
        whole_number(0, MAX_BYTES, "of rows "),
        "Row-by-row work over at most this many rows runs on the driver if they fit the memory budget; 0 sends everything to Spark.",
        "SFRAME_SPARK_SMALL_ROWS",
    )
    memory_budget = Option(
        DEFAULT_MEMORY_BUDGET,
        whole_number(0, MAX_BYTES, BYTES),
        "Bytes of rows that the driver processes, gathers and keeps for one result of few rows; larger amounts go to threads, to Spark, or to disk. "
        "By default less where there is less than 2 GiB of memory: a sixteenth.",
        "SFRAME_SPARK_MEMORY_BUDGET",
    )
    work_memory: Option[int | None] = Option(
        None,
        optional(whole_number(0, MAX_BYTES, BYTES)),
        "Bytes that rows, including copies, may take while this process sorts, groups or joins them; larger amounts are exchanged on disk, or left "
        "to Spark. None: a quarter of the memory.",
        "SFRAME_SPARK_WORK_MEMORY",
    )
    kept_memory: Option[int | None] = Option(
        None,
        optional(whole_number(0, MAX_BYTES, BYTES)),
        "Bytes that results of many rows may take in this process, together with everything else that Arrow holds; further results are written to "
        "files. None: an eighth of the memory.",
        "SFRAME_SPARK_KEPT_MEMORY",
    )
    single_task_rows = Option(
        20_000,
        whole_number(0, MAX_BYTES, "of rows "),
        "Spark queries whose inputs have at most this many rows each run as one task, without exchanges; 0 parallelises every query.",
        "SFRAME_SPARK_SINGLE_TASK_ROWS",
    )
    check = Option(
        "plan",
        one_of("off", "plan", "result"),
        "How much is verified: nothing, every rewritten plan, or also the facts of every executed result.",
        "SFRAME_SPARK_CHECK",
    )
    temporary_directory: Option[str | None] = Option(
        None,
        optional(place_text),
        "Where materialised frames live until they are dropped, a path or a URI; None: the temporary directory of the system.",
        "SFRAME_SPARK_TMP",
    )
    temporary_quota: Option[int | None] = Option(
        None,
        optional(whole_number(0, MAX_BYTES, BYTES)),
        "Bytes that the rows of materialised frames may take in the temporary directory, for this process; None: as many as there is room for.",
        "SFRAME_SPARK_TMP_QUOTA",
    )
    progress = Option(
        "auto",
        one_of("auto", "on", "off"),
        "Whether a progress bar is shown, in a notebook or else on stderr; auto: in a terminal or a notebook.",
        "SFRAME_SPARK_PROGRESS",
    )
    tracebacks = Option(
        "short",
        one_of("short", "full"),
        "What a mistake or an interrupt shows: your lines and one of this package, or all lines that were running, for bug reports.",
        "SFRAME_SPARK_TRACEBACKS",
    )
    picture_target = Option(
        "auto",
        one_of("auto", "browser", "gui", "none"),
        "Where show() and explore() display: below the cell of a notebook, or else in a browser (auto); in a browser (browser, gui); nowhere (none).",
        "SFRAME_SPARK_PICTURES",
    )
    segment_rows = Option(1_048_576, whole_number(1, MAX_ROWS), "Rows that a written segment should have.", "SFRAME_SPARK_SEGMENT_ROWS")
    batch_rows = Option(131_072, whole_number(1, MAX_ROWS), "Rows that a kernel processes at a time.", "SFRAME_SPARK_BATCH_ROWS")
    batch_bytes = Option(
        32 << 20,
        whole_number(1, MAX_BYTES, BYTES),
        "Approximate number of bytes that a kernel processes at a time; batches of long rows have fewer rows than batch_rows.",
        "SFRAME_SPARK_BATCH_BYTES",
    )
    default_segments: Option[int | None] = Option(
        None,
        optional(whole_number(1, MAX_SEGMENTS)),
        "Number of row ranges that a result is divided into when nothing else decides it; None: the number of cores of the session.",
        "SFRAME_SPARK_DEFAULT_SEGMENTS",
    )
    serialization_directory: Option[str | None] = Option(
        None,
        optional(path_text),
        "The directory in which pickling saves the rows of frames and columns; None: in the pickle, or, of many rows, in their files.",
    )
    storage_options: Option[Mapping[str, Any]] = Option(
        StorageOptions(),
        StorageOptions,
        "Options of remote file systems, including credentials, or file system objects, by prefixes of URIs.",
        is_secret=True,
    )
    translate_functions = Option(
        "on",
        one_of("on", "off"),
        "Whether Python functions that apply() is given become expressions where these have the same results; off: they are called for each row.",
        "SFRAME_SPARK_TRANSLATE_FUNCTIONS",
    )
    disabled_laws: Option[frozenset[str]] = Option(
        frozenset(),
        set_of_names,
        "Names of the laws that the optimizer leaves out, to find a faulty one.",
        "SFRAME_SPARK_DISABLED_LAWS",
    )

    disabled_plugins: Option[frozenset[str]] = Option(
        frozenset(),
        set_of_names,
        "Names of the installed packages whose plug-ins are not loaded, * for all; of those that are loaded already, the laws are left out.",
        "SFRAME_SPARK_DISABLED_PLUGINS",
    )

    def __init__(self) -> None:
        self._assigned: Mapping[str, Any] = {}
        self._lock = threading.Lock()

    def __setattr__(self, name: str, value: Any) -> None:
        # Raises if there is no such option; otherwise a misspelled one would be accepted and have no effect.
        if not name.startswith("_"):
            self._option(name)
        object.__setattr__(self, name, value)

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            """Raise an error for a missing attribute; for attributes that Turi Create has, it says what to use instead."""
            hint = _HINTS.get(name)
            raise NoAttributeError(f"config has no {name!r}" + (f": {hint}" if hint else ""))

    def value_of(self, option: Option[Value]) -> Value:
        """Return the value of an option in the current thread or task."""
        for values in (_OVERRIDES.get({}), self._assigned):
            if option.name in values:
                value: Value = values[option.name]
                return value
        return option.from_environment()

    def assign(self, name: str, value: Any) -> None:
        """Set an option. Inside a ``using`` block that changes this option, the value is kept until the block ends, otherwise for the process."""
        overrides = _OVERRIDES.get({})
        if name in overrides:
            _OVERRIDES.set({**overrides, name: value})
        else:
            with self._lock:
                # The mapping is replaced instead of changed, since readers do not take the lock.
                self._assigned = {**self._assigned, name: value}

    @contextlib.contextmanager
    def using(self, **options: Any) -> Iterator[Configuration]:
        """Change options until the ``with`` block ends, only for the current thread or asynchronous task.

        Examples
        --------
        >>> with config.using(batch_rows=10):
        ...     config.batch_rows
        10
        """
        checked = {name: self._option(name).checked(value, name) for name, value in options.items()}
        token = _OVERRIDES.set({**_OVERRIDES.get({}), **checked})
        try:
            yield self
        finally:
            _OVERRIDES.reset(token)

    def free_lock(self) -> None:
        """Replace the lock after a fork, since a thread of the parent process, which does not exist here, may have held it."""
        self._lock = threading.Lock()

    def reset(self) -> None:
        """Remove all assigned values, so that options have their values from the environment, or their defaults.

        Examples
        --------
        >>> config.batch_rows = 10
        >>> config.reset()
        >>> config.batch_rows == 10
        False
        """
        self._assigned = {}

    def as_dict(self) -> dict[str, Any]:
        """Return the value of every option in the current thread or task, by name.

        Examples
        --------
        >>> config.as_dict()["check"] == config.check
        True
        """
        return {name: getattr(self, name) for name in self._options()}

    def get_runtime_config(self) -> dict[str, Any]:
        """Return the values of the options that Turi Create has, too, by the names that Turi Create gives them.

        Examples
        --------
        >>> sorted(config.get_runtime_config())
        ['TURI_CACHE_FILE_LOCATIONS', 'TURI_FILEIO_MAXIMUM_CACHE_CAPACITY', 'TURI_SFRAME_DEFAULT_NUM_SEGMENTS', 'TURI_SFRAME_READ_BATCH_SIZE']
        """
        return {setting: getattr(self, option) for setting, option in _RUNTIME.items()}

    def set_runtime_config(self, name: str, value: Any) -> None:
        """Set an option by Turi Create's name for it.

        Parameters
        ----------
        name
            ``TURI_CACHE_FILE_LOCATIONS`` (``temporary_directory``), ``TURI_FILEIO_MAXIMUM_CACHE_CAPACITY`` (``memory_budget``),
            ``TURI_SFRAME_DEFAULT_NUM_SEGMENTS`` (``default_segments``) or ``TURI_SFRAME_READ_BATCH_SIZE`` (``batch_rows``). Settings that
            only tune the performance of Turi Create, such as ``TURI_DEFAULT_NUM_PYLAMBDA_WORKERS``, have no effect, and cause a warning.
            In GraphLab Create the names begin with ``GRAPHLAB_``; others of these have no effect either.
        value
            The new value of the option. A temporary directory must exist.

        Raises
        ------
        SettingError
            If there is no setting of that name, or the value is not allowed. It is both a RuntimeError, as in Turi Create, and a ValueError.

        Examples
        --------
        >>> config.set_runtime_config("TURI_FILEIO_MAXIMUM_CACHE_CAPACITY", 1 << 30)
        >>> config.memory_budget == 1 << 30
        True
        >>> config.reset()
        """
        known = f"TURI_{name[len(_GRAPHLAB) :]}" if isinstance(name, str) and name.startswith(_GRAPHLAB) else name
        if known in _TUNING or (known != name and known not in _RUNTIME):
            warnings.warn(f"{name} has no effect here", stacklevel=users_level())
            return
        option = _RUNTIME.get(known)
        if option is None:
            raise SettingError(f"there is no setting {name!r:.60}; the settings of Turi Create that have an effect are {', '.join(_RUNTIME)}")
        if option == "temporary_directory" and not os.path.isdir(str(value)):
            raise SettingError(f"{name} = {value!r:.200}: there is no such directory, create it first")
        try:
            setattr(self, option, value)
        except (InvalidArgumentError, StorageError) as error:
            raise SettingError(f"{name}: {error}") from error

    def __repr__(self) -> str:
        values = ", ".join(f"{name}={value!r}" for name, value in self.as_dict().items())
        return f"config({values})"

    @classmethod
    def _options(cls) -> dict[str, Option[Any]]:
        return {name: option for name, option in vars(cls).items() if isinstance(option, Option)}

    @classmethod
    def _option(cls, name: str) -> Option[Any]:
        options = cls._options()
        if name not in options:
            near = near_names(name, options)
            meant = f", did you mean {near[0]!r}? The" if near else "; the"
            raise InvalidArgumentError(f"no option is named {name!r}{meant} options are {', '.join(options)}")
        return options[name]


config = Configuration()
# Programs for Turi Create import these two functions from its module ``config``.
get_runtime_config, set_runtime_config = config.get_runtime_config, config.set_runtime_config
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=config.free_lock)
