"""Reading and writing of CSV files."""
