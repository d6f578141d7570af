"""The fluent API: SFrame, SArray and what goes with them. Names of columns live here; bodies call operators."""
