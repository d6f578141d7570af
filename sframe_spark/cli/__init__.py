"""The commands of ``python -m sframe_spark``, one module each."""
