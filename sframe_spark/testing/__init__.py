"""The kit for authors of functions, aggregates, operators and laws; ``docs/extending.md`` shows how to use it.

``contract`` (operators) and ``functions`` compare declarations with behaviour, ``missing_declarations`` finds declarations that could be made.
``laws`` tests laws with pairs of plans, which ``plan_parser`` parses. ``law_search`` looks for missing laws: it compares plans by ``oracle``, a
naive implementation of every operator on plain Python rows.
"""
