"""The eight tables of TPC-H at a scale factor: their columns, the domains of their values and who refers to whom; the values are drawn here."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from benchmarks.tpch.draws import chosen, drawn, money, numbered, sentence
from benchmarks.tpch.words import COLOURS, CONTAINERS, INSTRUCTIONS, MODES, NATIONS, PRIORITIES, REGIONS, SEGMENTS, TYPES, WORDS

Columns = dict[str, Any]
EPOCH = datetime.date(1970, 1, 1)
FIRST_DAY, LAST_DAY = [(day - EPOCH).days for day in (datetime.date(1992, 1, 1), datetime.date(1998, 8, 2))]
# What is received or sent after this day is on its way when the data is looked at.
TODAY = (datetime.date(1995, 6, 17) - EPOCH).days
SUPPLIERS_OF_PART = 4
ROWS_IN_FILE = 1 << 20


def rows_at(scale: float, rows: int) -> int:
    """How many rows there are of what has some at scale 1."""
    return max(int(rows * scale), 1)


def days(numbers: np.ndarray) -> pa.Array:
    """Days of numbers since 1970."""
    return pa.array(numbers.astype(np.int32)).cast(pa.date32())


def phones(name: str, nations: np.ndarray) -> pa.Array:
    """Texts such as ``13-761-547-5974``, whose first digits tell the nation."""
    parts = [drawn(f"{name} {number}", len(nations), *ends) for number, ends in enumerate([(100, 999), (100, 999), (1000, 9999)])]
    return pc.binary_join_element_wise(*[pa.array(part).cast(pa.string()) for part in (nations + 10, *parts)], "-")


def retail_prices(parts: np.ndarray) -> np.ndarray:
    """The price of each part, which follows from its number."""
    return (90_000 + (parts // 10) % 20_001 + 100 * (parts % 1_000)) / 100


def supplier_of(parts: np.ndarray, number: np.ndarray, suppliers: int) -> np.ndarray:
    """Which supplier is the first, second, third or fourth of a part: four of them, far apart."""
    return (parts + number * (suppliers // SUPPLIERS_OF_PART + (parts - 1) // suppliers)) % suppliers + 1


def region(_: float) -> Columns:
    """Five regions."""
    return {"r_regionkey": np.arange(len(REGIONS)), "r_name": REGIONS, "r_comment": sentence("r_comment", len(REGIONS), WORDS, 6)}


def nation(_: float) -> Columns:
    """Twenty-five nations."""
    return {
        "n_nationkey": np.arange(len(NATIONS)),
        "n_name": list(NATIONS),
        "n_regionkey": list(NATIONS.values()),
        "n_comment": sentence("n_comment", len(NATIONS), WORDS, 6),
    }


def supplier(scale: float) -> Columns:
    """Suppliers; of some customers complain."""
    rows = rows_at(scale, 10_000)
    keys, nations = np.arange(1, rows + 1), drawn("s_nationkey", rows, 0, len(NATIONS) - 1)
    comments = sentence("s_comment", rows, WORDS, 6)
    complaints = pc.binary_join_element_wise(comments, "Customer", chosen("s_complaint", rows, WORDS), "Complaints", " ")
    return {
        "s_suppkey": keys,
        "s_name": numbered("Supplier#", keys),
        "s_address": sentence("s_address", rows, WORDS, 2),
        "s_nationkey": nations,
        "s_phone": phones("s_phone", nations),
        "s_acctbal": money("s_acctbal", rows, -999, 9_999),
        "s_comment": pc.if_else(pa.array(drawn("s_complains", rows, 0, 99) == 0), complaints, comments),
    }


def part(scale: float) -> Columns:
    """Parts, named by five colours."""
    rows = rows_at(scale, 200_000)
    keys, makers = np.arange(1, rows + 1), drawn("p_mfgr", rows, 1, 5)
    return {
        "p_partkey": keys,
        "p_name": sentence("p_name", rows, COLOURS, 5),
        "p_mfgr": numbered("Manufacturer#", makers, 1),
        "p_brand": numbered("Brand#", makers * 10 + drawn("p_brand", rows, 1, 5), 2),
        "p_type": chosen("p_type", rows, TYPES),
        "p_size": drawn("p_size", rows, 1, 50),
        "p_container": chosen("p_container", rows, CONTAINERS),
        "p_retailprice": retail_prices(keys),
        "p_comment": sentence("p_comment", rows, WORDS, 3),
    }


def partsupp(scale: float) -> Columns:
    """What each of the four suppliers of a part has of it."""
    parts = np.repeat(np.arange(1, rows_at(scale, 200_000) + 1), SUPPLIERS_OF_PART)
    rows = len(parts)
    return {
        "ps_partkey": parts,
        "ps_suppkey": supplier_of(parts, np.arange(rows) % SUPPLIERS_OF_PART, rows_at(scale, 10_000)),
        "ps_availqty": drawn("ps_availqty", rows, 1, 9_999),
        "ps_supplycost": money("ps_supplycost", rows, 1, 1_000),
        "ps_comment": sentence("ps_comment", rows, WORDS, 12),
    }


def customer(scale: float) -> Columns:
    """Customers, of whom every third orders nothing."""
    rows = rows_at(scale, 150_000)
    keys, nations = np.arange(1, rows + 1), drawn("c_nationkey", rows, 0, len(NATIONS) - 1)
    return {
        "c_custkey": keys,
        "c_name": numbered("Customer#", keys),
        "c_address": sentence("c_address", rows, WORDS, 2),
        "c_nationkey": nations,
        "c_phone": phones("c_phone", nations),
        "c_acctbal": money("c_acctbal", rows, -999, 9_999),
        "c_mktsegment": chosen("c_mktsegment", rows, SEGMENTS),
        "c_comment": sentence("c_comment", rows, WORDS, 8),
    }


class Orders:
    """What orders and their lines tell of each other: 1 to 7 lines of each order.

    Parameters
    ----------
    scale
        The scale factor.
    """

    def __init__(self, scale: float) -> None:
        self.rows = rows_at(scale, 1_500_000)
        numbers = np.arange(self.rows)
        # Eight of each 32 keys are used.
        self.keys = numbers // 8 * 32 + numbers % 8 + 1
        self.days = drawn("o_orderdate", self.rows, FIRST_DAY, LAST_DAY - 121)
        counts = drawn("lines", self.rows, 1, 7)
        self.starts = np.cumsum(counts) - counts
        self.order_of_line = np.repeat(numbers, counts)
        lines = len(self.order_of_line)
        self.parts = drawn("l_partkey", lines, 1, rows_at(scale, 200_000))
        self.quantities = drawn("l_quantity", lines, 1, 50)
        self.prices = self.quantities * retail_prices(self.parts)
        self.discounts, self.taxes = drawn("l_discount", lines, 0, 10) / 100, drawn("l_tax", lines, 0, 8) / 100
        self.sent = self.days[self.order_of_line] + drawn("l_shipdate", lines, 1, 121)


def orders(scale: float) -> Columns:
    """Orders, with the sum and the state of their lines."""
    made = Orders(scale)
    rows, customers = made.rows, rows_at(scale, 150_000)
    totals = np.add.reduceat(made.prices * (1 + made.taxes) * (1 - made.discounts), made.starts)
    is_sent = made.sent <= TODAY
    status = np.where(np.logical_and.reduceat(is_sent, made.starts), "F", np.where(np.logical_or.reduceat(is_sent, made.starts), "P", "O"))
    # The numbers that three does not divide, in their order.
    chosen_customers = drawn("o_custkey", rows, 0, max(customers // 3 * 2 - 1, 0))
    return {
        "o_orderkey": made.keys,
        "o_custkey": chosen_customers // 2 * 3 + chosen_customers % 2 + 1,
        "o_orderstatus": status,
        "o_totalprice": np.round(totals, 2),
        "o_orderdate": days(made.days),
        "o_orderpriority": chosen("o_orderpriority", rows, PRIORITIES),
        "o_clerk": numbered("Clerk#", drawn("o_clerk", rows, 1, rows_at(scale, 1_000))),
        "o_shippriority": np.zeros(rows, np.int64),
        "o_comment": sentence("o_comment", rows, WORDS, 7),
    }


def lineitem(scale: float) -> Columns:
    """The lines of orders."""
    made = Orders(scale)
    rows = len(made.order_of_line)
    received = made.sent + drawn("l_receiptdate", rows, 1, 30)
    number = drawn("l_suppkey", rows, 0, SUPPLIERS_OF_PART - 1)
    return {
        "l_orderkey": made.keys[made.order_of_line],
        "l_partkey": made.parts,
        "l_suppkey": supplier_of(made.parts, number, rows_at(scale, 10_000)),
        "l_linenumber": np.arange(rows) - made.starts[made.order_of_line] + 1,
        "l_quantity": made.quantities.astype(float),
        "l_extendedprice": np.round(made.prices, 2),
        "l_discount": made.discounts,
        "l_tax": made.taxes,
        "l_returnflag": np.where(received > TODAY, "N", np.where(drawn("l_returnflag", rows, 0, 1) == 0, "R", "A")),
        "l_linestatus": np.where(made.sent > TODAY, "O", "F"),
        "l_shipdate": days(made.sent),
        "l_commitdate": days(made.days[made.order_of_line] + drawn("l_commitdate", rows, 30, 90)),
        "l_receiptdate": days(received),
        "l_shipinstruct": chosen("l_shipinstruct", rows, INSTRUCTIONS),
        "l_shipmode": chosen("l_shipmode", rows, MODES),
        "l_comment": sentence("l_comment", rows, WORDS, 4),
    }


TABLES: dict[str, Callable[[float], Columns]] = {
    each.__name__: each for each in (region, nation, supplier, part, partsupp, customer, orders, lineitem)
}


def make(scale: float, directory: Path) -> None:
    """Write each table as Parquet files of a directory of its name, and as a saved frame in ``frames``.

    Parameters
    ----------
    scale
        The scale factor: at 1 there are six million lines of orders.
    directory
        Where to write.
    """
    from sframe_spark import SFrame

    for name, columns in TABLES.items():
        table = pa.table(columns(scale))
        (directory / name).mkdir(parents=True)
        for number, start in enumerate(range(0, table.num_rows, ROWS_IN_FILE)):
            pq.write_table(table.slice(start, ROWS_IN_FILE), directory / name / f"{number:05}.parquet")
        SFrame(table).save(str(directory / "frames" / name))
