"""What leaves the process, or follows from the order of definition, recorded in `tests/data/recorded`: ``python -m tests.recorded NAME`` writes it.

A difference is a change of behaviour: of plans and pickles that users have kept, or of what the optimizer tries first. Moving and merging modules
changes none of it. Only `imported`, the lists of functions and laws, follows new ones; frames and plans must stay readable as they were written.
"""

from __future__ import annotations

import base64
import inspect
import json
import pickle
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import sframe_spark.errors
from sframe_spark.errors import NarrowTypeError, SFrameError
from sframe_spark.operators.sources.base_and_segment_source import SegmentSource
from sframe_spark.operators.sources.segment_row_ranges import parts_of
from sframe_spark.planner.operator import Operator
from sframe_spark.planner.operator_parameters import value_classes
from sframe_spark.planner.optimizer import StageLaws
from sframe_spark.planner.plan_json import graph_from_json, graph_to_json
from sframe_spark.planner.registry import BUILTIN_MODULES, planner_node_name_to_type
from sframe_spark.rewrite_laws import LAWS, STAGES
from sframe_spark.storage.datasets.manifest_loading_and_open_dataset_registry import load_manifest
from sframe_spark.turicreate.source import ArchiveSource
from tests.lazy_names import import_lazy_names
from tests.operator_examples import EXAMPLES

DIRECTORY = Path(__file__).parent / "data" / "recorded"
CALLING_PYTHON = {"lambda_transform", "flat_map", "map_cycles"}
SEGMENTS = {"segment_source", "segment_parts"}
# Whose plans have objects of plug-ins.
READING_BY_PLUGINS = {"source_rows", "source_parts", "scan_parts"}
# Stand for directories: reading a plan looks at the files that it names.
ARCHIVE, FRAME = "$ARCHIVE", "$FRAME"
# In a process of its own: tests import more, and add functions.
LIST_REGISTERED = """
import json, sys
from tests.lazy_names import import_lazy_names
import_lazy_names()
from sframe_spark.expressions.aggregates.aggregate_function import AGGREGATES
from sframe_spark.expressions.functions.scalar_function import FUNCTIONS
from sframe_spark.process import fork_safety
names = {}
for name, module in list(sys.modules.items()):
    if name.startswith("sframe_spark"):
        for attribute, value in list(vars(module).items()):
            names.setdefault(id(value), attribute)
            if isinstance(value, type(sys)):
                # Some load plug-ins when they are asked for a name.
                continue
            for inner in ("lock", "_lock"):
                if hasattr(value, inner):
                    names.setdefault(id(getattr(value, inner)), f"{attribute}.{inner}")
print(json.dumps({
    "locks that are taken at a fork, the last first": [names.get(id(lock), type(lock).__name__) for lock in fork_safety._LOCKS],
    "done in the child": [getattr(work, "__qualname__", type(work).__name__) for work in fork_safety._IN_CHILD],
    "scalar functions": list(FUNCTIONS),
    "aggregates": list(AGGREGATES),
}))
"""


def plans() -> dict[str, str]:
    """The plan of each example of an operator, as JSON; segments are those of the recorded frame, as their files have names of their own."""
    found = {}
    for example in EXAMPLES:
        if not (example.needs_spark or example.operator in CALLING_PYTHON | SEGMENTS | READING_BY_PLUGINS):
            node = example.node()
            found[str(example)] = graph_to_json(node.operator.as_read().make_planner_node(*node.inputs))
            if isinstance(node.operator, ArchiveSource):
                found[str(example)] = found[str(example)].replace(node.operator.archive.location, ARCHIVE)
    source: Any = SegmentSource.of(load_manifest(str(recorded_frame()), verify=False))
    for operator in (source, source.with_columns([2, 0]).rows_between(1, 3), parts_of(source, [(0, 1), (2, 3)])):
        found[f"{operator.name} -- {operator.describe().rpartition('/')[2]}"] = read_again(operator).replace(str(recorded_frame()), FRAME)
    return found


def read_again(source: Operator) -> str:
    """Return a plan of a source alone as JSON, read and written once."""
    return graph_to_json(graph_from_json(graph_to_json(source.make_planner_node())))


def recorded_frame() -> Path:
    """Return the directory of the rows of the recorded frame."""
    return next(path for path in sorted((DIRECTORY / "rows").iterdir()) if len(load_manifest(str(path), verify=False).types) > 1)


def operators() -> dict[str, list[str]]:
    """The classes whose values each operator's plan may hold, by its name."""
    return {name: sorted(value_classes(planner_node_name_to_type(name))) for name in sorted(BUILTIN_MODULES)}


def laws() -> dict[str, Any]:
    """The laws that each stage tries at each operator, in order; those that are tried at all operators, and over the whole graph."""
    found: dict[str, Any] = {}
    for stage in STAGES:
        sorted_laws = StageLaws.of(stage, LAWS)
        found[stage.name] = {
            "by operator": {name: [rule.equation for rule in rules] for name, rules in sorted(sorted_laws.by_operator.items())},
            "general": [rule.equation for rule in sorted_laws.general],
            "whole graph": [rule.equation for rule in sorted_laws.whole_graph],
        }
    return found


def imported() -> dict[str, list[str]]:
    """What a process that has loaded the public names has registered, in order."""
    made = subprocess.run([sys.executable, "-c", LIST_REGISTERED], capture_output=True, text=True, check=True, timeout=120)
    found: dict[str, list[str]] = json.loads(made.stdout)
    return found


def errors() -> dict[str, str]:
    """An error of each class that users may catch, pickled, as base64."""
    found = {}
    for name, kind in sorted(vars(sframe_spark.errors).items()):
        if inspect.isclass(kind) and issubclass(kind, SFrameError):
            found[name] = text_of(kind(*arguments_of(kind)))
    return found


def arguments_of(kind: Any) -> list[Any]:
    """Return an argument for each parameter of an error class that needs one."""
    values = {"int": 3, "Sequence[str]": ["some text"], "Mapping[str, Any]": {"a": 1}}
    if kind is NarrowTypeError:
        return ["3"]
    needed = [each for each in inspect.signature(kind).parameters.values() if each.default is each.empty and each.kind is not each.VAR_KEYWORD]
    return [values.get(str(parameter.annotation), "some text") for parameter in needed]


def text_of(value: Any) -> str:
    """Return a value, pickled, as base64."""
    return base64.b64encode(pickle.dumps(value, protocol=4)).decode("ascii")


def frames() -> dict[str, str]:
    """A frame and a column, pickled, as base64; their rows are saved beside the recorded texts."""
    from sframe_spark import SArray, SFrame
    from sframe_spark.data_structures.serialization import enable_sframe_serialization

    enable_sframe_serialization(str(DIRECTORY / "rows"))
    try:
        frame = SFrame({"stars": [5, None, 3], "text": ["a", "é", None], "list": [[1], [], [2, "b"]]})
        return {"SFrame": text_of(frame), "SArray": text_of(SArray([1.5, None]))}
    finally:
        enable_sframe_serialization(None)


RECORDED = {"plans": plans, "operators": operators, "laws": laws, "imported": imported, "errors": errors}


def read(name: str) -> Any:
    """Return what is recorded under a name."""
    return json.loads((DIRECTORY / f"{name}.json").read_text(encoding="utf-8"))


def write(name: str, value: Any) -> None:
    """Record a value under a name."""
    (DIRECTORY / f"{name}.json").write_text(json.dumps(value, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def main(arguments: list[str]) -> None:
    """Record what the command line names."""
    every = {"frames", *RECORDED}
    if not arguments or not every.issuperset(arguments):
        raise SystemExit(f"usage: python -m tests.recorded {' | '.join(sorted(every))}")
    # Types in annotations of attrs are those of the modules, not of stand-ins.
    import_lazy_names()
    DIRECTORY.mkdir(exist_ok=True)
    if "frames" in arguments:
        shutil.rmtree(DIRECTORY / "rows", ignore_errors=True)
        write("frames", frames())
    for name in arguments:
        if name in RECORDED:
            write(name, RECORDED[name]())


if __name__ == "__main__":
    main(sys.argv[1:])
