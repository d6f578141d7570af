"""The seeded faults: what is wrong in each is what a hurried change gets wrong.

A fault is found by its text, wherever the file that holds it lies: `old` occurs once in the package.
"""

from __future__ import annotations

import attrs


@attrs.frozen
class Fault:
    """One line of the package made wrong.

    Parameters
    ----------
    id
        What is wrong, in a few words.
    room
        The part of the package whose tests should notice.
    old
        Text that occurs exactly once in the package.
    new
        What stands there instead.
    spark
        Whether only a test that starts Spark can notice.
    """

    id: str
    room: str
    old: str
    new: str
    spark: bool = False


FAULTS = (
    # values
    Fault("cast-int-at-limit", "values", "(numbers < -float(SMALLEST_INT))", "(numbers <= -float(SMALLEST_INT))"),
    Fault("cast-nan-kept", "values", "values = if_else(pc.is_nan(values), pa.scalar(None, pa.float64()), values)", "values = values"),
    Fault(
        "offset-subtracted",
        "values",
        "return pc.add(microseconds, pc.multiply(offsets, MINUTE))",
        "return pc.subtract(microseconds, pc.multiply(offsets, MINUTE))",
    ),
    Fault("duration-sign-lost", "values", 'return [-total for total in totals] if sign and sign.group(1) == "-" else totals', "return totals"),
    Fault("zone-rule-forgotten", "values", "    if rule:\n", "    if False:\n"),
    Fault("repeated-hour-once", "values", "again = (ends - begins >= intervals.step) & is_short", "again = np.zeros(len(ends), dtype=bool)"),
    Fault(
        "missing-item-is-zero",
        "values",
        'numbers = flat.items.cast(pa.float64(), safe=False).fill_null(float("nan"))',
        "numbers = flat.items.cast(pa.float64(), safe=False).fill_null(0.0)",
    ),
    Fault("empty-list-is-array", "values", "before[ends - counts] == counts) & (counts > 0)", "before[ends - counts] == counts)"),
    Fault(
        "seconds-truncated",
        "values",
        "lambda values, source: floored(microseconds_of(values, source), SECOND)",
        "lambda values, source: pc.divide(microseconds_of(values, source), SECOND)",
    ),
    Fault(
        "mixed-offsets-plain",
        "values",
        "return types.ZONED_DATETIME if any(map(_has_offset, values)) else types.DATETIME",
        "return types.ZONED_DATETIME if all(map(_has_offset, values)) else types.DATETIME",
    ),
    # expressions
    Fault("divide-by-zero", "functions", "missing | missing_divisor | zero, rows)", "missing | missing_divisor, rows)"),
    Fault("floor-truncates", "functions", "pc.floor(pc.divide(left, right))", "pc.trunc(pc.divide(left, right))"),
    Fault("equal-null", "functions", "return to_ints(if_else(pc.is_null(same), both_missing, same))", "return to_ints(same)"),
    Fault("nan-below-nan", "functions", 'if name.endswith("equal") and pa.types.is_float64(first.type):', "if pa.types.is_float64(first.type):"),
    Fault("int-sum-monotone", "functions", 'FLOAT in types and (is_finite(constant) or (name == "add"', '(is_finite(constant) or (name == "add"'),
    Fault("trim-drops-missing", "functions", "compare(items, pa.scalar(bound)).fill_null(True)", "compare(items, pa.scalar(bound)).fill_null(False)"),
    Fault("array-minus-array", "functions", "pc.subtract, np.subtract,", "pc.subtract, lambda left, right: np.subtract(right, left),"),
    Fault("nested-lengths", "functions", "alike = valid & (lengths[0] == lengths[1])", "alike = valid & (lengths[0] <= lengths[1])"),
    Fault("first-of-shared-step", "functions", "if reads[program.width + number - 1] > 1)", "if reads[program.width + number - 1] > 2)", spark=True),
    Fault("dead-register", "functions", "last.pop(register, None)", "pass"),
    # aggregates
    Fault(
        "max-skips-nan",
        "aggregates",
        'largest, "skipped" if skip_nan else "spreads")',
        'largest, "skipped")',
    ),
    Fault("offset-rank", "aggregates", "NO_OFFSET = np.iinfo(np.int32).min", "NO_OFFSET = np.iinfo(np.int32).max"),
    # kernels and relational operators
    Fault("descending-overflow", "kernels", 'return [-ranks, ~numbers if numbers.dtype.kind == "i" else -numbers]', "return [-ranks, -numbers]"),
    Fault("sort-key-order", "kernels", "return np.lexsort(varying[::-1])", "return np.lexsort(varying)"),
    Fault("rows-behind-missing", "kernels", "numbers = np.where(ranks == VALUE, numbers, numbers.dtype.type(0))", "numbers = numbers"),
    Fault(
        "filter-keeps-missing",
        "relational",
        "pc.fill_null(pc.not_equal(chunk.columns[-1], 0), False)",
        "pc.fill_null(pc.not_equal(chunk.columns[-1], 0), True)",
    ),
    Fault("append-interval", "relational", "return (first, max(first, min(stop - before, rows)))", "return (first, max(first, min(stop, rows)))"),
    Fault(
        "top-rows-ties",
        "relational",
        "(tied & (numbers <= np.partition(numbers[tied], left - 1)[left - 1]))",
        "(tied & (numbers < np.partition(numbers[tied], left - 1)[left - 1]))",
    ),
    Fault(
        "append-order-overlap",
        "relational",
        "disjoint = all(first[1] < second[0] for first, second in steps)",
        "disjoint = all(first[1] <= second[0] for first, second in steps)",
    ),
    Fault(
        "append-key-overlap",
        "relational",
        "if all(first[1] < second[0] for first, second in pairwise(ranges)):",
        "if all(first[1] <= second[0] for first, second in pairwise(ranges)):",
    ),
    Fault("explode-drops-empty", "relational", "counts = np.maximum(lengths, 1) if keeps_empty else lengths", "counts = lengths"),
    Fault(
        "explode-ignores-offset",
        "relational",
        "positions = np.repeat(offsets[:-1], counts)",
        "positions = np.repeat(offsets[:-1] - offsets[0], counts)",
    ),
    Fault(
        "slice-length",
        "relational",
        "ends = [end for end in (self.stop, inputs[0].length.at_most) if end is not None]",
        "ends = [end for end in (self.stop or inputs[0].length.at_most,) if end is not None]",
    ),
    Fault(
        "descending-suffix",
        "relational",
        "sort_parts_of(table, schema, self.by[self.held :])",
        "sort_parts_of(table, schema, self.by[self.held - 1 :])",
    ),
    # running values, groups
    Fault("cumulative-null-counts", "running", "numbers if valid is None else np.where(valid, numbers, missing)", "numbers"),
    Fault(
        "cumulative-strict", "running", "small and bounds[0] >= 0, small and bounds[0] > 0)", "small and bounds[0] >= 0, small and bounds[0] >= 0)"
    ),
    Fault("moments-share", "running", "share = second[0] / np.maximum(counts, 1.0)", "share = first[0] / np.maximum(counts, 1.0)"),
    Fault("shift-null-placement", "running", '"nulls_first" if self.rows > 0 else "nulls_last"', '"nulls_last" if self.rows > 0 else "nulls_first"'),
    Fault("smoothing-equal-times", "running", "backwards = result < earlier", "backwards = result <= earlier"),
    Fault("runs-of-empty-group", "running", "groups.order[state.counts[groups.order] > 0]", "groups.order"),
    Fault("rolling-before", "running", "return (start + self.before, stop + self.after)", "return (start + self.before + 1, stop + self.after)"),
    Fault("window-of-nothing", "running", "max(self.minimum, 1)\n\n    def _cut_rows", "self.minimum\n\n    def _cut_rows"),
    Fault(
        "group-keys-zero",
        "groups",
        "(bounds[key][0] > 0 or bounds[key][1] < 0)",
        "(bounds[key][0] >= 0 or bounds[key][1] < 0)",
    ),
    Fault("group-key-unproved", "groups", "and properties.determines(read, by)]", "]"),
    # laws
    Fault("slice-of-slice-end", "laws", "max(min(ends), begin) if ends", "max(ends[-1], begin) if ends"),
    Fault("head-below-running", "laws", "if not is_running or start != 0 or step != 1 or", "if not is_running or step != 1 or"),
    Fault("sort-of-sort", "laws", "return Sort((*node.operator.by, *rest))", "return Sort((*rest, *node.operator.by))"),
    Fault(
        "merged-mask-may-fail",
        "laws",
        "if program.may_fail or not isinstance(program.outputs[-1], Register):",
        "if not isinstance(program.outputs[-1], Register):",
    ),
    Fault("mask-calls-user", "laws", "if not masked.values.may_call_python or masked.mask.may_call_python:", "if not masked.values.may_call_python:"),
    Fault(
        "reversed-second-order", "laws", "if ascends and source.positions[column] == second.column:", "if source.positions[column] == second.column:"
    ),
    Fault("second-order-kept", "laws", "sort_rows(found, [*known_order(masked.rows), (width, True)])", "found"),
    Fault("neighbours-apart", "laws", "return first.stop == second.start and attrs.evolve(", "return attrs.evolve("),
    Fault(
        "sort-by-computed", "laws", "if not isinstance(output, Register) or output.index >= program.width:", "if not isinstance(output, Register):"
    ),
    Fault("count-runs-unordered", "laws", "and order.satisfies_set({*keys, *aggregation.positions}) is not None", ""),
    # pruning
    Fault("negative-factor", "pruning", "return constant.value > 0 if constant.value else None", "return True if constant.value else None"),
    Fault("last-place", "pruning", "first[~at_high] = high + 1", "first[~at_high] = high"),
    Fault(
        "intersection-widens",
        "pruning",
        "start, end = tighter(first[i][0], second[j][0], max), tighter(high, upper, min)",
        "start, end = tighter(first[i][0], second[j][0], min), tighter(high, upper, max)",
    ),
    Fault("overlap-excludes-edge", "pruning", "smallest is not None and high < smallest", "smallest is not None and high <= smallest"),
    Fault("many-exclude-edge", "pruning", "pc.greater_equal(high, smallest)", "pc.greater(high, smallest)"),
    Fault("unknown-bounds-pruned", "pruning", "result: list[bool] = (matching | ~known).tolist()", "result: list[bool] = matching.tolist()"),
    # order
    Fault("loose-class-link", "order", "return fact.strict and len(fact.arguments) == 1", "return len(fact.arguments) == 1"),
    Fault("decreasing-link", "order", '1 if effect == "inc" else -1)', "1)"),
    Fault("join-order", "order", "[: partner.satisfied_length(visible)]", ""),
    Fault(
        "key-loses-column",
        "order",
        "keys=tuple(key for key in facts.keys if not dropped.intersection(key)),",
        "keys=tuple(map(remaining, facts.keys)),",
    ),
    Fault("asof-nulls", "order", '"nulls_last" if direction == "forward" else "nulls_first"', '"nulls_first"'),
    Fault("rename-direction", "order", '{"inc": "dec", "dec": "inc"}.get(effect, effect)', '{"inc": "dec"}.get(effect, effect)'),
    Fault(
        "left-join-matched",
        "order",
        "Case(_RIGHT_ROW, NO_NULLS, SequenceFacts(equivalences=tuple(on)))",
        "Case(_RIGHT_ROW, ALL, SequenceFacts(equivalences=tuple(on)))",
    ),
    # planner
    Fault("splice-keeps-calls", "planner", "self.calls = ()", "pass"),
    Fault("alone-ignored", "planner", "if rule.alone and self._has_other_readers(node, rule.alone):", "if False:"),
    Fault("readers-forgotten", "planner", "self.shared.add(id(successor))", "pass"),
    Fault("types-unchecked", "planner", "if before.schema != after.schema:", "if len(before.schema) != len(after.schema):"),
    Fault("plan-reads-itself", "planner", "not 0 <= child < number for child in inputs", "not 0 <= child <= number for child in inputs"),
    Fault(
        "order-not-inherited",
        "planner",
        "if need is Need.ANY or (need is Need.INHERITED and id(node) not in observer_of):",
        "if need is Need.ANY or need is Need.INHERITED:",
    ),
    Fault("lengths-bounded", "planner", "bounded.at_most < exact.rows:", "bounded.at_most <= exact.rows:"),
    # joins, lookups
    Fault("right-join-unmatched", "joins", 'keep_all=self.how != "inner")', 'keep_all=self.how == "left")'),
    Fault("first-code-lost", "joins", "rows = np.flatnonzero(codes >= 0)", "rows = np.flatnonzero(codes > 0)"),
    Fault(
        "outer-keys", "joins", 'if self.how in ("right", "outer") and bool((rows < 0).any()):', 'if self.how == "right" and bool((rows < 0).any()):'
    ),
    Fault("join-bound", "joins", "at_most=left * right + left + right)", "at_most=left * right)"),
    Fault("asof-equal", "lookups", "counts = self.counts(keys, equal != after)", "counts = self.counts(keys, equal)"),
    Fault("group-ends", "lookups", "self.firsts if after else self.lasts", "self.lasts if after else self.firsts"),
    # engine
    Fault("spilled-unchecked", "engine", "if len(payload) != size or zlib.crc32(payload) != check:", "if len(payload) != size:"),
    Fault(
        "shuffle-unstable",
        "engine",
        'np.argsort(numbers.astype(np.min_scalar_type(count)), kind="stable")',
        "np.argsort(numbers.astype(np.min_scalar_type(count)))",
    ),
    Fault("shuffle-task-order", "engine", "sorted(self.runs, key=lambda run: run.place)", "self.runs"),
    Fault("every-range-final", "engine", "final=rows is last) for rows, state", "final=True) for rows, state"),
    Fault("unequal-lengths", "engine", "if len(counts) != 1:", "if not counts:"),
    Fault("anew-not-deterministic", "engine", 'return "" if node.operator.deterministic else NOT_DETERMINISTIC', 'return ""'),
    Fault("made-again-rows", "engine", "if restored.row_count != old.manifest.rows or restored.infer_type", "if restored.infer_type"),
    Fault("action-not-released", "engine", "if node.claim is self:\n                        node.claim = None", "pass"),
    Fault("memo-part-order", "engine", "return taken(rows, counts, np.argsort(np.concatenate(indices)))", "return rows"),
    Fault("cursor-kept", "engine", "self._first + len(self._buffered[0][0]) <= start:", "self._first + len(self._buffered[0][0]) < start:"),
    # user functions
    Fault("power-computes", "user functions", 'step.argrepr.startswith(("<<", "**"))', 'step.argrepr.startswith("<<")'),
    # storage
    Fault("size-unchecked", "storage", "if size is not None and size == entry.size:", "if size is not None:"),
    Fault(
        "two-attempts",
        "storage",
        "if before.number == after.number and before.first_position",
        "if before.number != after.number and before.first_position",
    ),
    Fault("damage-unnoticed", "storage", "or entry.whole not in (None, again.whole):", ":"),
    Fault("temporary-file-left", "storage", "if os.path.exists(temporary):", "if not os.path.exists(temporary):"),
    Fault("leaves-directory", "storage", 'is_inside = {"", ".", ".."}.isdisjoint(parts)', 'is_inside = {"", "."}.isdisjoint(parts)'),
    Fault("strict-with-ties", "storage", "strictly_ascending=not (self._descent or self._tie)", "strictly_ascending=not self._descent"),
    Fault("merge-unordered", "storage", "steps, (-1, 0)),", "steps, (-1, 0, 1)),"),
    Fault(
        "number-of-keys",
        "storage",
        "if entry.number < number or (entry.number == number and entry.first_position != end):",
        "if entry.number < number:",
    ),
    # session and process
    Fault("others-removed", "session", "if owner == mark_of_this_process():", "if owner is not None:"),
    Fault("cores-rounded-down", "session", "return -(-int(quota) // int(period))", "return int(quota) // int(period)"),
    Fault("cache-counts-as-used", "session", "limit - max(0, used - reclaimable))", "limit - used)"),
    Fault("sticky-ignored", "session", "bool(mode & stat.S_IWOTH) and not mode & stat.S_ISVTX", "bool(mode & stat.S_IWOTH)"),
    Fault("threads-without-room", "session", "return left is None or left.size >= MIN_MEMORY", "return True"),
    # explain
    Fault("boundary-unverified", "explain", "first = max(start - 1, 0)\n    rows", "first = start\n    rows"),
    Fault("minimum-above", "explain", "compare_scalars(actual.minimum, low) < 0", "compare_scalars(actual.minimum, low) > 0"),
    # the API
    Fault(
        "negative-end",
        "api",
        "if start < 0 or (stop is not None and stop < 0):\n        start, stop, step",
        "if start < 0:\n        start, stop, step",
    ),
    Fault(
        "share-of-one", "api", "return min(int(numbers * min(max(share, 0.0), 1.0)), numbers - 1)", "return int(numbers * min(max(share, 0.0), 1.0))"
    ),
    Fault("odd-room", "api", "left = padding // 2 + (padding & width & 1)", "left = padding // 2"),
    Fault("line-end-cut", "api", "last = len(self.pending) if self.is_last else len(self.pending) - 1", "last = len(self.pending)"),
    Fault("row-past-end", "api", "if not 0 <= number < rows:", "if not 0 <= number <= rows:"),
    Fault("jdbc-case", "api", 'if "jdbc:" in text.lower() else text', 'if "jdbc:" in text else text'),
    Fault("json-after-array", "api", 'return None if self._text[end + 1 :].strip(" \\t\\r\\n") else end', "return end"),
    Fault("list-in-numpy", "api", "has_end_nul = any(_ends_with_nul(value) for row in rows for value in row)", "has_end_nul = False"),
    Fault(
        "unique-order",
        "api",
        "keys = [key_column_names] if isinstance(key_column_names, str) else sorted(key_column_names, key=str)",
        "keys = [key_column_names] if isinstance(key_column_names, str) else list(key_column_names)",
    ),
    # errors
    Fault("mask-error-class", "errors", "class MaskLengthError(LengthMismatchError, IndexError):", "class MaskLengthError(LengthMismatchError):"),
    Fault("step-error-class", "errors", "class ZeroStepError(InvalidArgumentError, RuntimeError):", "class ZeroStepError(InvalidArgumentError):"),
    Fault(
        "head-error-class",
        "errors",
        'raise errors.NegativeCountError(f"the number of rows to take',
        'raise errors.InvalidArgumentError(f"the number of rows to take',
    ),
)
