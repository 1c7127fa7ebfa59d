"""How wide text is drawn, without a font at hand: enough to fold lines and to keep words apart.

Widths are those of Helvetica, which Arial and Liberation Sans share, in thousandths of the font's size (Adobe's Core 14
AFM files, Helvetica.afm).
"""

_WIDTHS = {
    222: "ijl'|",
    278: " .,:;!/\\ftI[]·",
    333: "r-()`",
    500: "cksvxyzJ",
    556: "abdeghnopquL?_$#0123456789",
    584: "+×=<>~",
    611: "FTZ",
    667: "ABEKPSVXY&",
    722: "CDHNRUw",
    778: "GOQ",
    833: "mM",
    889: "%",
}
_BY_LETTER = {letter: width for width, letters in _WIDTHS.items() for letter in letters}
# Letters that are not listed, among them W, are as wide as they come; one em is the widest of Latin letters.
_WIDEST = 1000
# Fonts that stand in for Helvetica are wider: DejaVu Sans by a seventh.
_ROOM = 1.15
_BOLD = 1.07


def width(text: str, size: float, *, bold: bool = False) -> float:
    """The room that a line of text needs.

    Args:
        text: The line.
        size: Size of the font in pixels.
        bold: Whether it is bold.

    Returns:
        Pixels; more than the line needs in the usual fonts.
    """
    thousandths = sum(_BY_LETTER.get(letter, _WIDEST) for letter in text)
    return thousandths / 1000 * size * _ROOM * (_BOLD if bold else 1)


def folded(text: str, room: float, size: float) -> tuple[str, ...]:
    """A text in lines that fit.

    Args:
        text: The text.
        room: Pixels that there are for a line.
        size: Size of the font in pixels.

    Returns:
        At least one line. A word that is longer than a line is cut.
    """
    lines = [""]
    for word in text.split():
        if lines[-1] and width(f"{lines[-1]} {word}", size) <= room:
            lines[-1] += f" {word}"
            continue
        *whole, rest = _cut(word, room, size)
        lines += [*whole, rest]
    return tuple(lines[1:]) or ("",)


def shortened(text: str, room: float, size: float, *, bold: bool = False) -> str:
    """A text that fits on one line, with an ellipsis where its end is missing."""
    if width(text, size, bold=bold) <= room:
        return text
    while text and width(f"{text}…", size, bold=bold) > room:
        text = text[:-1]
    return f"{text}…"


def _cut(word: str, room: float, size: float) -> list[str]:
    parts = [""]
    for letter in word:
        if parts[-1] and width(parts[-1] + letter, size) > room:
            parts.append("")
        parts[-1] += letter
    return parts
