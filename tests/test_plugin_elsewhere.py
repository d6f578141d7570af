"""Functions of plug-ins in other processes: what travels with them, and what harms nobody else's plans."""

from __future__ import annotations

import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

import sframe_spark as sfs
from sframe_spark import SArray
from sframe_spark.errors import ExecutionError
from sframe_spark.plugin import call, define_function, graph_from_json, graph_to_json, node_of
from tests.interpreters import run_program


@pytest.mark.spark
def test_one_that_does_not_travel_harms_its_own_plans_only() -> None:
    lock = threading.Lock()

    def locked(arguments: Any, types: Any, parameters: Any, rows: int) -> Any:
        with lock:
            return arguments[0]

    define_function("test_locked", lambda t, p: t[0], locked)
    column = call("test_locked", SArray([1, 2]))
    assert list(column) == [1, 2]
    with sfs.config.using(small_rows=0):
        assert list(call("test_hypotenuse", SArray([3.0]), 4.0)) == [5.0]
        with pytest.raises(ExecutionError, match=r"the scalar function 'test_locked' cannot run in other processes: lock of .* cannot be pickled"):
            list(call("test_locked", SArray([1, 2]) + 1))


def test_plans_as_text_need_the_function_where_they_are_read(tmp_path: Path) -> None:
    text = graph_to_json(node_of(call("test_hypotenuse", SArray([3.0]), 4.0)))
    assert graph_from_json(text).operator_type == "generalized_transform"
    (tmp_path / "plan.json").write_text(text, encoding="utf-8")
    read = f"from sframe_spark.plugin import graph_from_json; graph_from_json(open({str(tmp_path / 'plan.json')!r}).read())"
    found = run_program(read)
    assert "no scalar function is named 'test_hypotenuse'" in found.stderr.splitlines()[-1]


MODULE = """
import pyarrow.compute as pc
from sframe_spark.plugin import INT, define_aggregate, define_function
define_function("test_from_afar", lambda types, parameters: INT, lambda a, t, p, rows: pc.add(a[0], 1))
define_aggregate("test_width", lambda types, parameters: INT, lambda a, t, p: len(a[0]))
"""


SCRIPT = """
import sys
sys.path.insert(0, {folder!r})
import functions_of_mine
from sframe_spark import SFrame, config
from sframe_spark.plugin import aggregate, call, reduce
config.small_rows = 0
sf = SFrame({{"k": [1, 2, 1], "v": [1, 2, 3]}})
sf.save({saved!r})
sf = SFrame({saved!r})
print(list(call("test_from_afar", sf["v"])), reduce("test_width", sf["v"]))
print(list(sf.groupby("k", {{"n": aggregate("test_width", "v")}}).sort("k")["n"]))
print(list(sf.sort("v", ascending=False).running({{"n": aggregate("test_width", "v")}})["n"]))
"""


@pytest.mark.spark
def test_functions_of_a_module_that_only_the_program_finds(tmp_path: Path) -> None:
    folder = tmp_path / "code"
    folder.mkdir()
    (folder / "functions_of_mine.py").write_text(MODULE, encoding="utf-8")
    program = tmp_path / "program.py"
    program.write_text(SCRIPT.format(folder=str(folder), saved=str(tmp_path / "saved")), encoding="utf-8")
    found = subprocess.run([sys.executable, str(program)], capture_output=True, text=True, check=False)
    assert found.stdout.splitlines() == ["[2, 3, 4] 3", "[2, 1]", "[1, 2, 3]"], found.stderr


TABLES_TRAVEL = """
import pickle, sys
from pyspark import cloudpickle
from sframe_spark import plugin
from sframe_spark.expressions.aggregates.aggregate_function import AGGREGATES
from sframe_spark.expressions.functions.scalar_function import FUNCTIONS

def kernel(arguments, types, parameters, rows):
    # A function of the main script travels as it is, with all that it names.
    assert FUNCTIONS.named("add") and AGGREGATES.named("sum")
    return arguments[0]

def column(columns, types, parameters):
    return columns[0] if FUNCTIONS else None

infer = lambda types, parameters: types[0]
plugin.define_function("with_column", infer, kernel, column, monotone=lambda types, literals: None)
plugin.define_function("without_column", infer, kernel)
parts = plugin.Decomposition(lambda arrays, rows, types, parameters: len(AGGREGATES), lambda a, b, types: a, lambda part, types, parameters: part)
plugin.define_aggregate("of_parts", infer, parts=parts)
plugin.define_aggregate("of_values", infer, lambda arrays, types, parameters: len(FUNCTIONS), finish=lambda column, types, parameters: column,
                        column=lambda columns, types, parameters, order: columns[0])
sent = cloudpickle.dumps((FUNCTIONS, AGGREGATES))
for table in (FUNCTIONS, AGGREGATES):
    for entry in table.added():
        del table[entry.name]
        table._unloaded.clear()
assert pickle.loads(sent) == (FUNCTIONS, AGGREGATES)
names = ["with_column", "without_column", "of_parts", "of_values"]
print(len(sent) < 60_000, [(FUNCTIONS if "column" in name else AGGREGATES).named(name).name == name for name in names])
"""


def test_tables_travel_with_functions_that_name_the_tables(tmp_path: Path) -> None:
    found = run_program(TABLES_TRAVEL)
    assert found.stdout.splitlines() == ["True [True, True, True, True]"], found.stderr
