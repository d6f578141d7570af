"""The commands of ``python -m sframe_spark``, one module for each."""
