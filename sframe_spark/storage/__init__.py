"""Ordered rows on disk: Parquet segments and the manifest that makes them one dataset."""
