"""sframe_lag: values moved down by some rows."""

from sframe_lag.operators import Lag, lag

__all__ = ["Lag", "lag"]
