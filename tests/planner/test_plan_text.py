"""Plans as text and as a picture, at any stage."""

from __future__ import annotations

import attrs
import pytest

from sframe_spark import SFrame
from sframe_spark.config import config
from sframe_spark.errors import InvalidArgumentError
from sframe_spark.planner.law import Stage
from sframe_spark.planner.node_facts import Length
from sframe_spark.planner.optimizer import Optimizer, Trace
from sframe_spark.planner.printed_plans import plan_text, trace_text
from sframe_spark.rewrite_laws import STAGES, builtin_laws
from sframe_spark.testing.plan_parser import read_plan
from tests.planner.sample import DEEP, Pair, chain, lattice, leaf, step
from tests.planner.test_optimizer import relabel


def test_one_line_per_node_inputs_before_consumers() -> None:
    source = leaf(3)
    text = plan_text(Pair().make_planner_node(step(source, "x"), source))
    assert text.splitlines() == [
        f"r0 := sample_leaf[{source.operator.describe()}]()  # (int) x 3",
        "r1 := sample_step[label='x'](r0)  # (int) x 3",
        "r2 := sample_pair[label='a'](r1, r0)  # (int) x 3",
    ]


def test_shared_nodes_are_printed_once() -> None:
    assert len(plan_text(lattice(40)).splitlines()) == 41


def test_lengths_show_what_is_known_of_them() -> None:
    node = leaf(None)
    assert plan_text(node).endswith(" x ?")
    node.facts = attrs.evolve(node.facts, length=Length.unknown(at_most=7))
    assert plan_text(node).endswith(" x <=7")


def test_ten_thousand_nodes_print() -> None:
    assert len(plan_text(chain(DEEP)).splitlines()) == DEEP + 1


def test_a_trace_counts_by_law_in_order_of_first_firing() -> None:
    trace = Trace()
    Optimizer([Stage("first", "because")], [relabel("a", "b")]).optimize(chain(3), trace=trace)
    assert trace_text(trace) == "   3 x a(x) = b(x)"
    assert trace_text(Trace()) == "no law fired"


def test_plans_of_every_stage_can_be_read_back() -> None:
    text = """
    table t(int, str, float) x 1000000
    r0 := segment_source[t, columns [0, 1, 2], rows 0..1000000]()
    r1 := project[2, 0](r0)
    r2 := sort[c1 desc](r1)
    r3 := slice[0:10](r2)
    """
    trace = Trace()
    Optimizer(STAGES, builtin_laws()).optimize(read_plan(text), trace=trace)
    assert list(trace.stages) == [stage.name for stage in STAGES]
    table = text.split("r0 :=", maxsplit=1)[0]
    for plan in trace.stages.values():
        assert plan_text(read_plan(table + plan_text(plan))) == plan_text(plan)
    assert trace.stages["share"].operator_type == "slice"
    assert trace.stages["order"].operator_type == "top_rows"


def test_frames_explain_a_stage_and_name_the_laws_that_fired() -> None:
    frame = SFrame({"a": [3, 1, 2], "b": ["x", "y", "z"]})
    top = frame.sort("a").head(2)
    with config.using(small_rows=0):
        assert "sort[" in top.explain(stage="share") and "top_rows[" not in top.explain(stage="share")
        assert "top_rows[" in top.explain(stage="order")
        assert top.explain(trace=True).endswith("-- laws that fired\n   1 x slice(sort(x, by), 0, n) = top_rows(x, by, n)")


def test_names_of_columns_stand_before_their_types_and_are_read_back() -> None:
    frame = SFrame({"day": [3, 1, 2], "a, b": ["x", "y", "z"]})
    wanted = frame[frame["day"] > 1]
    text = wanted.explain(stage="logical").split("\n", 1)[1]
    assert "# ('a, b' str, day int) x 3" in text
    assert "greater(day, 1)" in text and "](r1)" in text
    numbers = "r0 := range_source[start=0, rows=3, step=1]()  # ({} int) x 3"
    for name in ("day", "'a, b'", '"it\'s"', "'x) int'"):
        assert plan_text(read_plan(numbers.format(name))) == "r0 := range_source[start=0, rows=3, step=1]()  # (int) x 3"


TABLE = "table a(int, str) x 10\n"
SOURCE = TABLE + "r0 := segment_source[a, columns [0, 1], rows 0..10]()\n"
WITHOUT_SUCH_A_COLUMN = {
    "a source of a column": (
        TABLE + "r0 := segment_source[a, columns [0, 7], rows 0..10]()",
        ".*the table a has no column 7: it has 2 columns",
    ),
    "a source of rows": (
        TABLE + "r0 := segment_source[a, columns [0], rows 0..100]()",
        r".*the table a has the rows 0\.\.10, and not 0\.\.100",
    ),
    "a projection": (SOURCE + "r1 := project[0, 5](r0)", "r0 has 2 columns, counted from 0, and the step names 5"),
    "a sort": (SOURCE + "r1 := sort[c9 asc](r0)", "r1 := .*r0 has no column 9: it has 2 columns, counted from 0"),
    "an aggregate": (SOURCE + "r1 := group_by[[c0]; sum(c4)](r0)", "r1 := .*r0 has no column 4"),
    "a value": (
        SOURCE + "r1 := generalized_transform[v2 := add(v0, v6); [v2]](r0)",
        "there is no v6 yet: v0 to v1 are the columns",
    ),
}


@pytest.mark.parametrize("kind", WITHOUT_SUCH_A_COLUMN)
def test_a_column_that_there_is_not_is_told_with_its_step(kind: str) -> None:
    text, said = WITHOUT_SUCH_A_COLUMN[kind]
    with pytest.raises(InvalidArgumentError, match=said):
        read_plan(text)


def test_texts_are_no_columns() -> None:
    text = SOURCE + "r1 := generalized_transform[v2 := equal(v1, 'c9'); [v2]](r0)"
    assert read_plan(text).length.rows == 10
