"""CSV text read character by character: slow, and plain enough to be seen to be right."""

from __future__ import annotations

import attrs

from sframe_spark.api.io.csv.options import CsvOptions

LETTERS = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", **dict.fromkeys("\"'/\\")}


@attrs.frozen
class Place:
    """A text, how it is written, and how many bytes a field in quotes may have at most."""

    text: str
    options: CsvOptions
    longest: int

    def stop(self, at: int) -> str | None:
        """What ends a field at a place; None if nothing does."""
        ends = (self.options.delimiter, self.options.comment_char, *self.terminators())
        return "" if at >= len(self.text) else next((end for end in ends if end and self.text.startswith(end, at)), None)

    def terminators(self) -> tuple[str, ...]:
        """What ends a line."""
        return ("\r\n", "\n", "\r") if self.options.has_standard_line_ends else (self.options.line_terminator,)

    def ends_after(self, at: int) -> bool:
        """Whether nothing but white space is between a place and the end of a field."""
        while self.stop(at) is None and self.text[at] in " \t":
            at += 1
        return self.stop(at) is not None

    def field(self, at: int, skips: bool, keeps: bool) -> tuple[str, bool, int]:
        """The field at a place, whether it is in quotes, and where it ends."""
        spaces = " " if self.options.delimiter == "\t" else " \t"
        start = at
        while skips and at < len(self.text) and self.text[at] in spaces:
            at += 1
        quoted = self.quoted(at) if self.options.quote_char and self.text.startswith(self.options.quote_char, at) else None
        if quoted is not None and len(self.text[start : quoted[2]].encode()) <= self.longest:
            return quoted
        end = at if quoted is not None or self.text[at : at + 1] not in ("[", "{") else self.bracketed(at)
        if end > at:
            return self.text[at:end], False, self.after_space(end)
        while self.stop(end) is None:
            end += 1
        value = self.text[at:end].rstrip(" \t")
        if value[:1] in (" ", "\t") and not keeps:
            value = value.lstrip(" \t")
            if len(value) > 1 and value[0] == value[-1] == self.options.quote_char:
                value = self.meant(value[1:-1])
        return value, False, end

    def after_space(self, at: int) -> int:
        """The end of a field after white space."""
        while self.stop(at) is None:
            at += 1
        return at

    def blank_end(self, at: int) -> int | None:
        """What ends the line behind white space, if nothing else is before it."""
        while self.text[at : at + 1] in (" ", "\t"):
            at += 1
        return None if self.stop(at) in (None, self.options.delimiter) else at

    def quoted(self, start: int) -> tuple[str, bool, int] | None:
        """A field that starts with a quote; None if nothing closes that."""
        text, quote = self.text, self.options.quote_char
        escape = self.options.escape_char
        at, inside = start + 1, True
        while at < len(text):
            if not inside and self.stop(at) is not None:
                return text[start:at].rstrip(" \t"), False, at
            if escape and text[at] == escape and (inside or text[at + 1 : at + 2] in (quote, escape)):
                at += 2
            elif text[at] != quote:
                at += 1
            elif inside and self.options.double_quote and text[at + 1 : at + 2] == quote:
                at += 2
            elif self.ends_after(at + 1):
                return self.meant(text[start + 1 : at]), True, self.after_space(at + 1)
            else:
                at, inside = at + 1, not inside
        return None if inside or at > len(text) else (text[start:].rstrip(" \t"), False, len(text))

    def meant(self, text: str) -> str:
        """What a text in quotes means."""
        quote, escape = self.options.quote_char, self.options.escape_char
        if self.options.double_quote and quote:
            text = text.replace(quote * 2, quote)
        found, at = "", 0
        while at < len(text):
            is_escaped = bool(escape) and text[at] == escape and at + 1 < len(text)
            if is_escaped and text[at + 1] not in (*LETTERS, quote, escape):
                found += text[at]
            at += is_escaped
            found += (LETTERS.get(text[at]) or text[at]) if is_escaped else text[at]
            at += 1
        return found

    def bracketed(self, start: int) -> int:
        """Where a list or dict ends that is a field; the start if there is none."""
        ends = [place for end in (*self.terminators(), "\r", "\n") if (place := self.text.find(end, start)) >= 0]
        line = self.text[: min(ends, default=len(self.text))]
        depth, at = 0, start
        while at < len(line):
            if line[at] in "'\"":
                at = self.string(line, at)
                continue
            depth += (line[at] in "[{") - (line[at] in "]}")
            at += 1
            if not depth:
                return at if self.ends_after(at) else start
        return start

    def string(self, line: str, start: int) -> int:
        """Behind a text in a list; behind its first quote if it is not closed on the line."""
        at = start + 1
        while at < len(line) and line[at] != line[start]:
            at += 2 if line[at] == "\\" else 1
        return at + 1 if at < len(line) else start + 1


def rows_by_hand(text: str, options: CsvOptions, longest: int, width: int) -> tuple[list[str], list[list[str]]]:
    """The header, if there is one, and the lines that are not blank, of a file of so many columns."""
    for _ in range(options.skiprows):
        starts = Place(text, options, longest).terminators()
        at = next((at for at in range(len(text)) if text.startswith(starts, at)), len(text))
        text = text[at + next((len(end) for end in starts if text.startswith(end, at)), 0) :]
    place, at = Place(text, options, longest), 0
    lines: list[list[str]] = []
    while at < len(text):
        fields, blank = [], True
        is_header = options.header and not lines
        while True:
            value, in_quotes, at = place.field(at, options.skip_initial_space or (is_header and not fields), is_header)
            fields.append(value)
            blank = blank and not in_quotes and not value
            stop = place.stop(at) or ""
            at += len(stop)
            has_all = len(fields) >= (0 if is_header else width)
            if stop == options.delimiter and not stop.strip(" ") and has_all and (end := place.blank_end(at)) is not None:
                stop, at = place.stop(end) or "", end + len(place.stop(end) or "")
            if stop != options.delimiter:
                break
        if options.comment_char and stop == options.comment_char:
            while at < len(text) and not any(text.startswith(end, at) for end in place.terminators()):
                at += 1
            at += next((len(end) for end in place.terminators() if text.startswith(end, at)), 0)
        if not (blank and len(fields) == 1):
            lines.append(fields)
    return (lines[0] if options.header and lines else []), lines[bool(options.header) :]
