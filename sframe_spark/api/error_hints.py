"""Tables of names in other libraries with what to write instead; errors for unknown names, and decorators that explain wrong calls."""

from __future__ import annotations

import functools
import inspect
import sys
from abc import ABCMeta
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from importlib.abc import MetaPathFinder
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

from sframe_spark.api.class_registry import ClassRegistry
from sframe_spark.api.model_hints import MODEL_HINTS
from sframe_spark.config import StorageOptions, config
from sframe_spark.errors import AbsentModuleError, NoAttributeError, SchemaError, listed, near_names
from sframe_spark.redaction import hide_in_error, secrets_in


@functools.cache
def array_hints() -> dict[str, str]:
    """Return the hints for columns, with those for functions that have tables."""
    # An import of the package alone loads neither the tables nor NumPy.
    from sframe_spark.expressions.functions.date_parts import DATE_PARTS
    from sframe_spark.expressions.functions.function_families import hints_of
    from sframe_spark.expressions.functions.number_functions import NUMBER_FUNCTIONS
    from sframe_spark.expressions.functions.text_functions import TEXT_FUNCTIONS

    parts = {name: f"use dt.{name}" for name in DATE_PARTS} | hints_of(DATE_PARTS.values(), "use dt.{name}")
    names = {name: f"use str.{name}()" for name in TEXT_FUNCTIONS if name != "contains"}
    return parts | names | hints_of(TEXT_FUNCTIONS.values(), "use str.{name}()") | hints_of(NUMBER_FUNCTIONS.values(), "use {name}()") | ARRAY


def by_name(hints: dict[str, str]) -> dict[str, str]:
    """Return a dict from each name to its hint, given a dict from each hint to the names that it is for, separated by spaces.

    Examples
    --------
    >>> by_name({"use len()": "height size"})
    {'height': 'use len()', 'size': 'use len()'}
    """
    return {name: hint for hint, names in hints.items() for name in names.split()}


GRAPHS = "graphs are out of scope: give edges to networkx or GraphFrames by to_pandas() or to_spark()"
MEDIA = "images and sounds are out of scope: keep their paths in a column, and read them with apply()"
CLASSES = "columns have classes of Python: int, float, str, list, dict, array.array and datetime, as in SArray(values, int) and sf['a'].astype(float)"
EXPRESSIONS = "there are no expressions: a column is sf['a'], and sf['a'] + 1 another one"
AGGREGATES = (
    "aggregates are in sframe_spark.aggregate: "
    "groupby(names, {'total': aggregate.SUM('a'), 'mean': aggregate.MEAN('a'), 'most': aggregate.MAX('a'), 'first': aggregate.FIRST('a')})"
)

TARGETS = "targets for models are out of scope: make a column of generate_random_sframe()'s, as sf['target'] = sf['X1-n'] * 2 + sf['X2-n']"
UTIL = by_name({TARGETS: "generate_random_classification_sframe generate_random_regression_sframe"})
AGGREGATE = by_name(
    {
        "use aggregate.MEDIAN('a')": "median",
        "use aggregate.FIRST('a')": "first ANY_VALUE any_value",
        "use aggregate.LAST('a')": "last",
        "use aggregate.SKEWNESS('a')": "SKEW skew skewness",
        "use aggregate.KURTOSIS('a')": "KURT kurt kurtosis",
        "use aggregate.CORRELATION('a', 'b')": "CORR corr",
        "use aggregate.COVARIANCE('a', 'b'), with ddof=1 of a sample": "COV cov covar_pop covar_samp",
        "use aggregate.PRODUCT('a')": "PROD prod product",
        "use aggregate.WEIGHTED_MEAN('a', 'weight')": "WMEAN wavg weighted_average average vwap VWAP",
        "use aggregate.LINEAR_REGRESSION('y', ['x'])": "OLS ols OLSRegression REGR_SLOPE regr_slope polyfit",
        "use aggregate.VAR('a', ddof=1)": "VAR_SAMP var_samp VARIANCE_SAMP",
        "use aggregate.STD('a', ddof=1)": "STDDEV stddev STDDEV_SAMP stddev_samp sem",
        "use aggregate.QUANTILE('a', 0.9, interpolate='linear')": "PERCENTILE percentile percentile_cont approx_percentile percentile_approx",
        "use aggregate.COUNT_DISTINCT('a')": "NUNIQUE nunique n_unique countDistinct",
        "use aggregate.COUNT()": "SIZE size",
        "use aggregate.CONCAT('a')": "LIST collect_list",
        "use aggregate.DISTINCT('a')": "UNIQUE unique collect_set",
    }
)
MODULE = MODEL_HINTS | by_name(
    {
        GRAPHS: "SGraph Edge Vertex connected_components degree_counting graph_analytics graph_coloring kcore label_propagation load_graph"
        " load_sgraph pagerank"
        " shortest_path triangle_counting",
        MEDIA: "Image image_analysis image_classifier image_similarity load_audio load_images object_detector one_shot_object_detector"
        " sound_classifier style_transfer pixel_array_to_image",
        CLASSES: "Int8 Int16 Int32 Int64 UInt8 UInt16 UInt32 UInt64 Float32 Float64 String Utf8 Boolean Categorical Enum Date Datetime Duration"
        " CategoricalDtype Int64Dtype Float64Dtype StringDtype",
        EXPRESSIONS: "col lit",
        "use sf.column_names() for all columns": "all",
        "use apply(function) for the items of a list, cumulative_mean() and so on for all values so far": "element",
        AGGREGATES: "sum mean min max first last count len n_unique std var median quantile",
        "a frame is an SFrame: SFrame(dict_of_columns)": "DataFrame LazyFrame",
        "a column is an SArray: SArray(values)": "Series Index",
        "use load_sframe(path), or load_sarray(path)": "load open",
        # Names of GraphLab Create, and of SFrame before Turi Create.
        "use visualization.set_target()": "canvas",
        "use SFrame.from_sql(connection, query)": "connect_odbc",
        "use SFrame.read_csv(path)": "read_csv scan_csv read_table",
        "use SFrame.read_json(path), or SArray.read_json(path)": "read_json scan_json",
        "use SFrame.read_json(path, orient='lines')": "read_ndjson scan_ndjson",
        "use SFrame.read_parquet(path)": "read_parquet scan_parquet",
        "use SFrame.read_orc(path)": "read_orc",
        "use SFrame.read(path, format='arrow')": "read_ipc scan_ipc read_feather",
        "use SFrame.read(path, format='arrow_stream')": "read_ipc_stream",
        "use SFrame.read_delta(path)": "read_delta scan_delta",
        "use SFrame.read_iceberg(table)": "read_iceberg scan_iceberg",
        "use SFrame.from_sql(connection, query), of any DB-API connection": "read_sql read_sql_query read_sql_table read_database read_database_uri",
        "frames are saved by save(path) and loaded by SFrame(path); read what others wrote with them, and give it to SFrame(frame)": "read_pickle"
        " read_excel read_hdf read_avro read_html read_xml read_clipboard",
        "use first.append(second), or add_columns(other) for columns side by side": "concat",
        "use first.join(second, on=names)": "merge",
        "use first.asof_join(second, on=name)": "merge_asof",
        "use first.merge_sorted(second, on=name)": "merge_ordered",
        "use SArray.where(condition, istrue, isfalse)": "when coalesce where",
        "use sf.pack_columns(names, dtype=dict), and unpack() for the way back": "struct",
        "use sf.pack_columns(names)": "concat_list",
        "add columns of texts: sf['a'] + '-' + sf['b']": "concat_str",
        "use sf['a'].correlation(sf['b']), or groupby(names, {'corr': aggregate.CORRELATION('a', 'b')})": "corr",
        "use sf['a'].covariance(sf['b'], ddof=1), or groupby(names, {'cov': aggregate.COVARIANCE('a', 'b', ddof=1)})": "cov",
        "use groupby(names, {'values': aggregate.CONCAT('a')}) and apply(function)": "map_groups",
        "use numpy.arctan2(y, x), numpy.maximum(a, b) and so on: they are columns": "arctan2 atan2 hypot pmod",
        "use SArray(texts).str_to_datetime(format)": "to_datetime",
        "use SArray(numbers).astype(datetime.datetime)": "from_epoch",
        "use SArray(texts).astype(float, undefined_on_failure=True)": "to_numeric",
        "use datetime.timedelta, or a text as '15min' for distances: shift_time('time', '1d'), asof_join(..., tolerance='1d')": "Timedelta"
        " to_timedelta",
        "use datetime.datetime": "Timestamp",
        "use shift_time(name, duration), as '1mo', '1me' (the end of a month), '3bd' (business days)": "DateOffset offsets",
        "use SArray.date_range(start, end, step), or uniform_clock(start, stop, every)": "date_range datetime_range bdate_range",
        "use SArray.from_sequence(start, stop)": "arange int_range",
        "use groupby_intervals(on, every, operations=...)": "Grouper",
        "use sessions(on, gap=...) of a frame, and group by the numbers": "session_window",
        "use groupby(names, {'counts': aggregate.FREQ_COUNT('a')})": "crosstab",
        "use sf['a'].cut(edges)": "cut",
        "use sf['a'].qcut(n), or sf.qcut('a', n, by=names)": "qcut",
        "use sf['a'].apply(lambda value: {value: 1}).unpack()": "get_dummies",
        "use SArray(list_of_dicts).unpack()": "json_normalize",
        "use pack_columns(names, dtype=dict) and stack()": "melt wide_to_long",
        "compare with None: sa == None": "isna isnull notna notnull",
        "NaN is float('nan'), a missing value None": "NA NaT",
        "the session is Spark's: sf.to_spark().sparkSession": "spark SparkSession",
    }
)
COMMON = by_name(
    {
        MEDIA: "pixel_array_to_image",
        "use list(), to_pandas() or to_arrow() for the rows, materialize() to compute and keep them": "collect",
        "use materialize(), or checkpoint(location)": "compute persist cache localCheckpoint",
        "rows go with the last frame that needs them: del sf": "unpersist",
        "frames and columns are lazy as they are: explain() tells the plan, materialize() computes": "lazy",
        "use head(n)": "limit take",
        "use dropna()": "drop_nulls drop_nans",
        "use fillna()": "fill_null",
        "use apply(function)": "map applymap map_elements",
        "use list()": "tolist to_list toLocalIterator",
        "use rows by number: [0], [2:5]": "iloc iat slice item",
        "filter with a column of truth values, sf[sf['a'] > 0]; assign sf['a'] = SArray.where(condition, istrue, isfalse)": "loc",
        "use len(sa.dropna().unique())": "nunique",
        "use len(sa.unique())": "n_unique",
        "every second row is [::2]": "gather_every",
        "rows are numbered from 0, and their order is the index: add_row_number() makes a column of it, SArray.from_sequence(len(sf)) is one": "index"
        " reset_index set_index sort_index reindex",
        "rows are read forwards: add_row_number('row'), then sort('row', ascending=False)": "reverse",
        "say what is known of an order with assume_sorted(names)": "set_sorted",
        "use interpolate(column, on=name, by=keys) of a frame": "interpolate_by",
        "write signs between columns: sf['a'] + sf['b'], sf['a'] // 2, sf['a'] >= 2": "add radd sub rsub subtract mul rmul multiply div rdiv divide"
        " truediv rtruediv floordiv rfloordiv mod rmod rpow eq ne lt le gt ge",
        "compare lists: list(first) == list(second)": "equals",
        "pandas does it: sf.to_pandas(), and so on": "to_excel to_html to_markdown to_latex to_hdf to_clipboard to_string to_xarray",
    }
)
FRAME = COMMON | by_name(
    {
        "use SFrame({'a': [1, 2], 'b': ['x', 'y']})": "from_dict from_columns",
        "use SFrame([{'a': 1, 'b': 'x'}, {'a': 2, 'b': 'y'}]).unpack('X1', column_name_prefix='')": "from_records from_dicts",
        "use len()": "count height empty is_empty isEmpty",
        "use num_columns()": "width num_cols",
        "use to_spark(), and .rdd of what it gives": "to_rdd to_spark_dataframe",
        "use SFrame(frame) of a Spark DataFrame": "from_rdd",
        "use SFrame.from_sql(connection, query)": "from_odbc",
        "use copy()": "clone",
        "len(sf) * sf.num_columns()": "size",
        "use column_names()": "columns keys",
        "use column_names() and column_types()": "schema dtypes printSchema collect_schema",
        "use sf[[int, float]]": "select_dtypes",
        "use sf[0], a dict": "first row",
        "iterate over the frame, or list(sf): each row is a dict": "iterrows itertuples iter_rows rows to_dicts foreach",
        "use list(sf) for rows, list(sf['a']) for a column": "to_dict",
        "use sf['a'][1], or sf[1]['a']": "at",
        "use sf[1:]": "offset truncate",
        "use sf['a'], or select_column(name)": "get_column xs get",
        "use to_numpy()": "values",
        "use sf['a'].summary(), or summary_page() for all columns": "describe summary",
        "use print(sf): columns and types come first; column_types(); explain() tells the plan": "info glimpse",
        "last_run() tells rows and bytes of what ran": "memory_usage estimated_size",
        "use topk(name, k)": "nlargest top_k",
        "use topk(name, k, reverse=True)": "nsmallest bottom_k",
        "use random_split(fraction)": "randomSplit",
        "compare with None: sf['a'] == None": "isnull isna notna notnull isNull is_null",
        "use sf['a'].is_in(values)": "isin",
        "use fill_forward(names, by=keys, limit=n), or sf['a'].fill_forward()": "ffill forward_fill pad",
        "use fill_backward(names, by=keys, limit=n), or sf['a'].fill_backward()": "bfill backward_fill backfill",
        "use cumulative_sum(names, by=keys)": "cumsum cum_sum",
        "use cumulative_max(names, by=keys)": "cummax cum_max",
        "use cumulative_min(names, by=keys)": "cummin cum_min",
        "use shift(names, n, by=keys), with n=-1 for the row after": "lag lead addLags",
        "use rolling_stdv(names, start, end, by=keys)": "rolling_std",
        "use sf['a'].cumulative_product()": "cumprod",
        "use sf['a'].product()": "prod product",
        "use sf['a'].kurtosis(), with bias=False as in pandas": "kurt kurtosis",
        "use sf['a'].skewness(), with bias=False as in pandas": "skew",
        "use sf[-1], or sf.tail(n)": "last",
        "use sf['a'].sum(), or groupby([], {'total': aggregate.SUM('a')}) for several columns": "sum",
        "use sf['a'].mean(), or groupby([], {'mean': aggregate.MEAN('a')}) for several columns": "mean",
        "use sf['a'].min(), max() and so on, or groupby([], aggregates) for several columns": "min max std var median quantile",
        "use groupby([], {'total': aggregate.SUM('a'), 'mean': aggregate.MEAN('a')})": "agg aggregate",
        "use sf['a'].correlation(sf['b']), or groupby(names, {'corr': aggregate.CORRELATION('a', 'b')})": "corr",
        "use sf['a'].covariance(sf['b'], ddof=1), or groupby(names, {'cov': aggregate.COVARIANCE('a', 'b', ddof=1)})": "cov",
        "use sf['a'].summary().quantile(share), exact": "approxQuantile",
        "use sf['a'].summary().frequent_items()": "freqItems",
        "use sf['a'].correlation(sf['b']), sf['a'].summary()": "stat",
        "use sf['a'] = sf['a'].astype(class)": "astype cast",
        "use sf['a'].apply(function)": "replace",
        "assign: sf['name'] = column, or add_column(column, name)": "with_column with_columns withColumn withColumns assign",
        "sf['a'] * 2 is a column": "eval",
        "use add_row_number(name)": "with_row_index with_row_count insert insert_column zipWithIndex",
        "use add_columns(columns, names)": "hstack",
        "use remove_column(name) or remove_columns(names)": "drop",
        "take sf['a'], then del sf['a']": "pop",
        "use rename({old: new})": "withColumnRenamed withColumnsRenamed set_axis add_prefix add_suffix",
        "use sf[['a', 'b']], or SFrame({'twice': sf['a'] * 2})": "select selectExpr",
        "use sf[sf['a'] > 0], or filter_by(values, name); of names: [name for name in sf.column_names() if ...]": "filter",
        "use sf[sf['a'] > 0], or filter_by(values, name)": "where query",
        "use sf[(sf['a'] > 0) == 0]": "remove",
        "use dropna() and fillna()": "na",
        "use sort(names)": "sort_values orderBy order_by sortWithinPartitions",
        "use groupby(names, aggregates)": "group_by groupBy",
        "use sql('... group by rollup(a)', sf=sf) of sframe_spark": "rollup cube",
        "use sql('select * from a intersect select * from b', a=a, b=b) of sframe_spark": "intersect intersectAll subtract exceptAll",
        "use groupby_intervals(on, every, operations=...)": "group_by_dynamic",
        "use window(on, aggregates, before='7d'), or rolling_mean(names, -4, 0, by=keys), rolling_sum() and so on for rows": "rolling",
        "use resample(on, every, operations)": "upsample asfreq",
        "[sf[sf['a'] == value] for value in sf['a'].unique()]": "partition_by",
        "use join(other, on=names)": "merge",
        "use asof_join(other, on=name)": "join_asof asof",
        "use join_between(other, on=name, start=name, end=name), or join_overlapping(other, start=name, end=name)": "join_where conditional_join",
        "join on a column of ones": "crossJoin",
        "not needed: columns know their frame, and join() finds its way": "alias hint",
        "use append(other)": "union unionAll unionByName vstack extend concat",
        "use unique()": "distinct",
        "use drop_duplicates(names)": "dropDuplicates",
        "use running({'n': aggregate.COUNT()}, by=names)['n'] > 1": "duplicated is_duplicated",
        "use stack(column)": "explode",
        "use pack_columns(names, dtype=dict) and stack()": "melt unpivot",
        "use groupby(), unstack([keys, values]) and unpack()": "pivot pivot_table",
        "use unpack(column)": "unnest",
        "use sf['a'].apply(lambda value: {value: 1}).unpack()": "to_dummies",
        "use apply(function): a row is a dict": "map_rows transform",
        "use flat_map(names, function), or apply(function)": "rdd mapInPandas mapInArrow map_batches",
        "call the function with the frame, as in len(sf)": "pipe",
        "use export_csv(path)": "to_csv write_csv",
        "use export_json(path)": "to_json write_json",
        "use export_json(path, orient='lines')": "write_ndjson",
        "use write_parquet(path)": "to_parquet sink_parquet",
        "use write_orc(path)": "to_orc",
        "use save(path)": "to_pickle",
        "use write(path, format='arrow')": "write_ipc sink_ipc to_feather",
        "use write(path, format='arrow_stream')": "write_ipc_stream",
        "use SFrame(pandas.read_excel(path))": "read_excel",
        "use register_view(name)": "createOrReplaceTempView createTempView",
        "rows are in segments, which materialize(segments=n) makes": "repartition coalesce",
        "use to_spark().sparkSession": "sparkSession",
        "use to_pandas()": "toPandas",
        "use to_arrow()": "toArrow",
        "a frame has columns of one type each, and cannot be turned round": "T transpose",
        "use asof_join(other, on=name, by=keys, tolerance='1min')": "leftJoin asofJoin aj",
        "use window(on, aggregates, before='1d', after='1d', by=keys, of=other), with prevailing=True for wj": "wj wj1",
        "use merge_intervals(start=name, end=name) or disjoint_intervals(start=name, end=name)": "make_disjoint",
        "use asof_join(other, on=name, by=keys, tolerance='1min', direction='forward')": "futureLeftJoin",
        "use groupby_cycles(on, by, operations)": "summarizeCycles groupByCycle",
        "use add_columns_by_cycle(function, names, on)": "addColumnsForCycle",
        "use groupby_intervals(on, clock=clock, label='right', operations=...)": "summarizeIntervals groupByInterval",
        "use window(on, aggregates, before='1d', by=keys)": "summarizeWindows addWindows",
        "use running(aggregates, by=keys)": "addSummaryColumns",
        "use groupby(keys, aggregates), with [] for all rows": "summarize summarizeState",
        "use shift_time(on, '1min')": "shiftTime",
        "use head(n), as the first rows": "preview",
        "date-times are date-times here": "timestamp_df",
        "use to_spark(), or rename({old: new})": "toDF",
        "use to_spark()": "timeSeriesRDD",
        "use groupby(names, {'count': aggregate.COUNT()})": "value_counts",
        "use sf['a'].value_counts()": "mode",
        "use sf['a'].countna()": "null_count",
        "use sf['a'].argmax(), sf['a'].argmin()": "idxmax idxmin",
        "use sf['a'].any(), sf['a'].all()": "any all",
        "of a column: abs(sf['a']), sf['a'].clip(low, high), sf['a'].round(1), sf['a'] ** 2": "abs clip round pow",
        "use fillna(name, value), which fills missing values as well": "fill_nan",
        "use sf['a'].plot(), or show()": "hist boxplot",
        "use sf['a'].cut(edges)": "cut",
        "use rank('a', by=names, method='dense')": "dense_rank percent_rank rank_dense",
        "use running(aggregates)": "expanding",
        "use exponential_smoothing(column, on, half_life=...), or span=, com= or alpha= of rows": "ewm",
        "use sf['a'] = SArray.where(condition, istrue, isfalse)": "mask update combine_first replace_column",
        "use [(name, sf[name]) for name in sf.column_names()]": "items iter_columns get_columns",
        "use split_datetime('time', limit=['hour', 'minute']), and filter": "between_time at_time",
        "use sql('select a from sf', sf=sf) of sframe_spark": "sql",
        "use to_sql(connection, table), or write_jdbc()": "write_database",
        "use to_table(name, format='delta'), or format='iceberg'": "write_delta write_iceberg to_iceberg",
        "use to_pandas() or to_arrow(), which others write": "write_excel write_avro write_clipboard to_stata to_gbq to_xml to_records",
        "a frame has rows and columns, always": "ndim squeeze",
    }
)
ARRAY = COMMON | by_name(
    {
        "a column is never changed: another name for it is as good as a copy": "copy clone",
        "use sa.apply(lambda text: dict(collections.Counter(text.split())))": "count_words",
        "use len(sa.dropna()) for values, len(sa) for rows": "count",
        "use list(), or to_numpy()": "values",
        "compare with None: sa == None": "isnull isna isNull is_null",
        "compare with None: sa != None": "notna notnull isNotNull is_not_null",
        "use countna()": "null_count",
        "missing values equal each other here: sa == value": "eqNullSafe eq_missing",
        "use apply(lambda x: 0.0 if math.isnan(x) else x), or fillna() for both": "fill_nan",
        "use summary()": "describe sketch_summary",
        "use is_in(values)": "isin",
        "use fill_forward(), or sf.fill_forward('a', by=names) of a frame": "ffill forward_fill pad",
        "use fill_backward(), or sf.fill_backward('a', by=names) of a frame": "bfill backward_fill backfill",
        "use cumulative_sum(), or running({'sum': aggregate.SUM('a')}, by=names) of a frame": "cumsum cum_sum",
        "use cumulative_max()": "cummax cum_max",
        "use cumulative_min()": "cummin cum_min",
        "use running({'n': aggregate.COUNT()}, by=names) of a frame": "cum_count cumcount",
        "use cumulative_product()": "cumprod cum_prod",
        "use cumulative_mean(), cumulative_std() and so on": "expanding cumulative_eval",
        "use exponential_smoothing(column, on, half_life=...) of a frame, or span=, com= or alpha= of rows": "ewm ewm_mean ewm_mean_by",
        "use exponential_smoothing(column, on, half_life=..., kind='std' or 'var') of a frame, or span=, com= or alpha= of rows": "ewm_std ewm_var",
        "use window(on, {'sum': aggregate.SUM('a')}, before='2d') of a frame": "rolling_sum_by rolling_mean_by",
        "use rolling_stdv(start, end)": "rolling_std",
        "use rolling_mean(), rolling_sum(), rolling_min() and so on": "rolling",
        "use sa.shift(1), sa.shift(-1)": "lag lead",
        "of groups: groupby() and join(); row by row: running(aggregates, by=names); neighbours: shift(name, n, by=names); rows nearby: window()"
        " and rolling_mean(name, -4, 0, by=names) of a frame": "over",
        "of a frame: drop_duplicates(), or running({'n': aggregate.COUNT()}, by=names)['n'] > 1": "duplicated is_duplicated is_first_distinct",
        "use groupby_runs(names, {'n': aggregate.COUNT()}) of a frame": "rle",
        "use rank(method='dense'), rank(percent=True)": "dense_rank percent_rank",
        "use sort(ascending=False).head(n)": "nlargest top_k",
        "use sort().head(n)": "nsmallest bottom_k",
        "use argmax()": "arg_max idxmax",
        "use argmin()": "arg_min idxmin",
        "use value_counts()": "mode",
        "use product()": "prod",
        "use correlation(other)": "corr",
        "use autocorrelation(lag)": "autocorr",
        "use covariance(other), with ddof=1 of a sample": "cov",
        "use skewness(), with bias=False as in pandas": "skew",
        "use kurtosis(), with bias=False as in pandas": "kurt",
        "of whole columns: sum(), mean() and so on; of groups: groupby()": "agg aggregate",
        "not (sa.diff() < 0).any()": "is_monotonic_increasing is_sorted",
        "use in_zone(zone)": "tz_convert convert_time_zone",
        "use from_zone(zone)": "tz_localize replace_time_zone",
        "use floor_time(every)": "xbar date_trunc normalize",
        "use shift_time(name, duration) of a frame, as '1mo', '1me' (month end), '3bd' (business days)": "offset_by month_end add_business_days",
        "use plot()": "hist",
        "use item_length(), contains(), element_slice() and apply(function)": "list arr",
        "use unpack()": "struct unnest",
        "use sf['a'].str.slice(0, n)": "substr",
        "use str_pad(width)": "pad_start lpad rjust",
        "use str_pad(width, 'right')": "pad_end rpad ljust",
        "use str_pad(width, 'both')": "center",
        "use astype(class)": "cast",
        "use astype(class, undefined_on_failure=True)": "try_cast",
        "use SArray.where(condition, istrue, isfalse)": "mask combine_first",
        "use SArray(array), which takes arrays of Arrow": "from_arrow",
        "use SArray([1, 2, None])": "from_list from_values from_iterable",
        "use SArray.where(condition, istrue, isfalse) for both": "otherwise then",
        "use sort()": "sort_values",
        "use sort(names) of a frame; aggregate.LAST('a', by='b') is the last of a group": "sort_by",
        "use sort(names, ascending=False) of a frame": "desc asc",
        "use SFrame({'name': sa})": "to_frame",
        "columns are named where they are put: sf['name'] = sa, rename(), pack_columns()": "alias name suffix prefix rename add_prefix add_suffix",
        "use save(path, format='text')": "to_csv",
        "use (sa >= low) & (sa <= high)": "between is_between",
        "use len()": "len size",
        "use sa ** exponent": "pow",
        "use numpy.arctan2(y, x), numpy.maximum(a, b) and so on: they are columns": "atan2 arctan2 hypot maximum minimum fmod remainder",
        "use apply(function), as apply(lambda n: {5: 50}.get(n, n))": "replace",
        "use apply(function): sf['a'] + 1 needs none": "transform map_batches",
        "use sa[-1], or aggregate.LAST('a') of groups": "last",
        "use sa[0], or aggregate.FIRST('a') of groups": "first",
        "use remove_column(name) of a frame": "exclude",
        "use list(sa); of a frame groupby([], {'total': aggregate.SUM('a'), 'mean': aggregate.MEAN('a')})[0]": "to_dict",
        "use dtype": "dtypes",
        "use to_numpy(), or SFrame({'name': sa}).to_pandas()['name']": "to_pandas toPandas",
        "use unique()": "drop_duplicates",
        "use len(sa.unique()) == len(sa)": "is_unique",
        "use len(sa) == 0": "empty is_empty",
        "use countna() > 0": "hasnans has_nulls",
        "rows are chosen: sa[sa != value], or sa[2:]": "drop",
        "of a frame: groupby(names, aggregates), resample(on, every, operations)": "groupby resample",
        "of a frame: SFrame({'a': sa}).add_row_number('row').sort('a')['row']": "argsort arg_sort",
        "of a frame: SFrame({'a': sa}).stack('a')": "explode",
        "use asof_join(other, on=name) of a frame": "asof searchsorted",
        "not (sa.diff() > 0).any()": "is_monotonic_decreasing",
        "use sa[5]": "at get",
        "use SFrame({'name': sa}), then export_json(path)": "to_json",
        "use save(path)": "to_pickle",
        "use sa.is_in(values) and SArray.where(condition, istrue, isfalse)": "update case_when",
        "a column has one dimension": "ndim squeeze ravel T transpose",
    }
)  # Names of functions of texts in pandas and Polars.
TEXT = by_name(
    {
        "use str.rjust(width, fillchar), or str.pad(width)": "pad_start",
        "use str.ljust(width, fillchar)": "pad_end",
        "use str.slice(0, n)": "head",
        "use str.slice(-n)": "tail",
        "use str.slice(n, n + 1)": "get",
        "use str.slice(step=-1)": "reverse",
        "use column + '-' + other": "cat concat",
        "use str.split(separator, 1)": "partition",
        "use str.rsplit(separator, 1)": "rpartition",
        "use apply(lambda text: re.findall(pattern, text))": "findall extract_all",
        "use str_to_datetime(format)": "strptime to_datetime to_date",
        "use astype(int), or astype(float)": "to_integer to_decimal",
        "use astype(dict), or astype(list)": "json_decode",
        "use str.split(separator) and apply(lambda parts: {part: 1 for part in parts}).unpack()": "get_dummies",
        "use apply(lambda text: unicodedata.normalize(form, text))": "normalize",
        "use apply(lambda text: text.encode())": "encode decode",
    }
)
# Names of what pandas and Polars have for date-times in `dt`.
DATE = by_name(
    {
        "use floor_time(every) of the column": "floor truncate normalize date round ceil",
        "use in_zone(zone) of the column": "tz_convert convert_time_zone",
        "use from_zone(zone) of the column": "tz_localize replace_time_zone",
        "use shift_time(name, duration) of a frame": "offset_by month_start add_business_days",
        "use dt.strftime(format)": "to_string",
        "use dt.microsecond": "us millisecond nanosecond",
        "differences are seconds as they are: a - b": "total_seconds total_minutes total_hours total_days",
        "use astype(float), the seconds since 1970": "epoch timestamp",
        "use split_datetime(timezone=True)": "tz base_utc_offset",
    }
)


# Beginnings of the names of functions in other libraries that are class methods here.
READERS = ("read_", "scan_")
# This attribute marks functions whose errors explain wrong calls.
EXPLAINS_ERRORS = "_answers_wrong_calls"
# This attribute holds other names of parameters.
OTHER_NAMES = "_other_names_of_parameters"
# What messages write before the name of a method (by class) and of a function (by module), and the most arguments that they show.
RECEIVERS = {"SFrame": "sf", "SArray": "sf['a']", "SFrameBuilder": "builder", "SArrayBuilder": "builder", "Builder": "builder"}
MODULES = {
    "sframe_spark.api.aggregate": "aggregate.",
    "sframe_spark.api.aggregates.statistical": "aggregate.",
    "sframe_spark.visualization": "visualization.",
}
MAX_ARGUMENTS = 6
P = ParamSpec("P")
R = TypeVar("R")


def also_named(**other_names: str) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Decorator: parameters may be given by other names, too; it stands below :func:`call_example`, if there is one.

    Examples
    --------
    >>> from sframe_spark import SFrame, aggregate
    >>> SFrame({"k": [1, 1]}).groupby("k", aggregates={"n": aggregate.COUNT()})[0]
    {'k': 1, 'n': 2}
    """

    def named(function: Callable[P, R]) -> Callable[P, R]:
        setattr(function, OTHER_NAMES, other_names)
        return function

    return named


def _with_own_names(name: str, other_names: Mapping[str, str], options: Mapping[str, Any]) -> dict[str, Any]:
    """Return options under the names of the parameters.

    Raises
    ------
    SchemaError
        If a parameter is given by both names.
    """
    for other, own in other_names.items():
        if other in options and own in options:
            raise SchemaError(f"{name}() is given {own}= and {other}=, which are one and the same: give one of them")
    return {other_names.get(option, option): value for option, value in options.items()}


def call_example(example: str) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Decorator: calling the function with arguments that it does not have, such as those of pandas, raises an error that shows an example.

    Raises
    ------
    SchemaError
        By the decorated function, if it is called with unknown arguments or without required ones.

    Examples
    --------
    >>> @call_example("twice(2)")
    ... def twice(number: int) -> int:
    ...     return 2 * number
    >>> twice(axis=1)
    Traceback (most recent call last):
    sframe_spark.errors.SchemaError: twice() takes no argument 'axis'; write it as in twice(2)
    """

    return lambda function: _explaining_errors(function, lambda signature: f"write it as in {example}")


def call_hint(function: Callable[P, R]) -> Callable[P, R]:
    """Decorator: calling the function with wrong arguments raises an error that shows its parameters.

    Raises
    ------
    SchemaError
        By the decorated function, if the arguments do not fit its parameters. It is a TypeError.

    Examples
    --------
    >>> from sframe_spark import SFrame, aggregate
    >>> SFrame({"a": [1]}).head(2, 3)
    Traceback (most recent call last):
    sframe_spark.errors.SchemaError: head() is given too many positional arguments; it is called as sf.head(n=10)
    >>> aggregate.ARGMAX("a")
    Traceback (most recent call last):
    sframe_spark.errors.SchemaError: ARGMAX() needs the argument 'out_column'; it is called as aggregate.ARGMAX(agg_column, out_column)
    """
    return _explaining_errors(function, lambda signature: f"it is called as {_call_text(function, signature)}")


def add_call_hints(members: dict[str, Any], module: str) -> None:
    """Decorate all public functions that a module defines with :func:`call_hint`; ``members`` is the module's ``globals()``."""
    for name, member in list(members.items()):
        if inspect.isfunction(member) and member.__module__ == module and not name.startswith("_") and not hasattr(member, EXPLAINS_ERRORS):
            members[name] = call_hint(member)


def with_call_hints(owner: type[R]) -> type[R]:
    """Decorate the public methods of a class, and of its base classes in the same package, with :func:`call_hint`."""
    for base, name, member in _members(owner):
        function = getattr(member, "__func__", member)
        if not name.startswith("_") and inspect.isfunction(function) and not hasattr(function, EXPLAINS_ERRORS):
            wrapped = call_hint(function)
            setattr(base, name, type(member)(wrapped) if isinstance(member, (classmethod, staticmethod)) else wrapped)
    return owner


def _members(owner: type[Any]) -> Iterator[tuple[type[Any], str, Any]]:
    """Yield the class, name and value of each attribute that a class and its base classes in the same package define."""
    package = owner.__module__.rpartition(".")[0]
    for base in owner.__mro__:
        if base.__module__.rpartition(".")[0] == package:
            yield from ((base, name, member) for name, member in list(vars(base).items()))


def _explaining_errors(function: Callable[P, R], remedy: Callable[[inspect.Signature], str]) -> Callable[P, R]:
    """Return the function with better errors: wrong arguments are explained, and secrets in the arguments are removed from messages."""

    other_names: dict[str, str] = getattr(function, OTHER_NAMES, {})

    @functools.wraps(function)
    def called(*args: P.args, **options: P.kwargs) -> R:
        if other_names and not other_names.keys().isdisjoint(options):
            options = _with_own_names(function.__name__, other_names, options)  # type: ignore[assignment]
        try:
            return function(*args, **options)
        except Exception as error:
            # Arguments are checked only after an error, so that correct calls cost nothing.
            hide_in_error(error, secrets_in([*args, options], StorageOptions(config.storage_options).secrets()))
            if not isinstance(error, TypeError):
                raise
            signature = inspect.signature(function)
            wrong = _argument_error(signature, args, options)
            if wrong is None:
                raise
        raise SchemaError(f"{_public_name(function)}() {wrong}; {remedy(signature)}")

    setattr(called, EXPLAINS_ERRORS, True)
    return called


def _call_text(function: Callable[..., Any], signature: inspect.Signature) -> str:
    """Return a call of the function as users write it, with required arguments, and the first optional ones with their defaults."""
    parameters = [parameter.replace(annotation=parameter.empty) for parameter in signature.parameters.values()]
    receiver = MODULES.get(function.__module__, "")
    if "." in (qualified := function.__qualname__):
        owner = qualified.split(".")[-2].lstrip("_")
        receiver = f"{RECEIVERS.get(owner, owner.lower())}." if parameters and parameters[0].name == "self" else f"{owner}."
        parameters = parameters[parameters[:1] != [] and parameters[0].name in ("self", "cls") :]
    arguments: list[str] = []
    for parameter in parameters:
        if parameter.name.startswith("_"):
            continue
        if len(arguments) >= MAX_ARGUMENTS and parameter.default is not parameter.empty:
            arguments.append("...")
            break
        if parameter.kind is parameter.KEYWORD_ONLY and not any(text.startswith("*") for text in arguments):
            arguments.append("*")
        arguments.append(str(parameter.replace(default=parameter.empty)) + _default_text(parameter))
    return f"{receiver}{function.__name__}({', '.join(arguments)})"


def _public_name(function: Callable[..., Any]) -> str:
    """Return the name by which users call a function; for ``__init__``, the name of the class."""
    return function.__qualname__.split(".")[-2] if function.__name__ == "__init__" else function.__name__


def _argument_error(signature: inspect.Signature, args: tuple[Any, ...], options: Mapping[str, Any]) -> str | None:
    """Return what is wrong with the arguments of a call, as a part of a sentence; None if they fit the signature."""
    try:
        signature.bind(*args, **options)
    except TypeError as error:
        unknown = [name for name in options if name not in signature.parameters]
        message, _, missing = str(error).partition(": ")
        return f"takes no argument {listed(unknown)}" if unknown else f"needs the argument {missing}" if missing else f"is given {message}"
    return None


def _default_text(parameter: inspect.Parameter) -> str:
    """Return the default of a parameter as ``=value``, as ``=...`` if it is not a simple constant, or an empty string if there is none."""
    if parameter.default is parameter.empty:
        return ""
    is_plain = parameter.default is None or isinstance(parameter.default, (bool, int, float, str))
    return f"={parameter.default!r}" if is_plain else "=..."


def no_module_member(name: str, members: Iterable[str] = ()) -> NoAttributeError:
    """Return the error to raise for a name that the package does not have."""
    return NoAttributeError(f"sframe_spark has no {name!r}" + _suggestion(name, MODULE, members))


def no_aggregate(name: str, members: Iterable[str] = ()) -> NoAttributeError:
    """Return the error to raise for a name that the module ``aggregate`` does not have.

    Examples
    --------
    >>> print(no_aggregate("mean", ["MEAN", "SUM"]))
    there is no aggregate 'mean', did you mean 'MEAN'?
    """
    return NoAttributeError(f"there is no aggregate {name!r}" + _suggestion(name, AGGREGATE, members))


def no_function(place: str, name: str, members: Iterable[str], why: str = "") -> NoAttributeError:
    """Return the error to raise for a name that ``sframe_spark.functions``, or a namespace in it, does not have; ``why`` ends the message.

    Examples
    --------
    >>> print(no_function("sframe_spark.functions.geo", "haversin", ["haversine"]))
    sframe_spark.functions.geo has no 'haversin', did you mean 'haversine'?
    """
    return NoAttributeError(f"{place} has no {name!r}" + _suggestion(name, {}, members) + why)


def no_util_member(name: str) -> NoAttributeError:
    """Return the error to raise for a name that ``sframe_spark.util`` does not have."""
    hint = UTIL.get(name)
    return NoAttributeError(f"sframe_spark.util has no {name!r}" + (f": {hint}" if hint else ""))


class ModuleHintFinder(MetaPathFinder):
    """An import hook, after all others, that raises an error with advice if the package does not have a name.

    In ``from package import name``, Python tries to import an unknown name as a module, so only an import hook can give the advice.

    Examples
    --------
    >>> from sframe_spark import linear_regression
    Traceback (most recent call last):
    sframe_spark.errors.AbsentModuleError: sframe_spark has no 'linear_regression': models are out of scope: ...
    """

    def find_spec(self, fullname: str, path: object = None, target: object = None) -> None:
        """Return None; raise an error if the module is unknown and there is a hint for its name.

        Raises
        ------
        AbsentModuleError
            If there is a hint for the name.
        """
        for package, hints in (("sframe_spark.", MODULE), ("sframe_spark.util.", UTIL)):
            name = fullname.removeprefix(package)
            if name != fullname and name in hints:
                raise AbsentModuleError(f"{package[:-1]} has no {name!r}: {hints[name]}")


def install_module_hints() -> None:
    """Install the import hook :class:`ModuleHintFinder`, unless it is installed."""
    if not any(isinstance(finder, ModuleHintFinder) for finder in sys.meta_path):
        sys.meta_path.append(ModuleHintFinder())


def no_frame_member(name: str, columns: Sequence[str], members: Iterable[str] = ()) -> NoAttributeError:
    """Return the error to raise for an attribute that a frame does not have; it suggests ``sf['name']`` if a column has that name.

    Examples
    --------
    >>> print(no_frame_member("stars", ["stars"]))
    an SFrame has no member 'stars': a column is asked for by sf['stars']
    """
    if name in columns:
        return NoAttributeError(f"an SFrame has no member {name!r}: a column is asked for by sf[{name!r}]")
    if name not in FRAME and (near := near_names(name, columns)):
        return NoAttributeError(f"an SFrame has no member {name!r}: a column is asked for by its name, as sf[{near[0]!r}]")
    return NoAttributeError(f"an SFrame has no member {name!r}" + _suggestion(name, FRAME, members))


def no_array_member(name: str, members: Iterable[str] = ()) -> NoAttributeError:
    """Return the error to raise for an attribute that a column does not have.

    Examples
    --------
    >>> print(no_array_member("isnull"))
    an SArray has no member 'isnull': compare with None: sa == None
    """
    return NoAttributeError(f"an SArray has no member {name!r}" + _suggestion(name, array_hints(), members))


def no_text_member(name: str, members: Iterable[str] = ()) -> NoAttributeError:
    """Return the error to raise for a function of texts that columns do not have.

    Examples
    --------
    >>> print(no_text_member("to_uppercase"))
    columns have no str.to_uppercase: use str.upper()
    """
    from sframe_spark.expressions.functions.function_families import hints_of
    from sframe_spark.expressions.functions.text_functions import TEXT_FUNCTIONS

    hints = TEXT | hints_of(TEXT_FUNCTIONS.values(), "use str.{name}()")
    return NoAttributeError(f"columns have no str.{name}" + _suggestion(name, hints, members))


def no_date_member(name: str, members: Iterable[str] = ()) -> NoAttributeError:
    """Return the error to raise for a part of date-times that columns do not have.

    Examples
    --------
    >>> print(no_date_member("dayofyear"))
    columns have no dt.dayofyear: use dt.day_of_year
    """
    from sframe_spark.expressions.functions.date_parts import DATE_PARTS
    from sframe_spark.expressions.functions.function_families import hints_of

    return NoAttributeError(f"columns have no dt.{name}" + _suggestion(name, DATE | hints_of(DATE_PARTS.values(), "use dt.{name}"), members))


def raise_property_error(owner: Any, name: str) -> None:
    """Evaluate a property again to raise its AttributeError, which Python hides by calling ``__getattr__``; do nothing if there is no property."""
    if any(name in vars(kind) for kind in type(owner).__mro__):
        object.__getattribute__(owner, name)


class HintedClass(ABCMeta):
    """Metaclass of SFrame and SArray: unknown class attributes, such as those of other libraries, raise an error with advice.

    It inherits from ABCMeta, so that users can derive abstract classes (:class:`abc.ABC`) from SFrame and SArray.

    Examples
    --------
    >>> from sframe_spark import SFrame
    >>> SFrame.from_dict
    Traceback (most recent call last):
    sframe_spark.errors.NoAttributeError: SFrame has no 'from_dict': use SFrame({'a': [1, 2], 'b': ['x', 'y']})
    """

    if not TYPE_CHECKING:

        def __getattr__(cls, name: str) -> Any:
            if name.startswith("_"):
                raise AttributeError(f"type object {cls.__name__!r} has no attribute {name!r}")
            readers = {reader: hint for reader, hint in MODULE.items() if reader.startswith(READERS)}
            hints = readers | (array_hints() if issubclass(cls, ClassRegistry.array) else FRAME)
            raise NoAttributeError(f"{cls.__name__} has no {name!r}" + _suggestion(name, hints, dir(cls)))


def adopt_members(owner: type[R]) -> type[R]:
    """Rename the members that a class inherits from mixins of its package, as if the class had defined them. Also applies :func:`with_call_hints`.

    Python's messages about a method and errors about wrong calls then name this class, the only one that users know.

    Examples
    --------
    >>> from sframe_spark import SFrame
    >>> SFrame.explain.__qualname__
    'SFrame.explain'
    >>> SFrame({"a": [1]}).swap_columns(["a", "b"])
    Traceback (most recent call last):
    sframe_spark.errors.SchemaError: swap_columns() needs the argument 'column_name_2'; it is called as sf.swap_columns(column_name_1, ...
    """
    for base, name, member in _members(with_call_hints(owner)):
        function = getattr(member, "__func__", member)
        for renamed in filter(inspect.isfunction, (function, inspect.unwrap(function)) if base is not owner else ()):
            renamed.__qualname__ = f"{owner.__name__}.{name}"
            # The module in which the renamed function can be found, so that other processes can import it.
            renamed.__module__ = owner.__module__
    return owner


def _suggestion(name: str, hints: Mapping[str, str], members: Iterable[str]) -> str:
    """Return the end of an error message: the hint for the name, else the most similar member, else an empty string."""
    if name in hints:
        return f": {hints[name]}"
    near = near_names(name, [member for member in members if not member.startswith("_")])
    return f", did you mean {near[0]!r}?" if near else ""
