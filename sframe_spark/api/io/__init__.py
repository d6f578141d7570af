"""Reading and writing of frames and columns: saved frames, CSV, JSON, text files, databases and catalog tables."""
