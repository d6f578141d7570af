"""Lists, arrays and dicts of numbers and texts, all of a batch at a time: what makes no Python object of each value."""
