"""The jobs that a Spark session has run."""

from __future__ import annotations

from typing import Any


def remembered_jobs(spark: Any) -> dict[int, Any]:
    """Return Spark's data of each job by its id: of the newest thousand, as Spark forgets older ones, so their number says nothing."""
    jobs = spark.sparkContext._jsc.sc().statusStore().jobsList(None)
    return {job.jobId(): job for job in (jobs.apply(index) for index in range(jobs.size()))}


def last_job(spark: Any) -> int:
    """Return the id of the newest job, or -1."""
    return max(remembered_jobs(spark), default=-1)
