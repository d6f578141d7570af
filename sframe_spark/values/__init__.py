"""Conversion between Python values and Arrow arrays: type inference, encoding, decoding, casts and comparison.

Values enter a column through :mod:`~sframe_spark.values.python_to_arrow` (Python, numpy, pandas) or
:mod:`~sframe_spark.values.arrow_to_column_types` (Arrow), and leave it through :mod:`~sframe_spark.values.arrow_to_python` or
:mod:`~sframe_spark.values.export_to_arrow_and_json`.
"""
