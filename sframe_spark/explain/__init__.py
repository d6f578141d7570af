"""Explaining plans: what a plan does, why, and whether a run matched what the planner claimed. Nothing here changes how a plan runs."""
