"""In a container with one core and less memory than the rows take, what is saved, sorted, grouped and joined ends, with right rows."""

from __future__ import annotations

from pathlib import Path

from tests.process.groups import groups_of_this_machine, run_within

# The rows take 290 MiB. An interpreter with Arrow takes 130 MiB of the limit; 288 MiB suffice unless other processes are at work.
LIMIT = 352 << 20
PROGRAM = """
import os
from sframe_spark import SArray, SFrame, aggregate, load_sframe

ROWS = 3_000_000
where = os.environ["SFRAME_SPARK_TMP"] + "/saved"
made = SFrame({"row": SArray.from_sequence(0, ROWS)})
for name in "abcd":
    made[name] = (made["row"] * ord(name) * 48_271) % 2_147_483_647
made["text"] = "the text of row " + made["row"].astype(str) + " is as long as texts are"
made.save(where)
saved = load_sframe(where)
ordered = saved.sort("a")
ordered.materialize()
print(len(ordered), ordered["a"].is_topk(1)[0], ordered[0]["a"], ordered["row"].sum() == saved["row"].sum())
counts = saved.groupby("b", {"rows": aggregate.COUNT()})
print(len(counts))
joined = saved.join(saved[["row", "d"]].rename({"d": "other"}), on="row")
joined.materialize()
print(len(joined), (joined["d"] == joined["other"]).all())
"""


def test_programs_end(tmp_path: Path) -> None:
    with groups_of_this_machine(quota=100_000, memory=LIMIT) as groups:
        found = run_within(groups, PROGRAM, SFRAME_SPARK_TMP=str(tmp_path))
        assert (found.stdout, found.returncode) == ("3000000 0 0 True\n3000000\n3000000 True\n", 0), found.stderr[-2000:]
