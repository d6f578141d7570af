"""Reads archives that Turi Create saved: their index files, segment files and blocks. Nothing in this package writes archives."""
