"""The local endpoint under load, in overload, killed in the middle, and beside long requests.

`python benchmarks/endpoint.py load RUN --seconds 60` compares clients that ask at once with one
that asks on its own; `overload`, `restart`, `soak` and `long_texts` are the others. The server is a
process of its own on loopback. Every reply is compared with the translation that the server gave
before there was a load.
"""

import argparse
import atexit
import http.client
import itertools
import json
import os
import random
import re
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from pathlib import Path

import numpy as np

from keras_transformer.data.corpora import open_corpus

SENTENCES = 200
# Of a client that was refused.
PAUSE_SECONDS = 0.05
# Latencies are told in ms, memory in MiB.
MS, MIB = 1e3, 2**20


class Server:
    """`keras-transformer serve` in a process of its own."""

    def __init__(self, model, port=0, *options):
        command = [sys.executable, "-m", "keras_transformer", "serve", f"model={model}"]
        self._process = subprocess.Popen(
            [*command, "--port", str(port), *options], stdout=subprocess.PIPE, text=True
        )
        atexit.register(self._process.kill)  # Also where an error ends this process.
        for line in self._process.stdout:
            if found := re.search(r"http://127\.0\.0\.1:(\d+)/", line):
                self.port = int(found[1])
                return
        raise RuntimeError("the server did not start")

    def memory(self):
        """Returns what it holds of memory, in MiB."""
        status = Path(f"/proc/{self._process.pid}/status").read_text("ascii")
        return int(re.search(r"VmRSS:\s+(\d+) kB", status)[1]) * 1024 / MIB

    def end(self, how=signal.SIGTERM):
        """Ends it and returns how long that took."""
        start = time.perf_counter()
        self._process.send_signal(how)
        self._process.wait()
        return time.perf_counter() - start


class Client:
    """Asks for one translation after another on a connection that it keeps."""

    def __init__(self, port):
        self._connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)

    def translate(self, text):
        """Returns the status and the translation.

        Without a reply the status is "refused" if nobody took the request, else "lost".
        """
        body = json.dumps({"instances": [text]})
        try:
            self._connection.request("POST", "/v1/models/model:predict", body)
            reply = self._connection.getresponse()
            content = json.loads(reply.read())
        except (OSError, http.client.HTTPException) as error:
            self._connection.close()
            return "refused" if isinstance(error, ConnectionRefusedError) else "lost", None
        found = content.get("predictions", [{}])[0].get("translation")
        return reply.status, found


class Load:
    """What several clients got: times of the right replies, and how many were otherwise."""

    def __init__(self, port, expected, clients, until):
        self.times, self.statuses, self.wrong = [], Counter(), 0
        self._lock = threading.Lock()
        threads = [
            threading.Thread(target=self._ask, args=(port, expected, seed, until))
            for seed in range(clients)
        ]
        start = time.perf_counter()
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.rate = len(self.times) / (time.perf_counter() - start)

    def _ask(self, port, expected, seed, until):
        client, draw = Client(port), random.Random(seed)
        texts = list(expected)
        while not until(self):
            text = draw.choice(texts)
            start = time.perf_counter()
            status, found = client.translate(text)
            took = time.perf_counter() - start
            with self._lock:
                self.statuses[status] += 1
                if status == 200:
                    self.times.append(took)
                    self.wrong += found != expected[text]
            if status != 200:
                time.sleep(PAUSE_SECONDS)

    def __str__(self):
        middle, slow = np.percentile(self.times, [50, 99]) * MS if self.times else (0, 0)
        others = {status: n for status, n in self.statuses.items() if status != 200}
        return (
            f"{self.rate:.1f} requests/s, p50 {middle:.0f} ms, p99 {slow:.0f} ms, "
            f"{len(self.times)} answered, {self.wrong} of them wrong, other statuses {others}"
        )


def after(seconds):
    """Returns a condition that holds from then on."""
    end = time.monotonic() + seconds
    return lambda load: time.monotonic() > end


def requests(number):
    """Returns a condition that holds after so many requests."""
    counter = itertools.count()
    return lambda load: next(counter) >= number


def expected_translations(port):
    """Returns sentences with their translations, each asked for alone."""
    client = Client(port)
    pairs = itertools.islice(open_corpus("phrasebook:test", "en", "de"), SENTENCES)
    texts, found = [source for source, _ in pairs], {}
    for text in texts:
        status, found[text] = client.translate(text)
        assert status == 200, status
    return found


def load(arguments):
    """Compares clients at once with one on its own; in turns, so that other work hits both."""
    server = Server(arguments.model)
    expected = expected_translations(server.port)
    alone, together = [], []
    for _ in range(arguments.rounds):
        part = arguments.seconds / arguments.rounds
        alone.append(Load(server.port, expected, 1, after(part / 2)))
        together.append(Load(server.port, expected, arguments.clients, after(part)))
        print(f"1 client: {alone[-1]}\n{arguments.clients} clients: {together[-1]}", flush=True)
    ratio = sum(one.rate for one in together) / sum(one.rate for one in alone)
    print(f"{arguments.clients} clients by one: {ratio:.2f} times")
    print(f"It ended in {server.end():.1f} s")


def overload(arguments):
    """Lets fewer wait than there are clients, and asks again when they have gone."""
    server = Server(arguments.model, 0, "--waiting_rows", "8", "--rows", "4")
    expected = expected_translations(server.port)
    print(f"too many: {Load(server.port, expected, arguments.clients, after(arguments.seconds))}")
    print(f"afterwards: {Load(server.port, expected, 4, after(arguments.seconds / 2))}")
    server.end()


def restart(arguments):
    """Kills the server in the middle, starts it again, and counts what was lost."""
    servers = [Server(arguments.model)]
    port = servers[0].port
    expected = expected_translations(port)

    def kill():
        servers[0].end(signal.SIGKILL)
        print("killed", flush=True)
        servers.append(Server(arguments.model, port))
        print("back", flush=True)
        again.set()

    again = threading.Event()
    timer = threading.Timer(arguments.seconds / 2, kill)
    timer.start()
    end = arguments.seconds
    began = time.monotonic()
    state = Load(
        port,
        expected,
        arguments.clients,
        lambda load: again.is_set() and time.monotonic() > began + end,
    )
    print(f"over the restart: {state}")
    print(f"afterwards: {Load(port, expected, arguments.clients, after(end / 2))}")
    servers[1].end()


def soak(arguments):
    """Tells the server's memory after each tenth of many requests."""
    server = Server(arguments.model)
    expected = expected_translations(server.port)
    print(f"at the start: {server.memory():.0f} MiB", flush=True)
    part = arguments.requests // 10
    for i in range(1, 11):
        found = Load(server.port, expected, arguments.clients, requests(part))
        print(f"after {i * part}: {server.memory():.0f} MiB, {found}", flush=True)
    server.end()


def long_texts(arguments):
    """Tells how long a client with single sentences waits while another sends long texts."""
    server = Server(arguments.model)
    expected = expected_translations(server.port)
    print(f"alone: {Load(server.port, expected, 1, after(arguments.seconds / 4))}", flush=True)
    for rows, lines in ((64, 10), (1, 512)):
        text = "\n".join(["The dog sleeps in the garden."] * lines)
        body, enough, replies = (
            json.dumps({"instances": [text] * rows}),
            threading.Event(),
            Counter(),
        )

        def send(body=body, enough=enough, replies=replies):
            while not enough.is_set():
                connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)
                connection.request("POST", "/v1/models/model:predict", body)
                replies[connection.getresponse().status] += 1
                connection.close()

        thread = threading.Thread(target=send)
        thread.start()
        found = Load(server.port, expected, 1, after(arguments.seconds))
        enough.set()
        thread.join()
        print(f"beside {rows} strings of {lines} lines, {dict(replies)}: {found}", flush=True)
    server.end()


def main():
    """Runs one of the five."""
    kinds = {one.__name__: one for one in (load, overload, restart, soak, long_texts)}
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("kind", choices=kinds)
    parser.add_argument("model", help="a run or an export of the phrasebook")
    parser.add_argument("--clients", type=int, default=32)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--requests", type=int, default=20_000)
    arguments = parser.parse_args()
    os.environ["no_proxy"] = "127.0.0.1"
    kinds[arguments.kind](arguments)


if __name__ == "__main__":
    main()
