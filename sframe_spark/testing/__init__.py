"""The kit for authors of functions, aggregates, operators and laws; ``docs/extending.md`` shows how to use it.

``contract`` and ``functions`` compare declarations with behaviour, ``opportunities`` finds declarations that are missing. ``laws`` runs golden
pairs of plans, which ``plan_parser`` parses; ``law_search`` looks for missing laws by means of ``oracle``, a naive implementation of
every operator on plain Python rows.
"""
