"""sframe_lag: values moved down by some rows, and other additions to sframe_spark."""

from sframe_lag.functions import GEOMETRIC_MEAN, fahrenheit
from sframe_lag.operators import Lag, lag

__all__ = ["GEOMETRIC_MEAN", "Lag", "fahrenheit", "lag"]
