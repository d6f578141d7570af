"""Reads files that other programs wrote: Parquet, ORC, and tables of Delta and Iceberg."""
