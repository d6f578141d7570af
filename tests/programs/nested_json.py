"""Orders as nested JSON, flattened: lines of each order, their options, what is missing, and JSON again."""

from __future__ import annotations

import json
import os

ORDERS = [
    {"id": 1, "customer": {"name": "Ann", "city": "Ulm"}, "lines": [{"sku": "a", "n": 2}, {"sku": "b", "n": 1, "gift": 1}], "paid": 20.5},
    {"id": 2, "customer": {"name": "Bob"}, "lines": [], "paid": None},
    {"id": 3, "customer": {"name": "Çelik", "city": "Köln", "vip": 1}, "lines": [{"sku": "c", "n": 5}], "paid": 7},
    {"id": 4, "customer": None, "lines": [{"sku": "a", "n": 1}, {"sku": "a", "n": 3}, {"sku": "d", "n": None}], "paid": 0.0},
]


def run(engine, directory):
    """Tables and columns by name."""
    path = os.path.join(directory, "orders.json")
    with open(path, "w", encoding="utf-8") as file:
        file.write("\n".join(map(json.dumps, ORDERS)))
    orders = engine.SFrame.read_json(path, orient="lines")
    flat = orders[["id", "paid", "customer"]].unpack("customer", column_name_prefix="customer", limit=["city", "name", "vip"])
    lines = orders[["id", "lines"]].stack("lines", new_column_name="line", drop_na=True, new_column_type=dict)
    lines = lines.unpack("line", column_name_prefix="", limit=["gift", "n", "sku"])
    lines["n"] = lines["n"].fillna(0)
    per_sku = lines.groupby("sku", {"n": engine.aggregate.SUM("n"), "orders": engine.aggregate.COUNT_DISTINCT("id")}).sort("sku")
    per_order = lines.groupby("id", {"n": engine.aggregate.SUM("n")}).join(flat, on="id", how="right").sort("id")
    again = per_order.pack_columns(["customer.city", "customer.name"], dtype=dict, new_column_name="customer")
    out = os.path.join(directory, "out.json")
    per_sku.export_json(out, orient="records")
    with open(out, encoding="utf-8") as file:
        written = json.load(file)
    back = engine.SFrame.read_json(out)
    return {
        "flat": flat,
        "lines": lines,
        "per sku": per_sku,
        "per order": per_order,
        "again": again,
        "written": engine.SArray([json.dumps(row, sort_keys=True) for row in written]),
        "back": back[["n", "orders", "sku"]],
        "lengths": orders["lines"].item_length(),
        "cities": flat["customer.city"].dropna().unique().sort(),
    }
