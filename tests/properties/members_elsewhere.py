"""What members give on Spark, beside what they give without: on a cluster of three executor processes when run as a module.

The calls are those of `tests/api/members.py`, of the members that came with the whole API.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from sframe_spark import SArray, SFrame, config, util, visualization
from sframe_spark.api import random_frames
from sframe_spark.session import get_session
from tests.api.members import ARRAY, FRAME, Given, database
from tests.plain_values import plain
from tests.properties.other_sparks import place, start

ROWS = 60
SEGMENTS = 7
Call = Callable[[Given], Any]

OF_ARRAYS = (
    "date_range datetime_to_str dict_has_all_keys dict_has_any_keys dict_keys dict_trim_by_keys dict_trim_by_values dict_values element_slice"
    " random_integers random_split read_json sample shuffle split_datetime stack str_to_datetime unpack vector_slice"
)
OF_FRAMES = "flat_map from_sql pack_columns random_split read_json sample shuffle split_datetime stack unpack unstack"


def written_json(given: Given) -> list[str]:
    """Two files of JSON, of rows that a sort gives."""
    rows = given.numbers().sort("key")
    rows.export_json(given.path("rows.json"))
    rows.export_json(given.path("lines.json"), orient="lines")
    return [Path(given.path(name)).read_text(encoding="utf-8") for name in ("rows.json", "lines.json")]


def saved_texts(given: Given) -> list[Any]:
    """A column saved as text, and a frame as text and as JSON: read again."""
    rows = given.frame.sort("key")
    rows["text"].save(given.path("column.txt"), format="text")
    rows[["id", "float", "text"]].save(given.path("frame"), format="csv")
    rows[["id", "dict"]].save(given.path("frame.json"), format="json")
    files = sorted(path for path in Path(given.directory).rglob("*") if path.is_file() and path.suffix in (".txt", ".csv", ".json"))
    return [[path.name for path in files], *(path.read_text(encoding="utf-8") for path in files)]


def stored_rows(given: Given) -> list[Any]:
    """The rows that a database has been given."""
    with database(given) as connection:
        connection.execute("create table t2(id integer, text text)")
        given.frame.sort("key")[["id", "text"]].to_sql(connection, "t2")
        return list(map(list, connection.execute("select * from t2 order by rowid").fetchall()))


def sketched(given: Given) -> list[Any]:
    """What a summary says of numbers, of texts and of the items of lists and dicts."""
    numbers, texts = given["int"].summary(), given["text"].summary()
    parts = [
        given["list"].summary().element_summary(),
        given["dict"].summary().dict_key_summary(),
        given["array"].summary(sub_sketch_keys=[0]).element_sub_sketch(0),
    ]
    return [
        [getattr(numbers, name)() for name in ("size", "num_missing", "num_unique", "min", "max", "mean", "sum", "var", "std")],
        [numbers.quantile(quantile / 10) for quantile in range(11)],
        [texts.num_unique(), sorted(texts.frequent_items().items())],
        [[part.size(), part.num_unique()] for part in parts],
    ]


def drawn(given: Given) -> list[Any]:
    """What charts of each kind show."""
    frame = given.frame
    pairs = [("int", "float"), ("text", "int"), ("key", "text"), ("moment", "float"), ("text", "written")]
    charts = [visualization.plot(frame[x], frame[y]) for x, y in pairs]
    return [repr(chart.get_vega()) for chart in [*charts, visualization.histogram(frame["int"]), visualization.columnwise_summary(frame)]]


# One reader, or one generator, makes these rows batch by batch; what is computed from them runs on Spark.
SOURCES = {"SArray.read_json", "SFrame.read_json", "SFrame.from_sql", "generate_random_sframe"}
CALLS: dict[str, Call] = {
    **{f"SArray.{name}": ARRAY[name] for name in OF_ARRAYS.split()},
    **{f"SFrame.{name}": FRAME[name] for name in OF_FRAMES.split()},
    "SFrame.export_json": written_json,
    "save as text": saved_texts,
    "SFrame.to_sql": stored_rows,
    "Sketch": sketched,
    "visualization": drawn,
    "generate_random_sframe": lambda given: util.generate_random_sframe(given.rows, "".join(random_frames.RANDOM_COLUMNS), random_seed=3),
    "__get_content_identifier__": lambda given: (given["int"] + 1).__get_content_identifier__(),
    "SFrame.stack of dicts": lambda given: given.frame[["id", "dict"]].stack("dict", new_column_name=["k", "v"]),
    "SFrame.unstack of two": lambda given: given.frame[["key", "text", "int"]].unstack(["text", "int"], "ints"),
    "SFrame.unpack of dicts": lambda given: given.frame[["id", "dict"]].unpack("dict"),
}


def outcome(name: str, segments: int | None = None) -> Any:
    """What a call gives, as plain values: without Spark, or all of it on Spark in so many ranges of rows."""
    on_spark = {"small_rows": 0, "single_task_rows": 0, "batch_rows": 16}
    options = {} if segments is None else {**on_spark, "default_segments": segments}
    with tempfile.TemporaryDirectory() as directory, config.using(**options):
        result = CALLS[name](Given(ROWS, directory))
        parts = result if isinstance(result, tuple) else (result,)
        for part in parts:
            if isinstance(part, (SArray, SFrame)):
                part.materialize()
        return [plain(part) for part in parts]


def jobs() -> int:
    """How many jobs Spark has run so far."""
    return int(get_session().sparkContext._jsc.sc().dagScheduler().numTotalJobs())


def main() -> None:
    """Compare all calls on a cluster; the last line of the output says where they ran."""
    without = {name: outcome(name) for name in CALLS}
    start("cluster")
    different, idle = [], []
    for name, expected in without.items():
        before = jobs()
        if outcome(name, SEGMENTS) != expected:
            different.append(name)
        if jobs() == before and name not in SOURCES:
            idle.append(name)
    sys.stdout.write(f"{len(CALLS)} calls, different: {different}, not on Spark: {idle}, {place()}\n")


if __name__ == "__main__":
    main()
