"""How many cores and how much memory this process may use: those of its container, not those of the machine."""
