"""CSV: files of texts with columns, read and written."""
