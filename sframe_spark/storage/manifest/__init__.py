"""The manifest of a dataset: its classes, its JSON file, its sidecar file, and the validation of what is read from these files."""
