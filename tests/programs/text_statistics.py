"""Which words speak for which shop: words counted in dicts, trimmed, stacked, weighed and packed again."""

from __future__ import annotations

import math

SENTENCES = {
    "books": ["a quiet story of the sea", "the story of a quiet town", "Sea and sky, sky and sea!", None, "the end of the story"],
    "tools": ["a hammer, a saw and a plan", "the saw of the carpenter", "", "hammer and plan: the hammer wins"],
    "games": ["roll the dice, the dice decide", "a story told by dice", "the sea of dice", "a plan of play"],
}


def words(text):
    """How often each word occurs."""
    found = {}
    for word in text.lower().replace(",", " ").replace("!", " ").replace(":", " ").split():
        found[word] = found.get(word, 0) + 1
    return found


def run(engine, directory):
    """Tables and columns by name."""
    shops = [shop for shop in sorted(SENTENCES) for _ in SENTENCES[shop]]
    texts = [text for shop in sorted(SENTENCES) for text in SENTENCES[shop]]
    docs = engine.SFrame({"shop": shops, "text": texts}).add_row_number("doc")
    docs["bag"] = docs["text"].apply(words, dtype=dict)
    docs["long words"] = docs["bag"].apply(lambda bag: {word: n for word, n in bag.items() if len(word) > 3}, dtype=dict)
    docs["has story"] = docs["bag"].dict_has_any_keys(["story"])
    docs["different"] = docs["bag"].item_length()
    repeated = docs["bag"].dict_trim_by_values(lower=2)
    rows = docs[["doc", "shop", "bag"]].stack("bag", new_column_name=["word", "count"], drop_na=True)
    rows = rows.filter_by(["a", "the", "of", "and"], "word", exclude=True)
    by_word = rows.groupby("word", {"docs": engine.aggregate.COUNT_DISTINCT("doc"), "total": engine.aggregate.SUM("count")})
    weighed = rows.join(by_word, on="word")
    weighed["weight"] = weighed["count"] * (len(docs) / weighed["docs"]).apply(math.log)
    of_shop = weighed.groupby(["shop", "word"], {"weight": engine.aggregate.SUM("weight")}).sort([("shop", True), ("weight", False), ("word", True)])
    bags = of_shop.unstack(["word", "weight"], new_column_name="weights").sort("shop")
    bags["top"] = bags["weights"].apply(lambda bag: sorted(bag, key=lambda word: (-round(bag[word], 9), word))[:3], dtype=list)
    wide = bags[["shop", "weights"]].unpack("weights", column_name_prefix="w", limit=["dice", "hammer", "sea", "story"])
    packed = wide.pack_columns(column_name_prefix="w", dtype=dict, new_column_name="w")
    return {
        "docs": docs[["doc", "shop", "has story", "different", "long words"]],
        "repeated": repeated,
        "keys": docs["bag"].dict_keys().apply(sorted, dtype=list),
        "by word": by_word.sort([("total", False), ("word", True)]),
        "top words": bags[["shop", "top"]],
        "wide": wide,
        "packed": packed,
        "first words": docs["text"].element_slice(0, 5),
    }
