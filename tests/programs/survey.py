"""A survey with gaps: answers cleaned, cast and filled, cross tables, quantiles, and who answered everything."""

from __future__ import annotations

import os


def answers():
    """Lines of CSV as people typed them."""
    lines, state = ["id,age,income,city,likes,comment"], 11
    for number in range(60):
        state = (state * 1103515245 + 12345) % 2**31
        age = ["", "n/a", str(18 + state % 60), str(18 + state % 47), f" {20 + state % 9}"][state % 5]
        income = ["", "NA", f"{1000 + state % 4000}", f"{(state % 900) * 3.5}"][state // 7 % 4]
        city = ["Ulm", "ulm ", "Köln", "", "Bonn"][state // 3 % 5]
        likes = ["yes", "no", "", "maybe"][state // 11 % 4]
        lines.append(f'{number},{age},{income},{city},{likes},"said ""{number % 4}"", twice"')
    return "\n".join(lines) + "\n"


def run(engine, directory):
    """Tables and columns by name."""
    path = os.path.join(directory, "answers.csv")
    with open(path, "w", encoding="utf-8") as file:
        file.write(answers())
    raw = engine.SFrame.read_csv(
        path, column_type_hints={"age": str, "income": float, "city": str, "likes": str}, na_values=["NA", "n/a"], verbose=False
    )
    raw["age"] = raw["age"].apply(lambda text: text.strip() or None).astype(int, undefined_on_failure=True)
    raw["city"] = raw["city"].apply(lambda text: text.strip().capitalize() or None)
    complete, gaps = raw.dropna_split(["age", "income", "city"], how="any")
    filled = raw.fillna("age", int(complete["age"].mean())).fillna("income", complete["income"].mean()).fillna("city", "?")
    filled["decade"] = filled["age"] // 10 * 10
    filled["rich"] = filled["income"] > 2000
    filled["capped"] = filled["income"].clip(500, 3000)
    filled["likes"] = engine.SArray.where(filled["likes"] == "", "?", filled["likes"])
    cross = filled.groupby(["city", "likes"], {"n": engine.aggregate.COUNT()}).sort(["city", "likes"])
    table = cross.unstack(["likes", "n"], new_column_name="likes").unpack("likes", column_name_prefix="likes").sort("city")
    by_decade = filled.groupby(
        "decade",
        {
            "n": engine.aggregate.COUNT(),
            "income": engine.aggregate.MEAN("income"),
            "rich": engine.aggregate.SUM("rich"),
            "cities": engine.aggregate.COUNT_DISTINCT("city"),
            "variance": engine.aggregate.VAR("capped"),
        },
    ).sort("decade")
    return {
        "gaps": gaps[["id", "age", "income", "city"]],
        "counts": engine.SArray([len(complete), len(gaps), raw["age"].countna(), raw["income"].countna(), raw["city"].countna()]),
        "filled": filled[["id", "age", "income", "city", "decade", "rich", "capped", "likes"]],
        "cross": cross,
        "table": table,
        "by decade": by_decade,
        "comments": raw["comment"].unique().sort(),
        "dense": raw.dropna("income").topk("income", 5, reverse=True)[["id", "income"]],
        "any missing": raw[["age", "income"]].apply(lambda row: row["age"] is None or row["income"] is None),
    }
