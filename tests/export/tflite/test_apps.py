"""The file in the runtimes of apps: the same translations in Python, C and a browser."""

import collections
import contextlib
import http.server
import json
import os
import re
import runpy
import shutil
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest
from ai_edge_litert import schema_py_generated as schema
from ai_edge_litert.interpreter import Interpreter
from hostile import HOSTILE
from random_models import offset_logits, vary

from keras_transformer import DecodingConfig, Transformer, TransformerConfig
from keras_transformer.data.corpora import open_corpus
from keras_transformer.decoding import search_translations
from keras_transformer.export.tflite import export_tflite
from keras_transformer.text.tokenizer import SubwordTokenizer
from keras_transformer.text.vocabulary import EOS_ID
from keras_transformer.translation.translator import Translator

EXAMPLES = Path(__file__).parents[3] / "examples"
PAGE = ("index.html", "page.js", "translator.js", "worker.js")
# What `make -C examples/web runtime` puts there, once.
RUNTIME = EXAMPLES / "web" / "build" / "litert"
BROWSER = shutil.which("chromium") or shutil.which("chromium-browser")
NOTE = "  (cut: too long for the model)"
SECONDS = 120
# Types lines into the page, and posts what it shows.
HARNESS = """<!doctype html><meta charset="utf-8"><iframe src="index.html"></iframe>
<script type="module">
const page = document.querySelector('iframe');
const $ = (id) => page.contentDocument.getElementById(id);
const until = async (happened) => {
  while (!happened()) await new Promise((resolve) => setTimeout(resolve, 5));
};
const post = (result) => fetch('result', {method: 'POST', body: JSON.stringify(result)});
try {
  await until(() => $('text') && (!$('text').disabled || $('note').textContent.includes('cannot')));
  const shown = [];
  for (const line of LINES) {
    $('note').textContent = '';
    $('text').value = line;
    $('text').dispatchEvent(new Event('input'));
    await until(() => $('note').textContent);
    shown.push([$('translation').textContent, $('note').textContent.includes('cut')]);
  }
  await post(shown);
} catch (error) {
  await post(`${error}`);
}
</script>"""


OPTIONS = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"]
OPTIONS += ["--disable-background-networking", "--disable-component-update", "--disable-sync"]


def in_a_browser(test):
    """Marks a test that takes Chromium and LiteRT's files."""
    reason = "`make -C examples/web runtime` was not run"
    test = pytest.mark.skipif(not RUNTIME.is_dir(), reason=reason)(test)
    return pytest.mark.skipif(not BROWSER, reason="there is no Chromium")(test)


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    pairs = list(open_corpus("phrasebook:train:200", "en", "de"))
    tokenizer = SubwordTokenizer.train((line for pair in pairs for line in pair), 300)
    size = dict(num_layers=1, d_model=32, d_ff=32, num_heads=2, max_length=16)
    config = TransformerConfig(300, **size, tie_embeddings=False, norm_first=True)
    model = offset_logits(vary(Transformer(config), 0), {EOS_ID: 14.0})
    translator = Translator(model, tokenizer, config=DecodingConfig(beam_size=1, min_length=2))
    folder = tmp_path_factory.mktemp("exports")
    with pytest.MonkeyPatch.context() as patch:
        # Two rooms, so that there are two loops.
        patch.setattr(sys.modules[search_translations.__module__], "_FIRST_ROOM", 8)
        return export_tflite(translator, folder, quantization="int8") / "translator.tflite"


@pytest.fixture(scope="module")
def lines():
    odd = [line.decode("utf-8", "replace") for line in HOSTILE]
    odd = [line for line in odd if not {*"\r\n"} & {*line}]
    return [source for source, _ in open_corpus("phrasebook:test", "en", "de")][:200] + odd


@pytest.fixture(scope="module")
def expected(model, lines):
    """By the Python example, of which `test_exporting.py` shows what it gives."""
    example = runpy.run_path(str(EXAMPLES / "python" / "translate_tflite.py"))
    translate = example["Translator"](str(model))
    found = [translate(line) for line in lines]
    assert len({translation for translation, _ in found}) > 20
    assert 0 < sum(truncated for _, truncated in found) < len(found)
    return found


@pytest.mark.skipif(sys.platform != "linux", reason="examples/c_tflite links as Linux does")
@pytest.mark.skipif(not shutil.which("make"), reason="examples/c_tflite is built by make")
@pytest.mark.skipif(not shutil.which("cc"), reason="examples/c_tflite needs a C compiler, cc")
def test_in_c(model, lines, expected, tmp_path):
    options = [f"BUILD={tmp_path}", f"PYTHON={sys.executable}", "CFLAGS=-Werror"]
    subprocess.run(["make", "-C", EXAMPLES / "c_tflite", *options], check=True)
    done = subprocess.run(
        [tmp_path / "translate", model],
        input="".join(f"{line}\n" for line in lines),
        capture_output=True,
        encoding="utf-8",
        timeout=SECONDS,
    )
    assert done.returncode == 0, done.stderr
    found = [(line.removesuffix(NOTE), line.endswith(NOTE)) for line in done.stdout.split("\n")]
    assert found[:-1] == expected


# What a type of the file is in each language.
KOTLIN = {"ByteArray": np.uint8, "IntArray": np.int32, "intArrayOf": np.int32}
KOTLIN["FloatArray"] = np.float32


def details(model):
    """The name of a file's signature, and names and types of its inputs and outputs."""
    interpreter = Interpreter(str(model))
    [(name, _)] = interpreter.get_signature_list().items()
    signature = interpreter.get_signature_runner(name)
    sides = signature.get_input_details(), signature.get_output_details()
    # Apps make room for all of them before the first run.
    assert all(one["shape"].min() > 0 for side in sides for one in side.values())
    return name, *({key: one["dtype"] for key, one in side.items()} for side in sides)


def test_names_and_types_in_kotlin(model):
    """Its sources cannot be built here."""
    name, inputs, outputs = details(model)
    source = EXAMPLES / "android/app/src/main/kotlin/org/example/translator/Translator.kt"
    text = source.read_text("utf-8")
    assert re.findall(r'SIGNATURE = "(\w+)"', text) == [name]
    assert re.findall(r'get(In|Out)putTensorFromSignature\("(\w+)"', text) == [
        ("In", "text"),
        ("Out", "translation"),
    ]
    made = dict(re.findall(r"val (\w+) =\s+(\w+)\(", text))
    [call] = re.findall(r"runSignature\((.*?)SIGNATURE", text, re.DOTALL)
    _, *maps = call.split("mapOf(")
    [given, taken] = [dict(re.findall(r'"(\w+)" to (\w+)', one)) for one in maps]
    for values, expected in ((given, inputs), (taken, outputs)):
        types = {key: KOTLIN[made.get(value, value)] for key, value in values.items()}
        assert types == expected


def test_names_in_swift(model):
    """Its sources cannot be built here."""
    name, inputs, outputs = details(model)
    text = (EXAMPLES / "ios" / "Translator.swift").read_text("utf-8")
    assert re.findall(r'signatureRunner\(with: "(\w+)"', text) == [name]
    [given] = re.findall(r"invoke\(with: \[(.*)\]\)", text)
    assert {*re.findall(r'"(\w+)":', given)} == {*inputs}
    assert {*re.findall(r'output\(named: "(\w+)"', text)} == {*outputs}
    # What is a single number has four bytes.
    numbers = {*re.findall(r'number\(runner.output\(named: "(\w+)"', text)}
    assert all(np.dtype(outputs[key]).itemsize == 4 for key in numbers)


def test_runs_in_the_runtime_of_app_stores(model):
    """CocoaPods' is the oldest; the converter has written which one the operations need."""
    content = schema.ModelT.InitFromPackedBuf(model.read_bytes())
    [needed] = [one.buffer for one in content.metadata if one.name == b"min_runtime_version"]
    needed = bytes(content.buffers[needed].data).rstrip(b"\0").decode()
    podfile = (EXAMPLES / "ios" / "Podfile").read_text("utf-8")
    [pod] = re.findall(r"pod 'TensorFlowLiteSwift', '([\d.]+)'", podfile)
    assert [int(part) for part in needed.split(".")] <= [int(part) for part in pod.split(".")]


@in_a_browser
def test_in_a_browser(model, lines, expected, tmp_path):
    for name in PAGE:
        shutil.copy(EXAMPLES / "web" / name, tmp_path)
    (tmp_path / "litert").symlink_to(RUNTIME)
    shutil.copy(model, tmp_path)
    content = HARNESS.replace("LINES", json.dumps(lines).replace("</", "<\\/"))
    (tmp_path / "harness.html").write_text(content, "utf-8")
    with served(tmp_path) as (address, posted), browser(f"{address}/harness.html", tmp_path):
        assert posted.wait(SECONDS), "the page did not answer"
    assert [tuple(shown) for shown in posted.content] == expected


@in_a_browser
@pytest.mark.skipif(not shutil.which("make"), reason="examples/web is built by make")
def test_the_page_keeps_its_files(model, lines, expected, tmp_path):
    """Without a network it is as it was; a new model takes the place of the one that it kept."""
    playwright = pytest.importorskip("playwright.sync_api")
    build, half = tmp_path / "build", threading.Event()
    build.mkdir()
    (build / "litert").symlink_to(RUNTIME)
    make_page(build, model)
    with playwright.sync_playwright() as started, served(build, half=half) as (address, posted):
        chromium = started.chromium.launch(executable_path=BROWSER, args=OPTIONS)
        page = chromium.new_context().new_page()
        page.goto(f"{address}/")
        # The bar shows how much is there.
        page.wait_for_function("Math.abs(document.querySelector('#progress').value - 0.5) < 0.05")
        assert page.locator("#text").is_disabled()
        half.set()
        playwright.expect(page.locator("#text")).to_be_enabled(timeout=1000 * SECONDS)
        playwright.expect(page.locator("#progress")).to_be_hidden()
        asked = posted.asked["/translator.tflite"]
        posted.is_gone = True
        page.reload()
        playwright.expect(page.locator("#text")).to_be_enabled(timeout=1000 * SECONDS)
        page.locator("#text").fill("\n".join(lines[:3]))
        shown = "\n".join(translation for translation, _ in expected[:3])
        playwright.expect(page.locator("#translation")).to_have_text(shown)
        assert posted.asked["/translator.tflite"] == asked == 1

        posted.is_gone = False
        newer = tmp_path / "newer.tflite"
        newer.write_bytes(model.read_bytes() + bytes(1000))
        os.utime(newer, (0, 0))
        make_page(build, newer)
        page.reload()
        kept = "fetch('translator.tflite').then((found) => found.blob()).then(({size}) => size"
        page.wait_for_function(f"{kept} === {newer.stat().st_size})")
        assert len(page.evaluate("caches.keys()")) == 1
        chromium.close()


def make_page(build, model):
    command = ["make", "-s", "-C", EXAMPLES / "web", f"SITE={build}", f"MODEL={model}"]
    subprocess.run(command, check=True)


class Posted(threading.Event):
    """What a page posts, how often it asks for each file, and whether the server hangs up on it."""

    content, is_gone = None, False

    def __init__(self):
        super().__init__()
        self.asked = collections.Counter()


@contextlib.contextmanager
def served(folder, half=None):
    """Serves a folder on this machine, and takes what is posted.

    Of a model, the second half waits for the event `half`.
    """
    posted = Posted()

    class Handler(http.server.SimpleHTTPRequestHandler):
        def __init__(self, *args):
            super().__init__(*args, directory=folder)

        def log_message(self, *args):
            pass

        def do_GET(self):
            posted.asked[self.path] += 1
            if not posted.is_gone:
                super().do_GET()

        def copyfile(self, source, outputfile):
            if half is not None and self.path.endswith(".tflite"):
                outputfile.write(source.read(os.fstat(source.fileno()).st_size // 2))
                outputfile.flush()
                half.wait(SECONDS)
            super().copyfile(source, outputfile)

        def do_POST(self):
            posted.content = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            self.send_response(204)
            self.end_headers()
            posted.set()

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}", posted
        server.shutdown()


@contextlib.contextmanager
def browser(address, folder):
    """Opens a page in a browser of its own, without a window."""
    process = subprocess.Popen(
        [BROWSER, *OPTIONS, f"--user-data-dir={folder / 'profile'}", address],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        yield
    finally:
        os.killpg(process.pid, 15)
        process.wait()
