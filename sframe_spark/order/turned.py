"""Facts of rows that stand in opposite order."""

from __future__ import annotations

from sframe_spark.order.facts import SequenceFacts
from sframe_spark.order.outcomes import exchange_rows


def turned_facts(facts: SequenceFacts) -> SequenceFacts:
    """The same facts, said of the rows in opposite order.

    Examples
    --------
    >>> from sframe_spark.order.facts import ordering
    >>> turned_facts(SequenceFacts(orderings=(ordering([["a", "desc"]]),))).orderings
    ((OrderingItem(column='a', direction='asc', nulls='nulls_first'),),)
    """
    return facts._replace(
        orderings=tuple(tuple(item.reversed() for item in items) for items in facts.orderings),
        cases=tuple(case._replace(outcomes=exchange_rows(case.outcomes), facts=turned_facts(case.facts)) for case in facts.cases),
    )
