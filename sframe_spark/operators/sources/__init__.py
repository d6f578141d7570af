"""Where rows come from: segments on disk, tables in memory, ranges, users' DataFrames."""
