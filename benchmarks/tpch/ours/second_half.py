"""Queries 12 to 22."""

from __future__ import annotations

from benchmarks.tpch.ours.frames import Frames, between, one_row, price
from sframe_spark import SFrame, aggregate


def q12(t: Frames) -> SFrame:
    """Lines that came late, by the way they were sent and whether they were urgent."""
    lines = t.lineitem[between(t.lineitem["l_receiptdate"], "1994-01-01", "1995-01-01")].filter_by(["MAIL", "SHIP"], "l_shipmode")
    lines = lines[(lines["l_commitdate"] < lines["l_receiptdate"]) & (lines["l_shipdate"] < lines["l_commitdate"])]
    found = lines.join(t.orders, on={"l_orderkey": "o_orderkey"})
    found["high"] = found["o_orderpriority"].is_in(["1-URGENT", "2-HIGH"])
    found["low"] = 1 - found["high"]
    return found.groupby("l_shipmode", {"high_line_count": aggregate.SUM("high"), "low_line_count": aggregate.SUM("low")})


def q13(t: Frames) -> SFrame:
    """How many customers have how many orders."""
    special = t.orders["o_comment"].apply(lambda text: "requests" in text.partition("special")[2])
    counts = t.orders[special == 0].groupby("o_custkey", {"c_count": aggregate.COUNT()})
    customers = t.customer[["c_custkey"]].join(counts, on={"c_custkey": "o_custkey"}, how="left").fillna("c_count", 0)
    return customers.groupby("c_count", {"custdist": aggregate.COUNT()}).sort(["custdist", "c_count"], ascending=False)


def q14(t: Frames) -> SFrame:
    """The share of promoted parts in a month's sales."""
    lines = t.lineitem[between(t.lineitem["l_shipdate"], "1995-09-01", "1995-10-01")].join(t.part, on={"l_partkey": "p_partkey"})
    promoted = lines[lines["p_type"].element_slice(0, 5) == "PROMO"]
    return one_row(promo_revenue=100 * price(promoted).sum() / price(lines).sum())


def q15(t: Frames) -> SFrame:
    """The supplier who sold most in a quarter."""
    lines = t.lineitem[between(t.lineitem["l_shipdate"], "1996-01-01", "1996-04-01")]
    lines["price"] = price(lines)
    revenue = lines.groupby("l_suppkey", {"total_revenue": aggregate.SUM("price")})
    most = revenue[revenue["total_revenue"] == revenue["total_revenue"].max()]
    found = t.supplier.join(most, on={"s_suppkey": "l_suppkey"}).sort("s_suppkey")
    return found[["s_suppkey", "s_name", "s_address", "s_phone", "total_revenue"]]


def q16(t: Frames) -> SFrame:
    """How many suppliers of whom nobody complains have parts of a kind."""
    parts = t.part[(t.part["p_brand"] != "Brand#45") & (t.part["p_type"].element_slice(0, 15) != "MEDIUM POLISHED")]
    parts = parts.filter_by([49, 14, 23, 45, 19, 3, 36, 9], "p_size")
    complaints = t.supplier["s_comment"].apply(lambda text: "Complaints" in text.partition("Customer")[2])
    offers = t.partsupp.filter_by(t.supplier[complaints]["s_suppkey"], "ps_suppkey", exclude=True)
    found = offers.join(parts, on={"ps_partkey": "p_partkey"})
    found = found.groupby(["p_brand", "p_type", "p_size"], {"supplier_cnt": aggregate.COUNT_DISTINCT("ps_suppkey")})
    found = found.sort([("supplier_cnt", False), ("p_brand", True), ("p_type", True), ("p_size", True)])
    return found[["p_brand", "p_type", "p_size", "supplier_cnt"]]


def q17(t: Frames) -> SFrame:
    """What small orders of a kind of part bring in a year."""
    parts = t.part[(t.part["p_brand"] == "Brand#23") & (t.part["p_container"] == "MED BOX")]
    lines = t.lineitem.join(parts, on={"l_partkey": "p_partkey"})
    lines = lines.join(lines.groupby("l_partkey", {"usual": aggregate.MEAN("l_quantity")}), on="l_partkey")
    return one_row(avg_yearly=lines[lines["l_quantity"] < 0.2 * lines["usual"]]["l_extendedprice"].sum() / 7)


def q18(t: Frames) -> SFrame:
    """Large orders and their customers."""
    sums = t.lineitem.groupby("l_orderkey", {"quantity": aggregate.SUM("l_quantity")})
    large = t.orders.join(sums[sums["quantity"] > 300], on={"o_orderkey": "l_orderkey"})
    found = large.join(t.customer, on={"o_custkey": "c_custkey"}).sort([("o_totalprice", False), ("o_orderdate", True)]).head(100)
    return found[["c_name", "o_custkey", "o_orderkey", "o_orderdate", "o_totalprice", "quantity"]]


def q19(t: Frames) -> SFrame:
    """What three kinds of parts brought that were sent by air and handed over."""
    lines = t.lineitem[t.lineitem["l_shipinstruct"] == "DELIVER IN PERSON"].filter_by(["AIR", "REG AIR"], "l_shipmode")
    lines = lines.join(t.part, on={"l_partkey": "p_partkey"})
    kinds = [
        ("Brand#12", ["SM CASE", "SM BOX", "SM PACK", "SM PKG"], 1, 5),
        ("Brand#23", ["MED BAG", "MED BOX", "MED PKG", "MED PACK"], 10, 10),
        ("Brand#34", ["LG CASE", "LG BOX", "LG PACK", "LG PKG"], 20, 15),
    ]
    chosen = lines["p_size"] < 0
    for brand, containers, quantity, size in kinds:
        of_kind = (lines["p_brand"] == brand) & lines["p_container"].is_in(containers) & (lines["p_size"] >= 1) & (lines["p_size"] <= size)
        chosen = chosen | (of_kind & (lines["l_quantity"] >= quantity) & (lines["l_quantity"] <= quantity + 10))
    return one_row(revenue=price(lines[chosen]).sum())


def q20(t: Frames) -> SFrame:
    """Suppliers in Canada who have more of forest-coloured parts than they need."""
    parts = t.part[t.part["p_name"].element_slice(0, 6) == "forest"]
    offers = t.partsupp.filter_by(parts["p_partkey"], "ps_partkey")
    lines = t.lineitem[between(t.lineitem["l_shipdate"], "1994-01-01", "1995-01-01")]
    sold = lines.groupby(["l_partkey", "l_suppkey"], {"quantity": aggregate.SUM("l_quantity")})
    offers = offers.join(sold, on={"ps_partkey": "l_partkey", "ps_suppkey": "l_suppkey"})
    plenty = offers[offers["ps_availqty"] > 0.5 * offers["quantity"]]
    suppliers = t.supplier.join(t.nation_named("CANADA"), on={"s_nationkey": "n_nationkey"})
    return suppliers.filter_by(plenty["ps_suppkey"], "s_suppkey").sort("s_name")[["s_name", "s_address"]]


def q21(t: Frames) -> SFrame:
    """Suppliers in Saudi Arabia who alone kept an order of several waiting."""
    late = t.lineitem[t.lineitem["l_receiptdate"] > t.lineitem["l_commitdate"]]
    suppliers = t.lineitem.groupby("l_orderkey", {"all": aggregate.COUNT_DISTINCT("l_suppkey")})
    late_ones = late.groupby("l_orderkey", {"late": aggregate.COUNT_DISTINCT("l_suppkey")})
    several, alone = suppliers[suppliers["all"] > 1], late_ones[late_ones["late"] == 1]
    orders = t.orders[t.orders["o_orderstatus"] == "F"].join(several, on={"o_orderkey": "l_orderkey"}).join(alone, on={"o_orderkey": "l_orderkey"})
    local = t.supplier.join(t.nation_named("SAUDI ARABIA"), on={"s_nationkey": "n_nationkey"})
    waiting = late.join(local, on={"l_suppkey": "s_suppkey"}).filter_by(orders["o_orderkey"], "l_orderkey")
    return waiting.groupby("s_name", {"numwait": aggregate.COUNT()}).sort([("numwait", False), ("s_name", True)]).head(100)


def q22(t: Frames) -> SFrame:
    """Customers with money who order nothing, by the beginning of their numbers."""
    customers = t.customer.copy()
    customers["cntrycode"] = customers["c_phone"].element_slice(0, 2)
    customers = customers.filter_by(["13", "31", "23", "29", "30", "18", "17"], "cntrycode")
    usual = customers[customers["c_acctbal"] > 0]["c_acctbal"].mean()
    chosen = customers[customers["c_acctbal"] > usual].filter_by(t.orders["o_custkey"], "c_custkey", exclude=True)
    return chosen.groupby("cntrycode", {"numcust": aggregate.COUNT(), "totacctbal": aggregate.SUM("c_acctbal")})
