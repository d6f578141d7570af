"""The reference of the API: pages that list what is public by idea; Sphinx makes a page of each docstring."""

from __future__ import annotations

import inspect
import shutil
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

from sframe_spark import SArray, SArrayBuilder, SFrame, SFrameBuilder, Sketch, aggregate, config, errors as all_errors, plugin, util, visualization
from sframe_spark.toolkits import cross_validation, evaluation, recommender_data, text_analytics

FENCE = "```"
# Titles of sections by the modules whose members they list, in the order of the page.
FRAME_SECTIONS = {
    "sframe": "First and last rows, and their number",
    "columns": "Columns: choosing, adding, replacing, renaming and moving them",
    "sort_group_append_filter_and_sample": "Sorting, grouping, appending, filtering, random rows",
    "joins": "Joins by equal keys, and merges",
    "asof_joins_and_windows": "As-of joins and windows",
    "interval_joins": "Joins of intervals, and rows around events",
    "merged_and_disjoint_intervals": "Intervals merged and made disjoint",
    "apply": "Your own functions",
    "missing": "Missing values",
    "reshaping": "Many columns or rows in one, and back",
    "groups_by_interval_cycle_and_run": "Intervals of time, cycles and runs",
    "gaps_and_ranks": "Gaps and ranks",
    "neighbours_by_key": "Neighbouring rows of a key",
    "running_aggregates_and_smoothing": "Running values",
    "time_lines": "Sessions, and what times are like",
    "times_by_calendar_and_zone": "Times moved and floored, by calendars and zones",
    "known_and_assumed_row_order": "What is known of the order of rows",
    "file_io": "Files, CSV among them",
    "files_of_any_kind": "Files of any kind, those of plug-ins among them",
    "database_io": "Databases",
    "interchange": "Other libraries",
    "plotting": "Pictures",
    "materialization_and_explain": "When and how rows are computed",
}
ARRAY_SECTIONS = {
    "sarray": "Making, and first and last values",
    "arithmetic": "Arithmetic, and choosing between values",
    "reductions": "One value of all",
    "filter_sort_unique_and_sample": "Sorting, filtering, counting values, random values",
    "missing_values_casts_clipping_membership_and_hash": "Missing values, casts, single values",
    "mathematics": "Mathematics of each number",
    "texts": "Functions of texts",
    "date_parts": "Parts of date-times",
    "windows": "Running and rolling values",
    "items": "Items of lists, arrays, dicts and texts",
    "datetimes": "Date-times",
    "zones_and_calendars": "Time zones and calendars",
    "file_io": "Files",
    "plotting": "Pictures",
    "materialization_explain_and_export": "When and how values are computed; other libraries",
}
# Pages of the reference, and what is on them.
TOOLKITS = (text_analytics, evaluation, recommender_data, cross_validation)
LISTED = {
    "sframe": ("SFrame", "a frame of named columns: making it, its columns and rows, joins, groups, time, files, databases."),
    "sarray": ("SArray", "a column: arithmetic, casts, texts, lists, dicts, date-times, running and rolling values."),
    "aggregate": ("Aggregates", "sums, means, quantiles and the like, for `groupby`, `window`, `running` and `resample`."),
    "functions": ("Functions", "loading what was saved, SQL over frames, drawing, random frames, and other helpers."),
    "toolkits": ("Texts, evaluation, splits", "counts of words, TF-IDF, accuracy, ROC curves, folds: functions over columns."),
    "builders": ("Builders and sketches", "frames and columns made value by value; many statistics of a column in one pass."),
    "visualization": ("Pictures", "each kind of chart, and where it is shown."),
    "config": ("Options", "where temporary rows go, how much memory is used, what is shown while a query runs."),
    "errors": ("Errors", "what is raised, and which class of Python each is."),
    "plugin": ("Plug-ins", "what authors of functions, aggregates, operators and laws import."),
}
OTHER_SECTIONS = {"sketch": "Of the values, and of the items in them", "builders": "Adding and finishing"}


def summary(names: Iterable[str]) -> str:
    """A table of names with the first lines of their docstrings; each has a page of its own."""
    rows = [f"   ~{name}" for name in names]
    return "\n".join([f"{FENCE}{{eval-rst}}", ".. autosummary::", "   :toctree: members", "   :nosignatures:", "", *rows, FENCE])


def members_by_module(kind: type) -> dict[str, list[str]]:
    """Public members of a class, by the last name of the module that has them."""
    found: dict[str, list[str]] = {}
    for owner in kind.__mro__[:-1]:
        taken = {name for names in found.values() for name in names}
        if names := [name for name in vars(owner) if not name.startswith("_") and name not in taken]:
            found.setdefault(owner.__module__.rpartition(".")[2], []).extend(names)
    return found


def class_parts(kind: type, sections: dict[str, str], level: str = "##") -> Iterator[str]:
    """A class: how it is made, and its members by idea."""
    name = f"sframe_spark.{kind.__name__}"
    yield summary([name])
    members = members_by_module(kind)
    for module, title in sections.items():
        if names := members.pop(module, None):
            yield f"{level} {title}"
            yield summary(f"{name}.{member}" for member in sorted(names))
    assert not members, f"sections of {kind.__name__} without a title: {sorted(members)}"


def public(module: ModuleType) -> Iterator[str]:
    """What a module says is public and has a docstring of its own."""
    for name in module.__all__:
        thing: Any = getattr(module, name)
        # What a module hands on is listed where it is at home.
        elsewhere = thing in (SFrame, SArray) or (inspect.isclass(thing) and issubclass(thing, Exception))
        if (inspect.isroutine(thing) or inspect.isclass(thing)) and not elsewhere:
            yield f"{module.__name__}.{name}"


def page(title: str, *parts: str) -> str:
    """A page of parts that blank lines divide."""
    return "\n\n".join([f"# {title}", *parts]) + "\n"


def contents() -> Iterator[str]:
    """The pages of the reference, with a word on each."""
    yield "\n".join(f"* [{title}]({name}.md): {words}" for name, (title, words) in LISTED.items())
    yield "\n".join([f"{FENCE}{{toctree}}", ":hidden:", ":maxdepth: 1", "", *LISTED, FENCE])


def pages() -> dict[str, str]:
    """All pages of the reference by name."""
    names = ("load_sframe", "load_sarray", "history", "vacuum", "optimize", "sql", "plot", "show", "uniform_clock", "plugins")
    functions = [f"sframe_spark.{name}" for name in names]
    options = [f"sframe_spark.config.Configuration.{name}" for name in dir(config) if not name.startswith("_")]
    functions += [*public(util), "sframe_spark.data_structures.serialization.enable_sframe_serialization"]
    builders = [part for kind in (SFrameBuilder, SArrayBuilder) for part in (f"## {kind.__name__}", *class_parts(kind, OTHER_SECTIONS, "###"))]
    classes = [name for name in dir(all_errors) if isinstance(getattr(all_errors, name), type) and issubclass(getattr(all_errors, name), Exception)]
    return {
        "index": page("Reference", "Every public name, with an example that runs. Frames and columns change no rows in place.", *contents()),
        "sframe": page("SFrame", "A frame of named columns whose rows have an order.", *class_parts(SFrame, FRAME_SECTIONS)),
        "sarray": page("SArray", "A column whose values have an order.", *class_parts(SArray, ARRAY_SECTIONS)),
        "aggregate": page("Aggregates", "What `groupby`, `window`, `running` and `resample` compute.", summary(public(aggregate))),
        "functions": page("Functions", "What the package has besides its classes.", summary(functions)),
        "toolkits": page(
            "Texts, evaluation, splits",
            "Functions over columns that programs for Turi Create use beside its models.",
            *(part for module in TOOLKITS for part in (f"## {module.__name__.rpartition('.')[2]}", summary(public(module)))),
        ),
        "builders": page("Builders and sketches", *builders, "## Sketch", *class_parts(Sketch, OTHER_SECTIONS, "###")),
        "visualization": page("Pictures", "See [pictures](../pictures.md).", summary(public(visualization))),
        "config": page(
            "Options",
            'Options are read and set on `sframe_spark.config`: `config.progress = "off"`. Each has an environment variable of its own.',
            summary(options),
        ),
        "errors": page("Errors", "Each is a subclass of what the reference raises.", summary(f"sframe_spark.errors.{name}" for name in classes)),
        "plugin": page("Plug-ins", "For authors of functions, aggregates, operators, laws, sources and writers.", summary(public(plugin))),
    }


def write(directory: Path) -> None:
    """Write the pages that are not there as they should be; those of members that are gone go."""
    directory.mkdir(exist_ok=True)
    shutil.rmtree(directory / "members", ignore_errors=True)
    for name, text in pages().items():
        path = directory / f"{name}.md"
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")
