"""Arrays of numbers in memory of Arrow's."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa


def new_array(count: int, dtype: npt.DTypeLike) -> np.ndarray[Any, Any]:
    """An array of so many numbers, to be filled, whose memory is Arrow's: an Arrow array made of it is not copied, and is counted with all others.

    Arrow's pool hands on what others let go of. numpy asks the system for new pages, which takes longer than most arithmetic on a batch:
    running sums of 10^7 floats took 66 ms, of which the system had 31, and take 31.

    Examples
    --------
    >>> numbers = new_array(3, np.int64)
    >>> numbers[:] = [1, 2, 3]
    >>> pa.array(numbers).sum(), len(new_array(0, np.float64))
    (<pyarrow.Int64Scalar: 6>, 0)
    """
    kind = np.dtype(dtype)
    return np.frombuffer(pa.allocate_buffer(count * kind.itemsize), kind) if count else np.empty(0, kind)
