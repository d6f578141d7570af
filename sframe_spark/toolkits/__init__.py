"""Functions over columns that programs for Turi Create use in addition to its models: texts, images, evaluation, splits of data.

Examples
--------
>>> from sframe_spark import SArray, toolkits
>>> toolkits.evaluation.max_error(SArray([1, 2]), SArray([1, 4]))
2.0
"""

from sframe_spark.toolkits import cross_validation, evaluation, image_analysis, recommender, text_analytics

__all__ = ["cross_validation", "evaluation", "image_analysis", "recommender", "text_analytics"]
