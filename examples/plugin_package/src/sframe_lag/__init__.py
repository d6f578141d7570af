"""sframe_lag: one of each kind of thing that a plug-in of sframe_spark can add. Importing it registers them."""

from sframe_lag.aggregates import HARMONIC_MEAN
from sframe_lag.functions import fahrenheit
from sframe_lag.laws import LAWS
from sframe_lag.operators import Lag, lag
from sframe_lag.readers import Readings
from sframe_lag.writers import ReadingsWriter

__all__ = ["HARMONIC_MEAN", "LAWS", "Lag", "Readings", "ReadingsWriter", "fahrenheit", "lag"]
