"""Where ascending numbers belong among others that ascend, found by how many of these lie in buckets of one width."""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np

from sframe_spark.compute.arrow_buffers import new_array

Side = Literal["left", "right"]
# So many wanted numbers are looked at together: what is made of them stays in the cache of a core.
WANTED_TOGETHER = 1 << 14
# Fewer numbers are searched.
FEW = 1 << 10
# Buckets for each number, at least.
BUCKETS_FOR_EACH = 2
# So many places among numbers tell whether these lie evenly: most neighbours are so many numbers apart, and as many buckets, by this.
PLACES_TRIED, LEAST_EVEN = 64, 8


class BucketRoom(NamedTuple):
    """Arrays that are used for one stretch after the other: new ones each time would be memory that is new to the process.

    Parameters
    ----------
    numbers, buckets, taken
        Something for each number, and for each wanted one.
    stops
        Something for each bucket.
    """

    numbers: np.ndarray
    buckets: np.ndarray
    taken: np.ndarray
    stops: np.ndarray

    @classmethod
    def of(cls, wanted: int, numbers: int) -> BucketRoom:
        """Room for so many wanted numbers and others at a time."""
        lengths = (numbers, wanted, wanted, (1 << most_bits(numbers)) + 2)
        return cls(*(new_array(length, np.int64) for length in lengths))


def ascending_places(ascending: np.ndarray, wanted: np.ndarray, side: Side) -> np.ndarray:
    """Where ascending numbers belong among others that ascend, as :func:`numpy.searchsorted` has it.

    A search takes a step for each bit of a place, of half of which a processor guesses the direction wrong. Here a stretch of the wanted numbers is
    looked at after the other, with those of the others that lie between them.

    Examples
    --------
    >>> ascending_places(np.array([1, 3, 3]), np.array([0, 3, 4]), "right").tolist()
    [0, 3, 3]
    """
    if ascending.dtype != wanted.dtype or wanted.dtype not in (np.int64, np.float64):
        return np.searchsorted(ascending, wanted, side)
    found = new_array(len(wanted), np.int64)
    starts = np.arange(0, len(wanted), WANTED_TOGETHER)
    firsts = np.searchsorted(ascending, wanted[starts], side)
    lasts = np.searchsorted(ascending, wanted[np.minimum(starts + WANTED_TOGETHER, len(wanted)) - 1], side)
    room = BucketRoom.of(min(len(wanted), WANTED_TOGETHER), int((lasts - firsts).max(initial=0)))
    for start, first, last in zip(starts.tolist(), firsts.tolist(), lasts.tolist(), strict=True):
        here = slice(start, start + WANTED_TOGETHER)
        between, part, places = ascending[first:last], wanted[here], found[here]
        if len(between) < FEW or not put_places(between, part, side, places, room):
            places[:] = np.searchsorted(between, part, side)
        places += first
    return found


def put_places(between: np.ndarray, wanted: np.ndarray, side: Side, places: np.ndarray, room: BucketRoom) -> bool:
    """Put there where wanted numbers belong among others, which all lie between them; False where they lie so unevenly that a search is quicker."""
    numbers, buckets = room.numbers[: len(between)], room.buckets[: len(wanted)]
    shift = put_buckets(between, wanted, numbers, buckets)
    if shift is None or (shift and not are_even(numbers)):
        return False
    # How many numbers there are up to each bucket, the first of which is that before all.
    stops = room.stops[: int(buckets[-1]) + 2]
    stops[0] = 0
    np.cumsum(np.bincount(numbers, minlength=len(stops) - 1), out=stops[1:])
    if not shift:
        np.take(stops[1:] if side == "right" else stops, buckets, out=places, mode="clip")
        return True
    np.take(stops, buckets, out=places, mode="clip")
    passes = np.less if side == "left" else np.less_equal
    # A number of the bucket, or one after it: where there is none the last one of all stands for it, which changes nothing.
    taken = np.take(between, places, out=room.taken.view(between.dtype)[: len(wanted)], mode="clip")
    inside = np.flatnonzero(passes(taken, wanted))
    # Of one bucket most often all numbers come before a wanted one, or none.
    ends = stops.take(buckets[inside] + 1)
    places[inside] = ends
    inside = inside[~passes(between.take(ends - 1), wanted[inside])]
    if len(inside):
        places[inside] = np.searchsorted(between, wanted[inside], side)
    return True


def put_buckets(between: np.ndarray, wanted: np.ndarray, numbers: np.ndarray, buckets: np.ndarray) -> int | None:
    """Put there the buckets of numbers and of wanted ones; 0 where all numbers of a bucket are equal, None where there are no buckets.

    Examples
    --------
    >>> between, wanted, numbers, buckets = (np.array(each) for each in ([10, 11, 15], [10, 17], [0, 0, 0], [0, 0]))
    >>> put_buckets(between, wanted, numbers, buckets), numbers.tolist(), buckets.tolist()
    (0, [0, 1, 5], [0, 7])
    """
    bits = most_bits(len(between))
    pairs = ((between, numbers), (wanted, buckets))
    if wanted.dtype.kind != "f":
        # Differences of ints fill 64 bits, without a sign.
        for part, out in pairs:
            np.subtract(part.view(np.uint64), wanted.view(np.uint64)[0], out=out.view(np.uint64))
        shift = max(0, int(buckets.view(np.uint64)[-1]).bit_length() - bits)
        for _, out in pairs:
            np.right_shift(out.view(np.uint64), np.uint64(shift), out=out.view(np.uint64))
        return shift
    with np.errstate(all="ignore"):
        scale = ((1 << bits) - 1) / (wanted[-1] - wanted[0])
        if not 0.0 < scale < np.inf:
            return None
        # Each step keeps the order, however it is rounded: numbers of a later bucket are larger.
        for part, out in pairs:
            distances = np.subtract(part, wanted[0], out=out.view(np.float64))
            distances *= scale
            np.copyto(out, distances, casting="unsafe")
    return 1


def are_even(numbers: np.ndarray) -> bool:
    """Whether ascending numbers of buckets are spread over these.

    Examples
    --------
    >>> are_even(np.arange(9_000)), are_even(np.repeat([0, 9_000], 4_500))
    (True, False)
    """
    tried = numbers[:: max(1, len(numbers) // PLACES_TRIED)]
    apart = tried[1:] - tried[:-1] > len(numbers) // len(tried) // LEAST_EVEN
    return bool(2 * np.count_nonzero(apart) >= len(apart))


def most_bits(numbers: int) -> int:
    """The number of a bucket has no more bits, where there are so many numbers."""
    return (BUCKETS_FOR_EACH * numbers).bit_length()
