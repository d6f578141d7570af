"""The physical plan: a tree of sections, each of which runs as a whole after the sections that it reads."""

from __future__ import annotations

import abc
import enum
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, ClassVar, NamedTuple

import attrs

from sframe_spark.engine.physical.placement_and_blocking_inputs import Placement
from sframe_spark.lazy_imports import lazy_imports
from sframe_spark.planner.graph_traversal import postorder, sizes_of
from sframe_spark.planner.node import PlannerNode
from sframe_spark.planner.node_facts import Facts, Length, Schema
from sframe_spark.planner.operator import Operator

with lazy_imports(globals()):
    from sframe_spark.engine.physical.site import Site
    from sframe_spark.planner.row_sizes import Sizes

if TYPE_CHECKING:
    from sframe_spark.engine.shapes.plan_part_and_gathered_rows import PlanPart
    from sframe_spark.engine.shapes.section_runner import SectionRunner

THE_RESULT = "the result"


class Workers(enum.Enum):
    """Who runs a section.

    ``NONE``: no workers, as its rows are stored. ``DRIVER``: the calling thread. ``THREADS``: threads of the user's process. ``PROCESSES``: Python
    worker
    processes on this machine. ``CALLING_PROCESS``: the user's process in place of worker processes, one range at a time, as no Python interpreter can
    be started. ``SPARK_TASKS``: Spark tasks that run the kernels of this package. ``SPARK``: Spark, by a query of its own operators.
    """

    NONE = "none"
    DRIVER = "driver"
    THREADS = "threads"
    PROCESSES = "processes"
    CALLING_PROCESS = "calling process"
    SPARK_TASKS = "Spark tasks"
    SPARK = "Spark"

    @property
    def are_on_spark(self) -> bool:
        """Whether Spark runs the section."""
        return self in (Workers.SPARK_TASKS, Workers.SPARK)

    @property
    def are_in_other_processes(self) -> bool:
        """Whether they are, or are treated as, other processes, where memos of users' functions are not filled."""
        return self.are_on_spark or self in (Workers.PROCESSES, Workers.CALLING_PROCESS)


class Shape(abc.ABC):
    """The way in which a section processes the rows that it reads; each shape is one module of :mod:`sframe_spark.engine.shapes`, with one instance.

    Class attributes
    ----------------
    name
        The name of the shape, in :data:`TEXTS`.
    takes_sample
        Whether its sections read a sample before they run; False by default.
    """

    name: ClassVar[str]
    takes_sample: ClassVar[bool] = False

    @abc.abstractmethod
    def workers_for(self, part: PlanPart) -> Workers | None:
        """Return who is to run a part of a plan as a section of this shape; None if it cannot have this shape, or another one is cheaper."""

    @abc.abstractmethod
    def run(self, section: Section, runner: SectionRunner) -> PlannerNode | ReplanNeeded:
        """Run a section whose inputs are sources, and return a source of its rows, or what is to be planned again."""

    def alternatives(self, section: Section, site: Site) -> Sequence[Alternative]:
        """Return the decisions about a section of this shape that are made only while it runs; none by default."""
        return ()

    def sample(self, section: Section) -> Section | None:
        """Return the section that reads a sample for a section of this shape, for explain(), if it takes one."""
        return None


# The texts of explain() for all shapes, each with the workers that can run it.
TEXTS: dict[tuple[str, Workers], str] = {
    ("stored", Workers.NONE): "nothing to run",
    ("few rows", Workers.DRIVER): "driver, without a plan",
    ("stream", Workers.DRIVER): "driver",
    ("stream", Workers.THREADS): "threads over ranges of rows",
    ("stream", Workers.PROCESSES): "Python processes over ranges of rows",
    ("stream", Workers.CALLING_PROCESS): "this process over ranges of rows, as it has no Python to start",
    ("stream", Workers.SPARK_TASKS): "Spark tasks over ranges of rows",
    ("whole", Workers.DRIVER): "driver, all rows at once",
    ("whole", Workers.THREADS): "threads, then all rows at once",
    ("partial states", Workers.THREADS): "threads that each make a part",
    ("partial states", Workers.PROCESSES): "Python processes that each send a part",
    ("partial states", Workers.CALLING_PROCESS): "this process that makes each part, as it has no Python to start",
    ("partial states", Workers.SPARK_TASKS): "Spark tasks that each send a part",
    ("range shuffle", Workers.THREADS): "threads, then each range of a column at once",
    ("range shuffle", Workers.SPARK_TASKS): "Spark tasks, then each range of a column at once",
    ("hash join", Workers.THREADS): "threads, then pieces of both sides at once",
    ("states of hash join", Workers.THREADS): "threads, then a part of each piece of both sides",
    ("hash join", Workers.SPARK_TASKS): "Spark tasks, then pieces of both sides at once",
    ("first rows", Workers.DRIVER): "driver, until there are enough rows",
    ("count matches", Workers.DRIVER): "driver, which counts matches only",
    ("sample", Workers.THREADS): "threads, which read some values only",
    ("sample", Workers.SPARK_TASKS): "Spark tasks, which read some values only",
    ("query", Workers.SPARK): "Spark query",
}


class Strategy(NamedTuple):
    """How a section runs: its shape, and who runs it."""

    shape: Shape
    workers: Workers

    @property
    def text(self) -> str:
        """The text of explain()."""
        return TEXTS[self.shape.name, self.workers]


@attrs.frozen(eq=False)
class ReplanNeeded:
    """The result of a section that could not run as it was planned; ``root`` is to be planned again, over the rows that have been computed."""

    root: PlannerNode


class Alternative(enum.Enum):
    """A decision that is made only while a plan runs, in the order in which explain() prints them."""

    LARGE_PARTS = "planned again, with all rows brought together, if the parts turn out to take more memory than they may, as those of many groups do"
    ALL_ROWS = "all rows are computed if a bounded look at the first ones does not give enough"
    TOO_LARGE = "rows go to disk if they turn out to be larger than the driver's budget of memory"
    NO_ROOM = "a Spark query, if the rows that it reads turn out to take more than config.work_memory"
    NO_LOWERING = "an error, if the rows that it reads take more than config.work_memory, as Spark cannot compute it without plan_to_operator()"
    EXCHANGE = "rows that find no room are exchanged on disk; a Spark query, if those of a single range take more than config.work_memory"
    HASH_PARTITIONS = "rows that find no room are exchanged on disk; a Spark query, if those of a single piece take more than config.work_memory"
    EXCHANGE_OF_TASKS = "a Spark query, if tasks are too many, or rows of a single range take more than one may"
    VERY_MANY_MATCHES = "by Spark's tasks, if a look at the matches foretells more than eight times config.memory_budget of rows"
    HASH_PARTITIONS_OF_TASKS = "a Spark query, if tasks are too many, or rows of a single piece take more than one may"
    WITHOUT_SPARK = (
        "this process computes it, in threads or Python processes, if Spark's machines do not see the files or share no directory for its rows"
    )
    BROUGHT_HERE = (
        "its rows come to this process, if Spark's machines share no directory for them; more than config.memory_budget go to the cluster's "
        "object store, or are kept by its executors"
    )
    STAYS_IN_MEMORY = "rows stay in memory as long as there is room, and go to disk if they find none"
    FEW_ROWS = "planned again, as for few rows, if what it reads turns out to have {few_rows}"
    MATCHES_COUNTED = "planned again once the matches of its joins are counted, which needs the rows that these read"
    FEW_GROUPS = "collected by the driver if a sample has few groups"
    MORE_DIGITS = "made anew with more digits if floats below 1e-19 or above 1e19 are added up, and again if these are below 1e-46 or above 1e28"
    TOO_MANY_TIES = "Spark sorts all rows if more than {max_ties} rows tie"
    MORE_KNOWN = "laws and sections are planned again when the rows of the sections before are there, with what is known of them then"

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
    shape
        What it does with the rows that it reads.
    workers
        Who runs it.
    root
        The plan of its rows: the leaves are sources, or a :class:`SectionResult` for the rows of another section.
    reason
        Why its rows are computed before the rows that depend on them.
    alternatives
        What may be decided differently while it runs; only filled by dry runs.
    number
        The number of the section, in the order of execution; empty as long as none was given.
    sample_number
        The number of the section that reads a sample for it; empty if there is none.
    planned
        How it was to run at first, if that was changed when the section was planned again.
    reads
        The numbers of the sections whose rows it has read.
    placement
        The placement of its root; None if there is none.
    refused
        The shapes and workers with which it has failed to run.
    is_alone
        Whether it was planned as if there were no Spark, as its rows or results are not shared with Spark's machines.
    is_observed
        Whether what reads its rows observes their order. If not, some shapes leave them in any order.
    """

    shape: Shape
    workers: Workers
    root: PlannerNode
    reason: str
    alternatives: tuple[Alternative, ...] = ()
    number: str = ""
    sample_number: str = ""
    planned: Strategy | None = None
    reads: tuple[str, ...] = ()
    placement: Placement | None = None
    refused: frozenset[Strategy] = frozenset()
    is_alone: bool = False
    is_observed: bool = True

    @property
    def strategy(self) -> Strategy:
        """How it runs: its shape and who runs it."""
        return Strategy(self.shape, self.workers)

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
