"""The routes beside `test_serving`'s: several models, limits, hostile requests, health, the end.

The models are functions of strings, so that what a reply must be is known without a model.
"""

import concurrent.futures
import http.client
import json
import re
import socket
import threading
import time

import pytest
import tensorflow as tf
from endpoint_server import serve

from keras_transformer.endpoint import server
from keras_transformer.endpoint.limits import Limits
from keras_transformer.endpoint.models import ServedModel, ServedModels
from keras_transformer.endpoint.signature import Signature


class Upper:
    """A "translation" into capitals; waits at "slow" until it is let go, fails at "bad"."""

    def __init__(self):
        self.go = threading.Event()
        self.running = threading.Event()
        self.texts = []

    def __call__(self, text):
        rows = text.numpy().tolist()
        self.texts += rows
        if b"slow" in rows:
            self.running.set()
            assert self.go.wait(30)
        if b"bad" in rows:
            raise RuntimeError("a secret of the server's")
        return {
            "translation": tf.constant([row.decode().upper().encode() for row in rows]),
            "score": tf.zeros(len(rows)),
        }

    def model(self, name="upper", version=1, metadata=None):
        text, score = (tf.TensorSpec([None], dtype) for dtype in (tf.string, tf.float32))
        outputs = {"translation": text, "score": score}
        signature = Signature("serving_default", {"text": text}, outputs, self)
        return ServedModel(name, version, {"serving_default": signature}, metadata or {}, self)


@pytest.fixture
def upper():
    found = Upper()
    yield found
    found.go.set()


def ask(address, method, path, body=None, headers=None):
    """Sends a request and returns its status and reply."""
    connection = http.client.HTTPConnection(address, timeout=30)
    try:
        connection.request(method, path, body, headers or {})
        reply = connection.getresponse()
        return reply.status, json.loads(reply.read())
    finally:
        connection.close()


def predict(address, *texts, name="upper"):
    body = json.dumps({"instances": texts})
    return ask(address, "POST", f"/v1/models/{name}:predict", body)


def capitals(reply):
    status, content = reply
    assert status == 200, content
    return [row["translation"] for row in content["predictions"]]


class TestModels:
    def test_names_and_versions(self, upper):
        other = Upper()
        models = [upper.model(version=3), other.model(version=12), upper.model("second")]
        with serve(models) as address:
            assert capitals(predict(address, "a")) == ["A"]
            assert other.texts == [b"a"]
            predict(address, "b", name="upper/versions/3")
            predict(address, "c", name="second")
            assert (other.texts, upper.texts) == ([b"a"], [b"b", b"c"])
            _, status = ask(address, "GET", "/v1/models/upper")
            assert [one["version"] for one in status["model_version_status"]] == ["12", "3"]
            _, metadata = ask(address, "GET", "/v1/models/upper/versions/3/metadata")
            assert metadata["model_spec"] == {
                "name": "upper",
                "signature_name": "",
                "version": "3",
            }
            text = {"dim": [{"size": "-1", "name": ""}], "unknown_rank": False}
            [definition] = metadata["metadata"]["signature_def"]["signature_def"].values()
            assert definition["outputs"]["score"]["dtype"] == "DT_FLOAT"
            assert definition["inputs"]["text"]["tensor_shape"] == text
            status, reply = ask(address, "GET", "/v1/models/upper/labels/stable")
            assert (status, reply) == (
                400,
                {"error": "Unrecognized servable version label: stable"},
            )

    def test_two_of_a_name(self, upper):
        with pytest.raises(ValueError, match=r"NAME=PATH.*Received: upper, version 1, more than"):
            ServedModels([upper.model(), upper.model()])

    def test_health_and_metrics(self, upper):
        with serve([upper.model()]) as address:
            assert ask(address, "GET", "/health") == (200, {"status": "ok"})
            predict(address, "a", "b", "c")
            ask(address, "GET", "/v1/models/none")
            for path in ("/metrics", "/monitoring/prometheus/metrics"):
                connection = http.client.HTTPConnection(address)
                connection.request("GET", path)
                lines = connection.getresponse().read().decode().splitlines()
                connection.close()
                assert 'endpoint_requests_total{route="/v1/{rest:path}",status="200"} 1.0' in lines
                assert 'endpoint_requests_total{route="/v1/{rest:path}",status="404"} 1.0' in lines
                assert "endpoint_batch_rows_sum 3.0" in lines
                assert "endpoint_waiting_rows 0.0" in lines

    def test_nobody_else_may_read(self, upper):
        """No page of another origin is let in, and no script from elsewhere onto ours."""
        with serve([upper.model()]) as address:
            connection = http.client.HTTPConnection(address)
            for method in ("OPTIONS", "GET"):
                asked = {"Origin": "http://elsewhere", "Access-Control-Request-Method": "POST"}
                connection.request(method, "/", headers=asked)
                reply = connection.getresponse()
                reply.read()
                assert not [one for one in reply.headers if one.lower().startswith("access-")]
            assert "default-src 'self'" in reply.headers["Content-Security-Policy"]
            connection.close()


class TestLimits:
    def test_a_full_queue_recovers(self, upper):
        with (
            serve([upper.model()], Limits(waiting_rows=2)) as address,
            concurrent.futures.ThreadPoolExecutor(8) as threads,
        ):
            slow = threads.submit(predict, address, "slow")
            assert upper.running.wait(10)
            replies = [threads.submit(predict, address, f"text {i}") for i in range(6)]
            done, _ = concurrent.futures.wait(replies, 10, concurrent.futures.FIRST_COMPLETED)
            while len(done) < 4:
                done, _ = concurrent.futures.wait(replies, 0.05)
            assert {future.result()[0] for future in done} == {503}
            upper.go.set()
            assert capitals(slow.result()) == ["SLOW"]
            found = [capitals(f.result()) for f in replies if f not in done]
            assert len(found) == 2
            assert {text for [text] in found} < {f"TEXT {i}" for i in range(6)}
            assert capitals(predict(address, "later")) == ["LATER"]

    def test_time(self, upper):
        with serve([upper.model()], Limits(seconds=2)) as address:
            status, reply = predict(address, "slow")
            assert (status, reply) == (504, {"error": "Timed out after 2 seconds"})
            status, _ = predict(address, "waits behind it")
            assert status == 504
            upper.go.set()
            assert capitals(predict(address, "later")) == ["LATER"]
            assert upper.texts == [b"slow", b"later"]

    def test_a_client_that_has_gone(self, upper):
        """As the page's are whose text was typed over."""
        with serve([upper.model()]) as address, concurrent.futures.ThreadPoolExecutor() as threads:
            slow = threads.submit(predict, address, "slow")
            assert upper.running.wait(10)
            host, port = address.split(":")
            body = b'{"instances": ["gone"]}'
            with socket.create_connection((host, int(port))) as client:
                head = f"POST /v1/models/upper:predict HTTP/1.1\r\nContent-Length: {len(body)}\r\n"
                client.sendall(head.encode() + b"Host: a\r\n\r\n" + body)
                wait_for(address, "endpoint_waiting_rows 1.0")
            wait_for(address, "endpoint_waiting_rows 0.0")
            upper.go.set()
            slow.result()
            assert capitals(predict(address, "later")) == ["LATER"]
            assert upper.texts == [b"slow", b"later"]

    def test_a_client_that_goes_in_the_middle(self, upper):
        with serve([upper.model()]) as address:
            host, port = address.split(":")
            with socket.create_connection((host, int(port))) as client:
                client.sendall(b"POST /translate HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\n{")
            wait_for(address, 'endpoint_requests_total{route="/translate",status="499"} 1.0')

    def test_a_slow_client(self, upper):
        with serve([upper.model()], Limits(seconds=2)) as address:
            host, port = address.split(":")
            with socket.create_connection((host, int(port)), timeout=10) as client:
                head = b"POST /translate HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\n{"
                client.sendall(head)
                assert client.recv(1000).startswith(b"HTTP/1.1 408 ")
            assert capitals(predict(address, "next")) == ["NEXT"]

    def test_a_client_that_never_asks(self, upper, monkeypatch):
        monkeypatch.setattr(server, "_KEEP_ALIVE_SECONDS", 0.3)
        whole = b"GET /health HTTP/1.1\r\nHost: a\r\n\r\n"
        with serve([upper.model()]) as address:
            host, port = address.split(":")
            for sent in (b"", b"GET /health HT", whole + b"GET /he"):
                with socket.create_connection((host, int(port)), timeout=10) as client:
                    client.sendall(sent)
                    received = b"".join(iter(lambda: client.recv(1000), b""))
                assert received.count(b"HTTP/1.1 200") == sent.count(whole)
            assert capitals(predict(address, "next")) == ["NEXT"]

    @pytest.mark.parametrize("declared", [True, False])
    def test_a_large_body(self, upper, declared):
        """Also one that does not say how large it is."""
        part = b" " * 65_536
        with serve([upper.model()]) as address:
            body = part * 160 if declared else (part for _ in range(160))
            try:
                status, reply = ask(address, "POST", "/v1/models/upper:predict", body)
                assert status == 413
                assert "at most 131072 bytes" in reply["error"]
            except (BrokenPipeError, ConnectionResetError):
                pass  # It was not read to its end.
            assert capitals(predict(address, "next")) == ["NEXT"]


def wait_for(address, line):
    for _ in range(1000):
        connection = http.client.HTTPConnection(address)
        connection.request("GET", "/metrics")
        found = connection.getresponse().read().decode().splitlines()
        connection.close()
        if line in found:
            return
        time.sleep(0.01)
    pytest.fail(f"{line} did not come")


DEEP = b"[" * 50_000 + b"]" * 50_000

HOSTILE = [
    (b'{"instances": [NaN]}', "NaN is not of expected type"),
    (b'{"instances": [' + b"9" * 5000 + b"]}", "JSON Parse error"),
    (b'{"instances": ' + DEEP + b"}", "JSON Parse error"),
    (b'{"instances": [' * 300 + b"]}" * 300, "not|JSON"),
    (b'{"inputs": {"text": ' + b"[" * 300 + b"]" * 300 + b"}}", "vectors"),
    (b'{"instances": [{"b64": 5}]}', "'b64' must be base64"),
    (b'{"instances": [{"b64": ["a"]}]}', "'b64' must be base64"),
    (b'{"instances": ["\xff"]}', "JSON Parse error"),
    (b"\xef\xbb\xbf{", "JSON Parse error"),
    (b'{"instances": {"text": "a"}}', "list/array"),
    (b'{"inputs": {"text": {"a": 1}}}', "vectors"),
    (b'{"signature_name": "' + b"x" * 90_000 + b'", "inputs": ["a"]}', "not found"),
    (json.dumps({"instances": ["a"] * 65}).encode(), "Task size 65 is larger"),
    (b"\x00" * 100, "JSON Parse error"),
    (b'{"instances": "\\ud800"}', r'JSON Value: "\?" Excepting'),
]

TRICKS = [
    "/v1/models/..%2f..%2fetc:predict",
    "/v1/models/../../etc/passwd",
    "/v1/models/%00:predict",
    "/v1/models/upper%0d%0aX:predict",
    "/v1/models/upper/versions/99999999999999999999:predict",
    "/v1/models/upper/versions/-1:predict",
    "/v1/models/<script>:predict",
    "/v1/models/" + "a" * 5000,
    "/page_files/index.html",
    "/..%2fapp.py",
    "/v1",
]


@pytest.fixture(scope="module")
def address():
    with serve([Upper().model()]) as found:
        yield found


class TestHostile:
    @pytest.mark.parametrize(("body", "message"), HOSTILE, ids=range(len(HOSTILE)))
    def test_bodies(self, address, body, message):
        status, reply = ask(address, "POST", "/v1/models/upper:predict", body)
        assert status == 400
        assert re.search(message, reply["error"])
        assert len(reply["error"]) < 500
        assert capitals(predict(address, "next")) == ["NEXT"]

    @pytest.mark.parametrize("path", TRICKS, ids=range(len(TRICKS)))
    def test_addresses(self, address, path):
        for method in ("GET", "POST", "DELETE"):
            status, reply = ask(address, method, path.replace("<", "%3C").replace(">", "%3E"), "{}")
            assert 400 <= status < 500
            assert set(reply) == {"error"}
        assert capitals(predict(address, "next")) == ["NEXT"]

    @pytest.mark.parametrize(
        ("text", "expected"),
        [
            ("\ud800x", "?X"),
            ("<script>alert(1)</script>", "<SCRIPT>ALERT(1)</SCRIPT>"),
            ("a\x00b\n\r", "A\x00B\n\r"),
            ("😀 für", "😀 FÜR"),
            ("", ""),
        ],
    )
    def test_texts(self, address, text, expected):
        body = json.dumps({"instances": [text]})
        assert capitals(ask(address, "POST", "/v1/models/upper:predict", body)) == [expected]

    @pytest.mark.parametrize("sent", [b"\x16\x03\x01\x02\x00", b"GET\r\n\r\n", b"A" * 100_000])
    def test_what_is_no_request(self, address, sent):
        host, port = address.split(":")
        with socket.create_connection((host, int(port)), timeout=10) as client:
            client.sendall(sent + b"\r\n\r\n")
            assert client.recv(1000).startswith(b"HTTP/1.1 400 ")
        assert capitals(predict(address, "next")) == ["NEXT"]

    def test_an_error_of_the_server_is_not_told(self, address):
        status, reply = predict(address, "bad")
        assert (status, reply) == (500, {"error": "Internal error"})
        assert capitals(predict(address, "next")) == ["NEXT"]


def test_an_end_that_loses_nothing(upper):
    """What was taken is answered, whoever comes later is not let in."""
    with concurrent.futures.ThreadPoolExecutor() as threads:
        with serve([upper.model()], grace_seconds=20) as address:
            taken = [threads.submit(predict, address, "slow")]
            assert upper.running.wait(10)
            taken += [threads.submit(predict, address, "waits")]
            wait_for(address, "endpoint_waiting_rows 1.0")
            threading.Timer(0.5, upper.go.set).start()
        assert [capitals(one.result()) for one in taken] == [["SLOW"], ["WAITS"]]
        with pytest.raises(ConnectionError):
            predict(address, "late")
