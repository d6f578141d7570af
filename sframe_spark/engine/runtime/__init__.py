"""Running a section: kernels over row ranges, in this process, in worker processes or in Spark tasks, and writing the rows."""
