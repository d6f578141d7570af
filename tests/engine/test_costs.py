"""Thresholds of the engine stand in one file, with a reason each."""

import ast
from pathlib import Path

import sframe_spark.engine

ENGINE = Path(sframe_spark.engine.__file__).parent
# Lengths of messages, retries, names of threads and bits of row ids: they decide nothing about how a plan runs.
NO_THRESHOLDS = {
    "MAX_OF_TRACEBACK",
    "MAX_FRAMES_SHOWN",
    "MAX_COLUMNS_SHOWN",
    "LONGEST_NAME_SHOWN",
    "LONGEST",
    "SECONDS_OF_A_TASK",
    "LARGEST_PART_READ",
    "MAX_LOSSES",
    "STORES_OF_JOIN",
    "STORES_OF_SIDES",
    "BITS_OF_ROW",
    "BITS_OF_ROW_IN_PARTITION",
    "BYTES_OF_OFFSET",
    "OBJECT_BYTES",
    "BYTES_OF_CHARACTER",
    "CHARACTERS_OF_NUMBER",
    "BYTES_OF_NODE",
    "BYTES_OF_ENTRY",
    "IN_MEMORY_ROWS",
    "_TIME",
}


def numbers_of(path: Path) -> set[str]:
    """Return the names of a module's constants that are numbers."""
    found = set[str]()
    for statement in ast.parse(path.read_text("utf-8")).body:
        if isinstance(statement, ast.Assign):
            targets = statement.targets[0].elts if isinstance(statement.targets[0], ast.Tuple) else statement.targets
            values = statement.value.elts if isinstance(statement.value, ast.Tuple) else [statement.value]
            for target, value in zip(targets, values, strict=False):
                parts = list(ast.walk(value))
                is_number = any(isinstance(part, ast.Constant) and isinstance(part.value, int | float) for part in parts)
                if is_number and all(isinstance(part, ast.Constant | ast.BinOp | ast.operator) for part in parts) and isinstance(target, ast.Name):
                    found.add(target.id)
    return found


def test_thresholds_stand_in_one_file() -> None:
    found = {name for path in ENGINE.rglob("*.py") if path.name != "costs.py" for name in numbers_of(path)}
    assert found == NO_THRESHOLDS, "a threshold of the engine belongs in engine/costs.py, with its reason"


def test_each_threshold_is_used() -> None:
    used = "\n".join(path.read_text("utf-8") for path in ENGINE.parent.rglob("*.py"))
    assert {name for name in numbers_of(ENGINE / "costs.py") if f"costs.{name}" not in used} == set()
