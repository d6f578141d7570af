"""Members of SFrame that read and write CSV."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from sframe_spark.api.class_registry import made_frame
from sframe_spark.api.sarray import SArray
from sframe_spark.api.sframe.columns import Columns
from sframe_spark.errors import UnsupportedOperationError

if TYPE_CHECKING:
    from sframe_spark.api.sframe import SFrame


class CsvAccess(Columns):
    """Rows from and to CSV files."""

    def export_csv(
        self,
        filename: Any,
        delimiter: str = ",",
        line_terminator: str = "\n",
        header: bool = True,
        quote_level: int = 2,
        double_quote: bool = True,
        escape_char: str = "\\",
        quote_char: str = '"',
        na_rep: str = "",
        file_header: str = "",
        file_footer: str = "",
        line_prefix: str = "",
        _no_prefix_on_first_value: bool = False,
        **kwargs: Any,
    ) -> None:
        """Write all rows as a CSV file, a link to one filled, its rights kept.

        ``read_csv`` with the same delimiter, line terminator, quotes and escapes gives the rows back: the text ``NA`` as missing unless
        ``na_values=[]`` is given, and a column of texts that all look like numbers, lists or dicts as such unless ``column_type_hints`` says
        ``str``. A missing text comes back as an empty one. Missing values of an only column are blank lines, which are no rows to ``read_csv``:
        give an ``na_rep``. Other programs take a backslash for itself: ``escape_char=""`` writes for them, and reads what they write.

        Parameters
        ----------
        filename
            The file; compressed if the name ends in ``.gz``, ``.bz2``, ``.xz``, ``.zst`` or ``.lz4``.
        delimiter
            Text between two fields.
        line_terminator
            Text after each line.
        header
            Whether the first line holds the column names.
        quote_level
            1: quotes around every field; 3: around none, so that a field that holds a delimiter is read as two; otherwise around those that need
            them.
        double_quote
            Whether a quote in a field is written twice; otherwise after the escape character.
        escape_char
            Character before a character that would not be itself; empty: none. The quote itself: no more than that quotes are written twice.
        quote_char
            Character around fields that hold anything.
        na_rep
            What is written for a missing value.
        file_header, file_footer
            First and last line of the file, which ``read_csv`` takes for rows unless it is told otherwise; empty: none.
        line_prefix
            What every line with a row starts with, as it is: ``read_csv`` takes it for the start of the first field.
        kwargs
            Other names of arguments: ``sep``, ``quotechar``, ``doublequote``, ``lineterminator``.

        Raises
        ------
        OSError
            If the file cannot be written.
        TypeError
            If there is no such argument.

        Examples
        --------
        >>> import pathlib, tempfile
        >>> from sframe_spark import SFrame
        >>> with tempfile.TemporaryDirectory() as directory:
        ...     SFrame({"a": [1, None], "b": ["x", "y, z"]}).export_csv(directory + "/rows.csv")
        ...     print(pathlib.Path(directory, "rows.csv").read_text(), end="")
        a,b
        1,x
        ,"y, z"
        """
        from sframe_spark.api.files.csv.options import WRITE_ALIASES, with_aliases
        from sframe_spark.api.files.csv.writer import CsvFormat, write_csv

        form = CsvFormat(
            delimiter, line_terminator, bool(header), quote_level, bool(double_quote), escape_char, quote_char, na_rep, file_header, file_footer,
            line_prefix, bool(_no_prefix_on_first_value),
        )  # fmt: skip
        write_csv(self._node, self._names, filename, with_aliases(form, kwargs, WRITE_ALIASES, "writing CSV"))

    @staticmethod
    def read_csv(
        url: Any,
        delimiter: str = ",",
        header: bool = True,
        error_bad_lines: bool = False,
        comment_char: str | None = "",
        escape_char: str | None = "\\",
        double_quote: bool = True,
        quote_char: str | None = '"',
        skip_initial_space: bool = True,
        column_type_hints: Any = None,
        na_values: str | Sequence[str] = ("NA",),
        line_terminator: str = "\n",
        usecols: Sequence[str] = (),
        nrows: int | None = None,
        skiprows: int = 0,
        verbose: bool = True,
        nrows_to_infer: int = 100,
        true_values: str | Sequence[str] = (),
        false_values: str | Sequence[str] = (),
        _only_raw_string_substitutions: bool = False,
        *,
        encoding: str = "utf-8",
        **kwargs: Any,
    ) -> SFrame:
        """A frame of the rows of a CSV file, or of all files in a directory or that match a pattern, in name order.

        Each column gets the narrowest type that all its values have. Lines that are no rows are left out and logged.

        Parameters
        ----------
        url
            A path, a directory, a pattern, a URL, or a list of these; files of a directory are read in name order, compressed ones too.
        delimiter
            Text between two fields; a line break makes every line one field.
        header
            Whether the first line holds the column names; no number of a line, as pandas has it: 0 is False.
        error_bad_lines
            Raise at the first line that is no row.
        comment_char
            Where a comment starts, which goes to the end of the line; empty: nowhere.
        escape_char
            Character that, inside quotes, takes away or gives the next one its meaning; empty: none. The quote itself: no more than that two quotes
            inside quotes mean one.
        double_quote
            Whether two quotes inside quotes mean one.
        quote_char
            Character around fields that hold anything; empty: none.
        skip_initial_space
            Whether white space before a field is as if it were not there.
        column_type_hints
            A class for all columns, a list of classes, or a dict from name to class: no inference there, and a line with another value is no row.
        na_values
            Texts that mean a missing value; an empty field is missing in every column but those of text.
        line_terminator
            Text between two lines; each of the usual ones stands for all of them.
        usecols
            Names of the columns to read; empty: all.
        nrows
            How many rows to read at most; None: all.
        skiprows
            Lines to leave out at the start of every file.
        verbose
            Log at level INFO what was read.
        nrows_to_infer
            Taken for compatibility: types are inferred from all rows.
        true_values, false_values
            Texts that mean 1 and 0 in columns of numbers.
        encoding
            How the files' characters are written as bytes: ``utf-8``, ``latin-1``, ``utf-16`` or any other that Python knows.
        kwargs
            Other names of arguments: ``sep``, ``comment``, ``quotechar``, ``doublequote``, ``lineterminator``.

        Raises
        ------
        OSError
            If there is no such file, or it is not text.
        RuntimeError
            If a hint or a chosen name does not fit the file, or a line is no row and ``error_bad_lines`` is set.
        TypeError
            If there is no such argument.

        Examples
        --------
        >>> import pathlib, tempfile
        >>> from sframe_spark import SFrame
        >>> with tempfile.TemporaryDirectory() as directory:
        ...     _ = pathlib.Path(directory, "rows.csv").write_text("a;b\\n1;x\\n2;-\\n")
        ...     list(SFrame.read_csv(directory + "/rows.csv", delimiter=";", na_values=["-"]))
        [{'a': 1, 'b': 'x'}, {'a': 2, 'b': None}]
        """
        from sframe_spark.api.files.csv.options import READ_ALIASES, CsvRequest, with_aliases
        from sframe_spark.api.files.csv.reader import read_csv

        require_unquoted_texts(_only_raw_string_substitutions)
        request = CsvRequest(
            url, delimiter, header, error_bad_lines, comment_char, escape_char, double_quote, quote_char, skip_initial_space, column_type_hints,
            na_values, line_terminator, usecols, nrows, skiprows, verbose, nrows_to_infer, true_values, false_values, encoding,
        )  # fmt: skip
        return made_frame(*read_csv(with_aliases(request, kwargs, READ_ALIASES, "reading CSV")))

    @staticmethod
    def read_csv_with_errors(
        url: Any,
        delimiter: str = ",",
        header: bool = True,
        comment_char: str | None = "",
        escape_char: str | None = "\\",
        double_quote: bool = True,
        quote_char: str | None = '"',
        skip_initial_space: bool = True,
        column_type_hints: Any = None,
        na_values: str | Sequence[str] = ("NA",),
        line_terminator: str = "\n",
        usecols: Sequence[str] = (),
        nrows: int | None = None,
        skiprows: int = 0,
        verbose: bool = True,
        nrows_to_infer: int = 100,
        true_values: str | Sequence[str] = (),
        false_values: str | Sequence[str] = (),
        _only_raw_string_substitutions: bool = False,
        *,
        encoding: str = "utf-8",
        **kwargs: Any,
    ) -> tuple[SFrame, dict[str, SArray]]:
        """What :meth:`read_csv` reads, and the lines of each file that fit no row; it takes the same arguments, but ``error_bad_lines``.

        Parameters
        ----------
        url, delimiter, header, comment_char, escape_char, double_quote, quote_char, skip_initial_space, column_type_hints, na_values, line_terminator
            As in :meth:`read_csv`.
        usecols, nrows, skiprows, verbose, nrows_to_infer, true_values, false_values, encoding, **kwargs
            As in :meth:`read_csv`.

        Returns
        -------
        tuple of SFrame and dict
            The rows, and by the path of each file that has some, an SArray of the lines that were left out.

        Raises
        ------
        OSError, RuntimeError, TypeError, ValueError
            As :meth:`read_csv`, but for lines that fit no row.

        Examples
        --------
        >>> import pathlib, tempfile
        >>> from sframe_spark import SFrame
        >>> with tempfile.TemporaryDirectory() as directory:
        ...     _ = pathlib.Path(directory, "rows.csv").write_text("a,b\\n1,x\\n2\\n")
        ...     frame, left_out = SFrame.read_csv_with_errors(directory + "/rows.csv")
        ...     print(list(frame), [list(lines) for lines in left_out.values()])
        [{'a': 1, 'b': 'x'}] [['2']]
        """
        from sframe_spark.api.files.csv.options import READ_ALIASES, CsvRequest, with_aliases
        from sframe_spark.api.files.csv.reader import read_csv_with_errors

        require_unquoted_texts(_only_raw_string_substitutions)
        request = CsvRequest(
            url, delimiter, header, False, comment_char, escape_char, double_quote, quote_char, skip_initial_space, column_type_hints,
            na_values, line_terminator, usecols, nrows, skiprows, verbose, nrows_to_infer, true_values, false_values, encoding,
        )  # fmt: skip
        node, names, left_out = read_csv_with_errors(with_aliases(request, kwargs, READ_ALIASES, "reading CSV"))
        return made_frame(*(node, names)), {path: SArray(lines, str) for path, lines in left_out.items()}


def require_unquoted_texts(only_raw: Any) -> None:
    """Refuse to tell texts in quotes from those without.

    Raises
    ------
    UnsupportedOperationError
        If that is asked for.
    """
    if only_raw:
        raise UnsupportedOperationError(
            "texts such as na_values are compared with fields without their quotes: leave out _only_raw_string_substitutions, and read the column as"
            " str by column_type_hints to compare its texts yourself"
        )
