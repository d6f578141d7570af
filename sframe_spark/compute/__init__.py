"""Arrow kernels and Spark column expressions shared by several packages."""
