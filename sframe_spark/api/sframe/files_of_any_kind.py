"""Members of SFrame that read and write files of any kind: those of this package, and those of plug-ins."""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

import attrs

# Arrow's files are registered as the files of plug-ins are.
import sframe_spark.operators.sources.arrow_files  # noqa: F401
from sframe_spark.api.aggregates.argument_types import Path
from sframe_spark.api.class_registry import SFrame, make_frame
from sframe_spark.api.error_hints import call_example
from sframe_spark.api.io.path_arguments import file_path_text, path_text
from sframe_spark.api.io.saved_frames import load_frame
from sframe_spark.api.sframe.columns import Columns
from sframe_spark.api.sframe.file_io import FrameFiles, form_of_files, write_directory
from sframe_spark.engine.execution.export import write_whole
from sframe_spark.errors import InvalidArgumentError, StorageError, listed
from sframe_spark.message_text import visible
from sframe_spark.operators.sources.file_kinds import SOURCES, WRITERS, made, require_options, suffix_of
from sframe_spark.operators.sources.row_source import FileSource, SourceFile
from sframe_spark.operators.sources.rows_of_sources import source_node
from sframe_spark.operators.sources.source_table import table_of_sources
from sframe_spark.paths_and_uris import scheme_of
from sframe_spark.storage.external.parquet_footers_to_manifest import natural_sort_key
from sframe_spark.storage.filesystem.compression import packing_of, without_packing
from sframe_spark.storage.filesystem.format_recognition import ORC, PARQUET, SAMPLE_BYTES, TEXT, is_archive, is_saved_frame, kind_of, start_of
from sframe_spark.storage.filesystem.input_files import DataFiles, is_open_file, resolve
from sframe_spark.storage.filesystem.local_files import unchanged


@attrs.frozen
class BuiltinKind:
    """A kind of files that members of SFrame read and write.

    Parameters
    ----------
    suffixes
        What the names of such files end in.
    read
        Returns the frame in files, given their path, and options by name.
    write
        Writes a frame, given the frame, a path, and options by name.
    """

    suffixes: tuple[str, ...]
    read: Callable[..., SFrame]
    write: Callable[..., None]


# Files of these kinds may be compressed, so their suffix may stand before that of a compression.
BUILTIN_KINDS: Mapping[str, BuiltinKind] = {
    "parquet": BuiltinKind((".parquet",), lambda path: FrameFiles.read_parquet(path), lambda frame, path: frame.write_parquet(path)),
    "orc": BuiltinKind((".orc",), lambda path: FrameFiles.read_orc(path), lambda frame, path: frame.write_orc(path)),
    "csv": BuiltinKind(
        (".csv", ".txt"),
        lambda path, **options: FrameFiles.read_csv(path, **{"verbose": False, **options}),
        lambda frame, path, **options: frame.export_csv(path, **options),
    ),
    "tsv": BuiltinKind(
        (".tsv",),
        lambda path, **options: FrameFiles.read_csv(path, **{"verbose": False, "delimiter": "\t", **options}),
        lambda frame, path, **options: frame.export_csv(path, **{"delimiter": "\t", **options}),
    ),
    "json": BuiltinKind(
        (".json",),
        lambda path, **options: FrameFiles.read_json(path, **options),
        lambda frame, path, **options: frame.export_json(path, **options),
    ),
    "jsonl": BuiltinKind(
        (".jsonl", ".ndjson"),
        lambda path, **options: FrameFiles.read_json(path, orient="lines", **options),
        lambda frame, path: frame.export_json(path, orient="lines"),
    ),
    "sframe": BuiltinKind((), lambda path, **options: make_frame(*load_frame(path_text(path), **options)), lambda frame, path: frame.save(path)),
}
_KINDS_BY_CONTENT = {PARQUET: "parquet", ORC: "orc", TEXT: "csv"}


class FilesOfAnyKind(Columns):
    """Mixin of SFrame: reading and writing files whose kind is found by their names or first bytes."""

    @staticmethod
    @call_example("SFrame.read('rows.arrow')")
    def read(path: Path | Sequence[Path], format: str | None = None, **options: Any) -> SFrame:
        """Return a frame of the rows of files of any kind: of this package's readers, and of those that plug-ins have registered.

        The kind is that of the file's suffix or, if no kind has the suffix, that of its first bytes; of several files, that of the first. Only what
        is needed is read, when it is needed, from files of Parquet, of Arrow and of plug-ins: pruned columns, ranges of rows, and filters where the
        reader makes use of them.

        Parameters
        ----------
        path
            A path, a directory, a pattern, a URL, or a list of these; or the directory of a saved frame.
        format
            The name of the kind: ``parquet``, ``orc``, ``csv``, ``tsv``, ``json``, ``jsonl``, ``arrow``, ``arrow_stream``, ``sframe`` or one of a
            plug-in. None: it is found.
        options
            Options of the reader: for ``csv`` those of ``read_csv()``, for a plug-in's kind those of its class.

        Raises
        ------
        StorageError
            If there is no such file, or no reader for it.
        InvalidArgumentError
            If there is no kind of that name, or it has no such option.

        Examples
        --------
        >>> import tempfile
        >>> from sframe_spark import SFrame
        >>> with tempfile.TemporaryDirectory() as directory:
        ...     SFrame({"a": [1, 2]}).write(directory + "/rows.arrow")
        ...     list(SFrame.read(directory + "/rows.arrow")["a"])
        [1, 2]
        """
        files, place = None, cast(Any, path)
        if is_open_file(path):
            place = resolve(path, natural_sort_key)
        if format is None:
            format, files = kind_of_files(place)
        if format in BUILTIN_KINDS:
            frame: SFrame = call_builtin(format, "read", BUILTIN_KINDS[format].read, place, **options)
            return frame
        kind = SOURCES.named(format, BUILTIN_KINDS)
        return frame_of_files(kind, files or resolve(place, natural_sort_key, f"{format} file", in_place=True), options)

    @call_example("sf.write('rows.arrow')")
    def write(self, path: str | os.PathLike[str], format: str | None = None, parts: bool = False, **options: Any) -> None:
        """Write all rows to a file of any kind, which appears only when it is complete: by this package's writers, and by those of plug-ins.

        Parameters
        ----------
        path
            Path of the file; for ``parquet``, ``orc`` and ``sframe``, and with ``parts``, of a directory.
        format
            The name of the kind, as in :meth:`read`. None: that of the path's suffix.
        parts
            Whether to write a directory with a file for each part of the rows, side by side, in tasks; for kinds of Arrow and of plug-ins.
        options
            Options of the writer: for ``csv`` those of ``export_csv()``, for a plug-in's kind those of its class.

        Raises
        ------
        StorageError
            If the file cannot be written.
        InvalidArgumentError
            If no kind has the suffix or the name, it has no such option, or it cannot have the frame's columns.

        Examples
        --------
        >>> import tempfile
        >>> from sframe_spark import SFrame
        >>> with tempfile.TemporaryDirectory() as directory:
        ...     SFrame({"a": [1, None]}).write(directory + "/rows.jsonl")
        ...     list(SFrame.read(directory + "/rows.jsonl"))
        [{'a': 1}, {'a': None}]
        """
        text = path_text(path)
        name = format if format is not None else kind_of_name(text)
        if name in BUILTIN_KINDS:
            if parts and name not in ("parquet", "orc"):
                raise InvalidArgumentError(f"files of the kind {name} cannot be written in parts: omit parts=True")
            call_builtin(name, "written", BUILTIN_KINDS[name].write, self, text, **options)
            return
        writer = WRITERS.named(name, BUILTIN_KINDS)
        if packing_of(text) is not None:
            raise InvalidArgumentError(f"files of the kind {writer.name} cannot be compressed: omit {os.path.splitext(text)[1]!r} from the name")
        if parts:
            write_directory(self._node, self._names, text, writer, **options)
        else:
            write_whole(self._node, file_path_text(text), form_of_files(self._node, self._names, writer, options))


# Which kind files are of.


def kind_of_files(path: Any) -> tuple[str, DataFiles | None]:
    """Return the name of the kind of files at a path, and the files, if they had to be found for it.

    Raises
    ------
    StorageError
        If there are no files, or the kind of the first one is unknown.
    """
    if isinstance(path, (str, os.PathLike)):
        text = os.path.expanduser(path_text(path))
        if (scheme_of(text) is None and is_archive(text)) or is_saved_frame(text):
            return "sframe", None
        if (name := builtin_by_suffix(text)) is not None:
            return name, None
    files = resolve(path, natural_sort_key, "file", in_place=True)
    first = files.files[0]
    if (name := builtin_by_suffix(first.origin)) is not None:
        return name, None
    kind = SOURCES.by_suffix(first.origin)
    if kind is None:
        start = start_of(first.path)
        kind = SOURCES.by_beginning(start)
        if kind is None:
            return builtin_by_content(first.origin, start), None
    return kind.name, files


def builtin_by_suffix(path: str) -> str | None:
    """Return the name of the built-in kind of files whose suffix a path ends in; None if there is none."""
    suffix = suffix_of(without_packing(path))
    return next((name for name, kind in BUILTIN_KINDS.items() if suffix in kind.suffixes), None)


def builtin_by_content(origin: str, start: bytes) -> str:
    """Return the name of the kind of files of this package's own that begin as a file does.

    Raises
    ------
    StorageError
        If there is none.
    """
    found = kind_of(start[:SAMPLE_BYTES])
    if found in _KINDS_BY_CONTENT:
        return _KINDS_BY_CONTENT[found]
    what = "it is empty" if not start else "neither its suffix nor its first bytes match a known kind" if found is None else f"it is {found.name}"
    advice = "name the kind with format=" if found is None else found.advice
    raise StorageError(f"there is no reader for {visible(origin)}: {what}; {advice}. There are {listed(names_of_readers(), str)}")


def names_of_readers() -> list[str]:
    """Return the names of all kinds of files that are read."""
    return sorted([*BUILTIN_KINDS, *(kind.name for kind in SOURCES.kinds())])


def kind_of_name(path: str) -> str:
    """Return the name of the kind of files that the suffix of a new file is that of.

    Raises
    ------
    InvalidArgumentError
        If it is that of none.
    """
    if (name := builtin_by_suffix(path)) is not None:
        return name
    writer = WRITERS.by_suffix(without_packing(path))
    if writer is None:
        names = sorted([*BUILTIN_KINDS, *(kind.name for kind in WRITERS.kinds())])
        raise InvalidArgumentError(f"no kind of files has the suffix of {visible(path)!r}: name one with format=, out of {listed(names, str)}")
    return writer.name


# Reading and writing.


def call_builtin(name: str, what: str, call: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
    """Return what a reader or a writer of this package's own gives.

    Raises
    ------
    InvalidArgumentError
        If it takes no such option.
    """
    try:
        inspect.signature(call).bind(*arguments, **options)
    except TypeError:
        raise InvalidArgumentError(f"files of the kind {name} are {what} without options, got {listed(list(options))}") from None
    return call(*arguments, **options)


def frame_of_files(kind: type[FileSource], files: DataFiles, options: Mapping[str, Any]) -> SFrame:
    """Return the frame of files of a kind that a class of sources reads, one source for each file."""
    require_options(kind, options)
    with files.named_in_errors():
        sources = []
        for file in files.files:
            state = file.state or unchanged(file.path, None)
            found = SourceFile(file.path, state, file.origin)
            source = made(kind, f"the source {kind.name} of {file.origin}", lambda found=found: kind(found, **options))  # type: ignore[misc]
            sources.append(source)
        table = table_of_sources(sources)
    return make_frame(source_node(table, files.holder), list(table.names))
