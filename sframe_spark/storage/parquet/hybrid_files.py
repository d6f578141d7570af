"""Which columns of a Parquet file are in the hybrid calendar, by what its writer says in the footer.

Spark decides for each file: up to version 2.4 it counted in the hybrid calendar, and up to 3.0 for time stamps of 96 bits; later versions name what
they wrote so for the sake of such readers. A file that does not name a version of Spark is taken as it is, unless Hive says that its dates are not
proleptic. Time stamps without a zone are never converted, nor are those of Hive, which are instants.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from sframe_spark.storage.hybrid_calendar import HybridColumns
from sframe_spark.storage.zones import UTC, zone_of

SPARK_VERSION, SPARK_ZONE = b"org.apache.spark.version", b"org.apache.spark.timeZone"
SPARK_HYBRID, SPARK_HYBRID_INT96 = b"org.apache.spark.legacyDateTime", b"org.apache.spark.legacyINT96"
# The versions from which on a file is hybrid only where it says so.
FIRST_PROLEPTIC, FIRST_PROLEPTIC_INT96 = (3, 0), (3, 1)
HIVE_PROLEPTIC_DATES = b"writer.date.proleptic"
_VERSION = re.compile(rb"([0-9]{1,9})\.([0-9]{1,9})")


def hybrid_columns(metadata: Mapping[bytes, bytes] | None) -> HybridColumns | None:
    """Return which columns of a file are in the hybrid calendar; None where none is.

    Parameters
    ----------
    metadata
        Keys and values of the footer.

    Examples
    --------
    >>> hybrid_columns({b"org.apache.spark.version": b"2.4.5"})
    HybridColumns(dates=True, instants=True, unzoned=True, zone=HybridZone(offset=0, differences=()))
    >>> hybrid_columns({b"org.apache.spark.version": b"4.1.0"}) is None
    True
    """
    metadata = metadata or {}
    if SPARK_VERSION not in metadata:
        says_hybrid = metadata.get(HIVE_PROLEPTIC_DATES, b"").strip().lower() == b"false"
        return HybridColumns(dates=True, instants=False, unzoned=False) if says_hybrid else None
    found = _VERSION.match(metadata[SPARK_VERSION])
    version = None if found is None else (int(found[1]), int(found[2]))
    common = SPARK_HYBRID in metadata or (version is not None and version < FIRST_PROLEPTIC)
    int96 = SPARK_HYBRID_INT96 in metadata or (version is not None and version < FIRST_PROLEPTIC_INT96)
    if not common and not int96:
        return None
    # Spark takes the zone of the machine where a file names none, so that one file would be read as others elsewhere.
    zone = zone_of(metadata[SPARK_ZONE].decode("utf-8", "replace")) if SPARK_ZONE in metadata else UTC
    return HybridColumns(dates=common, instants=common, unzoned=int96, zone=zone)
