"""What to show to whom: ratings joined with users and items, means taken off, the best unseen items of each user."""

from __future__ import annotations


def ratings(engine):
    """Ratings of 12 users for 15 items, made of two tastes and a little noise."""
    rows, state = {"user": [], "item": [], "stars": []}, 3
    for user in range(12):
        for item in range(15):
            state = (state * 1103515245 + 12345) % 2**31
            if state % 3 == 0:
                rows["user"].append(user)
                rows["item"].append(f"i{item:02}")
                rows["stars"].append(1 + (user % 2 == item % 2) * 3 + state % 2)
    return engine.SFrame(rows)


def run(engine, directory):
    """Tables and columns by name."""
    seen = ratings(engine)
    users = engine.SFrame({"user": list(range(13)), "group": ["even" if user % 2 == 0 else "odd" for user in range(13)]})
    items = engine.SFrame({"item": [f"i{item:02}" for item in range(16)], "price": [None if item == 4 else 10.0 + item for item in range(16)]})
    full = seen.join(users, on="user", how="inner").join(items, on="item", how="left").sort(["user", "item"])
    means = full.groupby("user", {"mean": engine.aggregate.AVG("stars"), "n": engine.aggregate.COUNT()})
    full = full.join(means, on="user").sort(["user", "item"])
    full["above"] = full["stars"] - full["mean"]
    of_group = full.groupby(["group", "item"], {"score": engine.aggregate.MEAN("above"), "raters": engine.aggregate.COUNT()})
    of_group = of_group[of_group["raters"] >= 2].sort([("group", True), ("score", False), ("item", True)])
    pairs = users.join(of_group, on="group").sort(["user", "item"])
    unseen = pairs.join(seen, on=["user", "item"], how="left")
    unseen = unseen[unseen["stars"] == None].remove_column("stars")  # noqa: E711
    unseen = unseen.sort([("user", True), ("score", False), ("item", True)])
    ranked = unseen.groupby("user", {"scores": engine.aggregate.CONCAT("item", "score")}).sort("user")
    ranked["shown"] = ranked["scores"].apply(lambda bag: sorted(bag, key=lambda item: (-round(bag[item], 9), item))[:3], dtype=list)
    shown = ranked[["user", "shown"]].stack("shown", new_column_name="item").sort(["user", "item"])
    how_often = shown["item"].value_counts().sort([("count", False), ("value", True)])
    matrix = full[["user", "item", "stars"]].unstack(["item", "stars"], new_column_name="row").sort("user").unpack("row", column_name_prefix="r")
    nobody = users.join(seen, on="user", how="left")
    return {
        "means": means.sort("user"),
        "of group": of_group,
        "shown": shown,
        "how often": how_often,
        "matrix": matrix,
        "never rated": nobody[nobody["stars"] == None][["user", "group"]],  # noqa: E711
        "outer": items.join(shown, on="item", how="outer").sort(["item", "user"]),
        "best": full.groupby("group", {"best": engine.aggregate.ARGMAX("stars", "item"), "dearest": engine.aggregate.MAX("price")}).sort("group")[
            ["group", "dearest"]
        ],
    }
