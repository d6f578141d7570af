"""Command line: ``python -m sframe_spark doctor`` checks the installation."""

from __future__ import annotations

import argparse
import functools
from collections.abc import Sequence

import sframe_spark
from sframe_spark.session import stop
from sframe_spark.session.doctor import run_doctor


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command that the arguments name and return the exit status."""
    parser = argparse.ArgumentParser(prog="python -m sframe_spark", description=sframe_spark.__doc__)
    parser.add_argument("--version", action="version", version=sframe_spark.__version__)
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("doctor", help="check Python, Java, Spark and the temporary directory")
    parser.parse_args(arguments)
    try:
        return run_doctor(functools.partial(print, flush=True))
    finally:
        stop()


if __name__ == "__main__":
    raise SystemExit(main())
