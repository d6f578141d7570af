"""Lists, dicts, arrays, and the floats and datetimes in them, of a whole batch: parsed and written by Arrow and numpy kernels, not value by value."""
