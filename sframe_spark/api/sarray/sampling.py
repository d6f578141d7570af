"""Members of SArray that draw rows at random, by a seed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sframe_spark.api.class_registry import made_array
from sframe_spark.api.hints import as_in
from sframe_spark.api.indexing import is_row_index
from sframe_spark.api.sampling import chosen_seed, random_ints, shuffled, split
from sframe_spark.errors import NegativeSizeError, SchemaError
from sframe_spark.operators.sources.made import range_source

if TYPE_CHECKING:
    from sframe_spark.api.sarray import SArray
    from sframe_spark.planner.node import PlannerNode


class RandomValues:
    """Rows by chance. The same seed draws the same rows, however they are partitioned; without one Python's ``random`` gives it."""

    _node: PlannerNode

    @as_in("sf['a'].sample(0.1, seed=1), a share of the rows; of n rows sf['a'].shuffle(seed=1).head(n)")
    def sample(self, fraction: float, seed: int | None = None, exact: bool = False) -> SArray:
        """Rows drawn at random, in order.

        Parameters
        ----------
        fraction
            Share of the rows, between 0 and 1: each is drawn with this probability.
        seed
            An int of 32 bits that decides which rows are drawn; they are those that Turi Create draws.
        exact
            Whether just this share is drawn, cut down to a whole number of rows; that takes a sort.

        Raises
        ------
        TypeError
            If an argument is no number.
        ValueError
            If ``fraction`` is not between 0 and 1.
        OverflowError
            If ``seed`` has more than 32 bits.

        Examples
        --------
        >>> from sframe_spark import SArray
        >>> len(SArray(range(10)).sample(0.5, seed=1, exact=True))
        5
        """
        return made_array(split(self._node, fraction, chosen_seed(seed), exact)[0])

    def random_split(self, fraction: float, seed: int | None = None) -> tuple[SArray, SArray]:
        """Rows drawn at random, and those that are left, both in order.

        Parameters
        ----------
        fraction
            Share of the rows, between 0 and 1: each is in the first part with this probability.
        seed
            An int of 32 bits that decides which rows are drawn; they are those that Turi Create draws.

        Raises
        ------
        TypeError
            If an argument is no number.
        ValueError
            If ``fraction`` is not between 0 and 1.
        OverflowError
            If ``seed`` has more than 32 bits.

        Examples
        --------
        >>> from sframe_spark import SArray
        >>> train, test = SArray(range(1000)).random_split(0.9, seed=5)
        >>> sorted([*train, *test]) == list(range(1000))
        True
        """
        first, second = split(self._node, fraction, chosen_seed(seed), False)
        return made_array(first), made_array(second)

    @as_in("sf['a'].shuffle(seed=1)")
    def shuffle(self, *, seed: int | None = None) -> SArray:
        """All rows in a random order.

        Parameters
        ----------
        seed
            Decides the order.

        Examples
        --------
        >>> from sframe_spark import SArray
        >>> sorted(SArray([3, 1, 2]).shuffle())
        [1, 2, 3]
        """
        return made_array(shuffled(self._node, chosen_seed(seed)))

    @classmethod
    def random_integers(cls, size: int, seed: int | None = None) -> SArray:
        """A column of ``size`` random ints of 64 bits; for a seed those that Turi Create draws.

        Raises
        ------
        TypeError
            If the size is no whole number, or the seed no number.
        OverflowError
            If the seed has more than 32 bits.
        RuntimeError
            If the size is negative.

        Examples
        --------
        >>> from sframe_spark import SArray
        >>> list(SArray.random_integers(3, seed=1)) == list(SArray.random_integers(3, seed=1))
        True
        """
        if not is_row_index(size):
            raise SchemaError(f"size is a whole number of rows, not {size!r:.60}")
        if size < 0:
            raise NegativeSizeError(f"a column cannot have {size} rows")
        return made_array(random_ints(range_source(0, int(size)), chosen_seed(seed)))
