"""The command line, ``python -m sframe_spark COMMAND``.

``doctor`` checks the installation, or a cluster with ``--master``; ``clean`` deletes files that killed processes left behind; ``verify`` reads
saved frames and prints which files are damaged; ``convert`` converts archives of Turi Create to saved frames; ``prepare`` saves an archive of
Java classes with which Spark starts faster; ``port`` lists what must change in programs for Turi Create and GraphLab Create.
"""

from __future__ import annotations

import argparse
import io
import sys
from collections.abc import Sequence
from functools import partial
from typing import Any, NoReturn

import sframe_spark
from sframe_spark.cli.clean import run_clean
from sframe_spark.cli.convert_turicreate_archives import ConvertOptions, run_convert
from sframe_spark.cli.doctor import check_cluster, end_connection, run_doctor
from sframe_spark.cli.port import run_port
from sframe_spark.cli.prepare import run_prepare, run_sample_queries
from sframe_spark.cli.verify import run_verify
from sframe_spark.message_text import visible
from sframe_spark.session import stop
from sframe_spark.turicreate.archive import ENCODING_ERRORS, STRICT


def command_line() -> argparse.ArgumentParser:
    """Return the parser of all commands and their arguments."""
    parser = _Parser(prog="python -m sframe_spark", description=(sframe_spark.__doc__ or "").partition("\n")[0])
    parser.add_argument("--version", action="version", version=sframe_spark.__version__)
    commands = parser.add_subparsers(dest="command", required=True)
    doctor = commands.add_parser("doctor", help="check Python, Java, Spark and the temporary directory")
    doctor.add_argument("--master", type=_path, metavar="URL", help="a cluster or Spark Connect server whose executors are checked, too")
    clean = commands.add_parser("clean", help="delete files that killed processes left behind")
    clean.add_argument(
        "paths",
        nargs="*",
        type=_path,
        help="saved frames, or directories that contain some, next to which to search as well; temporary directories are always searched",
    )
    clean.add_argument("--dry-run", action="store_true", help="only list what would be deleted")
    verify = commands.add_parser("verify", help="read every byte of saved frames and compare all check sums")
    verify.add_argument("paths", nargs="+", type=_path, metavar="PATH", help="a saved frame or column")
    _add_convert(commands)
    prepare = commands.add_parser("prepare", help="save an archive of the classes that Spark loads, so that it starts faster")
    prepare.add_argument("--delete", action="store_true", help="delete all saved archives instead")
    port = commands.add_parser("port", help="list what must change in programs for GraphLab Create, SFrame or Turi Create, by line")
    port.add_argument("paths", nargs="+", type=_path, metavar="PROGRAM", help="a program (.py) or a notebook (.ipynb)")
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command that the arguments select, and return its exit status; None stands for the arguments of the process."""
    chosen = command_line().parse_args(arguments)
    if chosen.command == "clean":
        return run_clean(chosen.paths, chosen.dry_run, _show_line)
    if chosen.command == "verify":
        return run_verify(chosen.paths, _show_line)
    if chosen.command == "convert":
        options = ConvertOptions(tuple(chosen.references), chosen.encoding_errors, chosen.verify, chosen.skip_existing)
        return run_convert(chosen.old, chosen.new, options, chosen.report, _show_line)
    if chosen.command == "prepare":
        return run_prepare(run_sample_queries, chosen.delete, _show_line)
    if chosen.command == "port":
        return run_port(chosen.paths, _show_line)
    try:
        return run_doctor(_show, None if chosen.master is None else partial(check_cluster, chosen.master))
    finally:
        if chosen.master is None:
            stop()
        else:
            end_connection()


def _add_convert(commands: Any) -> None:
    convert = commands.add_parser("convert", help="convert archives of Turi Create to saved frames, one or a whole tree of them")
    convert.add_argument("old", type=_path, metavar="OLD", help="an archive, or a directory that contains archives at any depth")
    convert.add_argument(
        "new", type=_path, metavar="NEW", help="where to save the frame, or the directory below which each frame is saved under its relative path"
    )
    convert.add_argument("--verify", action="store_true", help="read what was written and compare every value with the archive")
    convert.add_argument("--skip-existing", action="store_true", help="skip archives that have been converted already")
    convert.add_argument(
        "--references", action="append", default=[], type=_path, metavar="DIR", help="a further directory that may contain rows of the archives"
    )
    convert.add_argument("--encoding-errors", choices=ENCODING_ERRORS, default=STRICT, help="what to do with texts that are not UTF-8")
    convert.add_argument("--report", type=_path, metavar="FILE", help="write a JSON file that reports the outcome for each archive")


class _Parser(argparse.ArgumentParser):
    """A parser whose error messages show control characters in arguments as escapes, since arguments may be file names with any characters."""

    def error(self, message: str) -> NoReturn:
        """Print what is wrong with the arguments, and exit."""
        super().error(visible(message))


def _show_line(text: str) -> None:
    """Print a line, with line breaks and control characters in it shown as escapes."""
    print(visible(text), flush=True)


def _show(text: str) -> None:
    print(visible(text, lines=True), flush=True)


def _path(text: str) -> str:
    if not text:
        raise argparse.ArgumentTypeError("the path is empty")
    return text


if __name__ == "__main__":
    # File names may contain characters that the encoding of the terminal does not have.
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")
    raise SystemExit(main())
