"""Translation of Python functions into expressions over columns: what they compute is recorded, and evaluated for batches of rows, as Python does."""
