"""The kinds of files that frames are read from and written to by classes of sources and of writers, found by their names and first bytes."""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Generic, TypeVar

from sframe_spark.errors import InvalidArgumentError, PlanInvariantError, SFrameError, listed
from sframe_spark.message_text import visible
from sframe_spark.operators.sources.row_source import FileSource
from sframe_spark.planner.node import is_builtin
from sframe_spark.planner.plugin_loading import hint_of_left_out, load_plugins
from sframe_spark.planner.registrations import location_of, record
from sframe_spark.storage.file_writer import FileWriter
from sframe_spark.udf.function_errors import failure_without_input

Kind = TypeVar("Kind", bound=type[FileSource] | type[FileWriter])
Made = TypeVar("Made")


class KindTable(Generic[Kind]):
    """Classes by the names of their kinds of files.

    Parameters
    ----------
    word
        What such a class is called in messages.
    base
        The base class.
    taken
        Suffixes that other readers or writers of this package have, which no plug-in takes from them.
    """

    def __init__(self, word: str, base: type, taken: frozenset[str]) -> None:
        self.word, self._base, self._taken = word, base, taken
        self._kinds: dict[str, Kind] = {}

    def add(self, kind: Kind) -> Kind:
        """Add a class under its name.

        Raises
        ------
        PlanInvariantError
            If it is not a subclass of the base class, or has no name, or its name, a suffix or its first bytes are taken.
        """
        if not isinstance(kind, type) or not issubclass(kind, self._base):
            raise PlanInvariantError(f"a {self.word} is a subclass of {self._base.__name__}, and {kind!r:.80} is none")
        if not isinstance(kind.name, str) or not kind.name.isidentifier():
            raise PlanInvariantError(f"the {self.word} {kind.__qualname__} needs a class attribute 'name', an identifier, not {kind.name!r:.80}")
        given: Any = kind.suffixes
        if isinstance(given, str) or not all(isinstance(suffix, str) and suffix.startswith(".") for suffix in given):
            raise PlanInvariantError(
                f"the suffixes of the {self.word} {kind.name!r} must be a tuple of texts that begin with a dot, not {kind.suffixes!r:.80}"
            )
        # A class that is defined again, as when a cell of a notebook runs again, takes the place of its earlier version.
        before = self._kinds.get(kind.name)
        others = [other for other in self._kinds.values() if other is not before]
        if before is not None and location_of(before) != location_of(kind):
            raise PlanInvariantError(f"the name {kind.name!r} is taken by the {self.word} {location_of(before)}: choose another name")
        suffixes = {suffix.lower() for suffix in kind.suffixes}
        way_out = f": choose another one, or none, as format={kind.name!r} finds it too"
        for suffix in sorted(suffixes & self._taken):
            raise PlanInvariantError(f"the suffix {suffix!r} of the {self.word} {kind.name!r} is taken by this package itself{way_out}")
        for other in others:
            if common := sorted(suffixes & {suffix.lower() for suffix in other.suffixes}):
                taken = f"the suffix {common[0]!r} of the {self.word} {kind.name!r} is taken by the {self.word} {other.name!r}"
                raise PlanInvariantError(f"{taken}{way_out}")
            if getattr(kind, "beginning", b"") and getattr(kind, "beginning", b"") == getattr(other, "beginning", b""):
                raise PlanInvariantError(
                    f"files of {kind.name!r} begin with the same bytes as those of {other.name!r}, so they cannot be distinguished"
                )
        self._kinds[kind.name] = kind
        if not is_builtin(kind):
            record(self.word, kind.name, kind, lambda: self._remove(kind))
        return kind

    def _remove(self, kind: Kind) -> None:
        """Make the name of a class free again, unless a later version of the class has it."""
        if self._kinds.get(kind.name) is kind:
            del self._kinds[kind.name]

    def kinds(self) -> list[Kind]:
        """Load plug-ins, and return all classes."""
        load_plugins()
        return list(self._kinds.values())

    def named(self, name: str, others: Iterable[str] = ()) -> Kind:
        """Return the class with a name.

        Raises
        ------
        InvalidArgumentError
            If there is none; the message names those that there are, ``others`` too.
        """
        kinds = {kind.name: kind for kind in self.kinds()}
        if name not in kinds:
            hint = hint_of_left_out(self.word, name)
            raise InvalidArgumentError(
                f"there is no {self.word} named {visible(str(name))!r:.80}: there are {listed(sorted({*kinds, *others}), str)}{hint}"
            )
        return kinds[name]

    def by_suffix(self, path: str) -> Kind | None:
        """Return the class whose suffix a path ends in, the longest one; None if there is none."""
        found = [(len(suffix), kind) for kind in self.kinds() for suffix in kind.suffixes if path.lower().endswith(suffix.lower())]
        return max(found, key=lambda item: item[0])[1] if found else None

    def by_beginning(self, start: bytes) -> Kind | None:
        """Return the class whose files begin as some bytes do, by the most bytes; None if there is none."""
        found = [kind for kind in self.kinds() if getattr(kind, "beginning", b"") and start.startswith(getattr(kind, "beginning", b""))]
        return max(found, key=lambda kind: len(getattr(kind, "beginning", b""))) if found else None


# What ``SFrame.read()`` and ``SFrame.write()`` do by other means.
BUILTIN_SUFFIXES = frozenset((".parquet", ".orc", ".csv", ".tsv", ".txt", ".json", ".jsonl", ".ndjson"))
SOURCES: KindTable[type[FileSource]] = KindTable("source", FileSource, BUILTIN_SUFFIXES)
WRITERS: KindTable[type[FileWriter]] = KindTable("writer", FileWriter, BUILTIN_SUFFIXES)
SourceClass = TypeVar("SourceClass", bound=type[FileSource])
WriterClass = TypeVar("WriterClass", bound=type[FileWriter])


def register_source(source: SourceClass) -> SourceClass:
    """Class decorator that registers a kind of files, which ``SFrame.read()`` then finds by its suffixes, its first bytes and its name.

    Raises
    ------
    PlanInvariantError
        If the class is not a :class:`FileSource`, has no name, or its name, a suffix or its first bytes are taken.

    Examples
    --------
    >>> @register_source
    ... class Unnamed(FileSource):
    ...     pass
    Traceback (most recent call last):
    sframe_spark.errors.PlanInvariantError: the source Unnamed needs a class attribute 'name', an identifier, not ''
    """
    SOURCES.add(source)
    return source


def register_writer(writer: WriterClass) -> WriterClass:
    """Class decorator that registers a writer, which ``SFrame.write()`` then finds by its suffixes and its name.

    Raises
    ------
    PlanInvariantError
        If the class is not a :class:`FileWriter`, has no name, or its name or a suffix is taken.

    Examples
    --------
    >>> @register_writer
    ... class Tables(FileWriter):
    ...     name, suffixes = "tables", (".csv",)
    Traceback (most recent call last):
    sframe_spark.errors.PlanInvariantError: the suffix '.csv' of the writer 'tables' is taken by this package itself: ...
    """
    WRITERS.add(writer)
    return writer


def require_options(kind: type[FileSource] | type[FileWriter], options: Mapping[str, Any]) -> None:
    """Check that a class takes options of some names: those of the parameters that it has besides those of its base class.

    Raises
    ------
    InvalidArgumentError
        If it does not.
    """
    base = FileSource if issubclass(kind, FileSource) else FileWriter
    parameters = list(inspect.signature(kind.__init__).parameters.values())[1:]
    given = len(inspect.signature(base.__init__).parameters) - 2
    takes_any = kind.__init__ is not base.__init__ and any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters)
    names = [parameter.name for parameter in parameters[given:] if parameter.kind in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY)]
    for name in options:
        if name not in names and not takes_any:
            raise InvalidArgumentError(
                f"files of the kind {kind.name} have no option {visible(name)!r:.80}: they have {listed(names, str) or 'none'}"
            )


def made(kind: Any, what: str, make: Callable[[], Made]) -> Made:
    """Return what a class of a plug-in makes; an unexpected error says what was being done.

    Raises
    ------
    UserFunctionError
        If the class raises an error that is not of this package. The error is also an instance of that error's class.
    """
    try:
        return make()
    except (SFrameError, MemoryError):
        raise
    except Exception as error:
        if is_builtin(kind):
            raise
        raise failure_without_input(what, error) from error


def suffix_of(path: str) -> str:
    """Return the suffix of a path, in lower case.

    Examples
    --------
    >>> suffix_of("rows.JSON"), suffix_of("directory/")
    ('.json', '')
    """
    return os.path.splitext(path.rstrip("/"))[1].lower()
