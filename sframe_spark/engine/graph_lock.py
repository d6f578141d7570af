"""The lock that guards the query graph; no thread holds it while an action runs."""

from __future__ import annotations

import threading

from sframe_spark.process.fork_safety import keep_whole_at_fork

GRAPH_LOCK = threading.RLock()
keep_whole_at_fork(GRAPH_LOCK, "graph")
