"""Columns from the names of files and folders, as readtext of R has them: `party/year_speaker` of texts/R/1964_Smith.txt."""

from __future__ import annotations

import re
from collections.abc import Sequence

from nlpkit.errors import InputError, UsageError
from nlpkit.io.sources import Source, split_suffix
from nlpkit.wording import counted

PATH = "path"  # the column with the path itself
_NAME = re.compile(r"\{([^{}/]+)\}|([^\W\d_]+\d*)")
_SHOWN = 3


class PathColumns:
    """A pattern of the end of paths: folders parted by /, last the name of the file without its suffix.

    Words are the names of columns, and what stands between them stands so in the path. A name with other characters than letters
    stands in braces: {birth_date}.

    Raises:
        UsageError: the pattern has no name, or one twice.
    """

    def __init__(self, pattern: str) -> None:
        self.pattern = pattern
        self.names = [braced or word for braced, word in _NAME.findall(pattern)]
        twice = len(set(self.names)) < len(self.names)
        if not self.names or twice or PATH in self.names or "" in pattern.split("/"):
            raise UsageError(
                f"`path_cols={pattern}` takes names of columns as they follow each other in paths, such as party/year_speaker",
                parameter="path_cols",
            )
        parts = []
        for part in pattern.split("/"):
            literals = re.split(_NAME.pattern.replace("(", "(?:"), part)
            n_names = len(_NAME.findall(part))
            named = ["(.+?)"] * (n_names - 1) + ["(.+)"] * bool(n_names)
            parts.append("".join(re.escape(text) + name for text, name in zip(literals, [*named, ""], strict=True)))
        self._form = re.compile("(?:.*/)?" + "/".join(parts), re.DOTALL)

    def values(self, path: str) -> dict[str, str | None] | None:
        """Return the columns of a path, None where it is not like the pattern."""
        folder, slash, name = path.rpartition("/")
        match = self._form.fullmatch(f"{folder}{slash}{split_suffix(name)[0]}")
        return None if match is None else dict(zip([*self.names, PATH], [*match.groups(), path], strict=True))

    def check(self, sources: Sequence[Source]) -> None:
        """Raise InputError where paths are not like the pattern."""
        unlike = [source.relative for source in sources if self.values(source.relative) is None]
        if unlike:
            shown = ", ".join(unlike[:_SHOWN]) + (" …" if len(unlike) > _SHOWN else "")
            raise InputError(
                f"{counted(len(unlike), 'path')} of {len(sources):,} "
                f"{'is' if len(unlike) == 1 else 'are'} not like `path_cols={self.pattern}`: {shown}",
                parameter="path_cols",
            )
