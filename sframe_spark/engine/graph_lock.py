"""The global lock: it guards the graph, never a running Spark action."""

from __future__ import annotations

import threading

from sframe_spark.process.fork_safety import keep_whole_at_fork

GRAPH_LOCK = threading.RLock()
keep_whole_at_fork(GRAPH_LOCK, "graph")
