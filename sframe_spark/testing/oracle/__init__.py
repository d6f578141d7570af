"""The oracle: what every operator means, once more, on plain Python rows.

It shares no code with the planner, the laws, the kernels or the lowerings: an operator's parameters and the types of its
columns are read, everything else is written out again, as slowly and plainly as possible. Where the engine and the oracle
disagree, one of them is wrong.
"""

from sframe_spark.testing.oracle.interpreter import Oracle, Rows, Table
from sframe_spark.testing.oracle.values import rows_equal, value_equal

__all__ = ["Oracle", "Rows", "Table", "rows_equal", "value_equal"]
