"""SIGINT, SIGTERM and SIGHUP: noticed at once, acted upon when the running step is done."""

import signal
import threading
from collections.abc import Callable
from types import FrameType
from typing import Any

from keras_transformer.console import write_unbuffered

# The last of them comes when a terminal is closed, or its connection ends.
_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Interrupted(KeyboardInterrupt):
    """Training has ended on a signal, after a checkpoint was written.

    Args:
        number: The signal.
    """

    def __init__(self, number: signal.Signals):
        super().__init__(f"Stopped by {number.name} after a checkpoint was written.")
        self.exit_code = 128 + number


class Interruption:
    """A context in which the first SIGINT, SIGTERM or SIGHUP is kept in mind and a second one ends.

    Handlers are those of the whole process, so only its main thread can install them; in another
    thread the context does nothing. A signal that the process was started to ignore, as a shell
    script starts `command &` to ignore SIGINT and `nohup` SIGHUP, stays ignored.

    Attributes:
        received: The signal that came, if one did.

    Example:
        >>> with Interruption() as interruption:
        ...     signal.raise_signal(signal.SIGTERM)
        ...     print(interruption.received.name)
        SIGTERM
    """

    def __init__(self) -> None:
        self.received: signal.Signals | None = None
        self._previous: dict[signal.Signals, Callable[..., Any] | int | None] = {}

    def __enter__(self) -> "Interruption":
        if threading.current_thread() is threading.main_thread():
            for number in _SIGNALS:
                if signal.getsignal(number) != signal.SIG_IGN:
                    self._previous[number] = signal.signal(number, self._receive)
        return self

    def __exit__(self, *error: Any) -> None:
        self._restore()

    def _receive(self, number: int, frame: FrameType | None) -> None:
        self.received = signal.Signals(number)
        # A second signal has the effect that it would have had without this context.
        self._restore()
        message = f"\n{self.received.name}: a checkpoint follows; a second one ends without it.\n"
        # Not through a buffer, in whose midst the handler may have been called.
        write_unbuffered(message.encode())

    def _restore(self) -> None:
        while self._previous:
            number, handler = self._previous.popitem()
            signal.signal(number, signal.SIG_DFL if handler is None else handler)
