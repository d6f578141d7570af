"""What ``python -m sframe_spark`` runs: one module for each command."""
