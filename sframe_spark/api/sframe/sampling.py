"""Members of SFrame that draw rows at random, by a seed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sframe_spark.api.class_registry import made_frame
from sframe_spark.api.hints import as_in
from sframe_spark.api.sampling import chosen_seed, require_fraction, shuffled, split
from sframe_spark.api.sframe.columns import Columns

if TYPE_CHECKING:
    from sframe_spark.api.sframe import SFrame


class RandomRows(Columns):
    """Rows by chance. The same seed draws the same rows, however they are partitioned; without one Python's ``random`` gives it."""

    @as_in("sf.sample(0.1, seed=1), a share of the rows; of n rows sf.shuffle(seed=1).head(n)")
    def sample(self, fraction: float, seed: int | None = None, exact: bool = False) -> SFrame:
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
        >>> from sframe_spark import SFrame
        >>> len(SFrame({"a": range(10)}).sample(0.5, seed=1, exact=True))
        5
        """
        number = chosen_seed(seed)
        if not self._names:
            require_fraction(fraction)
            return self._unchanged()
        return made_frame(split(self._node, fraction, number, exact)[0], self._names)

    def random_split(self, fraction: float, seed: int | None = None, exact: bool = False) -> tuple[SFrame, SFrame]:
        """Rows drawn at random, and those that are left, both in order.

        Parameters
        ----------
        fraction
            Share of the rows, between 0 and 1: each is in the first part with this probability.
        seed
            An int of 32 bits that decides which rows are drawn; they are those that Turi Create draws.
        exact
            Whether the first part has just this share, cut down to a whole number of rows; that takes a sort.

        Raises
        ------
        TypeError
            If ``fraction`` is no number.
        ValueError
            If ``fraction`` is not between 0 and 1, or ``seed`` is no number.
        OverflowError
            If ``seed`` has more than 32 bits.

        Examples
        --------
        >>> from sframe_spark import SFrame
        >>> train, test = SFrame({"a": range(1000)}).random_split(0.9, seed=5)
        >>> len(train) + len(test)
        1000
        """
        number = chosen_seed(seed)
        if not self._names:
            require_fraction(fraction)
            return self._unchanged(), self._unchanged()
        first, second = split(self._node, fraction, number, exact)
        return made_frame(first, self._names), made_frame(second, self._names)

    @as_in("sf.shuffle(seed=1)")
    def shuffle(self, *, seed: int | None = None) -> SFrame:
        """All rows in a random order.

        Parameters
        ----------
        seed
            Decides the order.

        Examples
        --------
        >>> from sframe_spark import SFrame
        >>> sorted(row["a"] for row in SFrame({"a": [3, 1, 2]}).shuffle())
        [1, 2, 3]
        """
        return made_frame(shuffled(self._node, chosen_seed(seed)), self._names) if self._names else self._unchanged()

    def _unchanged(self) -> SFrame:
        return made_frame(self._node, self._names)
