"""The constants of the model, by least squares of the relative errors of measured runs; none is negative."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import attrs
import numpy as np
import numpy.typing as npt

from benchmarks.scale.measured_runs import TASKS, THREADS
from benchmarks.scale.model import Cost, cost
from benchmarks.scale.programs import BY_NAME, Way
from benchmarks.scale.shapes import Shape

# What each constant is seconds for: those of the first are waited for, of the second one core takes them.
WAITED = ("a pass by threads", "a job of Spark", "a query of Spark")
SHARED = ("a file opened", "a GB read", "a GB written", "a GB exchanged")
GB = 1e9
# Of these each row takes time of its own.
OWN = ("as-of join", "join, small side", "rolling mean", "cumulative sum", "group-by, 100 groups", "group-by, many groups", "unique", "sort")
Numbers = npt.NDArray[np.float64]


@attrs.frozen
class Fit:
    """What runs gave.

    Parameters
    ----------
    constants
        Seconds, by what they are for.
    residuals
        Of each run the modelled seconds by the measured ones.
    runs
        The runs.
    """

    constants: Mapping[str, float]
    residuals: Sequence[float]
    runs: Sequence[Mapping[str, Any]]

    def seconds(self, name: str, shape: Shape, cores: int) -> float:
        """What a program takes by the model."""
        found = features(name, cost(BY_NAME[name], shape, cores), shape, cores, TASKS)
        return float(sum(value * self.constants[term] for value, term in zip(found, TERMS, strict=True)))


TERMS = (*WAITED, *SHARED, *(f"10^9 rows of {name}" for name in OWN))


def features(name: str, of: Cost, shape: Shape, cores: int, by: str) -> list[float]:
    """How much of each term a run has."""
    is_query = BY_NAME[name].way is Way.QUERY
    waited = (of.jobs * (by == THREADS), of.jobs * (by == TASKS and not is_query), int(is_query))
    shared = (of.opened, of.read / GB, of.written / GB, of.exchanged / GB)
    # Fewer tasks than cores leave cores idle.
    working = max(1, min(cores, of.tasks))
    return [*waited, *(amount / working for amount in shared), *(shape.rows / GB / working * (name == own) for own in OWN)]


def fit(runs: Sequence[Mapping[str, Any]]) -> Fit:
    """Constants that make the model agree best with runs of programs that do not run on the driver."""
    chosen = [run for run in runs if BY_NAME[run["program"]].way is not Way.DRIVER]
    shapes = [Shape(run["rows"], run["columns"], run["segments"]) for run in chosen]
    costs = [cost(BY_NAME[run["program"]], shape, run["cores"]) for run, shape in zip(chosen, shapes, strict=True)]
    table = np.array([features(run["program"], of, shape, run["cores"], run["by"]) for run, of, shape in zip(chosen, costs, shapes, strict=True)])
    seconds = np.array([run["seconds"] for run in chosen])
    constants = not_negative(table / seconds[:, None], np.ones(len(chosen)))
    return Fit(dict(zip(TERMS, constants.tolist(), strict=True)), (table @ constants / seconds).tolist(), chosen)


def not_negative(table: Numbers, wanted: Numbers) -> Numbers:
    """Least squares without negative constants: what would be negative most is left out, one after the other."""
    left = [place for place in range(table.shape[1]) if table[:, place].any()]
    while True:
        found = np.linalg.lstsq(table[:, left], wanted, rcond=None)[0]
        if (found >= 0).all():
            constants = np.zeros(table.shape[1])
            constants[left] = found
            return constants
        scale = found * np.abs(table[:, left]).max(axis=0)
        left.pop(int(np.argmin(scale)))
