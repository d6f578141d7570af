"""Users' functions: how they travel, what they call, what they gave, and how their errors come back."""
