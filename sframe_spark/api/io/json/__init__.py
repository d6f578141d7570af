"""Reading and writing of JSON files."""
