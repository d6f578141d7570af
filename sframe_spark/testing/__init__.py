"""Doors for authors of operators and laws.

``contract``: what an operator says about itself held against what it does. ``laws``: golden pairs of plans, where a case is text. ``plan_text``:
reads plans from the text in which they are printed. ``plans``, ``equivalence``, ``oracle``: random programs compared with a second, naive
implementation.
"""
