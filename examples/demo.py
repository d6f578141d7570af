"""A story on real data that comes with PySpark: which movies are liked, by whom, and what it took to know; an error if any result is wrong.

Run it with ``make demo`` or ``python examples/demo.py``.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import sframe_spark as sf
from sframe_spark import SFrame, aggregate
from sframe_spark.engine.spark.query import lower

RATINGS = "mllib/als/sample_movielens_ratings.txt"
WORDS = "streaming/AFINN-111.txt"


def title(text: str) -> None:
    """Print a heading."""
    print(f"\n== {text} " + "=" * max(3, 88 - len(text)))


def check(what: str, found: Any, expected: Any) -> None:
    """Compare a result with what it must be, and end the program when it differs."""
    if found != expected:
        raise SystemExit(f"WRONG: {what} is {found!r}, must be {expected!r}")
    print(f"   checked: {what}")


def data_file(name: str, lines: Callable[[], list[str]], directory: Path) -> Path:
    """The file that comes with PySpark, or, when PySpark came without data, one of the same shape in ``directory``."""
    import pyspark

    shipped = Path(pyspark.__file__).parent / "data" / name
    if shipped.exists():
        return shipped
    made = directory / Path(name).name
    made.write_text("\n".join(lines()) + "\n")
    print(f"({name} is not in this PySpark, so data of the same shape was made)")
    return made


def made_ratings() -> list[str]:
    """Ratings by 30 users of every other movie, about as many as the real file has."""
    pairs = [(user, movie) for user in range(30) for movie in range(100) if (user * 7 + movie * 3) % 2 == 0]
    return [f"{user}::{movie}::{1 + (user * movie + movie) % 5}::1424380312" for user, movie in pairs]


def made_words() -> list[str]:
    """Words with a score from -5 to 5."""
    return [f"{chr(97 + i % 26)}word{i:04d}\t{i % 11 - 5}" for i in range(2476)]


def read_data(directory: Path) -> tuple[SFrame, SFrame, dict[tuple[int, int], int]]:
    """Ratings, words, and the ratings read by plain Python to check results against."""
    path = data_file(RATINGS, made_ratings, directory)
    # Two colons are one-colon separators around an empty column, which is left out.
    ratings = SFrame.read_csv(str(path), delimiter=":", header=False, column_type_hints=str, usecols=["X1", "X3", "X5", "X7"])
    ratings = ratings.rename({"X1": "user", "X3": "movie", "X5": "stars", "X7": "time"})
    for name in ("user", "movie", "stars"):
        ratings[name] = ratings[name].astype(int)
    words_path = data_file(WORDS, made_words, directory)
    words = SFrame.read_csv(str(words_path), delimiter="\t", header=False).rename({"X1": "word", "X2": "score"})
    plain = [line.split("::") for line in path.read_text().split()]
    return ratings, words, {(int(user), int(movie)): int(stars) for user, movie, stars, _ in plain}


def main() -> None:
    """All of it."""
    output = Path(tempfile.mkdtemp(prefix="sframe-demo-"))
    title("People have rated movies. The file is text, divided by two colons")
    ratings, words, plain = read_data(output)
    print(ratings.head(3))
    check("ratings", len(ratings), len(plain))
    check("types", [kind.__name__ for kind in ratings.column_types()], ["int", "int", "int", "str"])
    check("sum of stars", ratings["stars"].sum(), sum(plain.values()))

    title("New columns cost nothing until rows are asked for; rows keep their order")
    ratings["above"] = ratings["stars"] - ratings["stars"].mean()
    ratings["mark"] = ratings["stars"].apply(lambda stars: "*" * stars)
    ratings["so far"] = ratings["stars"].cumulative_sum()
    good = ratings[ratings["stars"] >= 4][["user", "movie", "stars", "mark", "so far"]]
    print(good.head(3))
    check("ratings of 4 and 5", len(good), sum(stars >= 4 for stars in plain.values()))
    check("last running sum", ratings["so far"][-1], sum(plain.values()))

    judged = group_and_join(ratings, words, plain)
    title("Saved as a whole or not at all, and loaded again")
    judged.save(str(output / "judged"))
    again = sf.load_sframe(str(output / "judged"))
    check("rows are as they were saved", list(again) == list(judged), True)

    show_plan(ratings, output)
    print("\nAll results are right.")


def group_and_join(ratings: SFrame, words: SFrame, plain: dict[tuple[int, int], int]) -> SFrame:
    """The movies that are liked most, and all ratings with a word for each, which are returned."""
    title("Which movies are liked most, and by whom? A word for each number of stars")
    movies = ratings.groupby(
        "movie",
        {
            "n": aggregate.COUNT(),
            "mean": aggregate.MEAN("stars"),
            "best": aggregate.MAX("stars"),
            "fan": aggregate.ARGMAX("stars", "user"),
        },
    )
    verdicts = words.sort("word").groupby("score", {"verdict": aggregate.SELECT_ONE("word")})
    top = movies.topk("mean", 5)
    judged = ratings.join(verdicts, on={"stars": "score"}).sort([("stars", False), ("movie", True)])
    print(top, judged[["user", "movie", "stars", "verdict"]].head(3), sep="\n")
    check("movies", len(movies), len({movie for _, movie in plain}))
    means: dict[int, list[int]] = {}
    for (_, movie), stars in plain.items():
        means.setdefault(movie, []).append(stars)
    check("best means", list(top["mean"]), sorted((sum(v) / len(v) for v in means.values()), reverse=True)[:5])
    check("rows of the join", len(judged), len(plain))
    check("first rows are the best", list(judged.head(3)["stars"]), [max(plain.values())] * 3)
    return judged


def spark_work(frame: Any) -> str:
    """Scans, exchanges and sorts in the physical plan of a Spark DataFrame."""
    executed = frame._jdf.queryExecution().executedPlan().toString()
    marks = {"scans": "FileScan ", "exchanges": "Exchange ", "sorts": "Sort [", "joins": "Join ", "windows": "Window ["}
    return ", ".join(f"{executed.count(mark)} {name}" for name, mark in marks.items())


def show_plan(ratings: SFrame, output: Path) -> None:
    """A query on Spark, what Spark has to do for it as it was asked and as it is rewritten, why, and a picture of it."""
    saved = output / "ratings"
    ratings.save(str(saved))
    with sf.config.using(small_rows=0, single_task_rows=0):
        frame = sf.load_sframe(str(saved))
        frame["half"] = frame["stars"] / 2
        frame["unused"] = frame["time"] + "!"
        kept = frame[frame["stars"] >= 3].sort("time").sort("movie")
        query = kept.groupby("movie", {"mean": aggregate.MEAN("half"), "n": aggregate.COUNT()}).sort("mean").head(5)
        title("The five worst of those with three stars and more, with Spark: two sorts were asked for")
        print(query)
        print(f"as it was asked:   {spark_work(lower(query._node).sorted())}")
        print(f"as it is rewritten: {spark_work(query.to_spark())}")
        check("one exchange is left", spark_work(query.to_spark()).split(", ")[1], "1 exchanges")
        title("Why: explain(why=True) says it before anything runs")
        print(query.explain(why=True).split("-- order")[1].strip())
        picture = output / "plan.svg"
        picture.write_text(query.explain().svg("The five worst movies (of 3 stars and more)"))
    print(f"\nA picture of the plan: {picture}")


if __name__ == "__main__":
    main()
