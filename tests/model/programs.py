"""Random programs over many live handles, as lines of Python that the engine and the model both run."""

from __future__ import annotations

import random

from tests.model.columns import Column
from tests.model.doors import SPARK_DOORS, doors_of
from tests.model.frames import AGGREGATES, Frame
from tests.model.functions import OF_ROWS, OF_VALUES
from tests.model.run import Program
from tests.model.values import KINDS, ORDERED, Refused
from tests.model.writer import NAMES, ROW_COUNTS, Step, Writer


def new_frame(w: Writer) -> str:
    rows = w.choice(ROW_COUNTS)
    kinds = [w.choice(KINDS) for _ in range(w.random.randint(0, 3))]
    names = w.random.sample(NAMES, len(kinds) + 1)
    cells = [f"{name!r}: {w.column_text(kind, rows)}" for name, kind in zip(names, ["int", *kinds], strict=True)]
    return f"{w.new()} = SFrame({{{', '.join(cells)}}})"


def new_column(w: Writer) -> str:
    if w.random.random() < 0.3:
        return f"{w.new()} = SArray.from_sequence({w.random.randint(0, 3)}, {w.random.randint(3, 12)})"
    if w.random.random() < 0.2:
        return f"{w.new()} = SArray.from_const({w.value('str')!r}, {w.choice(ROW_COUNTS)}, str)"
    return f"{w.new()} = {w.column_text(w.choice(KINDS), w.choice(ROW_COUNTS))}"


def taken_column(w: Writer) -> str:
    frame = w.frame()
    return f"{w.new()} = {frame}[{w.column_name(frame)!r}]"


def taken_frame(w: Writer) -> str:
    frame = w.frame()
    return f"{w.new()} = {frame}[{w.some_names(frame)!r}]"


def compared(w: Writer) -> str:
    column = w.column(("int", "float", "str", "datetime"))
    kind = w.handles[column].kind
    sign = w.choice((">", "<", ">=", "<=", "==", "!="))
    if w.random.random() < 0.2:
        return f"{w.new()} = {column} {sign} {w.column((kind,), len(w.handles[column]))}"
    value = w.choice([value for value in w.handles[column].values if value is not None] or [w.value(kind)])
    return f"{w.new()} = {column} {sign} {value!r}".replace("datetime.timezone.utc", "datetime.UTC")


def filtered_frame(w: Writer) -> str:
    frame = w.frame()
    if w.random.random() < 0.6:
        name = w.column_name(frame, ("int",))
        return f"{w.new()} = {frame}[{frame}[{name!r}] {w.choice(('>', '<', '==', '!='))} {w.random.randint(-2, 5)}]"
    return f"{w.new()} = {frame}[{w.column(('int',), len(w.handles[frame]))}]"


def filtered_column(w: Writer) -> str:
    column = w.column()
    return f"{w.new()} = {column}[{w.column(('int',), len(w.handles[column]))}]"


def any_handle(w: Writer) -> str:
    return w.frame() if w.random.random() < 0.5 else w.column()


def some_rows(w: Writer) -> str:
    handle, a, b = any_handle(w), w.random.randint(0, 6), w.random.randint(0, 9)
    part = w.choice((f"[{a}:{b}]", f"[{a}:]", f"[-{a + 1}:]", f"[:-{b + 1}]", f"[{a}::{b + 1}]", f".head({b})", f".tail({b})"))
    return f"{w.new()} = {handle}{part}"


def appended(w: Writer) -> str:
    if w.random.random() < 0.5:
        column = w.column()
        return f"{w.new()} = {column}.append({w.column((w.handles[column].kind,))})"
    frame = w.frame()
    others = [name for name, model in w.handles.items() if isinstance(model, Frame) and set(model.names) == set(w.handles[frame].names)]
    return f"{w.new()} = {frame}.append({w.choice(others)})"


def appended_to_no_rows(w: Writer) -> str:
    empty = w.choice([name for name, model in w.handles.items() if isinstance(model, Column) and not len(model)])
    pair = [empty, w.column()]
    w.random.shuffle(pair)
    return f"{w.new()} = {pair[0]}.append({pair[1]})"


def sorted_rows(w: Writer) -> str:
    ascending = w.random.random() < 0.5
    if w.random.random() < 0.4:
        return f"{w.new()} = {w.column(ORDERED)}.sort({ascending})"
    frame = w.frame()
    names = w.some_names(frame, ORDERED)
    keys = [(name, w.random.random() < 0.5) for name in names] if w.random.random() < 0.4 else names
    return f"{w.new()} = {frame}.sort({keys!r}, ascending={ascending})"


def top_rows(w: Writer) -> str:
    frame = w.frame()
    return f"{w.new()} = {frame}.topk({w.column_name(frame, ('int', 'str'))!r}, {w.random.randint(0, 5)}, {w.random.random() < 0.5})"


def unique(w: Writer) -> str:
    return f"{w.new()} = {w.frame() if w.random.random() < 0.5 else w.column(ORDERED)}.unique()"


def without_duplicates(w: Writer) -> str:
    frame = w.frame()
    return f"{w.new()} = {frame}.drop_duplicates({w.some_names(frame, ORDERED, 2)!r})"


def grouped(w: Writer) -> str:
    frame = w.frame()
    chosen = []
    for place, function in enumerate(w.random.sample(sorted(AGGREGATES), w.random.randint(1, 3))):
        column = "" if function == "COUNT" else repr(w.column_name(frame, AGGREGATES[function][0]))
        chosen.append(f"'g{place}': aggregate.{function}({column})")
    return f"{w.new()} = {frame}.groupby({w.some_names(frame, ORDERED, 2)!r}, {{{', '.join(chosen)}}})"


def joined(w: Writer) -> str:
    left, right = w.frame(), w.frame()
    common = [name for name in w.handles[left].names if name in w.handles[right].names]
    key = w.choice(common)
    others = {name: f"{name}'" for name in common if name != key}
    return f"{w.new()} = {left}.join({right}.rename({others!r}), on=[{key!r}], how={w.choice(('inner', 'left'))!r})"


def applied(w: Writer) -> str:
    if w.random.random() < 0.3:
        function, kind = w.choice(OF_ROWS)
        return f"{w.new()} = {w.frame()}.apply({function}, {kind})"
    function, kinds, result = w.choice(OF_VALUES)
    column = w.column(kinds)
    return f"{w.new()} = {column}.apply({function}, {result or w.handles[column].kind})"


def running(w: Writer) -> str:
    return f"{w.new()} = {w.column(('int',))}.cumulative_{w.choice(('sum', 'max', 'min'))}()"


def calculated(w: Writer) -> str:
    column = w.column(("int", "float"))
    kind, sign = w.handles[column].kind, w.choice("+-*/")
    if w.random.random() < 0.15:
        return f"{w.new()} = {w.choice(('-', 'abs'))}({column})"
    other = w.column((kind,), len(w.handles[column])) if w.random.random() < 0.4 else repr(w.choice((2, 3, -5) if kind == "int" else (0.5, -4.0)))
    return f"{w.new()} = {column} {sign} {other}"


def combined(w: Writer) -> str:
    first = w.column(("int",))
    return f"{w.new()} = {first} {w.choice('&|')} {w.column(('int',), len(w.handles[first]))}"


def without_missing(w: Writer) -> str:
    if w.random.random() < 0.5:
        return f"{w.new()} = {w.column()}.dropna()"
    frame = w.frame()
    return f"{w.new()} = {frame}.dropna({w.some_names(frame)!r}, {w.choice(('any', 'all'))!r})"


def filled(w: Writer) -> str:
    kinds = ("int", "float", "str", "datetime")
    if w.random.random() < 0.5:
        column = w.column(kinds)
        return f"{w.new()} = {column}.fillna({w.value(w.handles[column].kind)!r})"
    frame = w.frame()
    name = w.column_name(frame, kinds)
    return f"{w.new()} = {frame}.fillna({name!r}, {w.value(w.handles[frame].columns[name].kind)!r})"


def converted(w: Writer) -> str:
    return f"{w.new()} = {w.column(('int', 'float'))}.astype({w.choice(('float', 'str', 'int'))})"


def chosen(w: Writer) -> str:
    if w.random.random() < 0.5:
        column = w.column(("int", "str"))
        kind = w.handles[column].kind
        return f"{w.new()} = {column}.is_in({[w.value(kind) for _ in range(3)]!r})"
    frame = w.frame()
    name = w.column_name(frame, ("int", "str"))
    values = [w.value(w.handles[frame].columns[name].kind) for _ in range(3)]
    return f"{w.new()} = {frame}.filter_by({values!r}, {name!r}, exclude={w.random.random() < 0.3})"


def clipped(w: Writer) -> str:
    return f"{w.new()} = {w.column(('int',))}.clip({w.random.randint(-3, 0)}, {w.random.randint(1, 5)})"


def assigned(w: Writer) -> str:
    frame = w.frame()
    name = w.column_name(frame) if w.random.random() < 0.4 else w.new_name(frame)
    return f"{frame}[{name!r}] = {w.column(rows=len(w.handles[frame]))}"


def derived_in_place(w: Writer) -> str:
    frame = w.frame()
    name = w.column_name(frame, ("int",))
    target = name if w.random.random() < 0.5 else w.new_name(frame)
    return f"{frame}[{target!r}] = {frame}[{name!r}] {w.choice('+-*')} {w.random.randint(1, 4)}"


def removed(w: Writer) -> str:
    frame = w.frame(2)
    name = w.column_name(frame)
    return w.choice((f"del {frame}[{name!r}]", f"{frame}.remove_column({name!r}, inplace=True)", f"{w.new()} = {frame}.remove_column({name!r})"))


def renamed(w: Writer) -> str:
    frame = w.frame()
    names = {w.column_name(frame): w.new_name(frame)}
    return w.choice((f"{frame}.rename({names!r}, inplace=True)", f"{w.new()} = {frame}.rename({names!r})"))


def swapped(w: Writer) -> str:
    frame = w.frame(2)
    pair = w.random.sample(w.handles[frame].names, 2)
    return w.choice((f"{frame}.swap_columns(*{pair!r}, inplace=True)", f"{w.new()} = {frame}.swap_columns(*{pair!r})"))


def added(w: Writer) -> str:
    frame = w.frame()
    column, name = w.column(rows=len(w.handles[frame])), w.new_name(frame)
    return w.choice((
        f"{frame}.add_column({column}, {name!r}, inplace=True)",
        f"{w.new()} = {frame}.add_column({column}, {name!r})",
        f"{frame}.add_columns([{column}, {column}], [{name!r}, 'twice'], inplace=True)",
    ))  # fmt: skip


def numbered(w: Writer) -> str:
    frame = w.frame()
    name = w.new_name(frame)
    return w.choice((f"{frame}.add_row_number({name!r}, 3, inplace=True)", f"{w.new()} = {frame}.add_row_number({name!r})"))


def copied(w: Writer) -> str:
    if w.random.random() < 0.3:
        return f"{w.new()} = SArray({w.column()})"
    frame = w.frame()
    return f"{w.new()} = {frame}{w.choice(('', '.copy()', '.copy()'))}"


def saved(w: Writer) -> str:
    return f"{w.new()} = reloaded({any_handle(w)})"


def materialized(w: Writer) -> str:
    return f"look{w.choice([(name, 'materialized', 0, 0) for name in w.handles])!r}"


TAKING: tuple[Step, ...] = (taken_column, taken_column, taken_frame, copied, some_rows, new_column)
ROWS: tuple[Step, ...] = (
    filtered_frame, filtered_frame, filtered_column, compared, some_rows, appended, appended_to_no_rows, sorted_rows, top_rows, unique,
    without_duplicates, grouped, without_missing, chosen, saved,
)  # fmt: skip
CELLS: tuple[Step, ...] = (applied, running, calculated, calculated, combined, filled, converted, clipped, compared)
CHANGES: tuple[Step, ...] = (assigned, assigned, derived_in_place, removed, renamed, swapped, added, numbered)
FAMILIES = (TAKING, ROWS, CELLS, CHANGES)
# Joins that no order helps are Spark's.
SPARK_FAMILIES = (*FAMILIES, (joined,))


def write_look(w: Writer) -> None:
    """A look, sometimes several at once, sometimes half an iteration that goes on later."""
    turn = w.random.random()
    if turn < 0.08:
        w.lines.append(f"together({', '.join(w.look(alone=False) for _ in range(w.random.randint(2, 3)))})")
    elif turn < 0.16:
        name = f"i{len(w.iterators)}"
        handle = w.choice(list(w.handles))
        w.iterators.append(name)
        w.write(f"{name} = iter({handle})")
        w.lines.append(f"take({name!r}, {w.random.randint(0, 4)})")
    elif turn < 0.24 and w.iterators:
        w.lines.append(f"take({w.choice(w.iterators)!r}, {w.random.randint(0, 4)})")
    else:
        w.lines.append(f"look{w.look()}")


def write_last_looks(w: Writer, most: int | None) -> None:
    """Every handle through every door, or through some of them, in any order."""
    for name in w.random.sample(list(w.handles), len(w.handles)):
        doors = [door for door in doors_of(w.handles[name]) if door != "listed"]
        if w.on_spark and isinstance(w.handles[name], Frame):
            doors += [door.__name__ for door in SPARK_DOORS]
        doors = w.random.sample(doors, len(doors) if most is None else min(most, len(doors)))
        for door in [*doors, "listed"]:
            w.lines.append(f"look{(name, door, w.random.randint(0, 40), w.random.randint(0, 40))!r}")
    w.lines.extend(f"take({name!r}, 1000)" for name in w.iterators)


def program_of(seed: int, steps: int = 12, last_doors: int | None = 2, on_spark: bool = False) -> Program:
    """The program of a seed.

    Parameters
    ----------
    steps
        How many handles are made or changed.
    last_doors
        Through how many doors, besides its rows, each handle is read at the end; None: every one.
    """
    w = Writer(random.Random(seed), on_spark)
    w.write(new_frame(w))
    w.write(new_frame(w))
    done = 0
    for _ in range(20 * steps):
        if done == steps:
            break
        try:
            done += w.write(w.choice(w.choice(SPARK_FAMILIES if on_spark else FAMILIES))(w))
        except Refused:
            continue
        if w.random.random() < 0.35:
            write_look(w)
    write_last_looks(w, last_doors)
    return tuple(w.lines)
