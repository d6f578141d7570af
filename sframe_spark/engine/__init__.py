"""The engine: cuts a plan into sections, runs each on the driver, as segment tasks or as a Spark query, and splices results back."""
