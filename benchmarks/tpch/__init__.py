"""The shapes of TPC-H's 22 queries on data that is drawn here, in several libraries side by side."""
