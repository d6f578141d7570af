"""The shapes of sections, one module each, and the planner that divides a plan into sections and gives each its shape."""
