"""Arrow kernels and Spark columns that several rooms share."""
