"""Python values to Arrow arrays and back: inference, encoding, casting, canonical text.

Everything a column can hold passes through here exactly once on its way in (:mod:`~sframe_spark.values.infer`,
:mod:`~sframe_spark.values.encode`, :mod:`~sframe_spark.values.from_arrow`) and once on its way out
(:mod:`~sframe_spark.values.decode`).
"""
