"""Files: saved frames, CSV, JSON, Parquet, ORC."""
