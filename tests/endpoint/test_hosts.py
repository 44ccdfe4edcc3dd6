"""Whom a server answers: by any of its own names, and by none that somebody else made up."""

import socket

import pytest
from endpoint_server import serve

from keras_transformer.endpoint.hosts import hosts_of


def status(address, host):
    """Asks for the page under a name, as a browser does that took this address for its own."""
    server, port = address.split(":")
    with socket.create_connection((server, int(port)), timeout=10) as client:
        client.sendall(f"GET / HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n".encode())
        return int(client.recv(1000).split()[1])


def test_on_loopback():
    own = ["localhost", "LOCALHOST:8501", "127.0.0.1", "127.0.0.1:80", "[::1]", "[::1]:9"]
    others = ["evil.example", "localhost.evil.example", "127.0.0.1.evil.example:8501", "0.0.0.0"]
    others += ["a_b.evil.example", "localhost@evil.example", "evil.example:localhost", "[::2]"]
    with serve([], allowed_hosts=hosts_of("127.0.0.1")) as address:
        assert {host: status(address, host) for host in own} == dict.fromkeys(own, 200)
        assert {host: status(address, host) for host in others} == dict.fromkeys(others, 400)


def test_behind_a_proxy():
    names = ["translate.example.org", "*.example.net"]
    with serve([], allowed_hosts=hosts_of("127.0.0.1", names)) as address:
        hosts = ("translate.example.org", "a.example.net:443", "localhost", "example.org")
        assert [status(address, host) for host in hosts] == [200, 200, 200, 400]


@pytest.mark.parametrize(
    ("address", "names", "expected"),
    [
        ("127.0.0.2", [], ["localhost", "127.0.0.1", "[::1]", "127.0.0.2"]),
        ("::1", [], ["localhost", "127.0.0.1", "[::1]", "[::1]"]),
        ("0.0.0.0", [], ["*"]),
        ("192.0.2.7", [], ["*"]),
        ("::", ["a.b"], ["localhost", "127.0.0.1", "[::1]", "[::]", "a.b"]),
        ("127.0.0.1", ["*"], ["localhost", "127.0.0.1", "[::1]", "127.0.0.1", "*"]),
    ],
)
def test_by_address(address, names, expected):
    assert hosts_of(address, names) == expected


@pytest.mark.parametrize("name", ["http://a.b", "a.b:80", "a*", "*a.b", "", "a b", "::1", "a.b/c"])
def test_what_is_no_name(name):
    with pytest.raises(ValueError, match="`allowed_hosts` must be names of hosts, without protoc"):
        hosts_of("127.0.0.1", [name])
