"""The scalar functions that split texts into words and count words or runs of words: the kernels of ``text_analytics``.

A document is a text, a list of texts, or a dict from texts to weights. All functions work on whole batches: a flat array of all words, and for each
word its row.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import attrs
import numpy as np
import pyarrow as pa

from sframe_spark.errors import SchemaError, UnsupportedOperationError
from sframe_spark.expressions.functions.scalar_function import Argument, array_of, define_function
from sframe_spark.lazy_imports import lazy_imports
from sframe_spark.types import DICT_KIND, FLOAT, INT, LIST_KIND, STR, STR_KIND, ColumnType, dict_of, list_of

with lazy_imports(globals()):
    import pyarrow.compute as pc

    from sframe_spark.values.nested import tagged_json_patterns_and_splitting as json_patterns
    from sframe_spark.values.nested.json_item_splitting_and_joining import any_items, as_floats, items_of, typed_items

DELIMITERS = tuple("\r\v\n\f\t !#$%&'\"()*+,-./:;<=>?@[\\]^_`{|}~")
"""What separates words, if nothing else is asked for: white space and all punctuation of ASCII."""
SPACES = tuple("\r\v\n\f\t ")
_LETTER, _WORD_END = r"[\p{L}_]", r"[\p{L}\p{N}\p{M}_]"
_NUMBER = r"[+-]?\.?[0-9](?:[0-9.,-]*[0-9])?"
# A number, or what begins with a letter and ends with a letter or digit, or one other character.
_TREEBANK_TOKEN = rf"{_NUMBER}|{_LETTER}\S*{_WORD_END}|{_LETTER}|\S"
_TREEBANK_SUFFIX = rf"(?i:n't)|'{_WORD_END}+"
_PUNCTUATION, _SPACE = r"[[:punct:]]", r"\s"


@attrs.frozen(eq=False)
class Documents:
    """The texts of a batch of documents.

    Parameters
    ----------
    rows
        How many rows the batch has.
    missing
        Which rows are missing.
    owners
        For each text the row that it belongs to, ascending.
    texts
        The texts, none of them missing.
    weights
        The weight of each text; None where each counts once.
    """

    rows: int
    missing: np.ndarray
    owners: np.ndarray
    texts: pa.Array
    weights: np.ndarray | None = None

    def with_words(self, words: WordsOfTexts) -> Documents:
        """Return the documents with these words in place of texts."""
        weights = None if self.weights is None else self.weights[words.sources]
        return Documents(self.rows, self.missing, self.owners[words.sources], words.texts, weights)

    @property
    def offsets(self) -> pa.Array:
        """The offsets of an array of lists of the texts of each row; missing for a missing row."""
        return offsets_of(self.owners, self.rows, self.missing)


@attrs.frozen(eq=False)
class WordsOfTexts:
    """WordsOfTexts, and for each word the position of the text that it comes from."""

    texts: pa.Array
    sources: np.ndarray


def offsets_of(owners: np.ndarray, rows: int, missing: np.ndarray) -> pa.Array:
    """Return the offsets of an array of lists, given the ascending rows of all items; missing for a missing row."""
    ends = np.concatenate([[0], np.cumsum(np.bincount(owners, minlength=rows))]).astype(np.int32)
    return pa.array(ends, mask=np.append(missing, False)) if missing.any() else pa.array(ends)


def documents_of(values: pa.Array, column_type: ColumnType) -> Documents:
    """Return the texts of documents with their weights.

    Raises
    ------
    SchemaError
        If an item of a list is not a text, or a dict has other keys than texts, or other values than numbers.
    """
    missing = values.is_null().to_numpy(zero_copy_only=False)
    present = np.flatnonzero(~missing)
    known = values.drop_null()
    if column_type.kind == STR_KIND:
        return Documents(len(values), missing, present, known)
    read = _lists if column_type.kind == LIST_KIND else _dicts
    counts, texts, weights = read(known, column_type)
    if texts.null_count:
        raise _not_texts(column_type.kind)
    return Documents(len(values), missing, np.repeat(present, counts), texts, weights)


def _not_texts(kind: str) -> SchemaError:
    if kind == LIST_KIND:
        return SchemaError("a document that is a list must contain texts only: remove missing and other items with apply()")
    return SchemaError("a document that is a dict must have texts as keys and numbers as values: convert others with apply()")


def _lists(known: pa.Array, column_type: ColumnType) -> tuple[np.ndarray, pa.Array, None]:
    if not column_type.is_encoded:
        flat = items_of(known)
        assert flat is not None  # No row is missing.
        if not pa.types.is_string(flat.items.type) and len(flat.items):
            raise _not_texts(LIST_KIND)
        return flat.counts, flat.items.cast(pa.string()), None
    flat = any_items(known, LIST_KIND)
    if flat is not None and not len(flat.items):
        return flat.counts, pa.nulls(0, pa.string()), None
    typed = None if flat is None else typed_items(flat.items)
    if flat is None or typed is None or typed[1] != STR:
        raise _not_texts(LIST_KIND)
    return flat.counts, typed[0], None


def _dicts(known: pa.Array, column_type: ColumnType) -> tuple[np.ndarray, pa.Array, np.ndarray]:
    if column_type.is_encoded:
        stored = any_items(known, DICT_KIND)
        if stored is None or stored.keys is None:
            raise _not_texts(DICT_KIND)
        counts, keys, weights = stored.counts, stored.keys, as_floats(stored.items)
        if not len(keys):
            keys, weights = pa.nulls(0, pa.string()), pa.nulls(0, pa.float64())
    else:
        flat = items_of(known)
        assert flat is not None and flat.keys is not None
        counts, keys = flat.counts, flat.keys
        weights = flat.items if pa.types.is_integer(flat.items.type) or pa.types.is_floating(flat.items.type) else None
    if weights is None or weights.null_count or not pa.types.is_string(keys.type):
        raise _not_texts(DICT_KIND)
    return counts, keys, weights.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False)


def _any_of(characters: Sequence[str]) -> str:
    """Return a pattern of one of these characters."""
    return "[" + "".join(f"\\x{{{ord(character):x}}}" for character in characters) + "]"


def words_of(texts: pa.Array, delimiters: Sequence[str] | None) -> WordsOfTexts:
    """Return the words of texts.

    Parameters
    ----------
    texts
        Texts without missing values.
    delimiters
        The characters between words, none of which is part of a word. With none, a text is one word. None: words, numbers and punctuation are
        separated as the Penn Treebank has them.

    Examples
    --------
    >>> words_of(pa.array(["a b", "", "c"]), [" "]).texts.to_pylist()
    ['a', 'b', 'c']
    >>> words_of(pa.array(["I can't, Ann."]), None).texts.to_pylist()
    ['I', 'ca', "n't", ',', 'Ann', '.']
    """
    if delimiters is None:
        texts = pc.replace_substring_regex(texts, f"({_TREEBANK_TOKEN})", r" \1 ")
        texts = pc.replace_substring_regex(texts, f"({_TREEBANK_SUFFIX})", r" \1 ")
        delimiters = SPACES
    if not delimiters:
        found = pa.ListArray.from_arrays(np.arange(len(texts) + 1, dtype=np.int32), texts)
    else:
        found = pc.split_pattern_regex(texts, _any_of(delimiters))
    words = found.flatten()
    sources = np.repeat(np.arange(len(texts)), np.diff(found.offsets.to_numpy()))
    are_words = pc.greater(pc.binary_length(words), 0)
    return WordsOfTexts(words.filter(are_words), sources[are_words.to_numpy(zero_copy_only=False)])


def runs_of_words(words: WordsOfTexts, length: int) -> WordsOfTexts:
    """Return all runs of ``length`` adjacent words of one text, each joined with spaces."""
    return _runs(words, length, " ")


def runs_of_characters(texts: pa.Array, length: int) -> WordsOfTexts:
    """Return all runs of ``length`` adjacent characters of one text.

    Examples
    --------
    >>> runs_of_characters(pa.array(["été", "a"]), 2).texts.to_pylist()
    ['ét', 'té']
    """
    data, bounds = json_patterns.bytes_of(texts)
    data = data[bounds[0] : bounds[-1]]
    # Of the bytes of a character in UTF-8 all but the first begin with the bits 10.
    starts = np.append(np.flatnonzero((data & 0xC0) != 0x80), len(data)).astype(np.int32)
    characters = pa.StringArray.from_buffers(len(starts) - 1, pa.py_buffer(starts), pa.py_buffer(data))
    sources = np.repeat(np.arange(len(texts)), pc.utf8_length(texts).to_numpy(zero_copy_only=False))
    return _runs(WordsOfTexts(characters, sources), length, "")


def _runs(words: WordsOfTexts, length: int, between: str) -> WordsOfTexts:
    count = max(len(words.texts) - length + 1, 0)
    firsts = np.flatnonzero(words.sources[:count] == words.sources[len(words.sources) - count :])
    parts = [words.texts.take(pa.array(firsts + step)) for step in range(length)]
    return WordsOfTexts(pc.binary_join_element_wise(*parts, between) if length > 1 else parts[0], words.sources[firsts])


def counted(documents: Documents, result: ColumnType) -> pa.Array:
    """Return for each document a dict from its texts, as they first occur, to how often they occur, or to the sum of their weights."""
    codes = documents.texts.dictionary_encode()
    numbers = codes.indices.to_numpy(zero_copy_only=False).astype(np.int64)
    keys = documents.owners.astype(np.int64) * max(len(codes.dictionary), 1) + numbers
    _, firsts, places = np.unique(keys, return_index=True, return_inverse=True)
    totals = np.bincount(places, documents.weights, minlength=len(firsts))
    order = np.argsort(firsts, kind="stable")
    firsts, totals = firsts[order], totals[order]
    items = pa.array(totals).cast(result.physical.item_type)
    offsets = offsets_of(documents.owners[firsts], documents.rows, documents.missing)
    return pa.MapArray.from_arrays(offsets, documents.texts.take(pa.array(firsts)), items, type=result.physical)


def _lowered(texts: pa.Array, to_lower: bool) -> pa.Array:
    return pc.ascii_lower(texts) if to_lower else texts


def _require_documents(what: str, types: Sequence[ColumnType], kinds: Sequence[str]) -> None:
    if types[0].kind not in kinds:
        names = {STR_KIND: "texts", LIST_KIND: "lists of texts", DICT_KIND: "dicts from texts to numbers"}
        expected = " or ".join([", ".join(names[kind] for kind in kinds[:-1]), names[kinds[-1]]] if len(kinds) > 1 else [names[kinds[0]]])
        raise UnsupportedOperationError(f"{what} of {types[0].kind} cannot be computed: documents must be {expected}")


_ALL_KINDS = (STR_KIND, LIST_KIND, DICT_KIND)


def _infer_tokens(types: Sequence[ColumnType], parameters: tuple[Any, ...]) -> ColumnType:
    """Return the type of the result. Parameters: whether ASCII letters become lower case, and the delimiters, or None."""
    _require_documents("words", types, (STR_KIND,))
    return list_of(STR)


def _compute_tokens(arguments: Sequence[Argument], types: Sequence[ColumnType], parameters: tuple[Any, ...], rows: int) -> pa.Array:
    to_lower, delimiters = parameters
    documents = documents_of(array_of(arguments[0], rows), types[0])
    documents = documents.with_words(words_of(documents.texts, delimiters))
    return pa.ListArray.from_arrays(documents.offsets, _lowered(documents.texts, to_lower))


def _infer_word_counts(types: Sequence[ColumnType], parameters: tuple[Any, ...]) -> ColumnType:
    """Return the type of the result. Parameters: as of ``tokens``. As in Turi Create, only delimiters count in floats."""
    _require_documents("counts of words", types, _ALL_KINDS)
    return dict_of(STR, INT if parameters[1] is None and types[0].kind != DICT_KIND else FLOAT)


def _compute_word_counts(arguments: Sequence[Argument], types: Sequence[ColumnType], parameters: tuple[Any, ...], rows: int) -> pa.Array:
    to_lower, delimiters = parameters
    documents = documents_of(array_of(arguments[0], rows), types[0])
    documents = documents.with_words(words_of(documents.texts, delimiters))
    return counted(attrs.evolve(documents, texts=_lowered(documents.texts, to_lower)), _infer_word_counts(types, parameters))


def _infer_item_counts(types: Sequence[ColumnType], parameters: tuple[Any, ...]) -> ColumnType:
    """Return the type of the result. There are no parameters."""
    _require_documents("counts of items", types, (LIST_KIND,))
    return dict_of(STR, FLOAT)


def _compute_item_counts(arguments: Sequence[Argument], types: Sequence[ColumnType], parameters: tuple[Any, ...], rows: int) -> pa.Array:
    return counted(documents_of(array_of(arguments[0], rows), types[0]), dict_of(STR, FLOAT))


def _weight_type(documents: ColumnType) -> ColumnType:
    """Return INT for dicts whose values are all ints, otherwise FLOAT."""
    return INT if not documents.is_encoded and pa.types.is_integer(documents.physical.item_type) else FLOAT


def _infer_ngram_counts(types: Sequence[ColumnType], parameters: tuple[Any, ...]) -> ColumnType:
    """Return the type of the result.

    Parameters: the length of runs, whether they are of characters, whether ASCII letters become lower case, the delimiters, whether punctuation and
    whether spaces are left out of runs of characters.
    """
    _require_documents("counts of n-grams", types, _ALL_KINDS)
    return dict_of(STR, _weight_type(types[0]) if types[0].kind == DICT_KIND else INT)


def _compute_ngram_counts(arguments: Sequence[Argument], types: Sequence[ColumnType], parameters: tuple[Any, ...], rows: int) -> pa.Array:
    length, of_characters, to_lower, delimiters, ignore_punct, ignore_space = parameters
    documents = documents_of(array_of(arguments[0], rows), types[0])
    if of_characters:
        ignored = "|".join(pattern for pattern, is_ignored in ((_PUNCTUATION, ignore_punct), (_SPACE, ignore_space)) if is_ignored)
        texts = pc.replace_substring_regex(documents.texts, ignored, "") if ignored else documents.texts
        runs = runs_of_characters(texts, length)
    else:
        runs = runs_of_words(words_of(documents.texts, delimiters), length)
    documents = documents.with_words(runs)
    return counted(attrs.evolve(documents, texts=_lowered(documents.texts, to_lower)), _infer_ngram_counts(types, parameters))


def _infer_list_of_texts(types: Sequence[ColumnType], parameters: tuple[Any, ...]) -> ColumnType:
    """Return the type of the result. Parameter: whether ASCII letters become lower case."""
    _require_documents("lists of texts", types, (LIST_KIND,))
    return list_of(STR)


def _compute_list_of_texts(arguments: Sequence[Argument], types: Sequence[ColumnType], parameters: tuple[Any, ...], rows: int) -> pa.Array:
    documents = documents_of(array_of(arguments[0], rows), types[0])
    return pa.ListArray.from_arrays(documents.offsets, _lowered(documents.texts, parameters[0]))


def _infer_weights_of_texts(types: Sequence[ColumnType], parameters: tuple[Any, ...]) -> ColumnType:
    """Return the type of the result. Parameter: whether ASCII letters become lower case."""
    _require_documents("weights of texts", types, (DICT_KIND,))
    return dict_of(STR, _weight_type(types[0]))


def _compute_weights_of_texts(arguments: Sequence[Argument], types: Sequence[ColumnType], parameters: tuple[Any, ...], rows: int) -> pa.Array:
    documents = documents_of(array_of(arguments[0], rows), types[0])
    return counted(attrs.evolve(documents, texts=_lowered(documents.texts, parameters[0])), _infer_weights_of_texts(types, parameters))


def _infer_joined(types: Sequence[ColumnType], parameters: tuple[Any, ...]) -> ColumnType:
    """Return the type of the result. There are no parameters."""
    _require_documents("texts", types, (LIST_KIND,))
    return STR


def _compute_joined(arguments: Sequence[Argument], types: Sequence[ColumnType], parameters: tuple[Any, ...], rows: int) -> pa.Array:
    documents = documents_of(array_of(arguments[0], rows), types[0])
    return pc.binary_join(pa.ListArray.from_arrays(documents.offsets, documents.texts), " ")


_DEFINITIONS: dict[str, tuple[Callable[..., ColumnType], Callable[..., pa.Array]]] = {
    "words": (_infer_tokens, _compute_tokens),
    "word_counts": (_infer_word_counts, _compute_word_counts),
    "counts_of_items": (_infer_item_counts, _compute_item_counts),
    "ngram_counts": (_infer_ngram_counts, _compute_ngram_counts),
    "list_of_texts": (_infer_list_of_texts, _compute_list_of_texts),
    "weights_of_texts": (_infer_weights_of_texts, _compute_weights_of_texts),
    "words_joined": (_infer_joined, _compute_joined),
}
for _name, (_infer, _compute) in _DEFINITIONS.items():
    define_function(_name, _infer, _compute, may_fail=_name != "words", arguments=1)
