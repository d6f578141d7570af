"""Operators that join two inputs by key: equal keys, nearest keys, and windows of keys; and the merge of two sorted inputs."""
