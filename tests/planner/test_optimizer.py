"""The optimizer: fixed points, order of visits, checks, non-convergence, traces, linear work."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from sframe_spark.errors import NonConvergenceError, PlanInvariantError
from sframe_spark.planner.graph_traversal import postorder
from sframe_spark.planner.law import Law, Stage, law
from sframe_spark.planner.node import PlannerNode
from sframe_spark.planner.optimizer import Optimizer, Trace
from sframe_spark.rewrite_laws import STAGES, builtin_laws, builtin_optimizer
from tests.planner.sample import DEEP, Pair, Step, Total, Wider, chain, lattice, leaf, step

FIRST, SECOND = Stage("first", "comes before"), Stage("second", "comes after")


def relabel(old: str, new: str, stage: str = "first") -> Law:
    """A law that renames steps."""
    return law(f"{old}(x) = {new}(x)", stage=stage, on="sample_step")(
        lambda node: Step(new).make_planner_node(*node.inputs) if node.operator == Step(old) else None
    )


def labels(node: PlannerNode) -> list[str]:
    """Labels of the steps, from the source up."""
    return [each.operator.label for each in postorder([node]) if isinstance(each.operator, Step)]


MERGE = law("step(step(x)) = step(x)", stage="first", on="sample_step")(
    lambda node: node.inputs[0] if isinstance(node.inputs[0].operator, Step) and len(node.inputs[0].inputs) == 1 else None
)


def test_a_plan_that_no_law_touches_is_returned_as_it_is() -> None:
    root = chain(5)
    assert Optimizer([FIRST], [relabel("x", "y")]).optimize(root) is root


def test_laws_run_to_a_fixed_point() -> None:
    result = Optimizer([FIRST], [relabel("a", "b"), relabel("b", "c"), relabel("c", "d")]).optimize(chain(3))
    assert labels(result) == ["d", "d", "d"]


def test_the_input_plan_is_left_alone() -> None:
    root = chain(3)
    Optimizer([FIRST], [relabel("a", "b")]).optimize(root)
    assert labels(root) == ["a", "a", "a"]


def test_stages_run_in_order_each_with_its_own_laws() -> None:
    laws = [relabel("b", "c", "first"), relabel("a", "b", "second")]
    assert labels(Optimizer([FIRST, SECOND], laws).optimize(chain(1))) == ["b"]


def test_a_stage_may_let_laws_of_others_take_part() -> None:
    laws = [relabel("b", "c", "first"), relabel("a", "b", "second")]
    assert labels(Optimizer([FIRST, Stage("second", "after", also=("first",))], laws).optimize(chain(1))) == ["c"]


def test_optimizing_until_a_stage_leaves_out_the_later_ones() -> None:
    optimizer = Optimizer([FIRST, SECOND], [relabel("a", "b", "first"), relabel("b", "c", "second")])
    assert labels(optimizer.optimize(chain(1), until="first")) == ["b"]
    assert labels(optimizer.optimize(chain(1))) == ["c"]


@pytest.mark.parametrize(("top_down", "first_seen"), [(False, "low"), (True, "high")])
def test_a_stage_visits_inputs_or_consumers_first(top_down: bool, first_seen: str) -> None:
    seen: list[str] = []

    @law("watch", stage="first", on="sample_step")
    def watch(node: PlannerNode) -> PlannerNode | None:
        seen.append(node.operator.label)  # type: ignore[attr-defined]
        return None

    Optimizer([Stage("first", "because", top_down=top_down)], [watch]).optimize(step(step(leaf(), "low"), "high"))
    assert seen[0] == first_seen and sorted(seen) == ["high", "low"]


def test_shared_nodes_are_rewritten_once_and_stay_shared() -> None:
    trace = Trace()
    shared = step(leaf())
    root = Pair().make_planner_node(step(shared, "x"), step(shared, "y"))
    result = Optimizer([FIRST], [relabel("a", "b")]).optimize(root, trace=trace)
    left, right = result.inputs
    assert left.inputs[0] is right.inputs[0]
    assert left.inputs[0].operator == Step("b")
    assert len(trace.firings) == 1


def test_a_single_law_can_be_switched_off() -> None:
    laws = [relabel("a", "b"), relabel("b", "c")]
    assert labels(Optimizer([FIRST], laws, disabled=frozenset({"b(x) = c(x)"})).optimize(chain(1))) == ["b"]
    assert labels(Optimizer([FIRST], laws, disabled=frozenset(rule.equation for rule in laws)).optimize(chain(1))) == ["a"]


def test_switching_off_is_offered_by_the_built_in_optimizer() -> None:
    equation = builtin_laws()[0].equation
    assert builtin_optimizer(frozenset({equation})).disabled == {equation}


def test_a_law_without_operators_is_tried_everywhere() -> None:
    seen: list[str] = []
    watch = law("watch", stage="first")(lambda node: seen.append(node.operator_type))
    Optimizer([FIRST], [watch]).optimize(Total().make_planner_node(leaf()))
    assert sorted(seen) == ["sample_leaf", "sample_total"]


def test_a_law_over_the_whole_graph_is_applied_once_after_the_others() -> None:
    given: list[list[str]] = []

    @law("whole", stage="first", whole_graph=True)
    def whole(root: PlannerNode) -> PlannerNode | None:
        given.append(labels(root))
        return step(root, "a")

    trace = Trace()
    result = Optimizer([FIRST], [whole, relabel("a", "b")]).optimize(chain(2), trace=trace)
    assert given == [["b", "b"]]
    assert labels(result) == ["b", "b", "a"]
    assert trace.counts() == {"a(x) = b(x)": 2, "whole": 1}


@pytest.mark.parametrize(("on", "times"), [((), 1), (("sample_total", "sample_step"), 1), ("sample_total", 0)])
def test_a_law_over_the_whole_graph_is_tried_where_there_is_one_of_its_operators(on: str | tuple[str, ...], times: int) -> None:
    tried: list[PlannerNode] = []
    whole = law("whole", stage="first", on=on, whole_graph=True)(lambda root: tried.append(root))
    root = chain(2)
    assert Optimizer([FIRST], [whole]).optimize(root) is root
    assert tried == [root] * times


def test_a_law_that_changes_types_is_caught() -> None:
    wrong = law("step(x) = wider(x)", stage="first", on="sample_step")(lambda node: Wider().make_planner_node(*node.inputs))
    with pytest.raises(PlanInvariantError, match=r"law 'step\(x\) = wider\(x\)' changes the types from \(int\) to \(int, int\)"):
        Optimizer([FIRST], [wrong]).optimize(chain(1))


def test_a_law_that_changes_the_number_of_rows_is_caught() -> None:
    wrong = law("step(x) = total(x)", stage="first", on="sample_step")(lambda node: Total().make_planner_node(*node.inputs))
    with pytest.raises(PlanInvariantError, match=r"'step\(x\) = total\(x\)' changes the number of rows from 10 to 1"):
        Optimizer([FIRST], [wrong]).optimize(chain(1))
    assert Optimizer([FIRST], [wrong], check=False).optimize(chain(1)).operator == Total()


def test_a_law_over_the_whole_graph_is_checked_too() -> None:
    wrong = law("whole", stage="first", whole_graph=True)(lambda root: Total().make_planner_node(root))
    with pytest.raises(PlanInvariantError, match="law 'whole' changes the number of rows"):
        Optimizer([FIRST], [wrong]).optimize(chain(1))


def grow_by_copies(node: PlannerNode) -> PlannerNode | None:
    """One step more, over fresh nodes."""
    return step(step(*node.inputs))


def grow_over_itself(node: PlannerNode) -> PlannerNode | None:
    """One step more, over the node that is replaced."""
    return step(node)


@pytest.mark.parametrize("top_down", [False, True])
@pytest.mark.parametrize("rewrite", [grow_by_copies, grow_over_itself])
def test_endless_growth_names_the_law(rewrite: Callable[[PlannerNode], PlannerNode | None], top_down: bool) -> None:
    grow = law("step(x) = step(step(x))", stage="first", on="sample_step")(rewrite)
    with pytest.raises(NonConvergenceError) as caught:
        Optimizer([Stage("first", "because", top_down=top_down)], [grow]).optimize(chain(2))
    assert "step(x) = step(step(x))" in str(caught.value) and "first" in str(caught.value)


@pytest.mark.parametrize("top_down", [False, True])
def test_a_cycle_names_all_its_laws(top_down: bool) -> None:
    laws = [relabel("a", "b"), relabel("b", "c"), relabel("c", "a"), relabel("x", "y")]
    with pytest.raises(NonConvergenceError) as caught:
        Optimizer([Stage("first", "because", top_down=top_down)], laws).optimize(chain(2))
    assert [rule.equation in str(caught.value) for rule in laws] == [True, True, True, False]


@pytest.mark.parametrize("top_down", [False, True])
def test_a_cycle_through_the_same_nodes_is_found(top_down: bool) -> None:
    source = leaf()
    there, back = step(source, "there"), step(source, "back")
    laws = [
        law("there = back", stage="first", on="sample_step")(lambda node: back if node is there else None),
        law("back = there", stage="first", on="sample_step")(lambda node: there if node is back else None),
    ]
    with pytest.raises(NonConvergenceError, match="back = there") as caught:
        Optimizer([Stage("first", "because", top_down=top_down)], laws).optimize(step(there, "above"))
    assert "there = back" in str(caught.value)


def test_a_trace_holds_every_firing_and_the_plan_after_each_stage() -> None:
    trace = Trace()
    root = chain(2)
    result = Optimizer([FIRST, SECOND], [relabel("a", "b"), relabel("b", "c", "second")]).optimize(root, trace=trace)
    assert [(firing.stage, firing.equation) for firing in trace.firings] == [("first", "a(x) = b(x)")] * 2 + [("second", "b(x) = c(x)")] * 2
    assert [(labels(firing.before)[-1], labels(firing.after)[-1]) for firing in trace.firings] == [("a", "b")] * 2 + [("b", "c")] * 2
    assert {name: labels(plan) for name, plan in trace.stages.items()} == {"first": ["b", "b"], "second": ["c", "c"]}
    assert trace.stages["second"] is result
    assert trace.counts() == {"a(x) = b(x)": 2, "b(x) = c(x)": 2}


def test_ten_thousand_nodes_merge() -> None:
    assert labels(Optimizer([FIRST], [MERGE]).optimize(chain(DEEP))) == ["a"]


@pytest.mark.parametrize("top_down", [False, True])
@pytest.mark.parametrize("build", [chain, lattice])
def test_visits_grow_linearly(build: Callable[[int], PlannerNode], top_down: bool) -> None:
    def visits(size: int) -> int:
        visited: list[PlannerNode] = []
        watch = law("watch", stage="first")(visited.append)
        Optimizer([Stage("first", "because", top_down=top_down)], [watch, relabel("a", "b")]).optimize(build(size))
        return len(visited)

    small, large = visits(100), visits(1000)
    assert large <= 10 * small


@pytest.mark.parametrize("top_down", [False, True])
def test_a_stage_that_is_returned_to_tries_only_what_has_changed(top_down: bool) -> None:
    visited: list[PlannerNode] = []
    watch = law("watch", stage="first", on="sample_step")(visited.append)
    stages = [Stage("first", "before", top_down=top_down), Stage("second", "after", back_to="first")]
    root = step(chain(50), "last")
    result = Optimizer(stages, [watch, relabel("last", "end", "second")]).optimize(root)
    assert labels(result)[-1] == "end"
    assert len(visited) == 52
    assert {id(node) for node in visited} == {id(node) for node in postorder([root, result]) if node.inputs}


def test_firings_of_the_built_in_laws_grow_linearly() -> None:
    from sframe_spark.testing.plan_parser import read_plan

    def firings(size: int) -> int:
        lines = ["table t(int, str) x 100", "r0 := segment_source[t, columns [0, 1], rows 0..100]()"]
        for number in range(0, 2 * size, 2):
            lines += [f"r{number + 1} := project[1, 0](r{number})", f"r{number + 2} := slice[0:90](r{number + 1})"]
        trace = Trace()
        Optimizer(STAGES, builtin_laws()).optimize(read_plan("\n".join(lines)), trace=trace)
        return len(trace.firings)

    small, large = firings(50), firings(500)
    assert 0 < large <= 11 * small


@pytest.mark.parametrize(("laws", "left"), [([], "low"), ([relabel("low", "lower")], "lower")], ids=["as it is", "rewritten itself"])
def test_a_law_that_computes_its_input_in_another_form_fires_only_where_nobody_else_reads_it(laws: list[Law], left: str) -> None:
    merge = law("high(low(x)) = high(x)", stage="first", on="sample_step", alone=True)(
        lambda node: step(*node.inputs[0].inputs, "high") if node.operator == Step("high") and node.inputs[0].operator == Step(left) else None
    )
    optimizer, below = Optimizer([FIRST], [*laws, merge]), step(leaf(), "low")
    assert labels(optimizer.optimize(step(below, "high"))) == ["high"]
    shared = optimizer.optimize(Pair("both").make_planner_node(step(below, "high"), step(below, "other")))
    assert [labels(branch) for branch in shared.inputs] == [[left, "high"], [left, "other"]]
