"""The matrix: programs, shapes, forms and layouts, and how one entry of it is checked."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Iterator
from itertools import product

import attrs

from sframe_spark.config import config
from sframe_spark.engine.materialize_options import MaterializeOptions
from sframe_spark.testing.oracle_functions import rows_equal
from tests.ordered_matrix import key_programs, order_programs, row_programs
from tests.ordered_matrix.case import Case, Program
from tests.ordered_matrix.shapes import FORMS, SHAPES
from tests.random_programs.equivalence import EngineRunner, spark_layout

PROGRAMS: dict[str, Program] = {**row_programs.PROGRAMS, **key_programs.PROGRAMS, **order_programs.PROGRAMS}
PARTITIONS = (1, 2, 7, 64)
LAYOUTS = tuple(product(PARTITIONS, (True, False)))
BATCH_ROWS = {1: 4, 2: 131_072, 7: 2, 64: 131_072}
"""Rows that a kernel sees at a time, by partitions: what goes on from one range to the next must go on from one batch to the next too."""
ON_DISK = (2, 7)
"""Partitions with which every result, one in the middle of a program too, is written as segments."""
Entry = tuple[str, str, str]
"""Names of a program, a shape and a form."""


def form_of(program: int, shape: int, layout: int) -> str:
    """The form of an entry: every pair of a program and a shape meets all forms, one per layout; saved segments come twice as often."""
    forms = [*FORMS, "segments", "filtered"]
    return forms[(program + shape + layout) % len(forms)]


def check(program: Program, case: Case, options: MaterializeOptions) -> None:
    """Compare the rows of a program with what plain Python says.

    Raises
    ------
    AssertionError
        If they, or the names of the columns, are others.
    """
    expected = [tuple(row[name] for name in program.columns) for row in program.expect(case)]
    frame = program.build(case)
    assert tuple(frame.column_names()) == program.columns
    found = EngineRunner(options).rows(frame._node)
    if not rows_equal(found, expected):
        lines = [f"{'  ' if rows_equal([a], [b]) else '! '}{a}\n  {b}" for a, b in zip(found, expected, strict=False)]
        raise AssertionError(
            f"{program.name} of {case.shape.name}, {case.form}: found {len(found)} and expected {len(expected)} rows (found above expected)\n"
            + "\n".join(lines)
        )


def entries(layout: int) -> Iterator[Entry]:
    """Program, shape and form of every entry of a layout."""
    for (p, program), (s, shape) in product(enumerate(PROGRAMS), enumerate(SHAPES)):
        yield program, shape, form_of(p, s, layout)


def covering(layout: int) -> list[Entry]:
    """A few entries of a layout: over all layouts every third program, and every shape under few partitions and under many."""
    partitions, adaptive = LAYOUTS[layout]
    programs = list(PROGRAMS)[::3][layout :: len(LAYOUTS)]
    is_many, odd = divmod(PARTITIONS.index(partitions), 2)
    places = [place for place in range(len(SHAPES)) if place % 2 == odd and (place // 2 + is_many) % 2 == adaptive]
    shapes = list(SHAPES)
    count = max(len(programs), len(places))
    return [(programs[n % len(programs)], shapes[places[n % len(places)]], form_of(n, 0, layout)) for n in range(count)]


def failures(chosen: Iterable[Entry], partitions: int, adaptive: bool) -> list[str]:
    """Run entries in one layout, everything on Spark; what went wrong, one text per entry."""
    found = []
    sizes = config.using(default_segments=partitions, batch_rows=BATCH_ROWS[partitions])
    with tempfile.TemporaryDirectory() as directory, spark_layout(partitions, adaptive) as options, sizes:
        options = attrs.evolve(options, in_memory=0) if partitions in ON_DISK else options
        for program, shape, form in chosen:
            try:
                check(PROGRAMS[program], Case(SHAPES[shape], form, directory), options)
            except Exception as error:  # whatever it is, the other entries are run too
                found.append(f"[{partitions} partitions, adaptive {adaptive}] {program} / {shape} / {form}: {type(error).__name__}: {error}")
    return found
