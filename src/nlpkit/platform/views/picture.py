"""One picture, and the formats that it is drawn in."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from nlpkit.errors import UsageError
from nlpkit.platform import reporting, wording
from nlpkit.platform.runs.atomic import check_target
from nlpkit.platform.runs.saving import write_picture
from nlpkit.platform.views import figures
from nlpkit.platform.views.chart import require

FORMATS = (".svg", ".pdf", ".png")


@dataclass(frozen=True, slots=True)
class Picture:
    """A picture. what: what it shows. draws: return it in a format (svg, pdf, png)."""

    what: str
    draws: Callable[[str], bytes]

    def __repr__(self) -> str:
        return wording.described(self, self.what)

    def save(self, path: str | Path, *, force: bool = False) -> Path:
        """Write the picture; the suffix of the name is its format.

        Raises:
            UsageError: another suffix; OutputExistsError: the file is there and `force` was not given.
        """
        target = check_picture_name(path, self.what)
        check_target(target, force=force)
        write_picture(target, self.draws(target.suffix.lower()[1:]), force=force)
        reporting.note(f"wrote {target}")
        return target

    def _repr_png_(self) -> bytes:
        """Return the picture for a notebook."""
        return self.draws("png")


def check_picture_name(path: str | Path, what: str) -> Path:
    """Return the path of a picture.

    Raises:
        UsageError: its suffix is that of no format that can be drawn; MissingError: what draws it is not installed.
    """
    target, formats = Path(path), (".png",) if what == "wordcloud" else FORMATS
    if target.suffix.lower() not in formats:
        raise UsageError(
            f"{target}: a picture of {what} is written as {wording.listed(formats, 3)}", parameter="output"
        )
    require_drawing(what)
    return target


def require_drawing(what: str) -> None:
    """Import what draws a picture. Raises MissingError where it is not installed."""
    require("matplotlib")
    if what == "wordcloud":
        require("wordcloud")


def draw_in_format(draw: figures.Draw, width: float, height: float, style: str, characters: str, format: str) -> bytes:
    """Return a picture in a format (svg, pdf, png); warn of characters that no font has. Arguments: see `draw_figure`."""
    content, lacks = figures.draw_figure(draw, format, width=width, height=height, style=style, characters=characters)
    if lacks:
        some = "".join(sorted(lacks)[:10])
        reporting.warn(
            f"no font of this machine has all characters of the picture ({some}): missing characters are drawn "
            "as boxes",
            always=True,
        )
    return content
