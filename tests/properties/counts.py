"""How many random programs each suite of the normal run holds.

`test_campaign.py` has ten thousand, and ``SFRAME_SPARK_EXAMPLES=10`` makes the suites here ten times as large.
"""

from __future__ import annotations

from functools import partial

from tests.examples import examples

# A third of them runs; those of the campaign are ten thousand.
count = partial(examples, every=3)

# Laws; the oracle computes the rows of every node.
LAWS, LARGE, FEW_KINDS, CLAIMS, RIGHT_LAWS = map(count, (90, 15, 20, 20, 20))

# The engine's path on the driver.
DRIVER, SMALL_BATCHES, BUDGETS = map(count, (70, 25, 10))

# Queries and tasks on Spark: of these programs in each of six layouts, and one more in three of them, so that partitions and replanning are all met.
IN_EACH_LAYOUT, WITH_ONE_PROGRAM = 2, 3

# Two sets of kinds in the suite with few kinds.
WITHOUT_SPARK = LAWS + LARGE + 2 * FEW_KINDS + CLAIMS + RIGHT_LAWS + DRIVER + SMALL_BATCHES + BUDGETS
ON_SPARK = 6 * IN_EACH_LAYOUT + WITH_ONE_PROGRAM
