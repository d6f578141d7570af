"""Files that others wrote, as sources: Parquet, ORC and tables of lakes."""
