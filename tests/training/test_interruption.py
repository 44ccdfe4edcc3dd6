"""Signals: the first is kept in mind, the second has its usual effect."""

import os
import signal
import threading

import pytest

from keras_transformer.training.interruption import Interrupted, Interruption


@pytest.fixture(autouse=True)
def handlers():
    """The usual handlers, whatever the tests were started with; a test must leave them behind."""
    usual = {
        signal.SIGINT: signal.default_int_handler,
        signal.SIGTERM: signal.SIG_DFL,
        signal.SIGHUP: signal.SIG_DFL,
    }
    before = {number: signal.signal(number, handler) for number, handler in usual.items()}
    yield usual
    after = {number: signal.getsignal(number) for number in usual}
    for number, handler in before.items():
        signal.signal(number, handler)
    assert after == usual


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_the_first_signal_is_kept_in_mind(number, handlers):
    with Interruption() as interruption:
        assert interruption.received is None
        assert signal.getsignal(number) != handlers[number]
        os.kill(os.getpid(), number)
        assert interruption.received == number
        assert signal.getsignal(number) == handlers[number]
    error = Interrupted(interruption.received)
    assert isinstance(error, KeyboardInterrupt)
    codes = {signal.SIGINT: 130, signal.SIGTERM: 143, signal.SIGHUP: 129}
    assert error.exit_code == codes[number]
    assert number.name in str(error)


def test_standard_error_may_be_a_pipe_that_nobody_reads():
    """As in `train.py 2>&1 | tee log`, where Ctrl-C ends `tee` as well."""
    reader, writer = os.pipe()
    os.close(reader)
    before = os.dup(2)
    os.dup2(writer, 2)
    try:
        with Interruption() as interruption:
            os.kill(os.getpid(), signal.SIGINT)
    finally:
        os.dup2(before, 2)
        os.close(before)
        os.close(writer)
    assert interruption.received == signal.SIGINT


def test_a_second_signal_has_its_usual_effect():
    with Interruption() as interruption:
        os.kill(os.getpid(), signal.SIGTERM)
        assert interruption.received == signal.SIGTERM
        with pytest.raises(KeyboardInterrupt) as raised:
            os.kill(os.getpid(), signal.SIGINT)
    assert not isinstance(raised.value, Interrupted)


def test_an_ignored_signal_stays_ignored(handlers):
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with Interruption() as interruption:
        os.kill(os.getpid(), signal.SIGINT)
        assert interruption.received is None
        os.kill(os.getpid(), signal.SIGTERM)
        assert interruption.received == signal.SIGTERM
    assert signal.signal(signal.SIGINT, handlers[signal.SIGINT]) == signal.SIG_IGN


def test_handlers_come_back_after_an_error(handlers):
    with pytest.raises(ValueError, match="in the block"), Interruption():
        raise ValueError("in the block")
    assert signal.getsignal(signal.SIGINT) == handlers[signal.SIGINT]


def test_another_thread_installs_nothing(handlers):
    seen = []

    def work():
        with Interruption() as interruption:
            seen.append((interruption.received, signal.getsignal(signal.SIGTERM)))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert seen == [(None, handlers[signal.SIGTERM])]
