"""Command line: ``python -m sframe_spark doctor`` checks the installation, ``clean`` deletes what killed processes left,
``verify`` reads saved frames and says which files are damaged."""

from __future__ import annotations

import argparse
import functools
import io
import sys
from collections.abc import Sequence

import sframe_spark
from sframe_spark.session import stop
from sframe_spark.session.doctor import run_doctor
from sframe_spark.storage.clean import run_clean
from sframe_spark.storage.verify import run_verify


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command that the arguments name and return the exit status."""
    parser = argparse.ArgumentParser(prog="python -m sframe_spark", description=sframe_spark.__doc__)
    parser.add_argument("--version", action="version", version=sframe_spark.__version__)
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("doctor", help="check Python, Java, Spark and the temporary directory")
    clean = commands.add_parser("clean", help="delete what processes that were killed left")
    clean.add_argument("paths", nargs="*", type=_path, help="saved frames, or directories with some, to look beside; temporary data always")
    clean.add_argument("--dry-run", action="store_true", help="only list what would be deleted")
    verify = commands.add_parser("verify", help="read every byte of saved frames and compare all check sums")
    verify.add_argument("paths", nargs="+", type=_path, metavar="PATH", help="a saved frame or column")
    chosen = parser.parse_args(arguments)
    if chosen.command == "clean":
        return run_clean(chosen.paths, chosen.dry_run, print)
    if chosen.command == "verify":
        return run_verify(chosen.paths, functools.partial(print, flush=True))
    try:
        return run_doctor(functools.partial(print, flush=True))
    finally:
        stop()


def _path(text: str) -> str:
    if not text:
        raise argparse.ArgumentTypeError("the path is empty")
    return text


if __name__ == "__main__":
    # Names of files may hold what the terminal has no characters for.
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")
    raise SystemExit(main())
