"""Speed of sframe_spark, measured beside hand-written PySpark; see ``python -m benchmarks.run --help``."""
