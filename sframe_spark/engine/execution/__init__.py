"""What runs a physical plan: looks, actions that are shared, sections one after the other, and what became of them."""
