"""A log of sensors: times read from texts, gaps, rolling windows, parts of the day, the hour with the most alarms."""

from __future__ import annotations

import datetime

START = datetime.datetime(2024, 2, 28, 22, 15)


def log_lines():
    """Lines of two sensors, the second one slower and with missing values."""
    lines, state = [], 7
    for number in range(160):
        state = (state * 1103515245 + 12345) % 2**31
        moment = START + datetime.timedelta(minutes=9 * number)
        value = None if state % 11 == 0 else 20 + (state % 1000) / 100 + (6 if number % 37 == 0 else 0)
        lines.append((moment.strftime("%d.%m.%Y %H:%M:%S"), "north" if number % 3 else "south", value))
    return lines


def log_with_values(engine):
    """The log with its times read, and what the rows before and around each say."""
    lines = log_lines()
    log = engine.SFrame({"at": [at for at, _, _ in lines], "sensor": [sensor for _, sensor, _ in lines], "value": [value for _, _, value in lines]})
    log["time"] = log["at"].str_to_datetime("%d.%m.%Y %H:%M:%S")
    log = (
        log.remove_column("at")
        .split_datetime("time", column_name_prefix="", limit=["year", "month", "day", "hour", "weekday"])
        .add_column(log["time"], "time")
    )
    log["known"] = log["value"] != None  # noqa: E711
    log["mean of 5"] = log["value"].rolling_mean(-4, 0, min_observations=3)
    log["max of 3"] = log["value"].rolling_max(-1, 1)
    log["so far"] = log["value"].fillna(0.0).cumulative_max()
    log["jump"] = log["value"] - log["value"].rolling_sum(-1, -1)
    log["seconds"] = log["time"].astype(float) - log["time"].astype(float).min()
    return log


def run(engine, directory):
    """Tables and columns by name."""
    log = log_with_values(engine)
    alarms = log[log["value"] > 29]
    by_hour = log.groupby(
        ["day", "hour"],
        {
            "rows": engine.aggregate.COUNT(),
            "known": engine.aggregate.SUM("known"),
            "mean": engine.aggregate.MEAN("value"),
            "least": engine.aggregate.MIN("value"),
            "warmest": engine.aggregate.ARGMAX("value", "sensor"),
            "spread": engine.aggregate.STD("value"),
        },
    ).sort(["day", "hour"])
    by_sensor = log.groupby("sensor", {"first": engine.aggregate.MIN("time"), "last": engine.aggregate.MAX("time")}).sort("sensor")
    by_sensor["length"] = by_sensor["last"].astype(float) - by_sensor["first"].astype(float)
    alarms["text"] = alarms["time"].datetime_to_str("%A %d %B %Y, %H:%M")
    busiest = alarms.groupby("hour", {"alarms": engine.aggregate.COUNT()}).sort([("alarms", False), ("hour", True)])
    return {
        "log": log.head(60),
        "by hour": by_hour,
        "by sensor": by_sensor,
        "alarms": alarms[["sensor", "value", "text", "weekday"]],
        "busiest": busiest,
        "gaps": log[log["value"] == None][["time", "sensor"]],  # noqa: E711
        "missing": engine.SArray([log["value"].countna(), log["jump"].countna(), log["mean of 5"].countna()]),
        "late": log[(log["hour"] >= 22) | (log["hour"] < 2)].topk("value", 4)[["time", "value"]],
    }
