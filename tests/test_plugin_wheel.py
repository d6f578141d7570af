"""The example package, installed from a wheel, works in pipelines wherever built-in functions do: here, on Spark, saved, and in another process."""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.plugin_packages import build_wheel, install_wheel

PROJECT = Path(__file__).parents[1]
EXAMPLE = PROJECT / "examples" / "plugin_package"
ROWS = 60

FIRST = """
import json, pickle, sys, warnings
import sframe_spark as sfs
from sframe_spark.errors import PluginWarning
warnings.simplefilter("error", PluginWarning)
from sframe_spark import SFrame, aggregate, config, functions
from sframe_spark.functions.lag import fahrenheit, lag
from sframe_spark.plugin import graph_to_json, node_of

place, rows = sys.argv[1], int(sys.argv[2])
SFrame({"time": range(rows), "value": [n / 2 for n in range(rows)]}).write(place + "/x.readings")

def pipeline(frame):
    frame["warm"] = fahrenheit(frame["value"])
    frame["before"] = lag(lag(frame["warm"], 1), 2)
    frame["parity"] = frame["time"] % 2
    return frame[frame["time"] >= 3]

frame = pipeline(SFrame.read(place + "/x.readings"))
plan = str(frame.explain(trace=True))
frame.save(place + "/saved")
config.serialization_directory = place + "/pickled"
with open(place + "/pickle", "wb") as file:
    pickle.dump(pipeline(SFrame.read(place + "/x.readings")), file)
with open(place + "/plan.json", "w") as file:
    file.write(graph_to_json(node_of(pipeline(SFrame(SFrame.read(place + "/x.readings").to_arrow()))["before"])))
means = frame.groupby("parity", {"mean": aggregate.HARMONIC_MEAN("warm")}).sort("parity")["mean"]
(plugin,) = [plugin for plugin in sfs.plugins() if plugin.distribution == "sframe-lag"]
print(json.dumps({"before": list(frame["before"]), "means": list(means), "law": "lag(lag(x, a), b) = lag(x, a + b)" in plan and "rows=3" in plan,
                  "place": plugin.place, "registered": {kind: list(names) for kind, names in plugin.registered.items()}}))
"""
SECOND = """
import json, pickle, sys
from sframe_spark import aggregate, config, load_sframe
from sframe_spark.plugin import column_of, graph_from_json

place = sys.argv[1]
config.serialization_directory = place + "/pickled"
loaded = load_sframe(place + "/saved")
from sframe_spark import functions
with open(place + "/pickle", "rb") as file:
    pickled = pickle.load(file)
plan = column_of(graph_from_json(open(place + "/plan.json").read()))
print(json.dumps({"loaded": list(functions.lag.lag(loaded["before"], 2)), "pickled": list(pickled["before"]), "plan": list(plan),
                  "means": list(loaded.groupby("parity", {"mean": aggregate.HARMONIC_MEAN("warm")}).sort("parity")["mean"])}))
"""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the wheel of the example is installed."""
    directory = tmp_path_factory.mktemp("wheel")
    install_wheel(build_wheel(EXAMPLE, directory), directory / "site")
    return directory / "site"


def run(program: str, site: Path, *arguments: object, **variables: str) -> Mapping[str, object]:
    path = os.pathsep.join(map(str, (site, PROJECT)))
    environment = {**os.environ, "PYTHONPATH": path, **variables}
    command = [sys.executable, "-c", program, *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment, cwd=site)
    assert done.returncode == 0, done.stderr[-3000:]
    found: Mapping[str, object] = json.loads(done.stdout.splitlines()[-1])
    return found


def everything_works(site: Path, place: Path, **variables: str) -> None:
    warm = [n / 2 * 1.8 + 32.0 for n in range(ROWS)]
    before, means = warm[: ROWS - 3], []
    for parity in (0, 1):
        values = [value for n, value in enumerate(warm) if n >= 3 and n % 2 == parity]
        means.append(len(values) / math.fsum(1 / value for value in values))
    found = run(FIRST, site, place, ROWS, **variables)
    registered = {
        "aggregates": ["harmonic_mean"],
        "operators": ["lag"],
        "scalar functions": ["fahrenheit"],
        "sources": ["readings"],
        "writers": ["readings"],
    }
    assert found["registered"].items() >= registered.items()  # type: ignore[attr-defined]
    assert (found["before"], found["law"], found["place"]) == (before, True, str(site / "sframe_lag"))
    assert found["means"] == pytest.approx(means, rel=1e-14)
    again = run(SECOND, site, place, **variables)
    assert again["pickled"] == before and again["loaded"] == [None, None, *before[:-2]]
    assert again["plan"] == before and again["means"] == found["means"]


def test_in_this_process(site: Path, tmp_path: Path) -> None:
    everything_works(site, tmp_path)


@pytest.mark.spark
def test_on_spark(site: Path, tmp_path: Path) -> None:
    everything_works(site, tmp_path, SFRAME_SPARK_SMALL_ROWS="0", SFRAME_SPARK_SINGLE_TASK_ROWS="0")


def test_each_kind_is_short() -> None:
    for kind in ("functions", "aggregates", "operators", "laws", "readers", "writers"):
        assert len((EXAMPLE / "src" / "sframe_lag" / f"{kind}.py").read_text(encoding="utf-8").splitlines()) <= 60, kind
