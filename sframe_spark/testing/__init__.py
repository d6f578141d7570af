"""The kit for authors of functions, aggregates, operators, laws, sources and writers; ``docs/extending.md`` shows how to use it.

``contract`` checks what operators declare, ``function_and_aggregate_contracts`` what scalar functions and aggregates declare,
``source_and_writer_contracts`` what sources declare, and whether rows that a writer has written come back;
``missing_declarations`` finds what operators could declare, but do not. ``golden_plans_of_laws`` applies laws to plans in text files and compares
the plans with expected ones; nothing is executed. ``plan_parser`` parses these plans. ``missing_law_search`` looks for missing laws: it compares the
rows of plans by ``oracle``, a naive implementation of the operators on plain Python rows.
"""
