"""What is known about the order of a sequence of rows, and how each operator changes that knowledge.

:class:`OrderingProperties` stores known facts and decides whether a required ordering follows from them;
:mod:`~sframe_spark.order.derive` has one small function per operator family, which derives the properties of its output;
:mod:`~sframe_spark.order.spark_order_preservation` describes what Spark's physical operators do to partitions and row order.
"""

from sframe_spark.order.order_facts import Case, Hidden, Monotone, OrderingItem, SequenceFacts, ordering_item
from sframe_spark.order.ordering_implication import Witness
from sframe_spark.order.properties import OrderingProperties

__all__ = ["Case", "Hidden", "Monotone", "OrderingItem", "OrderingProperties", "SequenceFacts", "Witness", "ordering_item"]
