"""What can turn data into code stands only where the list below says why."""

from __future__ import annotations

import ast
from pathlib import Path

import sframe_spark
from tests.parsed import naming, parsed, parsed_once, statements

__all__ = ["parsed_once"]

ROOT = Path(sframe_spark.__file__).parent

# Names of functions, whatever they are called as, that run code from data, or could.
PICKLES = {"pickle", "cPickle", "cloudpickle", "dill", "marshal", "shelve", "joblib"}
FORBIDDEN_MODULES = PICKLES | {"yaml", "ctypes", "code", "codeop", "runpy", "imp", "pty"}
FORBIDDEN_CALLS = {"eval", "exec", "compile", "__import__", "breakpoint", "input"}
FORBIDDEN_ATTRIBUTES = {
    "import_module",
    "literal_eval",
    "system",
    "popen",
    "spawn",
    "Popen",
    "check_output",
    "check_call",
    "register_extension_type",
    "read_pickle",
    "read_message",
    "open_stream",
    "read_record_batch",
    "run_path",
    "run_module",
    "set_auto_load",
    "PyExtensionType",
    "UnknownExtensionType",
}
FORBIDDEN_KEYWORDS = {"allow_pickle", "shell", "Loader"}
# Functions of ours that do so.
FORBIDDEN_IMPORTS = {"table_of", "from_stream", "from_message"}
FORBIDDEN = FORBIDDEN_MODULES | FORBIDDEN_CALLS | FORBIDDEN_ATTRIBUTES | FORBIDDEN_KEYWORDS | FORBIDDEN_IMPORTS

ALLOWED = {
    ("udf/pickling.py", "pickle"): "a user's function, pickled by this process, in the worker that it was sent to",
    ("udf/program_pickler.py", "pickle"): "reads what the user's process wrote so, in the worker that it was sent to",
    ("udf/captured_locale_decimal_and_time_zone_state.py", "import_module"): "modules of a fixed list",
    ("udf/received_program.py", "import_module"): "modules that the user's function names, where that was sent to",
    ("expressions/python_function.py", "pickle"): "only the class PicklingError",
    ("engine/task_pickling.py", "pickle"): "works that the driver of the same program sends to its tasks",
    ("engine/spark/callables_as_job.py", "pickle"): "results of our own tasks, from the return value of the job that ran them",
    ("engine/runtime/task_runners.py", "pickle"): "results of our own processes, over pipes that nobody else has",
    ("engine/runtime/worker_process_main_loop.py", "pickle"): "works that the process which started this one sends, over such pipes",
    ("process/python_worker_pool_and_message_channel.py", "Popen"): "this very Python, with a fixed program; data is no part of its arguments",
    ("planner/operator_parameters.py", "pickle"): "writes a parameter to compare it, and never reads one",
    ("testing/kernel_checks.py", "pickle"): "the check that operators pickle reads what it has written a line before",
    ("testing/source_and_writer_contracts.py", "pickle"): "the check that sources pickle reads what it has written in the same line",
    ("testing/kernel_runs.py", "pickle"): "states of row ranges, read where they were written",
    ("storage/datasets/atomic_directory_save.py", "ctypes"): "renameat2, which Python has not; no data decides what is called",
    ("cli/doctor.py", "import_module"): "modules of a fixed list",
    ("testing/changed_globals.py", "import_module"): "modules of the author's own code, which this process has imported",
    ("testing/missing_declarations.py", "import_module"): "a module that whoever runs the command names on its command line",
    ("lazily_imported_subpackages.py", "import_module"): "modules of a fixed list",
    ("api/class_registry.py", "import_module"): "the modules of SFrame and SArray",
    ("lazy_imports.py", "import_module"): "modules that import statements of this package name",
    ("__init__.py", "import_module"): "this package's own modules, where the user's program names one",
    ("optional_libraries.py", "import_module"): "libraries of a fixed list",
    ("functions.py", "Loader"): "the base class of the import hook that finds namespaces of plug-ins, which are made already",
    ("testing/opportunities.py", "runpy"): "one module of this package, by its name",
    ("testing/opportunities.py", "run_module"): "one module of this package, by its name",
    ("testing/plan_parser.py", "literal_eval"): "plans in tests, written by whoever runs them; makes values only",
    ("engine/spark/bounded_collection.py", "open_stream"): "rows that the JVM of the session sends, which PySpark reads in the same way",
    ("operators/sources/arrow_files.py", "open_stream"): "files of others: every batch is fully validated, and extension types stay plain storage",
    ("values/arrow_layouts.py", "open_stream"): "the one place that reads streams; who asks it for which is below",
    ("values/arrow_layouts.py", "read_record_batch"): "the one place that reads messages of streams; the same",
    ("planner/registry.py", "import_module"): "modules of a fixed list; a plan's text only chooses among them",
    ("planner/chunk.py", "table_of"): "the same, with rows as chunks",
    ("api/io/pickling.py", "table_of"): "rows in a pickle: fully validated, and of the types that the pickle tells",
    ("planner/plan_json.py", "table_of"): "rows in a plan: fully validated, and extension types stay plain storage (tests/hostile)",
    ("engine/spark/executor_version_checks.py", "import_module"): "this package, by its own name",
    ("engine/runtime/shuffle_store.py", "from_message"): "rows that this process wrote, once their check sum was compared",
    ("engine/shapes/stream.py", "from_stream"): "rows of our own tasks",
    (
        "storage/manifest/sidecar_file_of_segment_statistics_and_checksums.py",
        "table_of",
    ): "plain values of a schema that is known before, fully validated",
    ("operators/run_operator.py", "from_stream"): "the state that our own tasks send each other",
    ("operators/groupby/resampling.py", "from_stream"): "the same",
    ("operators/groupby/partial_groups.py", "from_stream"): "the same, of groups and rows so far",
    ("expressions/aggregates/python_aggregates.py", "pickle"): "parts that our own tasks send each other, within pickles of theirs",
    ("testing/state_column_checks.py", "pickle"): "the check that state columns pickle reads what it has just written",
}


def uses(tree: ast.AST) -> set[str]:
    """Names of what a module uses of the forbidden."""
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found.update(alias.name.split(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            found.update([(node.module or "").split(".")[0], *(alias.name for alias in node.names)])
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in FORBIDDEN_CALLS:
            found.add(node.func.id)
        elif isinstance(node, ast.Attribute) and node.attr in FORBIDDEN_ATTRIBUTES:
            found.add(node.attr)
        elif isinstance(node, ast.keyword) and node.arg in FORBIDDEN_KEYWORDS:
            found.add(node.arg)
    return found & FORBIDDEN


def test_nothing_turns_data_into_code() -> None:
    found = {(path.relative_to(ROOT).as_posix(), name) for path in naming(ROOT, FORBIDDEN) for name in uses(parsed(path))}
    assert found - ALLOWED.keys() == set(), "find another way, or say in ALLOWED why no data of others gets there"
    assert ALLOWED.keys() - found == set(), "no longer needed"


def test_functions_that_unpickle_are_the_known_ones() -> None:
    """In modules that may use pickle, the functions and classes that load, or hand on what does."""
    found = set()
    for path in naming(ROOT, PICKLES):
        for part in statements(parsed(path)):
            if not isinstance(part, ast.FunctionDef | ast.ClassDef):
                continue
            named = (node for node in ast.walk(part) if isinstance(node, ast.Attribute) and is_pickle(node.value))
            if any(node.attr in ("loads", "load", "Unpickler") for node in named):
                found.add((path.relative_to(ROOT).as_posix(), part.name))
    assert found == {
        ("udf/pickling.py", "load_function"),
        ("udf/program_pickler.py", "_ProgramUnpickler"),
        ("engine/spark/callables_as_job.py", "results_of_outcomes"),
        ("engine/task_pickling.py", "TaskUnpickler"),
        ("engine/task_pickling.py", "_pickle"),
        ("engine/task_pickling.py", "TaskPickler"),
        ("engine/task_pickling.py", "reducer_override"),
        ("engine/runtime/task_runners.py", "ProcessRunner"),
        ("engine/runtime/task_runners.py", "_answer"),
        ("engine/runtime/worker_process_main_loop.py", "serve"),
        ("engine/runtime/worker_process_main_loop.py", "_enter_environment"),
        ("testing/kernel_checks.py", "check_pickle"),
        ("testing/kernel_runs.py", "sent"),
        ("testing/source_and_writer_contracts.py", "_check_sent"),
        ("testing/state_column_checks.py", "check_state_columns"),
        ("expressions/aggregates/python_aggregates.py", "PartsOfGroups"),
        ("expressions/aggregates/python_aggregates.py", "of_arrow"),
    }


def is_pickle(value: ast.expr) -> bool:
    """True for the name of a module that unpickles."""
    return isinstance(value, ast.Name) and value.id in PICKLES


def test_the_check_sees_what_it_forbids() -> None:
    lines = [
        "import pickle",
        "from importlib import import_module",
        "x = eval(y)",
        "load(f, allow_pickle=True)",
        "run(c, shell=True)",
        "os.system(c)",
        "from a import table_of as b",
    ]
    assert uses(ast.parse("\n".join(lines))) == {"pickle", "import_module", "eval", "allow_pickle", "shell", "system", "table_of"}
