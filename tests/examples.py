"""How many random examples a test tries: few in the normal run, more where ``SFRAME_SPARK_EXAMPLES`` asks for a long one."""

from __future__ import annotations

import os


def examples(few: int) -> int:
    """This many examples, or ``SFRAME_SPARK_EXAMPLES`` times as many."""
    return few * int(os.environ.get("SFRAME_SPARK_EXAMPLES", "1"))
