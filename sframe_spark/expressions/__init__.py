"""Element-wise expressions: programs of function calls over the columns of a row, scalar functions, aggregates and users' Python functions."""
