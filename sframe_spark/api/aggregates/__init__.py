"""The parts of :mod:`sframe_spark.api.aggregate`: requests for aggregates, and statistical aggregates."""
