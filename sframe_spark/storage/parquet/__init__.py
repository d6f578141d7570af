"""Parquet files as bytes: footers, headers of pages and checksums, examined before any value is read."""
