"""The reference of the API: pages that list what is public by idea; Sphinx makes a page of each docstring."""

from __future__ import annotations

import importlib
import inspect
import shutil
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pandas
import pyspark.sql

import sframe_spark
from sframe_spark import SArray, SArrayBuilder, SFrame, SFrameBuilder, Sketch, aggregate, config, errors as all_errors, plugin, util, visualization
from sframe_spark.api.sarray.arithmetic import Arithmetic
from sframe_spark.config import Option
from sframe_spark.plotting.plot_class_and_chart_choice import Plot
from sframe_spark.plotting.summary import ColumnFacts, FrameSummary
from sframe_spark.toolkits import cross_validation, evaluation, image_analysis, recommender_data, text_analytics

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
# What people type that has no name: the member that Python calls, what is typed, and what it gives.
FRAME_LANGUAGE = {
    "__getitem__": ('sf["a"], sf[["a", "b"]], sf[mask], sf[2], sf[10:20]', "a column, some columns, the rows of a mask, a row, rows from a slice"),
    "__setitem__": ('sf["a"] = values', "a new column, or another one in its place"),
    "__delitem__": ('del sf["a"]', "a column less"),
    "__contains__": ('"a" in sf', "whether there is a column of that name"),
    "__len__": ("len(sf)", "the number of rows"),
    "__iter__": ("for row in sf", "rows in order, each a dict"),
}
ARRAY_LANGUAGE = {
    "__getitem__": ("sa[2], sa[10:20], sa[mask]", "a value, values from a slice, the values of a mask"),
    "__contains__": ("3 in sa", "whether some row has the value"),
    "__len__": ("len(sa)", "the number of rows"),
    "__iter__": ("for value in sa", "values in order"),
}
OPERATORS = {
    "+ - * /": ("`sa + 1`, `1 - sa`, `a * b`", "arithmetic; `+` also puts texts together"),
    "// % **": ("`sa // 2`, `sa % 2`, `sa ** 2`", "floor division, remainder, power"),
    "== != < <= > >=": ('`sa > 3`, `sf["a"] == sf["b"]`', "comparisons: 1, 0 or None in each row, which is a mask"),
    "& |": ("`(sa > 3) & (sa < 9)`", "of masks: both, at least one; each comparison in parentheses"),
    "~": ("`~(sa > 3)`", "of a mask: the rows where it does not hold"),
    "- + abs": ("`-sa`, `+sa`, `abs(sa)`", "sign and magnitude of each number"),
}
# Titles of pages whose member has no name that people type.
TYPED = {
    f"{kind}.{member}": typed.partition(", ")[0]
    for kind, members in (("SFrame", FRAME_LANGUAGE), ("SArray", ARRAY_LANGUAGE))
    for member, (typed, _) in members.items()
}
# Pages of the reference, and what is on them.
TOOLKITS = (text_analytics, image_analysis, evaluation, recommender_data, cross_validation)
LISTED = {
    "sframe": ("SFrame", "a frame of named columns: making it, its columns and rows, joins, groups, time, files, databases."),
    "sarray": ("SArray", "a column: arithmetic, casts, texts, lists, dicts, date-times, running and rolling values."),
    "aggregate": ("Aggregates", "sums, means, quantiles and the like, for `groupby`, `window`, `running` and `resample`."),
    "functions": ("Functions", "loading what was saved, SQL over frames, drawing, random frames, and other helpers."),
    "toolkits": ("Texts, images, evaluation, splits", "counts of words, TF-IDF, images of one size, accuracy, folds: functions over columns."),
    "builders": ("Builders and sketches", "frames and columns made value by value; many statistics of a column in one pass."),
    "visualization": ("Pictures", "each kind of chart, and where it is shown."),
    "config": ("Options", "where temporary rows go, how much memory is used, what is shown while a query runs."),
    "errors": ("Errors", "what is raised, and which class of Python each is."),
    "plugin": ("Plug-ins", "what authors of functions, aggregates, operators and laws import."),
}
OTHER_SECTIONS = {"sketch": "Of the values, and of the items in them", "builders": "Adding and finishing"}


def summary(names: Iterable[str], toctree: str = "members") -> str:
    """A table of names with the first lines of their docstrings; where pages have a directory, each name gets one there."""
    rows = [f"   ~{name}" for name in names]
    pages = [f"   :toctree: {toctree}"] if toctree else []
    return "\n".join([f"{FENCE}{{eval-rst}}", ".. autosummary::", *pages, "   :nosignatures:", "", *rows, FENCE])


def of_class(kind: type) -> str:
    """How a class is made."""
    return "\n".join([f"{FENCE}{{eval-rst}}", f".. autoclass:: sframe_spark.{kind.__name__}", "   :no-members:", FENCE])


def typed_table(kind: type, members: dict[str, tuple[str, str]]) -> str:
    """What people type instead of names, each with a link to the page of the member that Python calls."""
    lines = ["| you type | you get | |", "| --- | --- | --- |"]
    for member, (typed, words) in members.items():
        spellings = ", ".join(f"`{one}`" for one in parts_of(typed))
        lines.append(f"| {spellings} | {words} | {{py:meth}}`details <sframe_spark.{kind.__name__}.{member}>` |")
    return "\n".join(lines)


def parts_of(listed: str) -> list[str]:
    """The items of a list in a text: they are divided by commas outside of brackets and of quotes."""
    parts, depth, quote = [""], 0, ""
    for letter in listed:
        if letter in "'\"":
            quote = "" if quote == letter else quote or letter
        depth += 0 if quote else (letter in "[({") - (letter in "])}")
        if letter == "," and depth == 0 and not quote:
            parts.append("")
        else:
            parts[-1] += letter
    return [part.strip() for part in parts]


def operators_table() -> str:
    """The operators of columns, and an example that the docstring of their mixin has, where it is tested."""
    lines = ["| operators | you type | you get |", "| --- | --- | --- |"]
    lines += [f"| `{name}` | {typed} | {words} |".replace("`& |`", "`&` `\\|`") for name, (typed, words) in OPERATORS.items()]
    words, _, example = (inspect.getdoc(Arithmetic) or "").partition("Examples\n--------\n")
    return "\n".join([*lines, "", f"{FENCE}{{eval-rst}}", words.partition("\n\n")[2].strip(), "", example.strip(), FENCE])


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
    yield of_class(kind)
    for title, members in sections_of(kind, sections):
        yield f"{level} {title}"
        yield summary(f"{name}.{member}" for member in members)


def sections_of(kind: type, sections: dict[str, str]) -> list[tuple[str, list[str]]]:
    """Titles of sections, each with the members that are listed there."""
    members = members_by_module(kind)
    found = [(title, sorted(members.pop(module))) for module, title in sections.items() if module in members]
    assert not members, f"sections of {kind.__name__} without a title: {sorted(members)}"
    return found


def section_pages(kind: type, sections: dict[str, str], language: dict[str, tuple[str, str]]) -> Iterator[tuple[str, str, str]]:
    """Pages of the sections of a class: name, title and text. What has no name comes first."""
    name = f"sframe_spark.{kind.__name__}"
    first = f"Brackets, loops and {'`len`' if kind is SFrame else 'operators'}"
    operators = ["## Operators", operators_table()] if kind is SArray else []
    tables = [typed_table(kind, language), summary((f"{name}.{member}" for member in language), "../members"), *operators]
    yield "brackets", first, page(first, *tables)
    titles = {title: module for module, title in sections.items()}
    for title, members in sections_of(kind, sections):
        yield titles[title].replace("_", "-"), title, page(title, summary((f"{name}.{member}" for member in members), "../members"))


def class_pages(kind: type, text: str, sections: dict[str, str], language: dict[str, tuple[str, str]]) -> dict[str, str]:
    """The page of a class, which lists all members by idea, and a page of each idea, under which the side bar has its members."""
    own = kind.__name__.lower()
    below = list(section_pages(kind, sections, language))
    contents = "\n".join([f"{FENCE}{{toctree}}", ":hidden:", ":maxdepth: 2", "", *(f"{own}/{name}" for name, _, _ in below), FENCE])
    parts = [f"## {below[0][1]}", typed_table(kind, language)]
    if kind is SArray:
        parts += [operators_table()]
    for title, members in sections_of(kind, sections):
        parts += [f"## {title}", summary((f"sframe_spark.{kind.__name__}.{member}" for member in members), "")]
    return {own: page(kind.__name__, text, of_class(kind), *parts, contents), **{f"{own}/{name}": words for name, _, words in below}}


def options() -> Iterator[str]:
    """All options: a table, and what each does, with its default, what is allowed and its environment variable."""
    found = {name: option for name, option in vars(type(config)).items() if isinstance(option, Option)}
    lines = ["| option | default | environment variable |", "| --- | --- | --- |"]
    for name, option in found.items():
        lines.append(
            f"| {{py:attr}}`~sframe_spark.config.{name}` | `{default_of(option)}` | {f'`{option.variable}`' if option.variable else 'none'} |"
        )
    yield "\n".join(lines)
    for name, option in found.items():
        allowed = (inspect.getdoc(option.convert) or "").partition("\n")[0]
        described = [f".. py:attribute:: sframe_spark.config.{name}", "", f"   {option.__doc__}", ""]
        described += [f"   :Default: ``{default_of(option)}``", f"   :Allowed: {allowed}"]
        described += [f"   :Environment: ``{option.variable}``" if option.variable else "   :Environment: has no variable"]
        yield "\n".join([f"{FENCE}{{eval-rst}}", *described, FENCE])


def default_of(option: Option[Any]) -> str:
    """The default of an option as people write it."""
    value = option.default
    if isinstance(value, int) and value and value % (1 << 20) == 0 and "ytes" in (option.__doc__ or ""):
        return f"{value >> 20} << 20"
    return repr(sorted(value) or set()) if isinstance(value, frozenset) else "{}" if value is not None and not value else repr(value)


INTERNAL_ERRORS = ("NumbersLeftOutError", "PlanInvariantError", "NonConvergenceError", "UncheckedWarning")


def exceptions() -> Iterator[str]:
    """Exceptions on one page: those that users catch, and those that say that the package or a plug-in is wrong."""
    kinds = {name: getattr(all_errors, name) for name in sorted(all_errors.__all__)}
    warnings = [name for name, kind in kinds.items() if issubclass(kind, Warning) and name not in INTERNAL_ERRORS]
    errors = [name for name in kinds if name not in warnings and name not in INTERNAL_ERRORS]
    parts = {"Errors": errors, "Warnings": warnings, "Faults of the package or of a plug-in": [name for name in kinds if name in INTERNAL_ERRORS]}
    for title, names in parts.items():
        yield f"## {title}"
        for name in names:
            bases = [base.__name__ for base in kinds[name].__mro__ if base.__module__ == "builtins" and base.__name__ not in NO_BASES]
            also = f"``except {bases[0]}`` catches it too." if bases else ""
            also = f"``except {', '.join(bases[:-1])}`` and ``{bases[-1]}`` catch it too." if len(bases) > 1 else also
            yield "\n".join([f"{FENCE}{{eval-rst}}", f".. autoexception:: sframe_spark.errors.{name}", "   :no-members:", "", f"   {also}", FENCE])


NO_BASES = ("object", "BaseException", "Exception", "Warning", "LookupError", "ArithmeticError")


def lines_of(module: str, full_name: str) -> str | None:
    """The file and the lines, as an address in the repository ends, that have a member; None for what was not written as a function or class."""
    if not module:
        return None
    thing: Any = importlib.import_module(module)
    try:
        for part in full_name.split("."):
            thing = inspect.getattr_static(thing, part) if inspect.isclass(thing) else getattr(thing, part)
        thing = getattr(thing, "fget", None) or getattr(thing, "__func__", thing)
        thing = inspect.unwrap(thing)
        path = Path(inspect.getsourcefile(thing) or "")
        source, first = inspect.getsourcelines(thing)
        place = path.relative_to(Path(sframe_spark.__file__).parents[1])
    except (AttributeError, TypeError, OSError, ValueError):
        return None
    return f"{place.as_posix()}#L{first}-L{first + len(source) - 1}"


def public(module: ModuleType) -> Iterator[str]:
    """What a module says is public and has a docstring of its own."""
    for name in module.__all__:
        thing: Any = getattr(module, name)
        # What a module hands on is listed where it is at home.
        elsewhere = thing in (SFrame, SArray) or (inspect.isclass(thing) and issubclass(thing, Exception))
        if (inspect.isroutine(thing) or inspect.isclass(thing)) and not elsewhere:
            yield f"{module.__name__}.{name}"


def public_signature(signature: str) -> str:
    """A signature without the parameters that begin with an underscore, which are no part of what people call.

    Examples
    --------
    >>> public_signature("(data: Any = None, _node: int | None = None, sep=', ', *, n: int = 2)")
    "(data: Any = None, sep=', ', *, n: int = 2)"
    """
    return f"({', '.join(part for part in parts_of(signature[1:-1]) if not part.startswith('_'))})"


def name_classes() -> None:
    """Let modules know the classes in their annotations that they import for checks of types alone: signatures show `Any` else."""
    for kind in (SFrame, SArray):
        # A member's module is loaded when the member is first asked for.
        inspect.getmembers(kind)
    known = {kind.__name__: kind for kind in (SFrame, SArray, Plot, FrameSummary, ColumnFacts)}
    for name, module in list(sys.modules.items()):
        if name.startswith("sframe_spark."):
            vars(module).update({name: kind for name, kind in known.items() if vars(module).get(name) is Any})
    vars(sys.modules[inspect.unwrap(SFrame.to_pandas).__globals__["__name__"]]).update(pandas=pandas, pyspark=pyspark)


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
    settings = [f"sframe_spark.config.Configuration.{name}" for name in ("using", "reset", "as_dict", "get_runtime_config", "set_runtime_config")]
    functions += [*public(util), "sframe_spark.data_structures.serialization.enable_sframe_serialization"]
    builders = [part for kind in (SFrameBuilder, SArrayBuilder) for part in (f"## {kind.__name__}", *class_parts(kind, OTHER_SECTIONS, "###"))]
    return {
        "index": page("Reference", "Every public name, with an example that runs. Frames and columns change no rows in place.", *contents()),
        **class_pages(SFrame, "A frame of named columns whose rows have an order.", FRAME_SECTIONS, FRAME_LANGUAGE),
        **class_pages(SArray, "A column whose values have an order.", ARRAY_SECTIONS, ARRAY_LANGUAGE),
        "aggregate": page("Aggregates", "What `groupby`, `window`, `running` and `resample` compute.", summary(public(aggregate))),
        "functions": page("Functions", "What the package has besides its classes.", summary(functions)),
        "toolkits": page(
            "Texts, evaluation, splits",
            "Functions over columns that programs for Turi Create use in addition to its models.",
            *(part for module in TOOLKITS for part in (f"## {module.__name__.rpartition('.')[2]}", summary(public(module)))),
        ),
        "builders": page("Builders and sketches", *builders, "## Sketch", *class_parts(Sketch, OTHER_SECTIONS, "###")),
        "visualization": page("Pictures", "See [pictures](../pictures.md).", summary(public(visualization))),
        "config": page(
            "Options",
            'Options are read and set on `sframe_spark.config`: `config.progress = "off"`. Environment variables set them before a program starts.',
            *options(),
            "## Reading and setting options",
            summary(settings),
        ),
        "errors": page(
            "Errors",
            "Every error is an `SFrameError`, and also of the class of Python that Turi Create raises in its place.",
            *exceptions(),
        ),
        "plugin": page("Plug-ins", "For authors of functions, aggregates, operators, laws, sources and writers.", summary(public(plugin))),
    }


def write(directory: Path) -> None:
    """Write the pages that are not there as they should be; those of members that are gone go."""
    directory.mkdir(exist_ok=True)
    shutil.rmtree(directory / "members", ignore_errors=True)
    made = pages()
    for path in directory.rglob("*.md"):
        if path.relative_to(directory).with_suffix("").as_posix() not in made:
            path.unlink()
    for name, text in made.items():
        path = directory / f"{name}.md"
        path.parent.mkdir(exist_ok=True)
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")
