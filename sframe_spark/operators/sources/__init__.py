"""Source operators: segments on disk, tables in memory, ranges, users' DataFrames."""
