"""Writes the segment files of a dataset, with statistics; reads ranges of rows, and skips rows by the recorded minima and maxima."""
