"""Pictures of columns and frames: what is counted, charts made of it, and where they are shown."""
