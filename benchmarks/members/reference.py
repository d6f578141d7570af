"""The reference engine's side: its interpreter runs this file, reads a request from each line and answers on a line of its own.

``PYTHON benchmarks/members/reference.py ROWS DIRECTORY FILES``; a request is ``["sample", NAME]`` or ``["time", NAME]``.
"""

from __future__ import annotations

import json
import os
import sys
import time
import traceback
from typing import Any

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))


def answer(cases: dict[str, Any], request: list[str]) -> Any:
    """What a request asks for."""
    from benchmarks.members.every import run

    what, name = request
    if what == "sample":
        return cases[name].sample(run(cases[name]))
    start = time.perf_counter()
    run(cases[name])
    return time.perf_counter() - start


def main() -> None:
    """Answer until nothing more is asked."""
    # The engine prints its progress where answers are expected.
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    import turicreate

    from benchmarks.members.every import every
    from benchmarks.members.frames import prepare

    rows, place, files = int(sys.argv[1]), sys.argv[2], sys.argv[3]
    scratch = os.path.join(place, "scratch")
    os.makedirs(scratch)
    frames = prepare(turicreate, rows, place, files)
    cases = every(turicreate, frames, scratch)
    for line in sys.stdin:
        try:
            found = {"found": answer(cases, json.loads(line))}
        except Exception:
            found = {"error": traceback.format_exc()}
        answers.write(json.dumps(found) + "\n")
        answers.flush()


if __name__ == "__main__":
    main()
