"""Every member of SFrame and SArray that computes something, beside the reference engine and hand-written PySpark."""
