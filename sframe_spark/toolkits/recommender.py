"""The functions of recommenders that work on data alone; the models are in pyspark.ml.

Examples
--------
>>> from sframe_spark import SFrame, recommender
>>> training, test = recommender.util.random_split_by_user(SFrame({"user_id": [1, 1], "item_id": [1, 2]}))
>>> len(training) + len(test)
2
"""

from typing import Any

from sframe_spark.api.model_hints import RECOMMENDER_HINT
from sframe_spark.errors import NoAttributeError
from sframe_spark.toolkits import recommender_data as util

__all__ = ["util"]


def __getattr__(name: str) -> Any:
    """Raise an error that says what to use in place of a model."""
    if name.startswith("__"):
        raise AttributeError(name)
    raise NoAttributeError(f"sframe_spark.recommender has no {name!r}: {RECOMMENDER_HINT}")
