"""The engine divides a plan into sections, runs each of them (in the driver, as tasks over row ranges, or as a Spark query), and puts the results
into the plan.
"""
