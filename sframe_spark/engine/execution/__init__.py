"""The execution of physical plans: previews, actions that share results, running sections in order, and the record of what ran."""
