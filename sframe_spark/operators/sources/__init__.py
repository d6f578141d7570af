"""Source operators: stored segments, tables in memory, generated rows, and users' DataFrames."""
