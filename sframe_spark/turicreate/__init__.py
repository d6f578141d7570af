"""Archives of Turi Create, the reference: indexes, segment files and blocks, read in Python as its format says; nothing here writes any."""
