"""Seeded faults: does the suite notice when one line of the package is wrong?"""
