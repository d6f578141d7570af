"""What files say of their rows, compared with the rows."""
