"""The planner: nodes, facts, the operator contract, laws and the optimizer. It knows no concrete operator."""
