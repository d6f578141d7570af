"""Runs hostile cases in a process with limits and writes what each ended in: ``python -m tests.hostile.run_cases``."""

from __future__ import annotations

import json
import resource
import sys
import tempfile
import time
import traceback
from pathlib import Path
from typing import Any

from sframe_spark.errors import SFrameError
from sframe_spark.session import session
from tests.hostile import hostile_frames, hostile_texts
from tests.hostile.fuzz import MAX_BYTES, limited, without_spark

CASES = {**hostile_frames.REFUSED, **hostile_texts.REFUSED, **hostile_texts.ENDED}


def outcome(name: str) -> dict[str, Any]:
    """How one case ended, and how long it took."""
    with tempfile.TemporaryDirectory() as place:
        directory = Path(place) / "case"
        directory.mkdir()
        start, error = time.monotonic(), ""
        try:
            with limited():
                CASES[name](directory)
            ended = "done"
        except SFrameError as caught:
            ended, error = "refused", f"{type(caught).__name__}: {caught}"
        except BaseException as caught:
            frame = traceback.extract_tb(caught.__traceback__)[-1]
            ended, error = "broken", f"{type(caught).__name__}: {caught} at {frame.filename}:{frame.lineno}"
        canary = (directory / "canary").exists() or Path("canary").exists()
        return {"ended": ended, "error": error[:300], "seconds": round(time.monotonic() - start, 2), "canary": canary}


if __name__ == "__main__":
    resource.setrlimit(resource.RLIMIT_AS, (MAX_BYTES, MAX_BYTES))
    session.start_spark = without_spark
    json.dump({name: outcome(name) for name in CASES}, sys.stdout)
