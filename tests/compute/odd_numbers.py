"""Floats of all kinds: where sums of them by floats depend on the order, or are beyond all floats."""

import math

from hypothesis import strategies as st

ODD = (0.0, -0.0, 5e-324, -5e-324, 2.5e-310, 1.7976931348623157e308, -1.7976931348623157e308, 2.0**1023, 1e16, 1.0, -1e16, 0.1, 2.0**-53, 1e-30)
NEAR = st.integers(-3, 3).map(lambda steps: 1e9 + steps * 2.0**-23)
FINITE = st.one_of(st.sampled_from(ODD), st.floats(allow_nan=False, allow_infinity=False), st.floats(-10, 10), NEAR)
NUMBERS = st.one_of(FINITE, FINITE, FINITE, st.sampled_from([math.inf, -math.inf, math.nan]))
