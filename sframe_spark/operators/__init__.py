"""Operators, one file per family; laws, scalar functions and aggregates below."""
