"""What :mod:`sframe_spark.api.aggregate` is made of: requests of aggregates, and the aggregates of statistics."""
