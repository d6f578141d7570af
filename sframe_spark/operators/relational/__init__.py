"""Filters, slices, appends, sorts: operators that choose, order or multiply rows."""
