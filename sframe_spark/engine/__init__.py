"""The engine divides a plan into sections, runs each of them, and puts the results into the plan.

A section runs in the driver, as tasks over row ranges, or as a Spark query.
"""
