"""Files for other programs: complete before they are seen."""
