"""How wide text is, and how it is folded."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpuyard.diagram.text import folded, shortened, width

TEXTS = st.text(st.characters(codec="utf-8", exclude_categories=["C"]), max_size=80)


def test_wide_letters_take_more_room_than_narrow_ones() -> None:
    assert width("WWW", 12) > width("aaa", 12) > width("iii", 12)
    assert width("a", 12, bold=True) > width("a", 12)


def test_the_room_is_that_of_the_widest_usual_font() -> None:
    # Chromium draws this line 239.5 pixels wide in DejaVu Sans, 218.4 in Liberation Sans.
    assert 239.5 <= width("8 × A100-SXM4-80GB, NVLink 600 GB/s", 12) <= 265


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("one line", ("one line",)),
        ("a line that is too long", ("a line that is", "too long")),
        ("averyveryverylongword", ("averyveryveryl", "ongword")),
        ("", ("",)),
    ],
)
def test_lines_are_folded_between_words_and_long_words_are_cut(text: str, lines: tuple[str, ...]) -> None:
    assert folded(text, 95, 12) == lines


@given(TEXTS, st.floats(20, 400))
def test_no_folded_line_is_too_long_and_no_letter_is_lost(text: str, room: float) -> None:
    lines = folded(text, room, 12)
    assert "".join("".join(lines).split()) == "".join(text.split())
    assert all(width(line, 12) <= room for line in lines)


@given(TEXTS, st.floats(20, 400))
def test_what_is_shortened_fits_and_says_so(text: str, room: float) -> None:
    short = shortened(text, room, 12)
    assert width(short, 12) <= room
    assert short == text or short.endswith("…")
