"""What texts of the tables are made of: the domains that the queries choose from."""

from __future__ import annotations

REGIONS = ["AFRICA", "AMERICA", "ASIA", "EUROPE", "MIDDLE EAST"]
NATION_NAMES = """
ALGERIA, ARGENTINA, BRAZIL, CANADA, EGYPT, ETHIOPIA, FRANCE, GERMANY, INDIA, INDONESIA, IRAN, IRAQ, JAPAN, JORDAN, KENYA, MOROCCO, MOZAMBIQUE,
PERU, CHINA, ROMANIA, SAUDI ARABIA, VIETNAM, RUSSIA, UNITED KINGDOM, UNITED STATES
"""
# The number of the region of each.
NATIONS = dict(zip(NATION_NAMES.replace("\n", " ").strip().split(", "), map(int, "0111403322442400012342331"), strict=True))
SEGMENTS = ["AUTOMOBILE", "BUILDING", "FURNITURE", "HOUSEHOLD", "MACHINERY"]
PRIORITIES = ["1-URGENT", "2-HIGH", "3-MEDIUM", "4-NOT SPECIFIED", "5-LOW"]
INSTRUCTIONS = ["COLLECT COD", "DELIVER IN PERSON", "NONE", "TAKE BACK RETURN"]
MODES = ["AIR", "FOB", "MAIL", "RAIL", "REG AIR", "SHIP", "TRUCK"]
CONTAINERS = [
    f"{size} {form}" for size in ("SM", "LG", "MED", "JUMBO", "WRAP") for form in ("CASE", "BOX", "BAG", "JAR", "PKG", "PACK", "CAN", "DRUM")
]
TYPES = [
    f"{kind} {finish} {metal}"
    for kind in ("STANDARD", "SMALL", "MEDIUM", "LARGE", "ECONOMY", "PROMO")
    for finish in ("ANODIZED", "BURNISHED", "PLATED", "POLISHED", "BRUSHED")
    for metal in ("TIN", "NICKEL", "BRASS", "STEEL", "COPPER")
]
COLOUR_TEXT = """
almond antique aqua azure beige black blue blush brown burgundy chiffon coral cream cyan dark forest frosted gold green grey honey indigo
ivory khaki lace lavender lemon lime linen magenta maroon mint misty navy olive orange orchid pale peach pink plum powder purple red rose
saddle salmon sandy sienna sky slate smoke snow spring steel tan thistle tomato turquoise violet wheat white yellow
"""
COLOURS = COLOUR_TEXT.split()
# Comments are words of these; a query looks for two of them, one after the other.
WORD_TEXT = """
about accounts across after against along among asymptotes beside bold boost busy carefully cajole courts daring deposits detect doze dolphins
eat even excuses express final foxes furiously grow haggle ideas instructions integrate ironic nag never packages pending pinto quickly quiet
regular requests silent sleep slow slyly special theodolites unusual use wake warthogs
"""
WORDS = WORD_TEXT.split()
