"""`serve`: names of models, limits and options on their way, and what it cannot do."""

import http.client
import json
import re
import signal
import socket
import subprocess
import sys
import time

import pytest
import uvicorn
from untrained_run import untrained_run

from keras_transformer.commands.main import run
from keras_transformer.endpoint import models
from keras_transformer.endpoint.models import ServedModel


def test_a_process_answers_what_it_has_taken_and_ends(tmp_path):
    """From the first line to SIGTERM, which comes while a request is on its way."""
    untrained_run(tmp_path / "small", beam_size=1, max_extra_tokens=3)
    command = [sys.executable, "-m", "keras_transformer", "serve", "small", "--port", "0"]
    with subprocess.Popen(
        command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as process:
        lines = []
        for line in process.stdout:
            lines.append(line)
            if found := re.search(r"Serving small at http://(127\.0\.0\.1:\d+)/", line):
                break
        assert found, "".join(lines)
        connection = http.client.HTTPConnection(found[1], timeout=60)
        body = json.dumps({"instances": ["the dog"] * 60})
        connection.request("POST", "/v1/models/small:predict", body)
        wait_until_taken(found[1])
        process.send_signal(signal.SIGTERM)
        reply = connection.getresponse()
        assert reply.status == 200
        assert len(json.load(reply)["predictions"]) == 60
        rest = process.stdout.read()
        assert process.wait(60) in (0, -signal.SIGTERM)
    assert "Traceback" not in rest


def wait_until_taken(address):
    """A request that was not read yet would be nobody's."""
    for _ in range(1000):
        other = http.client.HTTPConnection(address, timeout=60)
        other.request("GET", "/metrics")
        found = other.getresponse().read().decode()
        other.close()
        if re.search(r"endpoint_(waiting_rows|batch_rows_count) [1-9]", found):
            return
        time.sleep(0.005)
    pytest.fail("the request was not taken")


@pytest.fixture
def served(monkeypatch):
    """What was opened, and the servers that ran, with the port that each had."""
    opened, servers = [], []

    def open_model(path, name, checkpoint, options):
        opened.append((path, name, checkpoint, options))
        return ServedModel(name or "folder", len(opened), {}, {}, None)

    monkeypatch.setattr(models, "open_model", open_model)
    monkeypatch.setattr(ServedModel, "warm_up", lambda model: None)
    monkeypatch.setattr(
        uvicorn.Server,
        "run",
        lambda server, sockets: servers.append((server, sockets[0].getsockname())),
    )
    return opened, servers


def test_models_and_options(served, tmp_path, capsys):
    opened, [] = served
    (tmp_path / "a=b").mkdir()
    arguments = ["runs/demo", "short=runs/other", f"{tmp_path}/a=b", "--port", "0"]
    run("serve", [*arguments, "--beam_size", "2", "--checkpoint", "latest", "--seconds", "1.5"])
    rest = ("latest", {"beam_size": 2})
    assert opened == [
        ("runs/demo", None, *rest),
        ("runs/other", "short", *rest),
        (f"{tmp_path}/a=b", None, *rest),
    ]
    [(server, (host, port))] = served[1]
    assert host == "127.0.0.1"
    assert server.config.timeout_graceful_shutdown == 2
    output = capsys.readouterr().out
    assert f"Serving folder, short, folder at http://127.0.0.1:{port}/" in output


@pytest.mark.parametrize(
    ("arguments", "allowed"),
    [
        ([], ["localhost", "127.0.0.1", "[::1]", "127.0.0.1"]),
        (
            ["--allowed_hosts", "*", "a.b"],
            ["localhost", "127.0.0.1", "[::1]", "127.0.0.1", "*", "a.b"],
        ),
        (["--host", "0.0.0.0"], ["*"]),
    ],
)
def test_allowed_hosts(served, arguments, allowed):
    run("serve", ["runs/demo", "--port", "0", *arguments])
    [(server, _)] = served[1]
    used = [one.kwargs.get("allowed_hosts") for one in server.config.app.user_middleware]
    assert allowed in used


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["runs/demo", "--port", "0", "--allowed_hosts", "a:80"], "`allowed_hosts` must be names"),
        (["runs/demo", "--rows", "0"], "`rows` must be positive"),
        (["runs/demo", "--seconds", "-1"], "`seconds` must be positive"),
        (["runs/demo", "--host", "192.0.2.1"], "`port` must be one that is free, and `host`"),
    ],
)
def test_what_cannot_be(served, capsys, arguments, message):
    with pytest.raises(SystemExit) as end:
        run("serve", arguments)
    assert end.value.code == 1
    assert message in capsys.readouterr().err
    assert served == ([], [])


def test_a_port_that_is_taken(served, capsys):
    with socket.create_server(("127.0.0.1", 0)) as other, pytest.raises(SystemExit) as end:
        run("serve", ["runs/demo", "--port", str(other.getsockname()[1])])
    assert end.value.code == 1
    assert "`port` must be one that is free" in capsys.readouterr().err
    assert served == ([], []), "no model is opened for nothing"


@pytest.mark.parametrize("package", ["fastapi", "uvicorn", "prometheus_client"])
def test_without_the_packages(served, monkeypatch, capsys, package):
    monkeypatch.setitem(sys.modules, package, None)
    monkeypatch.delitem(sys.modules, "keras_transformer.endpoint.server", raising=False)
    with pytest.raises(SystemExit) as end:
        run("serve", ["runs/demo"])
    assert end.value.code == 1
    assert "pip install 'keras_transformer[endpoint]'" in capsys.readouterr().err
