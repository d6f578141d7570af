"""What a plan is, why, and whether it did what was said of it: diagnostics that decide nothing."""
