"""FrameFiles: saved frames, CSV, JSON, Parquet, ORC."""
