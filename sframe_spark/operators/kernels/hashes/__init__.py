"""Hashes of texts, all of a batch at once: one with a key, and one that is published."""
