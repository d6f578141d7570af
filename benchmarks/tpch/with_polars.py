"""Polars: lazy scans of the same rows."""

from __future__ import annotations

import datetime
from typing import Any

import polars as pl
from polars import col

from benchmarks.peers.data import Place
from benchmarks.tpch.answers import plain_rows

PRICE = col("l_extendedprice") * (1 - col("l_discount"))
REVENUE = PRICE.sum().alias("revenue")


def between(name: str, start: str, end: str) -> pl.Expr:
    """Which days of a column are from one up to, and without, another."""
    return (col(name) >= day(start)) & (col(name) < day(end))


def day(text: str) -> datetime.date:
    """A day."""
    return datetime.date.fromisoformat(text)


class Programs:
    """A member for each query."""

    def __init__(self, place: Place) -> None:
        def opened(name: str) -> pl.LazyFrame:
            return pl.scan_parquet(place.file(f"{name}/*.parquet"))

        self.region, self.nation, self.supplier, self.part = opened("region"), opened("nation"), opened("supplier"), opened("part")
        self.partsupp, self.customer, self.orders, self.lineitem = opened("partsupp"), opened("customer"), opened("orders"), opened("lineitem")

    def _nations_of(self, region: str) -> pl.LazyFrame:
        return self.nation.join(self.region.filter(col("r_name") == region), left_on="n_regionkey", right_on="r_regionkey")

    def _suppliers_of(self, nations: pl.LazyFrame) -> pl.LazyFrame:
        return self.supplier.join(nations, left_on="s_nationkey", right_on="n_nationkey")

    def _suppliers_in(self, nation: str) -> pl.LazyFrame:
        return self._suppliers_of(self.nation.filter(col("n_name") == nation))

    def _lines_of(self, orders: pl.LazyFrame) -> pl.LazyFrame:
        return self.lineitem.join(orders, left_on="l_orderkey", right_on="o_orderkey")

    def q01(self) -> Any:
        found = self.lineitem.filter(col("l_shipdate") <= day("1998-09-02")).group_by("l_returnflag", "l_linestatus")
        sums = [
            pl.sum("l_quantity").alias("a"),
            pl.sum("l_extendedprice").alias("b"),
            PRICE.sum().alias("c"),
            (PRICE * (1 + col("l_tax"))).sum().alias("d"),
        ]
        means = [pl.mean("l_quantity").alias("e"), pl.mean("l_extendedprice").alias("f"), pl.mean("l_discount").alias("g"), pl.len().alias("h")]
        return rows_of(found.agg(*sums, *means).sort("l_returnflag", "l_linestatus"))

    def q02(self) -> Any:
        parts = self.part.filter((col("p_size") == 15) & col("p_type").str.ends_with("BRASS"))
        offers = parts.join(self.partsupp, left_on="p_partkey", right_on="ps_partkey")
        offers = offers.join(self._suppliers_of(self._nations_of("EUROPE")), left_on="ps_suppkey", right_on="s_suppkey")
        least = offers.group_by("p_partkey").agg(pl.min("ps_supplycost"))
        best = offers.join(least, on=["p_partkey", "ps_supplycost"])
        first = best.sort("s_acctbal", "n_name", "s_name", "p_partkey", descending=[True, False, False, False]).head(100)
        return rows_of(first.select("s_acctbal", "s_name", "n_name", "p_partkey", "p_mfgr", "s_address", "s_phone", "s_comment"))

    def q03(self) -> Any:
        customers = self.customer.filter(col("c_mktsegment") == "BUILDING")
        orders = self.orders.filter(col("o_orderdate") < day("1995-03-15")).join(customers, left_on="o_custkey", right_on="c_custkey")
        lines = self._lines_of(orders).filter(col("l_shipdate") > day("1995-03-15"))
        found = lines.group_by("l_orderkey", "o_orderdate", "o_shippriority").agg(REVENUE)
        first = found.sort("revenue", "o_orderdate", descending=[True, False]).head(10)
        return rows_of(first.select("l_orderkey", "revenue", "o_orderdate", "o_shippriority"))

    def q04(self) -> Any:
        late = self.lineitem.filter(col("l_commitdate") < col("l_receiptdate"))
        orders = self.orders.filter(between("o_orderdate", "1993-07-01", "1993-10-01"))
        found = orders.join(late, left_on="o_orderkey", right_on="l_orderkey", how="semi").group_by("o_orderpriority").agg(pl.len())
        return rows_of(found.sort("o_orderpriority"))

    def q05(self) -> Any:
        orders = self.orders.filter(between("o_orderdate", "1994-01-01", "1995-01-01"))
        orders = orders.join(self.customer, left_on="o_custkey", right_on="c_custkey")
        suppliers = self._suppliers_of(self._nations_of("ASIA"))
        sold = self._lines_of(orders).join(suppliers, left_on=["l_suppkey", "c_nationkey"], right_on=["s_suppkey", "s_nationkey"])
        return rows_of(sold.group_by("n_name").agg(REVENUE).sort("revenue", descending=True))

    def q06(self) -> Any:
        chosen = between("l_shipdate", "1994-01-01", "1995-01-01") & col("l_discount").is_between(0.045, 0.075) & (col("l_quantity") < 24)
        return rows_of(self.lineitem.filter(chosen).select((col("l_extendedprice") * col("l_discount")).sum()))

    def q07(self) -> Any:
        nations = self.nation.filter(col("n_name").is_in(["FRANCE", "GERMANY"])).select("n_nationkey", "n_name")
        suppliers = self._suppliers_of(nations.rename({"n_name": "supp_nation"}))
        customers = self.customer.join(nations.rename({"n_name": "cust_nation"}), left_on="c_nationkey", right_on="n_nationkey")
        lines = self._lines_of(self.orders.join(customers, left_on="o_custkey", right_on="c_custkey"))
        lines = lines.filter(between("l_shipdate", "1995-01-01", "1997-01-01")).join(suppliers, left_on="l_suppkey", right_on="s_suppkey")
        traded = lines.filter(col("supp_nation") != col("cust_nation")).with_columns(l_year=col("l_shipdate").dt.year())
        keys = ["supp_nation", "cust_nation", "l_year"]
        return rows_of(traded.group_by(keys).agg(REVENUE).sort(keys))

    def q08(self) -> Any:
        customers = self.customer.join(self._nations_of("AMERICA"), left_on="c_nationkey", right_on="n_nationkey").select("c_custkey")
        orders = self.orders.filter(between("o_orderdate", "1995-01-01", "1997-01-01"))
        lines = self._lines_of(orders.join(customers, left_on="o_custkey", right_on="c_custkey"))
        lines = lines.join(self.part.filter(col("p_type") == "ECONOMY ANODIZED STEEL"), left_on="l_partkey", right_on="p_partkey")
        lines = lines.join(self._suppliers_of(self.nation), left_on="l_suppkey", right_on="s_suppkey")
        share = PRICE.filter(col("n_name") == "BRAZIL").sum() / PRICE.sum()
        return rows_of(lines.group_by(o_year=col("o_orderdate").dt.year()).agg(share).sort("o_year"))

    def q09(self) -> Any:
        lines = self.lineitem.join(self.part.filter(col("p_name").str.contains("green", literal=True)), left_on="l_partkey", right_on="p_partkey")
        lines = lines.join(self._suppliers_of(self.nation), left_on="l_suppkey", right_on="s_suppkey")
        lines = lines.join(self.partsupp, left_on=["l_partkey", "l_suppkey"], right_on=["ps_partkey", "ps_suppkey"])
        lines = lines.join(self.orders, left_on="l_orderkey", right_on="o_orderkey")
        profit = (PRICE - col("ps_supplycost") * col("l_quantity")).sum()
        found = lines.group_by("n_name", o_year=col("o_orderdate").dt.year()).agg(profit)
        return rows_of(found.sort("n_name", "o_year", descending=[False, True]))

    def q10(self) -> Any:
        orders = self.orders.filter(between("o_orderdate", "1993-10-01", "1994-01-01"))
        lost = self._lines_of(orders).filter(col("l_returnflag") == "R").group_by("o_custkey").agg(REVENUE)
        found = lost.join(self.customer, left_on="o_custkey", right_on="c_custkey").join(self.nation, left_on="c_nationkey", right_on="n_nationkey")
        first = found.sort("revenue", descending=True).head(20)
        return rows_of(first.select("o_custkey", "c_name", "revenue", "c_acctbal", "n_name", "c_address", "c_phone", "c_comment"))

    def q11(self) -> Any:
        stock = self.partsupp.join(self._suppliers_in("GERMANY"), left_on="ps_suppkey", right_on="s_suppkey")
        stock = stock.select("ps_partkey", value=col("ps_supplycost") * col("ps_availqty"))
        least = stock.select(least=pl.sum("value")).join(self.supplier.select(count=pl.len()), how="cross")
        found = stock.group_by("ps_partkey").agg(pl.sum("value")).join(least, how="cross")
        return rows_of(found.filter(col("value") > col("least") / col("count")).select("ps_partkey", "value").sort("value", descending=True))

    def q12(self) -> Any:
        lines = self.lineitem.filter(
            col("l_shipmode").is_in(["MAIL", "SHIP"]),
            col("l_commitdate") < col("l_receiptdate"),
            col("l_shipdate") < col("l_commitdate"),
            between("l_receiptdate", "1994-01-01", "1995-01-01"),
        )
        is_high = col("o_orderpriority").is_in(["1-URGENT", "2-HIGH"])
        found = lines.join(self.orders, left_on="l_orderkey", right_on="o_orderkey").group_by("l_shipmode")
        return rows_of(found.agg(is_high.sum().alias("high"), (~is_high).sum().alias("low")).sort("l_shipmode"))

    def q13(self) -> Any:
        orders = self.orders.filter(~col("o_comment").str.contains("special.*requests"))
        found = self.customer.join(orders, left_on="c_custkey", right_on="o_custkey", how="left")
        counts = found.group_by("c_custkey").agg(c_count=pl.count("o_orderkey")).group_by("c_count").agg(custdist=pl.len())
        return rows_of(counts.sort("custdist", "c_count", descending=True))

    def q14(self) -> Any:
        lines = self.lineitem.filter(between("l_shipdate", "1995-09-01", "1995-10-01"))
        lines = lines.join(self.part, left_on="l_partkey", right_on="p_partkey")
        return rows_of(lines.select(100 * PRICE.filter(col("p_type").str.starts_with("PROMO")).sum() / PRICE.sum()))

    def q15(self) -> Any:
        lines = self.lineitem.filter(between("l_shipdate", "1996-01-01", "1996-04-01"))
        revenue = lines.group_by("l_suppkey").agg(REVENUE.round(4)).filter(col("revenue") == pl.max("revenue"))
        found = self.supplier.join(revenue, left_on="s_suppkey", right_on="l_suppkey").sort("s_suppkey")
        return rows_of(found.select("s_suppkey", "s_name", "s_address", "s_phone", "revenue"))

    def q16(self) -> Any:
        parts = self.part.filter(
            col("p_brand") != "Brand#45",
            ~col("p_type").str.starts_with("MEDIUM POLISHED"),
            col("p_size").is_in([49, 14, 23, 45, 19, 3, 36, 9]),
        )
        complaints = self.supplier.filter(col("s_comment").str.contains("Customer.*Complaints"))
        offers = self.partsupp.join(complaints, left_on="ps_suppkey", right_on="s_suppkey", how="anti")
        found = (
            offers.join(parts, left_on="ps_partkey", right_on="p_partkey").group_by("p_brand", "p_type", "p_size").agg(c=pl.n_unique("ps_suppkey"))
        )
        return rows_of(found.sort("c", "p_brand", "p_type", "p_size", descending=[True, False, False, False]))

    def q17(self) -> Any:
        parts = self.part.filter((col("p_brand") == "Brand#23") & (col("p_container") == "MED BOX"))
        lines = self.lineitem.join(parts, left_on="l_partkey", right_on="p_partkey")
        lines = lines.join(lines.group_by("l_partkey").agg(usual=pl.mean("l_quantity")), on="l_partkey")
        return rows_of(lines.filter(col("l_quantity") < 0.2 * col("usual")).select(pl.sum("l_extendedprice") / 7))

    def q18(self) -> Any:
        sums = self.lineitem.group_by("l_orderkey").agg(quantity=pl.sum("l_quantity")).filter(col("quantity") > 300)
        large = self.orders.join(sums, left_on="o_orderkey", right_on="l_orderkey").join(self.customer, left_on="o_custkey", right_on="c_custkey")
        first = large.sort("o_totalprice", "o_orderdate", descending=[True, False]).head(100)
        return rows_of(first.select("c_name", "o_custkey", "o_orderkey", "o_orderdate", "o_totalprice", "quantity"))

    def q19(self) -> Any:
        lines = self.lineitem.filter((col("l_shipinstruct") == "DELIVER IN PERSON") & col("l_shipmode").is_in(["AIR", "REG AIR"]))
        lines = lines.join(self.part, left_on="l_partkey", right_on="p_partkey")
        kinds = [
            ("Brand#12", ["SM CASE", "SM BOX", "SM PACK", "SM PKG"], 1, 5),
            ("Brand#23", ["MED BAG", "MED BOX", "MED PKG", "MED PACK"], 10, 10),
            ("Brand#34", ["LG CASE", "LG BOX", "LG PACK", "LG PKG"], 20, 15),
        ]
        chosen = [
            (col("p_brand") == brand)
            & col("p_container").is_in(containers)
            & col("l_quantity").is_between(quantity, quantity + 10)
            & col("p_size").is_between(1, size)
            for brand, containers, quantity, size in kinds
        ]
        return rows_of(lines.filter(pl.any_horizontal(chosen)).select(REVENUE))

    def q20(self) -> Any:
        parts = self.part.filter(col("p_name").str.starts_with("forest"))
        offers = self.partsupp.join(parts, left_on="ps_partkey", right_on="p_partkey", how="semi")
        lines = self.lineitem.filter(between("l_shipdate", "1994-01-01", "1995-01-01"))
        sold = lines.group_by("l_partkey", "l_suppkey").agg(quantity=pl.sum("l_quantity"))
        offers = offers.join(sold, left_on=["ps_partkey", "ps_suppkey"], right_on=["l_partkey", "l_suppkey"])
        plenty = offers.filter(col("ps_availqty") > 0.5 * col("quantity"))
        found = self._suppliers_in("CANADA").join(plenty, left_on="s_suppkey", right_on="ps_suppkey", how="semi")
        return rows_of(found.sort("s_name").select("s_name", "s_address"))

    def q21(self) -> Any:
        late = self.lineitem.filter(col("l_receiptdate") > col("l_commitdate"))
        several = self.lineitem.group_by("l_orderkey").agg(all=pl.n_unique("l_suppkey")).filter(col("all") > 1)
        alone = late.group_by("l_orderkey").agg(late=pl.n_unique("l_suppkey")).filter(col("late") == 1)
        lines = late.join(several, on="l_orderkey").join(alone, on="l_orderkey")
        lines = lines.join(self.orders.filter(col("o_orderstatus") == "F"), left_on="l_orderkey", right_on="o_orderkey")
        found = lines.join(self._suppliers_in("SAUDI ARABIA"), left_on="l_suppkey", right_on="s_suppkey").group_by("s_name").agg(numwait=pl.len())
        return rows_of(found.sort("numwait", "s_name", descending=[True, False]).head(100).select("s_name", "numwait"))

    def q22(self) -> Any:
        customers = self.customer.with_columns(code=col("c_phone").str.slice(0, 2))
        customers = customers.filter(col("code").is_in(["13", "31", "23", "29", "30", "18", "17"]))
        usual = customers.filter(col("c_acctbal") > 0).select(usual=pl.mean("c_acctbal"))
        chosen = customers.join(usual, how="cross").filter(col("c_acctbal") > col("usual"))
        chosen = chosen.join(self.orders, left_on="c_custkey", right_on="o_custkey", how="anti")
        return rows_of(chosen.group_by("code").agg(numcust=pl.len(), total=pl.sum("c_acctbal")).sort("code"))


def rows_of(query: pl.LazyFrame) -> Any:
    """All rows of a query."""
    return plain_rows(query.collect().rows())
