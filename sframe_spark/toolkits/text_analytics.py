"""Functions over columns of documents: words, n-grams, TF-IDF, BM25, rare words.

A document is a text, a list of texts, or a dict from texts to how often they occur. All results are lazy and in the order of the documents.

Examples
--------
>>> from sframe_spark import SArray, text_analytics
>>> list(text_analytics.count_words(SArray(["a rose is a rose"])))
[{'a': 2.0, 'rose': 2.0, 'is': 1.0}]
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterable, Sequence
from typing import Any

from sframe_spark.api import aggregate
from sframe_spark.api.class_registry import make_array
from sframe_spark.api.error_hints import add_call_hints
from sframe_spark.api.sarray import SArray
from sframe_spark.api.sframe import SFrame
from sframe_spark.errors import InvalidArgumentError, PictureFormatError, SchemaError, UnsupportedOperationError
from sframe_spark.expressions.functions.words import DELIMITERS, SPACES
from sframe_spark.message_text import brief
from sframe_spark.operators.elementwise import apply_function
from sframe_spark.toolkits.english_stop_words import STOP_WORDS

__all__ = ["bm25", "count_ngrams", "count_words", "drop_words", "parse_docword", "parse_sparse", "random_split", "stop_words", "tf_idf", "tokenize"]

_ID, _DOCUMENT, _WORD, _COUNT = "id", "document", "word", "count"


def count_words(text: SArray, to_lower: bool = True, delimiters: Sequence[str] | None = DELIMITERS) -> SArray:
    """Return for each document a dict from its words to how often they occur; a missing document stays missing.

    Parameters
    ----------
    text
        Texts, lists of texts, or dicts from texts to weights: a word of a text counts as often as its weight says.
    to_lower
        Whether letters of ASCII become lower case.
    delimiters
        The characters between words. None: the rules of the Penn Treebank, by which punctuation and ``n't`` are words.

    Returns
    -------
    SArray
        Of class dict. Counts are floats; with ``delimiters=None`` those of texts and lists are ints.

    Raises
    ------
    RuntimeError
        If the documents are of another type.
    TypeError
        If ``text`` is not an SArray, or another argument is of a wrong type; when rows are read, if an item of a document is not a text.
    ValueError
        If a delimiter is not one character.

    Examples
    --------
    >>> from sframe_spark import SArray, text_analytics
    >>> list(text_analytics.count_words(SArray(["The more, the merrier!", None])))
    [{'the': 2.0, 'more': 1.0, 'merrier': 1.0}, None]
    """
    return _kernel("word_counts", text, _flag("to_lower", to_lower), _checked_delimiters(delimiters))


def count_ngrams(
    text: SArray,
    n: int = 2,
    method: str = "word",
    to_lower: bool = True,
    delimiters: Sequence[str] | None = DELIMITERS,
    ignore_punct: bool = True,
    ignore_space: bool = True,
) -> SArray:
    """Return for each document a dict from runs of ``n`` adjacent words or characters to how often they occur; a missing document stays missing.

    Parameters
    ----------
    text, to_lower, delimiters
        As in :func:`count_words`.
    n
        How many words or characters a run has.
    method
        ``"word"`` or ``"character"``.
    ignore_punct, ignore_space
        Whether punctuation of ASCII and white space are left out of runs of characters.

    Raises
    ------
    RuntimeError, TypeError
        As in :func:`count_words`.
    ValueError
        If ``n`` is less than 1, or ``method`` is unknown.

    Examples
    --------
    >>> from sframe_spark import SArray, text_analytics
    >>> list(text_analytics.count_ngrams(SArray(["to be or not to be"]), n=2))
    [{'to be': 2, 'be or': 1, 'or not': 1, 'not to': 1}]
    >>> list(text_analytics.count_ngrams(SArray(["noon"]), n=2, method="character"))
    [{'no': 1, 'oo': 1, 'on': 1}]
    """
    if not isinstance(n, int):
        raise SchemaError(f"n must be the number of words or characters of a run, an int, not {brief(n)}")
    if n < 1:
        raise InvalidArgumentError(f"n must be at least one, not {n:,}")
    if method not in ("word", "character"):
        raise InvalidArgumentError(f"method must be 'word' or 'character', not {brief(method)}")
    ignored = _flag("ignore_punct", ignore_punct), _flag("ignore_space", ignore_space)
    return _kernel("ngram_counts", text, int(n), method == "character", _flag("to_lower", to_lower), _checked_delimiters(delimiters), *ignored)


def tokenize(text: SArray, to_lower: bool = False, delimiters: Sequence[str] | None = DELIMITERS) -> SArray:
    """Return for each text the list of its words; a missing text stays missing.

    Parameters
    ----------
    text
        Texts.
    to_lower, delimiters
        As in :func:`count_words`.

    Raises
    ------
    RuntimeError, TypeError, ValueError
        As in :func:`count_words`.

    Examples
    --------
    >>> from sframe_spark import SArray, text_analytics
    >>> list(text_analytics.tokenize(SArray(["I can't wait."]), delimiters=None))
    [['I', 'ca', "n't", 'wait', '.']]
    """
    return _kernel("words", text, _flag("to_lower", to_lower), _checked_delimiters(delimiters))


def tf_idf(text: SArray) -> SArray:
    """Return for each document a dict from its words to their TF-IDF: how often a word occurs, times ``log(documents / documents with the word)``.

    Parameters
    ----------
    text
        As in :func:`count_words`. Texts are split at white space, and letters of ASCII become lower case; lists and dicts are used unchanged.

    Raises
    ------
    RuntimeError, TypeError
        As in :func:`count_words`.

    Examples
    --------
    >>> from sframe_spark import SArray, text_analytics
    >>> list(text_analytics.tf_idf(SArray([{"a": 2, "b": 1}, {"b": 3}])))
    [{'a': 1.3862943611198906, 'b': 0.0}, {'b': 0.0}]
    """
    documents = _frame_of(_bags(text))
    words = _stacked(documents)
    frequencies = words.groupby(_WORD, {"documents": aggregate.COUNT()})
    total = len(documents)
    frequencies["weight"] = frequencies["documents"].apply(lambda frequency: math.log(total / frequency), float)
    words = words.join(frequencies[[_WORD, "weight"]], on=_WORD, how="left")
    words["weight"] = words[_COUNT] * words["weight"]
    return _collected(documents, words, aggregate.CONCAT(_WORD, "weight"), {})


def bm25(dataset: SArray, query: Iterable[str], k1: float = 1.5, b: float = 0.75) -> SFrame:
    """Return a row for each document that has a word of the query: its number and its Okapi BM25 score, in the order of the documents.

    Parameters
    ----------
    dataset
        As in :func:`count_words`. Words are those of :func:`tf_idf`.
    query
        A list, a set or an SArray of words.
    k1
        How much further occurrences of a word in one document add, at least 0.
    b
        How much long documents are scaled down, from 0 to 1.

    Returns
    -------
    SFrame
        The columns ``doc_id`` (the row number of the document) and ``bm25``.

    Raises
    ------
    TypeError
        If ``query`` is not words, or a parameter not a number.
    RuntimeError
        If ``k1`` or ``b`` is out of its range, or the documents are of another type.

    Examples
    --------
    >>> from sframe_spark import SArray, text_analytics
    >>> pets = SArray([{"cat": 3}, {"dog": 1, "cat": 1}, {"fish": 2}, {"fish": 4}])
    >>> print(text_analytics.bm25(pets, ["dog"]))
    +--------+--------------------+
    | doc_id |        bm25        |
    +--------+--------------------+
    |   1    | 0.9658317579543253 |
    +--------+--------------------+
    [1 rows x 2 columns]
    """
    wanted = _checked_query(query)
    for name, value, most in (("k1", k1, 1e11), ("b", b, 1.0)):
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            raise SchemaError(f"{name} must be a number, not {brief(value)}")
        if not 0 <= value <= most:
            raise UnsupportedOperationError(f"{name} must be a number from 0 to {most:g}, not {value!r}")
    documents = _frame_of(_bags(dataset))
    documents = documents[documents[_DOCUMENT].apply(lambda document: 1, int, skip_na=True) == 1]
    words = _stacked(documents)
    lengths = words.groupby(_ID, {"length": aggregate.SUM(_COUNT)})
    mean_length = (words[_COUNT].sum() or 0.0) / max(len(documents), 1)
    found = words.filter_by(SArray(wanted, str), _WORD)
    frequencies = found.groupby(_WORD, {"documents": aggregate.COUNT()})
    total = len(documents)
    frequencies["weight"] = frequencies["documents"].apply(lambda frequency: math.log((total - frequency + 0.5) / (frequency + 0.5)), float)
    found = found.join(frequencies[[_WORD, "weight"]], on=_WORD, how="left").join(lengths, on=_ID, how="left")
    found["bm25"] = found["weight"] * found[_COUNT] * (k1 + 1) / (found[_COUNT] + k1 * (1 - b + b * found["length"] / mean_length))
    scores = found.groupby(_ID, {"bm25": aggregate.SUM("bm25")})
    if dataset.dtype is str:
        # As in Turi Create: documents are found by words between punctuation, and scored by words between spaces.
        chosen = _frame_of(count_words(dataset))
        chosen = chosen[chosen[_DOCUMENT].dict_has_any_keys(wanted) == 1][[_ID]]
        scores = chosen.join(scores, on=_ID, how="left").fillna("bm25", 0.0)
    return scores.rename({_ID: "doc_id"}).sort("doc_id")


def drop_words(
    text: SArray,
    threshold: int = 2,
    to_lower: bool = True,
    delimiters: Sequence[str] | None = DELIMITERS,
    stop_words: Iterable[str] | None = None,
) -> SArray:
    """Return the documents without stop words, and without words that occur less than ``threshold`` times in all of them.

    Texts become the remaining words, separated by spaces. Items of lists and keys of dicts are kept or dropped whole; missing documents stay missing.

    Parameters
    ----------
    text, to_lower, delimiters
        As in :func:`count_words`.
    threshold
        How often a word must occur in the whole column, at least 1; in dicts, the sum of its weights.
    stop_words
        A list or a set of words to leave out, such as those of :func:`stop_words`.

    Raises
    ------
    RuntimeError
        If ``threshold`` is less than 1, a stop word is not a text, or the documents are of another type.
    TypeError
        If an argument is of a wrong type.

    Examples
    --------
    >>> from sframe_spark import SArray, text_analytics
    >>> list(text_analytics.drop_words(SArray(["The fox, the owl", "A fox"])))
    ['the fox the', 'fox']
    >>> list(text_analytics.drop_words(SArray(["The fox, the owl"]), 1, stop_words=text_analytics.stop_words()))
    ['fox owl']
    """
    threshold = 2 if threshold is None else threshold
    if isinstance(threshold, bool) or not isinstance(threshold, int):
        raise SchemaError(f"threshold must be the minimum number of occurrences of a word, an int, not {brief(threshold)}")
    if not 1 <= threshold < 2**31:
        raise UnsupportedOperationError(f"threshold must be the minimum number of occurrences of a word, from 1 to 2**31 - 1, not {threshold:,}")
    left_out = _checked_stop_words(stop_words)
    to_lower, separators = _flag("to_lower", to_lower), _checked_delimiters(delimiters)
    _require_column(text)
    if text.dtype is str:
        documents = _frame_of(_kernel("words", text, to_lower, separators))
        words = documents.stack(_DOCUMENT, new_column_name=_WORD, drop_na=True)
        collected = aggregate.CONCAT(_WORD)
    elif text.dtype is list:
        documents = _frame_of(_kernel("list_of_texts", text, to_lower))
        words = documents.stack(_DOCUMENT, new_column_name=_WORD, drop_na=True)
        collected = aggregate.CONCAT(_WORD)
    else:
        documents = _frame_of(_kernel("weights_of_texts", text, to_lower))
        words = _stacked(documents)
        collected = aggregate.CONCAT(_WORD, _COUNT)
    kept = words.groupby(_WORD, {"total": aggregate.SUM(_COUNT) if text.dtype is dict else aggregate.COUNT()})
    kept = kept[kept["total"] >= threshold]
    if left_out:
        kept = kept.filter_by(SArray(left_out, str), _WORD, exclude=True)
    empty: Any = {} if text.dtype is dict else []
    result = _collected(documents, words.filter_by(kept[_WORD], _WORD), collected, empty)
    return _kernel("words_joined", result) if text.dtype is str else result


def stop_words(lang: str = "en") -> set[str]:
    """Return a set of 523 English words that say little of what a text is about.

    Raises
    ------
    NotImplementedError
        If another language than ``"en"`` is asked for. It is a ``RuntimeError`` too.

    Examples
    --------
    >>> from sframe_spark import text_analytics
    >>> "the" in text_analytics.stop_words()
    True
    """
    if lang not in ("en", "english"):
        raise PictureFormatError(f"there are stop words for English only, not for {brief(lang)}: pass your own set to drop_words()")
    return set(STOP_WORDS)


def random_split(dataset: SArray, prob: float = 0.5, seed: int = 0) -> tuple[SArray, SArray]:
    """Return two columns of dicts, among which the occurrences of the words of each document are divided at random; the same ones for one ``seed``.

    Parameters
    ----------
    dataset
        Dicts from words to how often they occur. If a count has a fraction, only whole occurrences are divided.
    prob
        The probability that an occurrence is assigned to the second column.
    seed
        Other seeds give other divisions.

    Raises
    ------
    TypeError
        If ``dataset`` is not a column of dicts.

    Examples
    --------
    >>> from sframe_spark import SArray, text_analytics
    >>> first, second = text_analytics.random_split(SArray([{"cat": 4, "dog": 1}]), prob=0.5)
    >>> first[0].get("cat", 0) + second[0].get("cat", 0)
    4.0
    """
    _require_column(dataset)
    if dataset.dtype is not dict:
        raise SchemaError(f"the documents must be dicts from words to counts, not of {dataset.dtype.__name__}: use count_words() first")

    def divided(row: dict[str, Any]) -> list[Any]:
        if row[_DOCUMENT] is None:
            return [None, None]
        draw = random.Random(f"{seed}:{row[_ID]}").random
        parts: list[dict[Any, float]] = [{}, {}]
        for word, count in row[_DOCUMENT].items():
            for _ in range(int(count)):
                part = parts[draw() < prob]
                part[word] = part.get(word, 0.0) + 1.0
        return parts

    both = _frame_of(dataset).apply(divided, list)
    return both.apply(lambda parts: parts[0], dict), both.apply(lambda parts: parts[1], dict)


def parse_sparse(filename: str, vocab_filename: str) -> SArray:
    """Return a column of dicts from words to counts, a row for each line ``id number:count number:count ...`` of a file, in LibSVM's form.

    Parameters
    ----------
    filename
        The file of documents. The numbers of words start at 0.
    vocab_filename
        The file with a word in each line.

    Raises
    ------
    RuntimeError
        When rows are read, if a line has another form, or a number has no word.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from sframe_spark import text_analytics
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> _ = (folder / "words").write_text("cat\\ndog\\n"), (folder / "documents").write_text("7 0:2 1:1\\n8 1:5\\n")
    >>> list(text_analytics.parse_sparse(str(folder / "documents"), str(folder / "words")))
    [{'cat': 2, 'dog': 1}, {'dog': 5}]
    """
    vocabulary = list(_lines(vocab_filename))

    def parsed(line: str) -> dict[str, int]:
        pairs = [pair.split(":") for pair in line.split()[1:]]
        return {_word_at(vocabulary, int(number)): int(count) for number, count in pairs}

    return _lines(filename).apply(parsed, dict)


def parse_docword(filename: str, vocab_filename: str) -> SArray:
    """Return a column of dicts from words to counts, a row for each document of a file of lines ``document word count``, by ascending document.

    Parameters
    ----------
    filename
        The file: three lines with the numbers of documents, words and counts, then the counts. Numbers start at 1. (The form of UCI's bags of words.)
    vocab_filename
        The file with a word in each line.

    Raises
    ------
    RuntimeError
        When rows are read, if a line has another form, or a number has no word.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from sframe_spark import text_analytics
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> _ = (folder / "words").write_text("cat\\ndog\\n"), (folder / "counts").write_text("2\\n2\\n3\\n1 1 2\\n1 2 1\\n2 2 5\\n")
    >>> list(text_analytics.parse_docword(str(folder / "counts"), str(folder / "words")))
    [{'cat': 2, 'dog': 1}, {'dog': 5}]
    """
    vocabulary = list(_lines(vocab_filename))
    numbers = _lines(filename)[3:].apply(lambda line: [int(number) for number in line.split()], list)
    counts = SFrame({_ID: numbers.apply(lambda row: row[0], int)})
    counts[_WORD] = numbers.apply(lambda row: _word_at(vocabulary, row[1] - 1), str)
    counts[_COUNT] = numbers.apply(lambda row: row[2], int)
    return counts.groupby(_ID, {_DOCUMENT: aggregate.CONCAT(_WORD, _COUNT)}).sort(_ID)[_DOCUMENT]


def _word_at(vocabulary: Sequence[str], number: int) -> str:
    if not 0 <= number < len(vocabulary):
        raise IndexError(f"the vocabulary has {len(vocabulary):,} words, but a document has number {number:,}, counted from 0")
    return vocabulary[number]


def _lines(path: str) -> SArray:
    """Return the lines of a file that are not blank."""
    lines = SFrame.read_csv(path, delimiter="\n", header=False, column_type_hints=[str], quote_char="\0", escape_char="", verbose=False)["X1"]
    return lines[lines != ""]


def _kernel(name: str, text: SArray, *parameters: Any) -> SArray:
    _require_column(text)
    return make_array(apply_function(name, text._node, parameters=parameters))


def _bags(text: SArray) -> SArray:
    """Return documents as dicts from words to counts, where a document of text is split at white space."""
    _require_column(text)
    if text.dtype is str:
        return _kernel("word_counts", text, True, SPACES)
    return _kernel("counts_of_items", text) if text.dtype is list else _kernel("weights_of_texts", text, False)


def _frame_of(documents: SArray) -> SFrame:
    return SFrame({_DOCUMENT: documents}).add_row_number(_ID)


def _stacked(documents: SFrame) -> SFrame:
    """Return a row for each word of each document."""
    return documents.stack(_DOCUMENT, new_column_name=[_WORD, _COUNT], drop_na=True)


def _collected(documents: SFrame, words: SFrame, aggregation: Any, empty: Any) -> SArray:
    """Return for each document what an aggregate makes of its words: ``empty`` for one without words; missing for a missing one."""
    collected = words.groupby(_ID, {"collected": aggregation})
    present = documents[documents[_DOCUMENT] != None][[_ID]]  # noqa: E711
    present = present.join(collected, on=_ID, how="left").fillna("collected", empty)
    return documents[[_ID]].join(present, on=_ID, how="left")["collected"]


def _require_column(text: Any) -> None:
    if not isinstance(text, SArray):
        raise UnsupportedOperationError(
            f"documents must be an SArray, not a {type(text).__name__}: SArray(texts), or a column of a frame, sf['text']"
        )


def _flag(name: str, value: Any) -> bool:
    if not isinstance(value, bool):
        raise SchemaError(f"{name} must be True or False, not {brief(value)}")
    return value


def _checked_delimiters(delimiters: Any) -> tuple[str, ...] | None:
    if delimiters is None:
        return None
    if isinstance(delimiters, str) or not isinstance(delimiters, (list, tuple, set, frozenset)):
        raise SchemaError(f"delimiters must be a list of characters, or None, not {brief(delimiters)}")
    for delimiter in delimiters:
        if not isinstance(delimiter, str):
            raise SchemaError(f"a delimiter must be a character, not {brief(delimiter)}")
        if len(delimiter) != 1:
            raise InvalidArgumentError(f"a delimiter must be one character, not {delimiter!r:.60}")
    return tuple(sorted(delimiters))


def _checked_query(query: Any) -> list[str]:
    if not isinstance(query, (list, set, frozenset, tuple, dict, SArray)):
        raise SchemaError(f"a query must be a list, a set or an SArray of words, not {brief(query)}")
    words = list(dict.fromkeys(query))
    for word in words:
        if not isinstance(word, str):
            raise SchemaError(f"a word of a query must be a text, not {brief(word)}")
    return words


def _checked_stop_words(words: Any) -> list[str]:
    if words is None:
        return []
    if not isinstance(words, (list, set, frozenset, tuple)):
        raise SchemaError(f"stop words must be a list or a set of texts, not {brief(words)}")
    for word in words:
        if not isinstance(word, str):
            raise UnsupportedOperationError(f"a stop word must be a text, not {brief(word)}")
    return sorted(set(words))


add_call_hints(globals(), __name__)
