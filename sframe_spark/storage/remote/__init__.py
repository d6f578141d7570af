"""Frames saved elsewhere: versions of one place, each a manifest that was put where none was, over files that never change."""
