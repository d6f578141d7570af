"""Which rows a filter has to read."""
