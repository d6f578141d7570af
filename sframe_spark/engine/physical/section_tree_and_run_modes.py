"""The physical plan: a tree of sections, each of which runs as a whole after the sections that it reads."""

from __future__ import annotations

import enum
from collections.abc import Iterator, Sequence
from typing import ClassVar

import attrs

from sframe_spark.engine.physical.placement_and_blocking_inputs import Placement
from sframe_spark.planner.graph_traversal import postorder, sizes_of
from sframe_spark.planner.node import PlannerNode
from sframe_spark.planner.node_facts import Facts, Length, Schema
from sframe_spark.planner.operator import Operator
from sframe_spark.planner.row_sizes import Sizes

THE_RESULT = "the result"


class Mode(enum.Enum):
    """How a section runs, and where.

    ``DONE``: nothing runs, the rows are stored. ``DRIVER``: kernels run batch by batch in the user's process. ``WHOLE``: one kernel takes all rows of
    its input at once, in the user's process. ``FIRST_ROWS``: batches run in the user's process until there are enough rows. ``THREADS``: kernels run
    over row ranges in threads of the user's process. ``PARTS_OF_THREADS``: such threads each compute a partial state, and these are merged into the
    result. ``PROCESSES`` and ``PARTS_OF_PROCESSES``: the same in Python worker processes. ``TASKS`` and ``PARTS``: the same in Spark tasks.
    ``IN_TURN`` and ``PARTS_IN_TURN``: the same, range by range in the user's process, if no Python interpreter can be started. ``GATHERED``: threads
    compute all rows of the input, then one kernel takes them at once. ``EXCHANGED``: threads compute the input and exchange its rows, then the kernel
    runs on each range of a column's values. ``EXCHANGED_BY_TASKS``: the same in Spark tasks. ``JOINED``: threads compute both inputs and exchange
    their rows by hash, then join each hash partition. ``QUERY``: a Spark query. ``FEW``: kernels run one after the other over few rows in memory,
    without a physical plan.
    """

    DONE = "nothing to run"
    DRIVER = "driver"
    WHOLE = "driver, all rows at once"
    FIRST_ROWS = "driver, until there are enough rows"
    GATHERED = "threads, then all rows at once"
    EXCHANGED = "threads, then each range of a column at once"
    JOINED = "threads, then pieces of both sides at once"
    THREADS = "threads over ranges of rows"
    PARTS_OF_THREADS = "threads that each make a part"
    PROCESSES = "Python processes over ranges of rows"
    PARTS_OF_PROCESSES = "Python processes that each send a part"
    IN_TURN = "this process over ranges of rows, as it has no Python to start"
    PARTS_IN_TURN = "this process that makes each part, as it has no Python to start"
    TASKS = "Spark tasks over ranges of rows"
    PARTS = "Spark tasks that each send a part"
    EXCHANGED_BY_TASKS = "Spark tasks, then each range of a column at once"
    QUERY = "Spark query"
    FEW = "driver, without a plan"

    @property
    def is_on_spark(self) -> bool:
        """Whether Spark runs the section."""
        return self in (Mode.TASKS, Mode.PARTS, Mode.EXCHANGED_BY_TASKS, Mode.QUERY)

    @property
    def runs_in_other_processes(self) -> bool:
        """Whether the section runs, or is treated as running, in other processes, where memos of users' functions are not filled."""
        return self.is_on_spark or self in (Mode.PROCESSES, Mode.PARTS_OF_PROCESSES, Mode.IN_TURN, Mode.PARTS_IN_TURN)

    @property
    def makes_parts(self) -> bool:
        """Whether each row range yields a partial state, and the partial states are merged in the user's process."""
        return self in (Mode.PARTS, Mode.PARTS_OF_THREADS, Mode.PARTS_OF_PROCESSES, Mode.PARTS_IN_TURN)

    @property
    def gathers_locally(self) -> bool:
        """Whether threads of this process first compute all input rows of a kernel."""
        return self in (Mode.GATHERED, Mode.EXCHANGED, Mode.JOINED)

    @property
    def is_over_ranges(self) -> bool:
        """Whether each range of base rows yields result rows of its own."""
        return self in (Mode.THREADS, Mode.PROCESSES, Mode.IN_TURN, Mode.TASKS)


class Alternative(enum.Enum):
    """A decision that is made only while a plan runs."""

    FEW_ROWS = "planned again, as for few rows, if what it reads turns out to have {few_rows}"
    MORE_KNOWN = "laws and sections are planned again when the rows of the sections before are there, with what is known of them then"
    MATCHES_COUNTED = "planned again once the matches of its joins are counted, which needs the rows that these read"
    LARGE_PARTS = "planned again, with all rows brought together, if the parts turn out to take more memory than they may, as those of many groups do"
    ALL_ROWS = "all rows are computed if a bounded look at the first ones does not give enough"
    TOO_LARGE = "rows go to disk if they turn out to be larger than the driver's budget of memory"
    STAYS_IN_MEMORY = "rows stay in memory as long as there is room, and go to disk if they find none"
    NO_ROOM = "a Spark query, if the rows that it reads turn out to take more than config.work_memory"
    EXCHANGE = "rows that find no room are exchanged on disk; a Spark query, if those of a single range take more than config.work_memory"
    HASH_PARTITIONS = "rows that find no room are exchanged on disk; a Spark query, if those of a single piece take more than config.work_memory"
    EXCHANGE_OF_TASKS = "a Spark query, if Spark does not see temporary data, tasks are too many, or rows of a single range take more than one may"
    FEW_GROUPS = "collected by the driver if a sample has few groups"
    MORE_DIGITS = "made anew with more digits if floats below 1e-19 or above 1e19 are added up, and again if these are below 1e-46 or above 1e28"
    TOO_MANY_TIES = "Spark sorts all rows if more than {max_ties} rows tie"

    def text(self, small_rows: int, max_ties: int) -> str:
        """Return the text of the alternative for explain(), with its limits filled in.

        Examples
        --------
        >>> Alternative.FEW_ROWS.text(0, 1)
        'planned again, as for few rows, if what it reads turns out to have no rows'
        """
        few = f"at most {small_rows} rows and to fit the driver's memory" if small_rows else "no rows"
        return self.value.format(few_rows=few, max_ties=max_ties)


@attrs.define(eq=False)
class Section:
    """A part of a plan that runs as a whole.

    Parameters
    ----------
    mode
        How the section runs, and where.
    root
        The plan of its rows: the leaves are sources, or a :class:`SectionResult` for the rows of another section.
    reason
        Why its rows are computed before the rows that depend on them.
    alternatives
        What may be decided differently while it runs; only filled by dry runs.
    number
        The number of the section, in the order of execution; empty as long as none was given.
    planned
        The mode that was planned first, if it was changed when the section was planned again.
    reads
        The numbers of the sections whose rows it has read.
    placement
        The placement of its root; None if there is none.
    refused
        The modes in which it has failed to run.
    """

    mode: Mode
    root: PlannerNode
    reason: str
    alternatives: tuple[Alternative, ...] = ()
    number: str = ""
    planned: Mode | None = None
    reads: tuple[str, ...] = ()
    placement: Placement | None = None
    refused: frozenset[Mode] = frozenset()

    @property
    def inputs(self) -> list[Section]:
        """The sections whose rows this one reads, each once."""
        return sections_in(self.root)


@attrs.frozen
class SectionResult(Operator):
    """A leaf that stands for the rows of a section that has not run yet.

    Parameters
    ----------
    section
        The section.
    schema
        The types of its columns.
    rows
        What is known of the number of its rows.
    """

    name: ClassVar[str] = "section"
    arity: ClassVar[int | None] = 0
    has_kernel: ClassVar[bool] = True
    is_source: ClassVar[bool] = True

    section: Section = attrs.field(eq=id)
    schema: Schema
    rows: Length

    @classmethod
    def of(cls, section: Section) -> PlannerNode:
        """Return a node that stands for the rows of a section."""
        root = section.root
        operator = cls(section, root.schema, root.length)
        return PlannerNode(operator, (), Facts(root.schema, root.length, root.facts.domain))

    def infer_type(self, inputs: Sequence[Facts]) -> Schema:
        """Return the types of the section's columns."""
        return self.schema

    def infer_length(self, inputs: Sequence[Facts]) -> Length:
        """Return what is known of the number of the section's rows."""
        return self.rows

    def column_sizes(self, inputs: Sequence[Sizes], facts: Sequence[Facts], schema: Schema) -> Sizes:
        """Return the estimated sizes of the section's columns."""
        root = self.section.root
        return sizes_of(root)[id(root)]

    def describe(self) -> str:
        """Return the section's number."""
        return self.section.number


def sections_in(root: PlannerNode) -> list[Section]:
    """Return the sections whose rows a part of a plan reads, each once."""
    sections = [node.operator.section for node in postorder([root]) if isinstance(node.operator, SectionResult)]
    return list({id(section): section for section in sections}.values())


def in_order_of_running(sections: Sequence[Section]) -> Iterator[Section]:
    """Yield sections and all those that run before them, each once, in the order of execution."""
    done: set[int] = set()
    waiting = [(section, False) for section in reversed(sections)]
    while waiting:
        section, is_open = waiting.pop()
        if is_open:
            yield section
        elif id(section) not in done:
            done.add(id(section))
            waiting.append((section, True))
            waiting.extend((below, False) for below in reversed(section.inputs))
