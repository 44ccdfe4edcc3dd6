"""Translates sentences with TensorFlow Serving over HTTP.

Needs only Python: `python rest_client.py localhost demo "The dog sleeps."`, or sentences on
standard input, one a line.
"""

import json
import re
import sys
import urllib.error
import urllib.request
from collections.abc import Sequence

# The server refuses a request with more sentences than its `max_batch_size`.
SENTENCES_A_REQUEST = 32
TIMEOUT_SECONDS = 60


def translate(address: str, model: str, sentences: Sequence[str]) -> list[str]:
    """Returns the translations of at most `SENTENCES_A_REQUEST` sentences."""
    url = f"http://{address}/v1/models/{model}:predict"
    body = json.dumps({"instances": sentences}).encode()
    request = urllib.request.Request(url, body, {"Content-Type": "application/json"})
    try:
        with urllib.request.urlopen(request, timeout=TIMEOUT_SECONDS) as reply:
            rows = json.load(reply)["predictions"]
    except urllib.error.HTTPError as error:
        sys.exit(f"rest_client.py: {url} refused: {error.code} {error.read().decode()}")
    except OSError as error:
        reason = getattr(error, "reason", error)
        sys.exit(f"rest_client.py: no reply from {url}: {reason}. Is the server running?")
    return [row["translation"] for row in rows]


def main() -> None:
    """Prints a translation for each sentence."""
    if len(sys.argv) < 3:
        sys.exit("usage: rest_client.py HOST[:PORT] MODEL_NAME [SENTENCE ...]")
    address, model, *sentences = sys.argv[1:]
    if not re.search(r":\d+$", address):
        address += ":8501"
    sys.stdout.reconfigure(encoding="utf-8")
    lines = (line.decode(errors="replace") for line in sys.stdin.buffer)
    sentences = sentences or [line.rstrip("\r\n") for line in lines]
    for start in range(0, len(sentences), SENTENCES_A_REQUEST):
        part = sentences[start : start + SENTENCES_A_REQUEST]
        for sentence, translation in zip(part, translate(address, model, part), strict=True):
            print(f"{sentence}\n  -> {translation}")


if __name__ == "__main__":
    main()
