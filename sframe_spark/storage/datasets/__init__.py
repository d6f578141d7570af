"""Saves, opens, verifies, copies and replaces datasets: directories of segment files with a manifest."""
