"""Imports go strictly down the layers."""

from __future__ import annotations

import ast
import builtins
import subprocess
import sys
from collections import deque
from collections.abc import Iterable, Iterator
from functools import lru_cache
from pathlib import Path

import networkx
import pytest

import sframe_spark
import sframe_spark.errors
from tests.parsed import naming, parsed, parsed_once, statements, statements_in

__all__ = ["parsed_once"]

ROOT = Path(sframe_spark.__file__).parent

# Lower layers first; a module may import modules of its own and of lower layers.
LAYERS = (
    ("redaction", "message_text", "lazy_imports", "lazily_imported_subpackages", "pyarrow_versions", "cached_property_without_lock"),
    ("errors",),
    ("paths_and_uris", "types", "images", "optional_libraries"),
    ("config",),
    ("process",),
    ("values",),
    ("session",),
    ("storage",),
    ("order",),
    ("planner",),
    ("udf",),
    ("compute",),
    ("expressions",),
    ("operators",),
    ("rewrite_laws",),
    ("engine",),
    ("explain",),
    ("api",),
    # Optional parts: what is below names them in `lazily_imported_subpackages` only, and imports them when something of theirs is asked for.
    ("turicreate",),
    ("plotting",),
    ("toolkits",),
    (
        *("plugin", "testing", "cli", "aggregate", "data_structures", "functions", "util", "visualization"),
        *("public_api", "pyinstaller_hooks", "__init__", "__main__"),
    ),
)
OPTIONAL_PARTS = ("turicreate", "plotting")
RANK = {name: rank for rank, names in enumerate(LAYERS) for name in names}
# Rooms of layers, in the same order; modules that are in none are where nothing is named, or below all rooms of their layer.
NO_ROOM = ""
ROOMS: dict[str, tuple[tuple[str, ...], ...]] = {
    "values": (("datetimes",), ("arrow_layouts", "image_columns", "ndarrays", "rounding_warnings", "struct_kinds"), ("nested",), (NO_ROOM,)),
    "storage": (("filesystem",), ("hybrid_calendar",), ("manifest",), ("parquet",), ("segments",), ("datasets",), ("external", NO_ROOM)),
    "expressions": (("functions",), ("translation",), ("aggregates", NO_ROOM)),
    "operators": (("sources",), (NO_ROOM,), ("groupby",), ("lookup",), ("window",), ("joins",), ("user_function_calls_and_result_memos",)),
    "engine": ((NO_ROOM,), ("spark",), ("runtime",), ("physical",), ("shapes",), ("execution",)),
    "api": (
        *((NO_ROOM, "aggregates"), ("interchange", "io"), ("sarray",), ("sframe",)),
        ("sql", "builders", "random_frames", "saved_frame_maintenance", "plugin_calls"),
        ("plugin_namespaces",),
    ),
}
# As many modules as one looks through.
SCREENFUL = 25
# The planner works on plans alone, and storage works without Spark.
SIDEWAYS_FORBIDDEN = {("planner", "storage"), ("planner", "session"), ("planner", "process"), ("storage", "session")}


def layer_of(module: str) -> str:
    """Layer of a dotted module name."""
    parts = module.split(".")
    return parts[1] if len(parts) > 1 else "__init__"


@lru_cache(None)
def imports_of(path: Path) -> set[str]:
    """Modules of ours that a file imports, inside functions too."""
    found = set()
    for node in statements(parsed(path)):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] == "sframe_spark":
            found.update([node.module] if node.module != "sframe_spark" else [f"sframe_spark.{a.name}" for a in node.names])
        elif isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names if alias.name.split(".")[0] == "sframe_spark")
    return found


def test_imports_go_down() -> None:
    wrong = []
    for path in sorted(ROOT.rglob("*.py")):
        own = path.relative_to(ROOT).parts[0].removesuffix(".py")
        for module in imports_of(path):
            other = layer_of(module)
            if other not in RANK:
                continue
            if other in OPTIONAL_PARTS and module not in imported(path):
                # For annotations: users' type checkers know what a member gives.
                continue
            if RANK[other] > RANK[own] or (own, other) in SIDEWAYS_FORBIDDEN:
                wrong.append(f"{path.relative_to(ROOT)} imports {module}")
    assert wrong == []


@pytest.mark.parametrize("layer", ROOMS)
def test_imports_within_a_layer_go_down_its_rooms(layer: str) -> None:
    folder, wrong = ROOT / layer, []
    rank = {name: number for number, names in enumerate(ROOMS[layer]) for name in names}
    outside = rank.get(NO_ROOM, -1)
    for path in sorted(folder.rglob("*.py")):
        own = path.relative_to(folder).parts[0].removesuffix(".py")
        others = {parts[2] for parts in (module.split(".") for module in imported(path)) if len(parts) > 2 and parts[1] == layer}
        above = (other for other in sorted(others) if rank.get(other, outside) > rank.get(own, outside))
        wrong += [f"{path.relative_to(ROOT)} imports {other}" for other in above]
    assert wrong == []


def test_rooms_are_those_of_the_list_and_a_screenful() -> None:
    for layer, rooms in ROOMS.items():
        listed = {name for names in rooms for name in names} - {NO_ROOM}
        assert listed <= {path.name.removesuffix(".py") for path in (ROOT / layer).iterdir()}
        assert {path.parent.name for path in (ROOT / layer).glob("*/__init__.py")} <= listed
    large = {str(place.relative_to(ROOT)): count for place in rooms_of_all() if (count := len(list(place.glob("[!_]*.py")))) > SCREENFUL}
    assert large == {}


def rooms_of_all() -> Iterator[Path]:
    """Folders of the package that hold modules."""
    yield from (path.parent for path in ROOT.rglob("__init__.py"))


@lru_cache(None)
def modules() -> dict[str, Path]:
    """Files by the dotted names of their modules."""
    return {".".join(path.relative_to(ROOT.parent).with_suffix("").parts).removesuffix(".__init__"): path for path in ROOT.rglob("*.py")}


@lru_cache(None)
def imported(path: Path, with_annotations: bool = False) -> set[str]:
    """Modules of ours that a file imports, inside functions too; those for its annotations alone only if requested."""
    found, nodes = set(), deque[ast.AST]([parsed(path)])
    while nodes:
        node = nodes.popleft()
        is_skipped = not with_annotations and isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
        nodes.extend(node.orelse if isinstance(node, ast.If) and is_skipped else statements_in(node))
        if isinstance(node, ast.ImportFrom) and node.module:
            names = [f"{node.module}.{alias.name}" for alias in node.names]
            found.update(name if name in modules() else node.module for name in names)
        elif isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
    return found & modules().keys()


def circles(edges: Iterable[tuple[str, str]]) -> list[list[str]]:
    """Modules that import each other, directly or not."""
    return [sorted(part) for part in networkx.strongly_connected_components(networkx.DiGraph(edges)) if len(part) > 1]


def test_no_imports_go_in_a_circle() -> None:
    """Not even by imports within functions."""
    assert circles((name, other) for name, path in modules().items() for other in imported(path)) == []


# The one module that names classes above it, for annotations alone: members of SArray return frames, those of SFrame columns, and both plots.
NAMES_CLASSES_ABOVE = "sframe_spark.api.class_registry"


def test_imports_for_annotations_go_in_a_circle_within_a_folder_at_most() -> None:
    """And nowhere in the API, but by the module that names its two classes."""
    edges = []
    for name, path in modules().items():
        for other in imported(path, with_annotations=True):
            is_of_neighbour = modules()[other].parent == path.parent and not name.startswith("sframe_spark.api.")
            if other in imported(path) or not (is_of_neighbour or name == NAMES_CLASSES_ABOVE):
                edges.append((name, other))
    assert circles(edges) == []


def test_every_exception_class_is_in_errors() -> None:
    """Those whose names begin with an underscore never leave their module."""
    exceptions, elsewhere = {name for name in dir(builtins) if name.endswith(("Error", "Exception"))}, []
    kinds = {name for name, kind in vars(sframe_spark.errors).items() if isinstance(kind, type) and issubclass(kind, BaseException)}
    for path in sorted(ROOT.rglob("*.py")):
        if path == ROOT / "errors.py":
            continue
        for node in parsed(path).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                bases = {base.attr if isinstance(base, ast.Attribute) else getattr(base, "id", "") for base in node.bases}
                elsewhere += [f"{path.relative_to(ROOT)}: {node.name}"] if bases & (exceptions | kinds) else []
    assert elsewhere == []
    assert {kind.__module__ for name, kind in vars(sframe_spark.errors).items() if name in kinds} == {"sframe_spark.errors"}


def test_every_module_has_a_layer() -> None:
    names = {path.relative_to(ROOT).parts[0].removesuffix(".py") for path in ROOT.rglob("*.py")}
    assert names <= set(RANK)


# What decides a result uses PySpark's public API only, so that it is the same on Spark Connect.
JVM_INTERNALS = {"_jdf", "_jvm", "_jsc", "_jc", "_jsparkSession", "_sc", "_jschema", "_jconf"}
DIAGNOSTICS = {"cli/doctor.py", "explain/executed_spark_plans.py", "session/users_own_spark_session.py", "session/spark_start_and_settings.py"}
# `to_spark` gives a plan of ours to the user's session; no public call does.
GIVES = {"session/users_own_spark_session.py"}
# A forked process lets go of them.
LETS_GO = {"process/fork_safety.py"}
# A user without an account gets a name before Spark starts; Hadoop has no setting for it.
NAMES = {"session/java_in_containers.py"}
# Refuses DataFrames of a saved frame's files: the public call optimizes the whole query, and is silent about what is cached.
REFUSES = {"engine/spark/user_dataframe_files.py"}
# What later versions of Spark have public calls for.
STANDS_IN = {"session/spark_versions.py"}
# Stops a query whose rows exceed a number of bytes: the public call returns all rows.
STOPS = {"engine/spark/bounded_collection.py"}
# Moves bytes between tasks as they are; the public call takes half as long again, and serves Spark Connect.
MOVES = {"engine/spark/messages_between_tasks.py"}
# Lets Spark delete rows of a checkpoint; without the call it does so when the JVM collects garbage.
KEEPS = {"session/dataframes_kept_by_spark.py"}


def test_only_diagnostics_use_the_internals_of_the_jvm() -> None:
    users = set()
    for path in naming(ROOT, JVM_INTERNALS):
        nodes = ast.walk(parsed(path))
        if any(isinstance(node, ast.Attribute) and node.attr in JVM_INTERNALS for node in nodes):
            users.add(path.relative_to(ROOT).as_posix())
    assert users == DIAGNOSTICS | GIVES | LETS_GO | NAMES | REFUSES | STANDS_IN | STOPS | MOVES | KEEPS


def defined_names(path: Path) -> Iterator[tuple[str, bool]]:
    """Names that a module gives to classes (True) and to types that it composes (False); those of its own begin with an underscore."""
    for node in parsed(path).body:
        if isinstance(node, ast.ClassDef):
            yield node.name, True
        elif isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            name = node.targets[0].id
            if name[0].isupper() and not name.isupper() and not (isinstance(node.value, ast.Call) and ast.unparse(node.value.func) == "TypeVar"):
                yield name, False


def test_a_class_shares_its_name_with_nothing() -> None:
    places: dict[str, list[str]] = {}
    classes: set[str] = set()
    for path in sorted(ROOT.rglob("*.py")):
        for name, is_class in defined_names(path):
            if not name.startswith("_"):
                places.setdefault(name, []).append(str(path.relative_to(ROOT)))
                classes |= {name} if is_class else set()
    assert {name: found for name, found in places.items() if len(found) > 1 and name in classes} == {}


def test_the_core_names_optional_parts_in_one_place_only() -> None:
    """And what finds an operator by its name."""
    texts = {path.relative_to(ROOT).as_posix(): path.read_text(encoding="utf-8") for path in ROOT.rglob("*.py")}
    naming_one = {path for path, text in texts.items() if any(f'"sframe_spark.{part}' in text for part in OPTIONAL_PARTS)}
    assert naming_one == {"lazily_imported_subpackages.py", "planner/registry.py"}


def test_optional_parts_and_pyspark_are_imported_when_they_are_asked_for() -> None:
    program = """
import sys, tempfile
import sframe_spark
from sframe_spark import SArray, SFrame, visualization

def loaded():
    return sorted({name.split(".")[1] for name in sys.modules if name.startswith(("sframe_spark.turicreate", "sframe_spark.plotting"))})

frame = SFrame({"a": [1, 2]})
with tempfile.TemporaryDirectory() as directory:
    frame.save(directory + "/frame")
    assert len(SFrame(directory + "/frame")) == 2
assert frame["a"].sum() == 3 and frame.explain()
print(loaded(), "pyspark" in sys.modules)
frame["a"].plot()
print(loaded())
from sframe_spark.planner.registry import planner_node_name_to_type
planner_node_name_to_type("archive_source")
print(loaded())
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=100)
    assert done.stdout.splitlines() == ["[] False", "['plotting']", "['plotting', 'turicreate']"]
