"""The programs of issue 18's table in several libraries, side by side."""
