"""Lists, dicts and arrays of a whole batch, parsed and written with Arrow and numpy kernels instead of value by value."""
