"""Saved datasets: opened, verified, replaced and taken over as a whole or not at all."""
