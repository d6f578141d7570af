"""Thresholds that decide how a plan runs, with the reason for each: one place to find, measure and change them.

Bytes are bytes in memory unless a comment says otherwise. Options that users may set are in :mod:`sframe_spark.config`. Limits of formats (bytes of
an Arrow
array) and of kernels (when a dictionary pays) stay with the format and the kernel.
"""


# Sizes of values and batches.

# Assumed bytes of a value of unknown length.
BYTES_OF_VALUE_OF_UNKNOWN_LENGTH = 8_192
# Limit in bytes for task results that the driver merges, and for in-memory rows that are sent with a query.
MAX_BYTES_SENT = 16 << 20
# Rows of the first batch where the length of values is not known beforehand.
ROWS_OF_FIRST_BATCH = 4_096
# Batches grow by at most this factor, as long rows may follow a run of short ones.
MAX_GROWTH_OF_BATCH = 4
# A kernel is called for each column of a batch, which takes tens of microseconds however few the rows are, so batches of more columns than this may
# be larger.
COLUMNS_OF_WIDE_BATCH = 512
# Factor by which the byte limit of a batch may grow for wide rows.
MAX_FACTOR_OF_WIDE_BATCH = 4

# Batches of kernels, and threads.

# Python objects take about this many times the bytes of their Arrow values, so batches are shorter if users' functions are called.
TIMES_ARROW_BYTES_AS_PYTHON_OBJECTS = 8
# A batch is cut only if its results exceed this many times the target size, as batches vary in size.
TIMES_BATCH_BYTES_TO_CUT = 2
# With more threads, rows would be decoded faster than they are processed.
MAX_LOCAL_THREADS = 8

# Division into row ranges.

# Starting a Spark task takes some ten milliseconds, so a range has at least this many rows or bytes, unless the section has fewer.
MIN_ROWS_OF_TASK = 65_536
MIN_BYTES_OF_TASK = 32 << 20
# Upper limit for the bytes of a task.
MAX_BYTES_OF_TASK = 1 << 30
# Fewer bytes of numbers are read by one thread as fast as by several: each thread has to allocate batches and waits for Python's lock.
MIN_BYTES_FOR_THREADS = 6 << 20
# If a summarising pass processes at least this share of all bytes, one thread is as fast as several; if it processes less, two threads take at most
# three quarters of the time of one.
MIN_SHARE_SUMMARISED_FOR_ONE_THREAD = 0.5
# The end of a range moves to the end of a row group if that is close: at most one part in this many of the range away.
PARTS_OF_RANGE_TO_ROW_GROUP_END = 8

# States of row ranges.

# The last rows of a range are read without the rest only while the range is at least this many times as long; otherwise all its rows are read.
TIMES_AS_LONG_FOR_LAST_ROWS_ALONE = 4
# Batches that are grouped at once, so that partial states are merged less often; the columns of more batches would exceed what `memory_for_batches`
# caches.
BATCHES_OF_PARTIAL_STATE = 4
# The number of partial states that are merged at a time.
PARTIAL_STATES_MERGED_AT_A_TIME = 64

# Python processes.

# Tasks over fewer rows than this are short: calling a quick function for this many rows takes about as long as starting a process.
MAX_ROWS_OF_SHORT_TASKS = 4_194_304

# Spark tasks that run kernels.

TASKS_OF_A_CORE = 4
# Reading this many bytes of rows takes a third of a second or more; starting a task on a cluster takes some ten milliseconds.
BYTES_OF_TASK_THAT_HOLDS_A_CORE = 256 << 20

# Placement: the driver, Spark queries, or row ranges.

# Deeper expressions make Catalyst slow or overflow its stack, so they run as kernels.
MAX_STEPS_IN_SPARK = 120
# Spark plans are trees: a node that is read twice is planned twice, so a frame that is appended to itself doubles its plan each time.
MAX_BRANCHES_IN_SPARK = 64
# For more rows in memory than this, Spark's cores make up for the time to send them.
MAX_ROWS_AT_HAND = 16_777_216
# The largest size of rows that are in memory already, as a multiple of the memory budget.
BUDGETS_AT_HAND = 4
# A column that Spark computes may be narrower than the type that this package has for it, so a row may take fewer bytes than its types say.
TIMES_WIDER_THAN_COLUMNS_OF_SPARK = 2
# The largest size of rows that the driver streams to disk in less time than Spark needs to start, as a multiple of the memory budget.
BUDGETS_STREAMED = 8

# Kernels that need all rows: gathered, range shuffle, hash join.

# Memory for gathered rows, as a multiple of their size: the rows, intermediate values, and the result.
COPIES_OF_GATHERED = 4
# Fewer rows than this are sorted at once as fast as range by range.
MIN_ROWS_SPLIT = 2_097_152
# The largest number of ranges or hash partitions.
MAX_RANGES = 1024
# Factor for ranges of different sizes, as they are estimated from a sample.
UNEVENNESS_OF_RANGES = 2
# A range of this many rows is sorted within the processor's caches.
ROWS_OF_RANGE = 524_288
# Target and limit for the bytes of a range that one Spark task sorts.
BYTES_OF_RANGE_OF_TASK = 64 << 20
MAX_BYTES_OF_RANGE_OF_TASK = 256 << 20
# Limit for the number of runs of rows that the tasks of a shuffle write or send: the rows of one task in one range, or as many as it buffers. A run
# takes a tenth of a millisecond to read, as long as its rows take if it has 100 kB, and 300 bytes of the driver's memory.
MAX_RUNS_OF_SHUFFLE = 524_288
# The largest number of rows among which a join that others read looks up rows: among 4 million that takes half the time of an exchange by hash, among
# 10 million, which no cache holds, up to 2.4 times of it.
MAX_ROWS_SEARCHED = 4_194_304
# Limit for the bytes that Spark's tasks search, each of which reads all of them: a lookup keeps the columns of twice as many bytes of blocks.
MAX_BYTES_SEARCHED_BY_TASKS = 64 << 20
# Bytes for each row of both sides: key numbers, sort order and matches.
BYTES_OF_ROW_OF_HASH_JOIN = 64

# Late materialization.

# The largest number of chosen rows, and the smallest number of stored rows for each of them: reading one row may decompress a whole block.
MAX_ROWS_READ_LATE = 1_000
MIN_ROWS_FOR_EACH_READ_LATE = 10_000

# First rows, and samples of keys.

# Limit for the number of first rows that the driver searches for.
MAX_FIRST_ROWS = 10_000
# Limits for the rows to scan, beyond which a parallel job is faster. Users' functions cost about a hundred times as much as kernels.
MAX_ROWS_SCANNED_FOR_FIRST = 2_000_000
MAX_ROWS_SCANNED_FOR_FIRST_WITH_FUNCTION = 16_384
ROWS_OF_KEY_SAMPLE = 16_384

# Column lineage.

# Limit of the sum, over all nodes that only arrange columns, of the columns that are followed through them. If thousands of columns were added
# one by one, following them takes quadratic time (7 s for 2,000 columns).
MAX_COLUMNS_FOLLOWED = 100_000

# Users' functions.

# How many steps of the Python interpreter count as one of the rows of ``config.small_rows``. By default, that many rows of so many steps each take
# half a second, about as long as starting a process.
STEPS_OF_SMALL_ROW = 100

# Samples that range shuffles take their edges from.

# The size of the sample, and the least number of positions in the input where values are taken.
VALUES_OF_RANGE_SAMPLE = 131_072
POSITIONS_OF_RANGE_SAMPLE = 128
# Limit of the sample in bytes, which matters for long strings.
MAX_BYTES_OF_RANGE_SAMPLE = 16 << 20

# Shuffle of Spark tasks.

# Bytes that a task buffers before it writes: with longer runs, there are fewer reads.
BYTES_BUFFERED_BY_SHUFFLE_TASK = 128 << 20
# Tasks group their rows before they exchange them if the groups take at most this share of the bytes of the rows: each group is put together again.
MAX_SHARE_OF_STATES = 0.5
# Limit for one message between tasks: Spark has several copies of each in the heap of an executor.
MAX_BYTES_OF_MESSAGE = 8 << 20

# Partial states that the driver merges.

# Limits in bytes for the partial states that the driver merges. If there are many tasks, each may send more than its share, as their groups are often
# the same, but all together at most half of what Spark lets a driver collect.
MAX_BYTES_OF_PARTIAL_STATES = 64 << 20
MIN_BYTES_OF_PARTIAL_STATE = 256 << 10
# Merging partial states copies them, so they may take only this fraction of the memory.
COPIES_OF_PARTIAL_STATES = 8
MAX_BYTES_OF_PARTIAL_STATES_SENT = 512 << 20
# There are several tasks for each thread, as the ranges of an exchange differ in size.
TASKS_OF_THREAD_AFTER_SHUFFLE = 8

# Direct execution of few rows.

# Limits of direct execution for each node. For more rows or bytes, laws and batches save more time than they cost: planning takes some 10 ms, and as
# many as this are read, joined and grouped in that time.
MAX_ROWS_RUN_DIRECTLY = 65_536
MAX_BYTES_RUN_DIRECTLY = 16 << 20
# For more rows than this, or for stored ones, a slice of first rows is computed by a plan, which leaves out the others; and the graph is not locked
# while they are computed.
MAX_ROWS_FOR_SLICE_RUN_DIRECTLY = 4_096
# Limit in bytes for the columns of all nodes together.
MAX_BYTES_OF_ALL_NODES_RUN_DIRECTLY = 64 << 20
# After running a graph of more nodes than this, computed columns are stored in it for the next action: otherwise a column that is changed and
# displayed in turn would be recomputed from the start each time.
MAX_NODES_RECOMPUTED = 32

# Materialized frames.

# A frame whose columns are in this many sources, or more, is written again as one source.
MAX_SOURCES_OF_FRAME = 16
# A union of more datasets than this is written again as one dataset, because each Spark query would open all of them.
MAX_DATASETS_UNITED = 8
# If a join has more than this many times as many rows as its inputs, computing the rows takes much longer than counting them.
MAX_TIMES_INPUT_ROWS_TO_COMPUTE = 4

# Row orders that a user claims.

# Comparing at most this many rows in this process takes less time than starting Spark.
MAX_ROWS_COMPARED_LOCALLY = 16_000_000
# Rows to compare before tasks are started, as most orders that do not hold are broken within the first rows.
ROWS_COMPARED_FIRST = 131_072

# Values that become Python objects.

# Results of at most this many rows are not checked.
MAX_ROWS_COLLECTED_UNCHECKED = 4_096
# Estimates of at most this many bytes are not compared with the available memory.
MAX_BYTES_COLLECTED_UNCHECKED = 64 << 20

# Plans that are kept to compute lost rows again.

MAX_BYTES_OF_KEPT_PLANS = 16 << 20
MAX_GENERATIONS_OF_KEPT_PLANS = 32

# Files that Spark queries write.

# Every running task buffers a row group, which Spark does not account for, until it is full: Parquet's default of 128 MiB may be half of the heap.
# Reading from the middle of a row group decodes it from its start, so it has no more rows than one that this package writes.
BYTES_OF_ROW_GROUP_OF_SPARK = 32 << 20

# Checks of written pages.

# Limit in bytes for checking files on the driver; more are checked by tasks, which take a while to start.
MAX_BYTES_CHECKED_LOCALLY = 128 << 20
# The largest number of check tasks; each may check several files.
MAX_CHECK_TASKS = 4_096

# Spark's own shuffles.

# The bytes that a shuffle partition should have at most, before compression. A sort merges its spilled runs with a buffer for each, so a partition of
# many times a task's memory does not fit a small heap.
BYTES_OF_SHUFFLE_PARTITION = 128 << 20
# The largest number of shuffle partitions. To read what one task wrote for one partition takes 40 microseconds of a core
# (benchmarks/results/growth.md), the driver sums its bytes, and its index entry has eight bytes, empty or not: 8 TB written by 65,536 tasks are a
# thousand million blocks of 8 kB.
MAX_SHUFFLE_PARTITIONS = 1 << 14
# Factor for the default number of shuffle partitions where the exchanged bytes are unknown. Spark coalesces partitions that turn out to be small.
TIMES_DEFAULT_PARTITIONS_FOR_UNKNOWN_BYTES = 16
# Bytes of a row's hidden key, and what Spark adds to each row.
BYTES_OF_ROW_KEY_IN_SPARK = 24
# A query whose sources have more bytes than this does not run in one task, however few its rows.
MAX_BYTES_OF_ONE_TASK_QUERY = 32 << 20

# Import of external files.

# Limits for the size of a part, in bytes. Files of few bytes are divided into parts of the lower limit, and some cores get none.
MAX_BYTES_OF_IMPORTED_PART = 64 << 20
MIN_BYTES_OF_IMPORTED_PART = 8 << 20
# Each core reads several parts, as some take longer than others.
IMPORTED_PARTS_OF_A_CORE = 4
# Threads for each core when reading remote files, and memory for each thread: a block as it was read, its columns as strings and as values, and rows
# that are being written; 200 MB were measured.
REMOTE_READERS_OF_A_CORE = 2
BYTES_OF_REMOTE_READER = 256 << 20
# For files that are shorter on average, most of the time is spent waiting for the first byte.
MAX_BYTES_OF_SHORT_REMOTE_FILE = 1 << 20
# Up to so many remote files with up to so many bytes are read by this process, one file after the other. Up to so many rows that were read from them
# are kept in memory.
MAX_BYTES_IMPORTED_AT_ONCE = 32 << 20
MAX_FILES_IMPORTED_AT_ONCE = 8
MAX_ROWS_IMPORTED_INTO_MEMORY = 100_000
# Up to this many bytes are read by this process even on a cluster: executors would first be asked which files they see, and start Python.
MAX_BYTES_IMPORTED_LOCALLY_ON_CLUSTER = 256 << 20
# A compressed file may take many times its size in memory.
TIMES_BYTES_OF_ORC_FILE = 16
BYTES_OF_ORC_TASK = 64 << 20
