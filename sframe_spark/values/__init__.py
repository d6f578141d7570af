"""Conversion between Python values and Arrow arrays: type inference, encoding, decoding, casts and comparison.

Values enter a column through :mod:`~sframe_spark.values.encode` and :mod:`~sframe_spark.values.encode` (Python, numpy, pandas) or
:mod:`~sframe_spark.values.from_arrow`, and leave it through :mod:`~sframe_spark.values.decode` or :mod:`~sframe_spark.values.export`.
"""
