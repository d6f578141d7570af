"""Users' functions: the state they see, how they reach other processes, their results and their errors."""
