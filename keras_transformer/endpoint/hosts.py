"""Names under which a server answers, so that no page reaches it by a name of its own.

A page from elsewhere may have its own name lead to this machine (DNS rebinding). The browser then
takes the server for a part of that page, which reads all replies; but the requests' `Host` is still
the page's.
"""

import ipaddress
import re
from collections.abc import Sequence

from keras_transformer.config.checks import require

_OF_THIS_MACHINE = ("localhost", "127.0.0.1", "[::1]")
_PATTERN = re.compile(r"\*|(\*\.)?[\w.-]+|\[[\da-f:.]+\]", re.IGNORECASE | re.ASCII)


def hosts_of(address: str, names: Sequence[str] = ()) -> list[str]:
    """Returns the hosts that requests may name.

    They are the machine's own on loopback. Elsewhere they are any, unless some are given: others
    reach the server by names that it cannot know.

    Args:
        address: The address that the server is bound to, of IPv4 or IPv6.
        names: Further names, without ports, as that of a proxy before the server; "*.example.org"
            for all below one, "*" for any.

    Raises:
        ValueError: If a name is none.

    Example:
        >>> hosts_of("127.0.0.1", ["translate.example.org"])[-1]
        'translate.example.org'
        >>> hosts_of("0.0.0.0")
        ['*']
    """
    for name in names:
        require(
            _PATTERN.fullmatch(name) is not None,
            "allowed_hosts",
            "names of hosts, without protocol and port, *.NAME for all below one, or * for any",
            name,
        )
    parsed = ipaddress.ip_address(address)
    if not (names or parsed.is_loopback):
        return ["*"]
    return [*_OF_THIS_MACHINE, f"[{address}]" if parsed.version == 6 else address, *names]
