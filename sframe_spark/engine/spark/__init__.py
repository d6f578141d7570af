"""What the engine asks of Spark: jobs and queries, whether its processes see our files, and how many rows they made."""
