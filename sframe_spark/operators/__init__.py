"""Operators in rooms by idea, with the scalar functions, aggregates and laws that they use."""
