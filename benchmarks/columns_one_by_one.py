"""Programs that prepare columns one by one, in this library or the reference: the interpreter that runs this file decides.

``PYTHON benchmarks/columns_one_by_one.py COLUMNS [NAME]`` prints, as JSON, the processor seconds of each program and what its rows are. It imports
nothing of this package, so that the reference's older Python can run it.
"""

import json
import resource
import sys

try:
    from turicreate import SFrame
except ImportError:
    from sframe_spark import SFrame

ROWS = 50


def processor_seconds():  # type: ignore[no-untyped-def]
    """Of this process and those that it has started and waited for."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(each.ru_utime + each.ru_stime for each in used)


def frame(columns):  # type: ignore[no-untyped-def]
    """Floats, every fifth of them missing."""
    values = {}
    for column in range(columns):
        values[f"c{column}"] = [None if (row + column) % 5 == 0 else float((row * 7 + column) % ROWS) for row in range(ROWS)]
    made = SFrame(values)
    made.materialize()
    return made


def assigned(value, suffix=""):  # type: ignore[no-untyped-def]
    """A program that assigns to each column, or to one beside it."""

    def program(sf):  # type: ignore[no-untyped-def]
        for name in sf.column_names():
            sf[name + suffix] = value(sf, name)
        sf.materialize()
        return sf

    return program


def asked(value):  # type: ignore[no-untyped-def]
    """A program that asks each column for a value."""
    return lambda sf: [value(sf, name) for name in sf.column_names()]


def several(sf):  # type: ignore[no-untyped-def]
    """Four assignments and looks at each column."""
    for name in sf.column_names():
        sf[name] = sf[name].astype(float)
        if sf[name].countna():
            sf[name] = sf[name].fillna(sf[name].mean())
        sf[name] = (sf[name] - sf[name].min()) / (sf[name].max() - sf[name].min())
    sf.materialize()
    return sf


def renamed(sf):  # type: ignore[no-untyped-def]
    """Each column renamed alone."""
    for name in sf.column_names():
        sf = sf.rename({name: name + "x"})
    sf.materialize()
    return sf


def removed(sf):  # type: ignore[no-untyped-def]
    """All columns but one removed, each alone."""
    for name in sf.column_names()[1:]:
        sf = sf.remove_column(name)
    sf.materialize()
    return sf


def appended(sf):  # type: ignore[no-untyped-def]
    """A thousand small frames one after the other."""
    rows = SFrame({"n": [0], "s": ["x"]})
    for number in range(1000):
        rows = rows.append(SFrame({"n": [number], "s": [str(number)]}))
    rows.materialize()
    return rows


def joined(sf):  # type: ignore[no-untyped-def]
    """Twenty small frames joined."""
    rows = SFrame({"k": list(range(ROWS))})
    for number in range(20):
        rows = rows.join(SFrame({"k": list(range(ROWS)), f"v{number}": list(range(ROWS))}), on="k")
    rows.materialize()
    return rows


# Those that take the reference longest are last.
PROGRAMS = {
    "sf[c].countna()": asked(lambda sf, c: sf[c].countna()),
    "sf[c].mean()": asked(lambda sf, c: sf[c].mean()),
    "sf[c].max()": asked(lambda sf, c: sf[c].max()),
    "sf[c].unique()": asked(lambda sf, c: len(sf[c].unique())),
    "sf = sf.rename({c: ...})": renamed,
    "sf = sf.remove_column(c)": removed,
    "1,000 small frames appended": appended,
    "20 small frames joined": joined,
    "sf[c] = sf[c].astype(str)": assigned(lambda sf, c: sf[c].astype(str)),
    "sf[c] = sf[c].apply(f)": assigned(lambda sf, c: sf[c].apply(lambda value: value * 2)),
    "sf[c] = (sf[c] - sf[c].mean()) / sf[c].std()": assigned(lambda sf, c: (sf[c] - sf[c].mean()) / sf[c].std()),
    "sf[c] = sf[c].fillna(0)": assigned(lambda sf, c: sf[c].fillna(0)),
    "sf[c] = sf[c].fillna(sf[c].mean())": assigned(lambda sf, c: sf[c].fillna(sf[c].mean())),
    "sf[c + '_isna'] = sf[c] == None": assigned(lambda sf, c: sf[c] == None, "_isna"),  # noqa: E711
    "sf[c + '_c1'] = sf[c] * sf['c1']": assigned(lambda sf, c: sf[c] * sf["c1"], "_c1"),
    "len(sf[sf[c] > 3])": asked(lambda sf, c: len(sf[sf[c] > 3])),
    "cast, fill and scale each": several,
}
# Not about columns.
ONCE = ("1,000 small frames appended", "20 small frames joined")


def rows_of(result):  # type: ignore[no-untyped-def]
    """What is compared: values, or the first and last rows of a frame in some columns."""
    if not isinstance(result, SFrame):
        return result[:20] + result[-20:]
    names = sorted(result.column_names())
    rows = result[names[:10] + [name for name in names[-10:] if name not in names[:10]]]
    return [len(result), result.num_columns(), rows[0], rows[len(result) - 1]]


def measured(name, columns):  # type: ignore[no-untyped-def]
    """The least seconds of some runs, and what came out."""
    best, found = None, None
    for _ in range(3 if columns <= 200 else 1):
        sf = frame(columns)
        began = processor_seconds()
        result = PROGRAMS[name](sf)
        taken = processor_seconds() - began
        best, found = taken if best is None else min(best, taken), rows_of(result)
    return {"seconds": best, "rows": found}


if __name__ == "__main__":
    width, wanted = int(sys.argv[1]), sys.argv[2] if len(sys.argv) > 2 else ""
    for program in PROGRAMS:
        if wanted in program:
            measured(program, 5)
            sys.stdout.write(json.dumps([program, measured(program, width)]) + "\n")
            sys.stdout.flush()
