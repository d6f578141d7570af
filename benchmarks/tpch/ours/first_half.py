"""Queries 1 to 11."""

from __future__ import annotations

from benchmarks.tpch.ours.frames import Frames, between, day, one_row, price, year
from sframe_spark import SFrame, aggregate


def q01(t: Frames) -> SFrame:
    """Sums and means of all lines, by their flags."""
    lines = t.lineitem[t.lineitem["l_shipdate"] <= day("1998-09-02")]
    lines["disc_price"] = price(lines)
    lines["charge"] = lines["disc_price"] * (1 + lines["l_tax"])
    wanted = {
        "sum_qty": aggregate.SUM("l_quantity"),
        "sum_base_price": aggregate.SUM("l_extendedprice"),
        "sum_disc_price": aggregate.SUM("disc_price"),
        "sum_charge": aggregate.SUM("charge"),
        "avg_qty": aggregate.MEAN("l_quantity"),
        "avg_price": aggregate.MEAN("l_extendedprice"),
        "avg_disc": aggregate.MEAN("l_discount"),
        "count_order": aggregate.COUNT(),
    }
    keys = ["l_returnflag", "l_linestatus"]
    return lines.groupby(keys, wanted).sort(keys)[[*keys, *wanted]]


def q02(t: Frames) -> SFrame:
    """Suppliers in Europe that sell a part at the least price there."""
    parts = t.part[(t.part["p_size"] == 15) & (t.part["p_type"].element_slice(-5) == "BRASS")]
    suppliers = t.supplier.join(t.nations_of("EUROPE"), on={"s_nationkey": "n_nationkey"})
    offers = t.partsupp.join(parts, on={"ps_partkey": "p_partkey"}).join(suppliers, on={"ps_suppkey": "s_suppkey"})
    least = offers.groupby("ps_partkey", {"ps_supplycost": aggregate.MIN("ps_supplycost")})
    best = offers.join(least, on=["ps_partkey", "ps_supplycost"]).rename({"ps_partkey": "p_partkey"})
    chosen = best.sort([("s_acctbal", False), ("n_name", True), ("s_name", True), ("p_partkey", True)]).head(100)
    return chosen[["s_acctbal", "s_name", "n_name", "p_partkey", "p_mfgr", "s_address", "s_phone", "s_comment"]]


def q03(t: Frames) -> SFrame:
    """The ten dearest orders that are not sent yet."""
    customers = t.customer[t.customer["c_mktsegment"] == "BUILDING"]
    orders = t.orders[t.orders["o_orderdate"] < day("1995-03-15")].join(customers, on={"o_custkey": "c_custkey"})
    lines = t.lineitem[t.lineitem["l_shipdate"] > day("1995-03-15")].join(orders, on={"l_orderkey": "o_orderkey"})
    lines["price"] = price(lines)
    found = lines.groupby(["l_orderkey", "o_orderdate", "o_shippriority"], {"revenue": aggregate.SUM("price")})
    first = found.sort([("revenue", False), ("o_orderdate", True)]).head(10)
    return first[["l_orderkey", "revenue", "o_orderdate", "o_shippriority"]]


def q04(t: Frames) -> SFrame:
    """How many orders of a quarter had a line that came late, by priority."""
    late = t.lineitem[t.lineitem["l_commitdate"] < t.lineitem["l_receiptdate"]]
    orders = t.orders[between(t.orders["o_orderdate"], "1993-07-01", "1993-10-01")]
    return orders.filter_by(late["l_orderkey"], "o_orderkey").groupby("o_orderpriority", {"order_count": aggregate.COUNT()})


def q05(t: Frames) -> SFrame:
    """What suppliers in Asia sold in their own country."""
    suppliers = t.supplier.join(t.nations_of("ASIA"), on={"s_nationkey": "n_nationkey"})
    orders = t.orders[between(t.orders["o_orderdate"], "1994-01-01", "1995-01-01")].join(t.customer, on={"o_custkey": "c_custkey"})
    lines = t.lineitem.join(orders, on={"l_orderkey": "o_orderkey"})
    sold = lines.join(suppliers, on={"l_suppkey": "s_suppkey", "c_nationkey": "s_nationkey"})
    sold["price"] = price(sold)
    return sold.groupby("n_name", {"revenue": aggregate.SUM("price")}).sort("revenue", ascending=False)


def q06(t: Frames) -> SFrame:
    """What certain discounts of a year cost."""
    discount = t.lineitem["l_discount"]
    chosen = between(t.lineitem["l_shipdate"], "1994-01-01", "1995-01-01") & (discount >= 0.045) & (discount <= 0.075)
    lines = t.lineitem[chosen & (t.lineitem["l_quantity"] < 24)]
    return one_row(revenue=(lines["l_extendedprice"] * lines["l_discount"]).sum())


def q07(t: Frames) -> SFrame:
    """Trade between France and Germany, by year."""
    pair = ["FRANCE", "GERMANY"]
    nations = t.nation.filter_by(pair, "n_name")[["n_nationkey", "n_name"]]
    suppliers = t.supplier.join(nations, on={"s_nationkey": "n_nationkey"}).rename({"n_name": "supp_nation"})
    customers = t.customer.join(nations, on={"c_nationkey": "n_nationkey"}).rename({"n_name": "cust_nation"})
    orders = t.orders.join(customers, on={"o_custkey": "c_custkey"})
    lines = t.lineitem[between(t.lineitem["l_shipdate"], "1995-01-01", "1997-01-01")].join(suppliers, on={"l_suppkey": "s_suppkey"})
    traded = lines.join(orders, on={"l_orderkey": "o_orderkey"})
    traded = traded[traded["supp_nation"] != traded["cust_nation"]]
    traded["l_year"], traded["volume"] = year(traded["l_shipdate"]), price(traded)
    keys = ["supp_nation", "cust_nation", "l_year"]
    return traded.groupby(keys, {"revenue": aggregate.SUM("volume")}).sort(keys)[[*keys, "revenue"]]


def q08(t: Frames) -> SFrame:
    """The share of Brazil in what America buys of a kind of part, by year."""
    customers = t.customer.join(t.nations_of("AMERICA"), on={"c_nationkey": "n_nationkey"})[["c_custkey"]]
    orders = t.orders[between(t.orders["o_orderdate"], "1995-01-01", "1997-01-01")].join(customers, on={"o_custkey": "c_custkey"})
    parts = t.part[t.part["p_type"] == "ECONOMY ANODIZED STEEL"]
    suppliers = t.supplier.join(t.nation, on={"s_nationkey": "n_nationkey"})
    lines = t.lineitem.join(parts, on={"l_partkey": "p_partkey"}).join(orders, on={"l_orderkey": "o_orderkey"})
    lines = lines.join(suppliers, on={"l_suppkey": "s_suppkey"})
    lines["o_year"], lines["volume"] = year(lines["o_orderdate"]), price(lines)
    lines["brazil"] = lines["volume"] * (lines["n_name"] == "BRAZIL")
    found = lines.groupby("o_year", {"brazil": aggregate.SUM("brazil"), "all": aggregate.SUM("volume")})
    found["mkt_share"] = found["brazil"] / found["all"]
    return found[["o_year", "mkt_share"]]


def q09(t: Frames) -> SFrame:
    """Profit with green parts, by nation and year."""
    parts = t.part[t.part["p_name"].contains("green")][["p_partkey"]]
    suppliers = t.supplier.join(t.nation, on={"s_nationkey": "n_nationkey"})[["s_suppkey", "n_name"]]
    lines = t.lineitem.join(parts, on={"l_partkey": "p_partkey"}).join(suppliers, on={"l_suppkey": "s_suppkey"})
    lines = lines.join(t.partsupp, on={"l_partkey": "ps_partkey", "l_suppkey": "ps_suppkey"}).join(t.orders, on={"l_orderkey": "o_orderkey"})
    lines["amount"] = price(lines) - lines["ps_supplycost"] * lines["l_quantity"]
    lines["o_year"] = year(lines["o_orderdate"])
    return lines.groupby(["n_name", "o_year"], {"sum_profit": aggregate.SUM("amount")}).sort([("n_name", True), ("o_year", False)])


def q10(t: Frames) -> SFrame:
    """The twenty customers who sent most back."""
    orders = t.orders[between(t.orders["o_orderdate"], "1993-10-01", "1994-01-01")]
    lines = t.lineitem[t.lineitem["l_returnflag"] == "R"].join(orders, on={"l_orderkey": "o_orderkey"})
    lines["price"] = price(lines)
    lost = lines.groupby("o_custkey", {"revenue": aggregate.SUM("price")})
    first = lost.join(t.customer, on={"o_custkey": "c_custkey"}).topk("revenue", 20).join(t.nation, on={"c_nationkey": "n_nationkey"})
    return first[["o_custkey", "c_name", "revenue", "c_acctbal", "n_name", "c_address", "c_phone", "c_comment"]]


def q11(t: Frames) -> SFrame:
    """Parts in which much of Germany's stock is."""
    suppliers = t.supplier.join(t.nation_named("GERMANY"), on={"s_nationkey": "n_nationkey"})
    stock = t.partsupp.join(suppliers, on={"ps_suppkey": "s_suppkey"})
    stock["value"] = stock["ps_supplycost"] * stock["ps_availqty"]
    found = stock.groupby("ps_partkey", {"value": aggregate.SUM("value")})
    return found[found["value"] > stock["value"].sum() / len(t.supplier)].sort("value", ascending=False)
