"""Layouts of Arrow arrays, and arrays in parts."""
