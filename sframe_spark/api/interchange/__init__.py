"""Tables and values of other libraries: Arrow, pandas, Spark."""
