"""The global lock: it guards the graph, never a running Spark action."""

from __future__ import annotations

import threading

GRAPH_LOCK = threading.RLock()
