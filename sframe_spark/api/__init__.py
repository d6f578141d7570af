"""The user's API: SFrame, SArray and related functions, which translate column names to positions and build nodes of operators."""
