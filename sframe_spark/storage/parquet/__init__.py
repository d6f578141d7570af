"""Parquet files as bytes: footers, headers of pages and check sums, looked at before any value is read."""
