"""What to use instead of names that other libraries have: those of the reference that are out of scope, of pandas, Polars and Spark."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.abc import MetaPathFinder

from sframe_spark.errors import AbsentModuleError, NoAttributeError, near_names

_MODELS = "models are out of scope: give the columns to pyspark.ml by to_spark(), or to scikit-learn by to_numpy() or to_arrow()"
_GRAPHS = "graphs are out of scope: give edges to networkx or GraphFrames by to_pandas() or to_spark()"
_MEDIA = "images and sounds are out of scope: keep their paths in a column, and read them with apply()"
_OUT_OF_SCOPE: dict[str, str] = {
    _MODELS: "activity_classifier boosted_trees_classifier boosted_trees_regression classifier clustering dbscan decision_tree_classifier"
    " decision_tree_regression distances drawing_classifier evaluation extensions factorization_recommender item_content_recommender"
    " item_similarity_recommender kmeans linear_regression load_model logistic_classifier nearest_neighbor_classifier nearest_neighbors"
    " popularity_recommender random_forest_classifier random_forest_regression ranking_factorization_recommender recommender regression"
    " svm_classifier text_analytics text_classifier toolkits topic_model",
    _GRAPHS: "SGraph Edge Vertex connected_components degree_counting graph_analytics graph_coloring kcore label_propagation load_sgraph pagerank"
    " shortest_path triangle_counting",
    _MEDIA: "Image image_analysis image_classifier image_similarity load_audio load_images object_detector one_shot_object_detector sound_classifier"
    " style_transfer pixel_array_to_image",
}
_MODULE = {name: hint for hint, names in _OUT_OF_SCOPE.items() for name in names.split()}
_MODULE |= {
    "DataFrame": "a frame is an SFrame: SFrame(dict_of_columns)",
    "Series": "a column is an SArray: SArray(values)",
    "read_csv": "use SFrame.read_csv(path)",
    "read_json": "use SFrame.read_json(path), or SArray.read_json(path)",
    "read_parquet": "use SFrame.read_parquet(path)",
    "read_sql": "use SFrame.from_sql(connection, query)",
    "concat": "use first.append(second)",
}
_TARGETS = "targets for models are out of scope: make a column of generate_random_sframe()'s, as sf['target'] = sf['X1-n'] * 2 + sf['X2-n']"
_UTIL = dict.fromkeys(("generate_random_classification_sframe", "generate_random_regression_sframe"), _TARGETS)
_COMMON = {
    "count": "use len()",
    "collect": "use list(), to_pandas() or to_arrow()",
    "compute": "use materialize()",
    "persist": "use materialize()",
    "cache": "use materialize()",
    "limit": "use head(n)",
    "isnull": "compare with None: sa == None",
    "isna": "compare with None: sa == None",
    "notna": "compare with None: sa != None",
    "notnull": "compare with None: sa != None",
    "drop_nulls": "use dropna()",
    "fill_null": "use fillna()",
    "map": "use apply(function)",
    "transform": "use apply(function)",
    "tolist": "use list()",
    "to_list": "use list()",
    "values": "use to_numpy()",
    "iloc": "use rows by number: [0], [2:5]",
    "loc": "filter with a column of truth values: sf[sf['a'] > 0]",
    "nunique": "use len(sa.unique())",
    "n_unique": "use len(sa.unique())",
    "pixel_array_to_image": _MEDIA,
}
_FRAME = {
    **_COMMON,
    "describe": "use sf['a'].summary()",
    "isin": "use sf['a'].is_in(values)",
    "cumsum": "use sf['a'].cumulative_sum()",
    "cummax": "use sf['a'].cumulative_max()",
    "cummin": "use sf['a'].cumulative_min()",
    "rolling": "use sf['a'].rolling_mean(), rolling_sum() and so on",
    "columns": "use column_names()",
    "schema": "use column_names() and column_types()",
    "dtypes": "use column_types()",
    "to_csv": "use export_csv(path)",
    "write_csv": "use export_csv(path)",
    "to_json": "use export_json(path)",
    "write_json": "use export_json(path)",
    "to_parquet": "use write_parquet(path)",
    "read_excel": "read it with pandas, and give the frame to SFrame()",
    "drop": "use remove_column(name) or remove_columns(names)",
    "with_column": "assign: sf['name'] = column",
    "with_columns": "assign: sf['name'] = column",
    "withColumn": "assign: sf['name'] = column",
    "withColumnRenamed": "use rename({old: new})",
    "assign": "assign: sf['name'] = column",
    "select": "use sf[['a', 'b']]",
    "filter": "use sf[sf['a'] > 0], or filter_by(values, name)",
    "where": "use sf[sf['a'] > 0], or filter_by(values, name)",
    "query": "use sf[sf['a'] > 0]",
    "sort_values": "use sort(names)",
    "orderBy": "use sort(names)",
    "order_by": "use sort(names)",
    "group_by": "use groupby(names, aggregates)",
    "groupBy": "use groupby(names, aggregates)",
    "agg": "use groupby([], aggregates)",
    "merge": "use join(other, on=names)",
    "union": "use append(other)",
    "vstack": "use append(other)",
    "concat": "use append(other)",
    "distinct": "use unique()",
    "dropDuplicates": "use drop_duplicates(names)",
    "explode": "use stack(column)",
    "melt": "use pack_columns(names, dtype=dict) and stack()",
    "pivot": "use unstack([keys, values]) and unpack()",
    "pivot_table": "use groupby(), unstack() and unpack()",
    "info": "print the frame: its columns and types come first",
    "iterrows": "iterate over the frame: each row is a dict",
    "itertuples": "iterate over the frame: each row is a dict",
    "iter_rows": "iterate over the frame: each row is a dict",
    "toPandas": "use to_pandas()",
    "T": "a frame has columns of one type each, and cannot be turned round",
}
_ARRAY = {
    **_COMMON,
    "describe": "use summary()",
    "isin": "use is_in(values)",
    "cumsum": "use cumulative_sum()",
    "cummax": "use cumulative_max()",
    "cummin": "use cumulative_min()",
    "rolling": "use rolling_mean(), rolling_sum(), rolling_min() and so on",
    "str": "use element_slice(), contains(), split with apply(), and datetime_to_str()",
    "dt": "use split_datetime(), datetime_to_str() and str_to_datetime()",
    "cast": "use astype(class)",
    "where": "use SArray.where(condition, istrue, isfalse)",
    "sort_values": "use sort()",
    "to_frame": "use SFrame({'name': sa})",
    "to_csv": "use save(path, format='text')",
    "between": "use (sa >= low) & (sa <= high)",
    "len": "use len()",
    "arg_max": "use argmax()",
    "diff": "use sa - sa.shift(1)",
}


def no_module_member(name: str) -> NoAttributeError:
    """The error about a name that the package does not have."""
    hint = _MODULE.get(name)
    return NoAttributeError(f"sframe_spark has no {name!r}" + (f": {hint}" if hint else ""))


def no_util_member(name: str) -> NoAttributeError:
    """The error about a name that ``sframe_spark.util`` does not have."""
    hint = _UTIL.get(name)
    return NoAttributeError(f"sframe_spark.util has no {name!r}" + (f": {hint}" if hint else ""))


class AbsentModules(MetaPathFinder):
    """Tells what to use instead of what is imported and is not here; asked when no module was found.

    Python imports what ``from package import name`` does not find as a module, so this is where the name is known.

    Examples
    --------
    >>> from sframe_spark import linear_regression
    Traceback (most recent call last):
    sframe_spark.errors.AbsentModuleError: sframe_spark has no 'linear_regression': models are out of scope: ...
    """

    def find_spec(self, fullname: str, path: object = None, target: object = None) -> None:
        """No module.

        Raises
        ------
        AbsentModuleError
            For names that there are hints about.
        """
        for package, hints in (("sframe_spark.", _MODULE), ("sframe_spark.util.", _UTIL)):
            name = fullname.removeprefix(package)
            if name != fullname and name in hints:
                raise AbsentModuleError(f"{package[:-1]} has no {name!r}: {hints[name]}")


def tell_of_absent_modules() -> None:
    """Let imports of what is not here say what to use instead."""
    if not any(isinstance(finder, AbsentModules) for finder in sys.meta_path):
        sys.meta_path.append(AbsentModules())


def no_frame_member(name: str, columns: Sequence[str]) -> NoAttributeError:
    """The error about a member that frames do not have: columns are no members.

    Examples
    --------
    >>> print(no_frame_member("stars", ["stars"]))
    an SFrame has no member 'stars': a column is asked for by sf['stars']
    """
    if name in columns:
        return NoAttributeError(f"an SFrame has no member {name!r}: a column is asked for by sf[{name!r}]")
    return _no_member("an SFrame", name, _FRAME, columns)


def no_array_member(name: str) -> NoAttributeError:
    """The error about a member that columns do not have.

    Examples
    --------
    >>> print(no_array_member("isnull"))
    an SArray has no member 'isnull': compare with None: sa == None
    """
    return _no_member("an SArray", name, _ARRAY, ())


def _no_member(what: str, name: str, hints: dict[str, str], columns: Sequence[str]) -> NoAttributeError:
    hint = hints.get(name)
    if hint is None and (near := near_names(name, columns)):
        hint = f"a column is asked for by its name, as sf[{near[0]!r}]"
    return NoAttributeError(f"{what} has no member {name!r}" + (f": {hint}" if hint else ""))
