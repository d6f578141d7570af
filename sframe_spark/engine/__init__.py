"""The engine divides a plan into sections, runs each of them, and puts the results into the plan.

A section has a shape, which says what it does with the rows that it reads, and workers, which run it.
"""
