"""Bytes of a Parquet file of somebody else are changed, and it is read: ``python -m tests.storage.parquet.foreign_flips KIND FIRST COUNT``."""

from __future__ import annotations

import datetime
import json
import random
import resource
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from sframe_spark import SFrame
from sframe_spark.errors import SFrameError
from sframe_spark.session import session
from tests.hostile.fuzz import NeedsSpark, limited, without_spark

ROWS = 300
MAX_BYTES = 8 << 30


def foreign_table() -> pa.Table:
    """Rows of types that other programs write."""
    numbers = range(ROWS)
    return pa.table(
        {
            "int": list(numbers),
            "share": [None if i % 7 == 0 else i / 3 for i in numbers],
            "word": [f"x{i % 9}" for i in numbers],
            "name": [f"n{i}" for i in numbers],
            "moment": pa.array([datetime.datetime(2020, 1, 1)] * ROWS, pa.timestamp("us")),
            "day": pa.array([datetime.date(2020, 1, 1)] * ROWS),
            "flag": [i % 2 == 0 for i in numbers],
            "small": pa.array([i % 100 for i in numbers], pa.int8()),
            "list": [[i, None] for i in numbers],
        }
    )


def read(place: Path) -> list[Any]:
    """What some doors give."""
    frame = SFrame(str(place))
    columns = [frame["int"].max(), frame["int"].sum(), frame["share"].min(), frame["word"].unique()]
    return [len(frame), list(frame), len(frame[frame["share"] > 5]), list(frame.sort("word").head(2)), *map(str, columns)]


def run(kind: str, first: int, count: int) -> dict[str, Any]:
    """Outcomes of some seeds by kind, and the cases that failed."""
    session.start_spark = without_spark
    outcomes: Counter[str] = Counter()
    failures: list[str] = []
    with tempfile.TemporaryDirectory() as directory:
        good = Path(directory) / "good.parquet"
        pq.write_table(foreign_table(), good, row_group_size=100)
        content, right = good.read_bytes(), read(good)
        footer = len(content) - 8 - int.from_bytes(content[-8:-4], "little")
        for seed in range(first, first + count):
            drawn = random.Random(seed)
            at = drawn.randrange(footer if kind == "footer" else 0, len(content))
            place = Path(directory) / f"{seed}.parquet"
            place.write_bytes(content[:at] + bytes([drawn.randrange(256)]) + content[at + 1 :])
            # Whoever looks at a process that ended learns which case it was.
            sys.stderr.write(f"seed {seed}, byte {at}\n")
            try:
                with limited():
                    outcomes["right" if read(place) == right else "others"] += 1
            except (SFrameError, NeedsSpark) as error:
                outcomes[type(error).__name__] += 1
            except BaseException as error:
                failures.append(f"seed {seed}, byte {at}: {type(error).__name__}: {error}"[:300])
            place.unlink()
    return {"outcomes": dict(outcomes), "failures": failures}


if __name__ == "__main__":
    resource.setrlimit(resource.RLIMIT_AS, (MAX_BYTES, MAX_BYTES))
    asked = zip(sys.argv[1::3], sys.argv[2::3], sys.argv[3::3], strict=True)
    json.dump({kind: run(kind, int(first), int(count)) for kind, first, count in asked}, sys.stdout)
