"""Values of a batch that are worked on by what they are."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pyarrow as pa


def by_codes(codes: np.ndarray, write: Callable[[int, np.ndarray], pa.Array | None]) -> pa.Array | None:
    """One array of what becomes of the values of each code, in the order of the values; None where one of them takes a closer look.

    Parameters
    ----------
    codes
        What each value is, which are some.
    write
        Takes a code and which values have it.

    Examples
    --------
    >>> by_codes(np.array([1, 0, 1]), lambda code, chosen: pa.array([f"{code}, {place}" for place in np.flatnonzero(chosen)])).to_pylist()
    ['1, 0', '0, 1', '1, 2']
    """
    found, order, done = [], np.empty(len(codes), np.int64), 0
    for code in np.flatnonzero(np.bincount(codes)).tolist():
        chosen = codes == code
        part = write(code, chosen)
        if part is None:
            return None
        found.append(part)
        order[chosen] = np.arange(done, done + len(part))
        done += len(part)
    return found[0] if len(found) == 1 else pa.concat_arrays(found).take(pa.array(order))
