"""Charts and HTML pages of columns and frames: the counts they show, their specifications, and their display."""
