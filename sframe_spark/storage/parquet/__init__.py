"""Reads and checks the footers, page headers and checksums of Parquet files, before values are read; copies pages without decoding them."""
