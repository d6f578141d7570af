"""Stores rows as datasets: ordered Parquet files, called segments, and a manifest that describes them; and reads files of other programs."""
