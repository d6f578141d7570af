"""The calculus of row order: what is known about a sequence of rows, and what each operator does to it.

:class:`OrderingProperties` decides whether a required ordering holds; :mod:`~sframe_spark.order.derive` has one small function per
operator family; :mod:`~sframe_spark.order.spark_partitioning` says what Spark's physical operators do to partitions.
"""

from sframe_spark.order.facts import Case, Hidden, Monotone, OrderingItem, SequenceFacts, ordering_item
from sframe_spark.order.implication import Witness
from sframe_spark.order.properties import OrderingProperties

__all__ = ["Case", "Hidden", "Monotone", "OrderingItem", "OrderingProperties", "SequenceFacts", "Witness", "ordering_item"]
