"""SFrame and SArray on Apache Spark: ordered rows, columns aligned by position, lazy evaluation."""

__version__ = "0.1.0"
