"""How the engine uses Spark: it runs jobs and queries, and checks that executors see the driver's files and that all rows were written."""
