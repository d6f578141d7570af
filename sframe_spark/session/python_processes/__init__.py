"""How Python processes of ours are started, and how this process talks with them."""
