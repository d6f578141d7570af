"""Names of the types of arguments that many members take, for signatures, type checkers and the reference."""

from __future__ import annotations

import datetime
import os
from collections.abc import Mapping, Sequence
from typing import TypeAlias

from sframe_spark.api.aggregates.requests import AggregateRequest

# One column or several, by name.
Names: TypeAlias = str | Sequence[str]
# The same in two frames; a dict has names of this frame and those of the other one.
NamesOfBoth: TypeAlias = str | Sequence[str] | Mapping[str, str]
# Columns to sort by, each with whether it ascends.
SortKeys: TypeAlias = str | Sequence[str | tuple[str, bool]]
# Aggregates for each group, window or interval; a dict names the columns that result.
Aggregates: TypeAlias = AggregateRequest | Mapping[str, AggregateRequest] | Sequence[AggregateRequest | Mapping[str, AggregateRequest]]
# A distance of numbers, or of date-times: a timedelta or a string such as "15min".
Distance: TypeAlias = float | str | datetime.timedelta
# A place on an axis of numbers or of date-times.
Time: TypeAlias = float | datetime.datetime
# The name of a time zone, or the zone itself.
Zone: TypeAlias = str | datetime.tzinfo
# A class of Python, such as int, or its name.
ColumnClass: TypeAlias = type | str
Path: TypeAlias = str | os.PathLike[str]
