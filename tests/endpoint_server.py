"""An endpoint in a thread of the tests' process, on a free port of loopback."""

import contextlib
import threading
import time

from keras_transformer.endpoint.app import make_app
from keras_transformer.endpoint.limits import Limits
from keras_transformer.endpoint.models import ServedModel, ServedModels
from keras_transformer.endpoint.server import bind, make_server
from keras_transformer.endpoint.service import Service
from keras_transformer.endpoint.signature import Signature


def of_loaded(loaded, name, version=1):
    """Makes a served model of a SavedModel that is loaded already."""
    signatures = {key: Signature.of(key, one) for key, one in loaded.signatures.items()}
    return ServedModel(name, version, signatures, {}, loaded)


@contextlib.contextmanager
def serve(models, limits=Limits(), grace_seconds=5, allowed_hosts=("*",)):
    """Serves models; gives `host:port`, and in the end takes no more and answers what it has."""
    app = make_app(Service(ServedModels(models), limits), allowed_hosts)
    server = make_server(app, grace_seconds)
    with bind("127.0.0.1", 0) as address:
        thread = threading.Thread(target=server.run, args=([address],), daemon=True)
        thread.start()
        while not server.started:
            assert thread.is_alive(), "the server did not start"
            time.sleep(0.01)
        try:
            yield f"127.0.0.1:{address.getsockname()[1]}"
        finally:
            server.should_exit = True
            thread.join(60)
            assert not thread.is_alive(), "the server did not end"
