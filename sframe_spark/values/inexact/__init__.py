"""What values lose on their way into columns, and how users learn of it."""
