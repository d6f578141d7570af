"""Short names for the strategies of sections that tests expect."""

from __future__ import annotations

from sframe_spark.engine.shapes.count_matches import COUNT_MATCHES
from sframe_spark.engine.shapes.first_rows import FIRST_ROWS
from sframe_spark.engine.shapes.hash_join import HASH_JOIN
from sframe_spark.engine.shapes.partial_states import PARTIAL_STATES
from sframe_spark.engine.shapes.range_shuffle import RANGE_SHUFFLE
from sframe_spark.engine.shapes.sample import SAMPLE
from sframe_spark.engine.shapes.section_tree import Strategy, Workers
from sframe_spark.engine.shapes.spark_query import QUERY
from sframe_spark.engine.shapes.states_of_hash_join import STATES_OF_HASH_JOIN
from sframe_spark.engine.shapes.stream import STREAM
from sframe_spark.engine.shapes.whole import WHOLE

WHOLE_BY_THREADS = Strategy(WHOLE, Workers.THREADS)
RANGE_SHUFFLE_BY_THREADS = Strategy(RANGE_SHUFFLE, Workers.THREADS)
STATES_OF_HASH_JOIN_BY_THREADS = Strategy(STATES_OF_HASH_JOIN, Workers.THREADS)
HASH_JOIN_BY_THREADS = Strategy(HASH_JOIN, Workers.THREADS)
HASH_JOIN_BY_TASKS = Strategy(HASH_JOIN, Workers.SPARK_TASKS)
STREAM_BY_THREADS = Strategy(STREAM, Workers.THREADS)
PARTIAL_STATES_BY_THREADS = Strategy(PARTIAL_STATES, Workers.THREADS)
STREAM_BY_PROCESSES = Strategy(STREAM, Workers.PROCESSES)
STREAM_BY_TASKS = Strategy(STREAM, Workers.SPARK_TASKS)
PARTIAL_STATES_BY_TASKS = Strategy(PARTIAL_STATES, Workers.SPARK_TASKS)
RANGE_SHUFFLE_BY_TASKS = Strategy(RANGE_SHUFFLE, Workers.SPARK_TASKS)
SAMPLE_BY_THREADS = Strategy(SAMPLE, Workers.THREADS)
SAMPLE_BY_TASKS = Strategy(SAMPLE, Workers.SPARK_TASKS)
SPARK_QUERY = Strategy(QUERY, Workers.SPARK)
COUNTING = Strategy(COUNT_MATCHES, Workers.DRIVER)
STREAM_ON_DRIVER = Strategy(STREAM, Workers.DRIVER)
FIRST_ROWS_ON_DRIVER = Strategy(FIRST_ROWS, Workers.DRIVER)
