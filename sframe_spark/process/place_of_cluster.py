"""The place on an object store for temporary data that the cluster of the session has, if no directory is shared with it."""

from __future__ import annotations

import attrs


@attrs.define
class PlaceOfCluster:
    """The place that is used instead of a directory of this machine until the session ends.

    Parameters
    ----------
    uri
        The URI of the place; None if there is none.
    blocks
        The URI of a directory on a file system that Spark reaches, but Python does not, for files that Spark keeps; None if there is none.
    """

    uri: str | None = None
    blocks: str | None = None


PLACE_OF_CLUSTER = PlaceOfCluster()
