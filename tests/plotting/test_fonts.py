"""Text of any script is shown in letters, or as code points and said so."""

from types import SimpleNamespace

import pytest

from keras_transformer.plotting import fonts
from keras_transformer.plotting.fonts import readable

SCRIPTS = ["▁Hund", "Ελληνικά", "русский", "العربية", "שלום", "$x$ <b>"]
CHINESE = "狗睡觉"


@pytest.fixture(autouse=True)
def only_matplotlibs_own(monkeypatch):
    """As on a system without fonts, of which nothing was said."""
    monkeypatch.setattr(fonts, "fontManager", SimpleNamespace(ttflist=[]))
    monkeypatch.setattr(fonts, "_told", set())
    fonts._families.cache_clear()
    yield
    fonts._families.cache_clear()


def test_what_the_own_font_has_is_shown(capsys):
    assert readable(SCRIPTS) == (SCRIPTS, ["DejaVu Sans"])
    assert capsys.readouterr() == ("", "")


def test_what_no_font_has_is_shown_as_code_points_and_said_once(capsys):
    expected = "".join(f"U+{ord(character):X}" for character in CHINESE)
    assert readable(["a", CHINESE]) == (["a", expected], ["DejaVu Sans"])
    errors = capsys.readouterr().err
    assert "has 3 of the characters (U+72D7, U+7761, U+89C9)" in errors
    assert errors.count("\n") == 1
    readable([CHINESE[:2]])
    assert capsys.readouterr().err == ""
    readable([CHINESE + "日"])
    assert "has 1 of the characters (U+65E5)" in capsys.readouterr().err


def test_a_control_character_breaks_no_line(capsys):
    assert readable(["a\nb\x7f"])[0] == ["aU+000AbU+007F"]
    assert capsys.readouterr().err == ""


def test_fonts_of_the_system_help_where_the_own_one_ends(monkeypatch):
    """The plain one before the bold one, and none that has nothing to give."""

    def font(name, weight=400, style="normal"):
        return SimpleNamespace(name=name, fname=f"/fonts/{name}", weight=weight, style=style)

    known = {
        "/fonts/Han": "狗睡",
        "/fonts/Bold": "狗睡觉",
        "/fonts/Thai": "ไ",
        "/fonts/Slant": "觉",
    }
    listed = [font("Bold", 700), font("Thai"), font("Han"), font("Slant", style="italic")]
    own = fonts._characters

    def characters(path):
        return frozenset(map(ord, known[path])) if path in known else own(path)

    monkeypatch.setattr(fonts, "fontManager", SimpleNamespace(ttflist=listed))
    monkeypatch.setattr(fonts, "_characters", characters)
    assert readable([CHINESE]) == ([CHINESE], ["DejaVu Sans", "Han", "Bold"])
