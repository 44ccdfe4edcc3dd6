"""The page in a real browser, before models of which every answer is known.

Of a translation into capitals, token i attends to source token i by a weight of its layer and head,
and to the end by the rest.
"""

import json
import re
import shutil
import threading

import numpy as np
import pytest
import tensorflow as tf
from endpoint_server import serve

from keras_transformer.endpoint.limits import Limits
from keras_transformer.endpoint.models import ServedModel
from keras_transformer.endpoint.signature import Signature

playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
playwright.expect.set_options(timeout=20_000)

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
if CHROMIUM is None:
    pytest.skip("Chromium is not installed", allow_module_level=True)

# Nothing of it asks anything of the network.
OPTIONS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
LAYERS, HEADS = 3, 2
LEAST = np.finfo(np.float32).min


def tokens_of(text):
    """Words, in which what is not ASCII is spelled in bytes."""
    parts = (part for word in text.split() for part in re.findall("[ -~]+|[^ -~]", f" {word}"))
    return [
        token
        for part in parts
        for token in (
            [part.replace(" ", "▁")]
            if part.isascii()
            else [f"<0x{byte:02X}>" for byte in part.encode()]
        )
    ]


class Capitals:
    """Waits at a text that has "slow" alone until it is let go; fails at "bad"."""

    def __init__(self):
        self.go = threading.Event()
        self.asked = []
        self.prefixes = []

    def nbest(self, text):
        rows = [row.decode() for row in text.numpy()]
        self.asked += rows
        if "slow" in rows:
            assert self.go.wait(30)
        if "bad" in rows:
            raise RuntimeError("a secret")
        found = [[row.upper(), row.title(), ""] for row in rows]
        scores = np.tile(np.float32([-0.5, -2.25, LEAST]), (len(rows), 1))
        return {
            "translations": tf.constant(found),
            "scores": tf.constant(scores),
            "pieces": tf.constant([1 + row.count(";") for row in rows]),
        }

    def attention(self, text, translation, layer):
        tokens = [
            [[*tokens_of(row.decode()), "</s>"] for row in side.numpy()]
            for side in (text, translation)
        ]
        (source, target), [number] = (one for [one] in tokens), layer.numpy()
        weights = np.zeros((1, HEADS, len(target), len(source)), np.float32)
        for head in range(HEADS):
            weights[0, head, :, -1] = 1 - self.weight(number, head)
            weights[0, head][np.diag_indices(len(source))] += self.weight(number, head)
        return {
            "source_tokens": tf.constant([source]),
            "target_tokens": tf.constant([target]),
            "weights": tf.constant(weights),
            "layers": tf.constant([LAYERS]),
            "truncated": tf.constant([b"too long" in text.numpy()[0]]),
        }

    def exported_attention(self, text):
        found = self.attention(text, text, tf.constant([0]))
        return {name: value for name, value in found.items() if name != "layers"}

    @staticmethod
    def weight(layer, head):
        return 0.9 - 0.2 * layer - 0.1 * head

    def alternatives(self, text, prefix):
        [begun] = prefix.numpy()
        self.prefixes.append(begun.decode())
        found = [[f"{begun.decode()} {word}".strip() for word in ("ONE", "<b>TWO</b>")]]
        log_probs = np.log(np.float32([[0.75, 0.004]]))
        return {"translations": tf.constant(found), "log_probs": tf.constant(log_probs)}

    def model(self, name="capitals", signatures=("nbest", "attention_of_layer", "alternatives")):
        text, layer = (tf.TensorSpec([None], dtype) for dtype in (tf.string, tf.int32))
        inputs = {
            "nbest": (dict(text=text), self.nbest),
            "attention_of_layer": (
                dict(text=text, translation=text, layer=layer),
                self.attention,
            ),
            "alternatives": (dict(text=text, prefix=text), self.alternatives),
            "attention": (dict(text=text), self.exported_attention),
        }
        metadata = {"languages": {"source": "en", "target": "de"}, "parameters": 1234567}
        made = {key: Signature(key, inputs[key][0], {}, inputs[key][1]) for key in signatures}
        return ServedModel(name, 1, made, metadata, self)


@pytest.fixture(scope="module")
def browser():
    with playwright.sync_playwright() as started:
        found = started.chromium.launch(executable_path=CHROMIUM, args=OPTIONS)
        yield found
        found.close()


@pytest.fixture(scope="module")
def capitals():
    return Capitals()


@pytest.fixture(scope="module")
def address(capitals):
    exported = capitals.model("exported", ("nbest", "attention"))
    with serve([capitals.model(), exported]) as found:
        yield found


@pytest.fixture
def open_page(browser, address, capitals):
    contexts, errors = [], []
    capitals.asked.clear()
    capitals.go.clear()

    def opened(address=address, **options):
        addresses.add(address)
        context = browser.new_context(**options)
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(20_000)
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.on("request", lambda request: requests.append(request.url))
        page.goto(f"http://{address}/")
        return page

    requests, addresses = [], set()
    yield opened
    for context in contexts:
        context.close()
    assert not errors
    asked = {url.split("/")[2] for url in requests if url != "data:,"}
    assert asked == addresses


@pytest.fixture
def page(open_page):
    return open_page()


def type_text(page, text):
    page.locator("#source").press_sequentially(text)


def expect_translation(page, *paragraphs):
    """Waits for it; each may have others above and below."""
    playwright.expect(page.locator(".paragraph")).to_have_text(list(paragraphs))


def expect_tokens(page, *tokens):
    """Waits for the attention of the whole translation."""
    playwright.expect(page.locator("#target-words .token")).to_have_text([*tokens, "⏎"])


def weights_shown(page, side):
    return page.locator(f"#{side}-words .token").evaluate_all(
        "tokens => tokens.map(token => token.dataset.weight ?? null)"
    )


def test_typing_gives_the_translation(page):
    type_text(page, "two small dogs")
    expect_translation(page, "TWO SMALL DOGS")
    playwright.expect(page.locator("#nbest .scored")).to_have_text(
        ["-0.50TWO SMALL DOGS", "-2.25Two Small Dogs"]
    )
    assert page.locator("#foot").inner_text() == "Model capitals · version 1 · 1,234,567 parameters"
    assert page.locator("#source-language").inner_text() == "English"
    assert page.locator("#translation").get_attribute("lang") == "de"
    page.locator("#source").fill("")
    expect_translation(page, "")
    playwright.expect(page.locator("#details")).to_be_hidden()


def test_hovering_shows_the_weights(page):
    type_text(page, "two small dogs")
    expect_tokens(page, "TWO", "SMALL", "DOGS")
    page.locator("#target-words .token").nth(1).hover()
    # Of the last layer but one, the mean of its heads: 0.65.
    assert weights_shown(page, "source") == [None, "65%", None, "35%"]
    assert page.locator("#weights").inner_text() == "Attention: small 65%, end 35%"
    page.locator("#source-words .token").nth(3).hover()
    assert weights_shown(page, "target") == ["35%", "35%", "35%", "100%"]
    assert weights_shown(page, "source") == [None] * 4
    page.locator("#head").select_option("1")
    page.locator("#target-words .token").nth(0).hover()
    assert weights_shown(page, "source") == ["60%", None, None, "40%"]
    page.locator("#layer").select_option("0")
    hovered = page.locator("#source-words .token").first
    for _ in range(100):  # Until the answer is shown.
        page.locator("#source").hover()
        page.locator("#target-words .token").nth(0).hover()
        if hovered.get_attribute("data-weight") == "80%":
            break
        page.wait_for_timeout(50)
    assert weights_shown(page, "source") == ["80%", None, None, "20%"]


def test_an_export_has_the_attention_of_one_layer(page):
    page.locator("#model").select_option("exported")
    type_text(page, "two dogs")
    expect_tokens(page, "two", "dogs")  # Of this one the text itself.
    page.locator("#target-words .token").nth(1).hover()
    assert weights_shown(page, "source") == [None, "85%", "15%"]
    for missing in ("#layer-label", "#alternatives-hint"):
        playwright.expect(page.locator(missing)).to_be_hidden()


def test_an_export_without_attention(open_page, capitals):
    with serve([capitals.model("plain", ("nbest",)), capitals.model()]) as address:
        page = open_page(address)
        type_text(page, "two dogs")
        expect_translation(page, "TWO DOGS")
        playwright.expect(page.locator("#nbest .scored")).to_have_count(2)
        playwright.expect(page.locator("#words")).to_be_hidden()
        playwright.expect(page.get_by_role("alert")).to_be_hidden()
        page.locator("#model").select_option("capitals")
        playwright.expect(page.locator("#words")).to_be_visible()


def test_fast_typing_shows_the_last_answer_and_no_other(page, capitals):
    expect_translation(page, "")
    page.evaluate(
        """() => {
          window.shown = new Set();
          new MutationObserver(() => shown.add(document.querySelector('#translation').innerText))
            .observe(document.querySelector('#translation'), {childList: true, subtree: true});
        }"""
    )
    with page.expect_request(lambda request: '"slow"' in (request.post_data or "")):
        page.locator("#source").fill("slow")
    with page.expect_request(lambda request: "slow dogs" in (request.post_data or "")):
        page.locator("#source").fill("slow dogs")
    assert page.locator("#translation").get_attribute("aria-busy") == "true"
    capitals.go.set()
    expect_translation(page, "SLOW DOGS")
    page.wait_for_timeout(200)
    assert page.evaluate("[...shown]") == ["SLOW DOGS"]
    assert page.locator("#translation").get_attribute("aria-busy") == "false"


def test_a_document_stays_one(page, capitals):
    """Its paragraphs have their places, and none is asked for a second time."""
    page.locator("#source").fill("one\n\ntwo dogs\none")
    expect_translation(page, "ONE", "", "TWO DOGS", "ONE")
    assert sorted(capitals.asked) == ["one", "two dogs"]
    page.locator("#source").press("Control+End")
    type_text(page, " more")
    expect_translation(page, "ONE", "", "TWO DOGS", "ONE MORE")
    assert set(capitals.asked) <= {"one", "two dogs", *("one more"[:end] for end in range(4, 9))}
    assert capitals.asked.count("two dogs") == 1
    assert page.locator("#nbest .scored").first.inner_text().endswith("ONE MORE")
    page.locator(".paragraph").nth(2).click()
    playwright.expect(page.locator("#nbest .scored").first).to_contain_text("TWO DOGS")
    playwright.expect(page.locator("#nbest-title")).to_have_text(
        "Translations by score of paragraph 2"
    )
    # Another translation of it takes its place alone.
    page.locator("#nbest .scored").nth(1).click()
    expect_translation(page, "ONE", "", "Two Dogs", "ONE MORE")


def test_a_long_document_is_asked_for_in_parts(page, capitals):
    page.locator("#source").fill("\n".join(f"line {i}" for i in range(150)))
    expect_translation(page, *(f"LINE {i}" for i in range(150)))
    assert len(capitals.asked) == 150


def test_parts_are_as_large_as_the_server_takes(open_page):
    """In rows, those that may wait, and in bytes: characters and JSON's marks have several."""
    lines = [f"{i}{one * 60}" for i, one in enumerate('aü"€😀\\\t')]
    capitals = Capitals()
    with serve([capitals.model()], Limits(rows=9, waiting_rows=3, body_bytes=400)) as address:
        page = open_page(address)
        bodies = []
        page.on("request", lambda request: bodies.append(request.post_data_buffer))
        page.locator("#source").fill("\n".join(lines))
        expect_translation(page, *(line.upper() for line in lines))
    assert capitals.asked == lines
    sizes = [(len(body), len(json.loads(body)["instances"])) for body in bodies if b"nbest" in body]
    assert all(size <= 400 and rows <= 3 for size, rows in sizes)
    assert len(sizes) < len(lines)


def test_going_on_after_characters_that_are_spelled_in_bytes(page, capitals):
    page.locator("#source").fill("die üblen Häuser 😀 hier")
    tokens = page.locator("#target-words .token")
    playwright.expect(tokens.last).to_have_text("⏎")
    playwright.expect(tokens.nth(2)).to_have_text("<0xC3>")
    capitals.prefixes.clear()
    for number in (-1, -2, 2):
        with page.expect_response(re.compile("predict")):
            tokens.nth(number).click()
    # To the start of the word, of one that begins with bytes as well.
    text = "DIE ÜBLEN HÄUSER 😀"
    assert capitals.prefixes == [f"{text} HIER", text, "DIE"]


def test_no_other_ways_for_what_is_translated_in_pieces(page, capitals):
    hint, truncated = page.locator("#alternatives-hint"), page.locator("#truncated-hint")
    for text, can_go_on, is_cut in (
        ("one; two", False, False),
        ("one too long", False, True),
        ("one", True, False),
    ):
        page.locator("#source").fill(text)
        expect_translation(page, text.upper())
        playwright.expect(page.locator("#target-words .token")).to_have_count(len(text.split()) + 1)
        playwright.expect(hint).to_be_visible(visible=can_go_on)
        playwright.expect(truncated).to_be_visible(visible=is_cut)
        page.locator("#target-words .token").first.click()
        playwright.expect(page.locator("#alternatives")).to_be_visible(visible=can_go_on)


def test_what_looks_like_markup_is_text(page):
    text = "<img src=x onerror=alert(1)> <b>&amp;</b>"
    page.on("dialog", lambda dialog: pytest.fail("a script ran"))
    page.locator("#source").fill(text)
    expect_translation(page, text.upper())
    playwright.expect(page.locator("#source-words .token").first).to_have_text("<img")
    assert page.locator("#translation img, #details img, #details b").count() == 0


def test_an_error_is_shown_as_one(page):
    page.locator("#source").fill("bad")
    error = page.get_by_role("alert")
    playwright.expect(error).to_have_text("Error: Internal error")
    page.locator("#source").fill("good")
    expect_translation(page, "GOOD")
    playwright.expect(error).to_be_hidden()
    page.locator("#source").fill("x" * 140_000)
    playwright.expect(error).to_contain_text("at most 131072 bytes")
    page.context.set_offline(True)
    page.locator("#source").fill("nobody hears")
    playwright.expect(error).to_have_text("Error: The server does not answer.")
    page.context.set_offline(False)
    page.locator("#source").fill("nobody hears it")
    expect_translation(page, "NOBODY HEARS IT")


def test_by_keyboard(page):
    """From the text, where it begins, to the tokens, along them, and to another way to go on."""
    playwright.expect(page.locator("#source")).to_be_focused()
    page.keyboard.type("two small dogs")
    expect_translation(page, "TWO SMALL DOGS")
    page.locator("#target-words .token").first.wait_for()
    focused = "document.activeElement"
    for _ in range(20):
        page.keyboard.press("Tab")
        if page.evaluate(f"{focused}.parentElement.id") == "target-words":
            break
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    assert page.evaluate(f"{focused}.textContent") == "DOGS"
    assert weights_shown(page, "source") == [None, None, "65%", "35%"]
    page.keyboard.press("Enter")
    playwright.expect(page.locator("#alternatives .scored")).to_have_text(
        ["75%TWO SMALL ONE", "<1%TWO SMALL <b>TWO</b>"]
    )
    page.keyboard.press("Enter")
    expect_translation(page, "TWO SMALL ONE")
    playwright.expect(page.locator("#target-words .token")).to_have_text(
        ["TWO", "SMALL", "ONE", "⏎"]
    )


def test_every_control_has_a_name(page):
    type_text(page, "two dogs")
    page.locator("#target-words .token").first.wait_for()
    for role, name in [
        ("textbox", "Text"),
        ("combobox", "Model"),
        ("combobox", "Layer"),
        ("combobox", "Head"),
        ("group", "Text, token by token"),
        ("group", "Translation, token by token"),
        ("region", re.compile("^Translation")),
    ]:
        assert page.get_by_role(role, name=name).count() >= 1, (role, name)
    nameless = page.get_by_role("button", name=re.compile("^$"))
    assert nameless.count() == 0


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_phone(open_page, scheme):
    """Nothing is cut off at its width, and text can be told from what is behind it."""
    size = {"width": 360, "height": 740}
    page = open_page(viewport=size, color_scheme=scheme, is_mobile=True, has_touch=True)
    page.locator("#source").fill(
        "two small dogs and a very long donaudampfschifffahrtsgesellschaft"
    )
    page.locator("#target-words .token").first.tap()
    page.locator("#alternatives .scored").first.wait_for()
    assert page.evaluate("document.documentElement.scrollWidth") == 360
    boxes = [page.locator(one).bounding_box() for one in ("#source", "#translation")]
    assert boxes[1]["y"] > boxes[0]["y"] + boxes[0]["height"]
    ink, paper = (
        page.evaluate(f"getComputedStyle(document.body).{name}")
        for name in ("color", "backgroundColor")
    )
    ink, paper = (
        np.mean([int(n) for n in re.findall(r"\d+", color)[:3]]) for color in (ink, paper)
    )
    assert (ink < 60 and paper > 230) if scheme == "light" else (ink > 220 and paper < 40)


def test_models_that_do_not_translate_are_not_offered(open_page, capitals):
    labels = ServedModel("labels", 1, {}, {}, None)
    with serve([labels, capitals.model()]) as address:
        page = open_page(address)
        type_text(page, "a dog")
        playwright.expect(page.locator("#translation")).to_have_text("A DOG")
        assert page.locator("#model option").all_inner_texts() == ["capitals"]
    with serve([labels]) as address:
        error = open_page(address).locator("#error")
        playwright.expect(error).to_have_text(
            "Error: No model here translates; predictions are at /v1/models/NAME:predict."
        )
