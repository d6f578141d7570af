"""What Spark's executors say of themselves and of a directory: each task looks, writes and answers without this package."""

from __future__ import annotations

import importlib
import json
import platform
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import attrs
import pyarrow as pa

# A task stays long enough for the others of its wave to be given to other executors.
SECONDS_OF_A_TASK = 0.3
LARGEST_PART_READ = 65_536


@attrs.frozen
class Answer:
    """What one task found.

    Parameters
    ----------
    host
        Name of its machine.
    place
        Its working directory: one for each executor of a machine.
    python, pyarrow, package
        Versions that it runs; of the package None where it cannot be imported.
    trouble
        What went wrong with the files, or with the import; empty: nothing.
    content
        What it read.
    written
        Name of the file that it wrote, which holds what it read; empty: none.
    missing
        Name of the module that is not installed, where the package cannot be imported for want of it; empty: none.
    """

    host: str
    place: str
    python: str
    pyarrow: str
    package: str | None
    trouble: str
    content: str
    written: str
    missing: str = ""

    @classmethod
    def of_text(cls, text: str) -> Answer:
        """The answer as a task sent it."""
        return cls(**json.loads(text))

    @property
    def executor(self) -> str:
        """Which executor answered, for a message."""
        return f"{self.host} (working in {self.place})"


def versions() -> dict[str, str]:
    """What this process runs, by the names of an answer; of Python's version what Spark compares."""
    # Complete by now, although this module is one of its lower layers.
    package = importlib.import_module("sframe_spark").__version__
    return {"python": ".".join(map(str, sys.version_info[:2])), "pyarrow": pa.__version__, "package": package}


def reading(file: str) -> Callable[[], str]:
    """A function that tells what a process sees of a file: its size and a checksum of its end, where Parquet keeps what it is."""
    part = LARGEST_PART_READ

    def read() -> str:
        import hashlib
        import os

        size = os.path.getsize(file)
        with open(file, "rb") as stream:
            stream.seek(max(0, size - part))
            return f"{size}-{hashlib.sha256(stream.read()).hexdigest()}"

    return read


def looking(files: Sequence[str]) -> Callable[[], str]:
    """A function that tells which file a process sees at each path, by what tells one content from another (:class:`FileState`), or why none."""
    paths = list(files)

    def look() -> str:
        import json
        import os

        found: list[Any] = []
        for path in paths:
            try:
                status = os.stat(path)
                found.append([status.st_size, status.st_mtime_ns, status.st_ino])
            except OSError as error:
                found.append(error.strerror)
        return json.dumps(found)

    return look


def writing(directory: str) -> Callable[[str], str]:
    """A function that writes a text into a new file of a directory, and gives the file's name."""

    def write(content: str) -> str:
        import os
        import uuid

        name = f"answer-{uuid.uuid4().hex}"
        with open(os.path.join(directory, name), "x", encoding="ascii") as stream:
            stream.write(content)
        return name

    return write


def answering(read: Callable[[], str] | None, directory: str | None) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """A function of tasks that looks at files, writes what it read into a file of a directory, and answers.

    It travels as a whole, where a function of a module would be imported: a worker without this package answers too.
    """
    write = None if directory is None else writing(directory)
    seconds = SECONDS_OF_A_TASK

    def found() -> dict[str, Any]:
        import importlib

        package, missing, content, written, troubles = None, "", "", "", []
        try:
            package = importlib.import_module("sframe_spark").__version__
        except Exception as error:
            missing = str(error.name) if isinstance(error, ModuleNotFoundError) else ""
            troubles.append(f"sframe_spark cannot be imported: {type(error).__name__}: {error}")
        try:
            content = read() if read is not None else ""
            written = write(content) if write is not None else ""
        except OSError as error:
            troubles.append(f"{error.strerror}: {error.filename}")
        return {"package": package, "missing": missing, "content": content, "written": written, "trouble": "; ".join(troubles)}

    def answer(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import json
        import os
        import platform
        import sys
        import time

        import pyarrow

        for _ in batches:
            python = ".".join(map(str, sys.version_info[:2]))
            about = {"host": platform.node(), "place": os.getcwd(), "python": python, "pyarrow": pyarrow.__version__, **found()}
            time.sleep(seconds)
            yield pyarrow.RecordBatch.from_pydict({"answer": [json.dumps(about)]})

    return answer


def this_host() -> str:
    """The name of this machine, for a message."""
    return platform.node()
