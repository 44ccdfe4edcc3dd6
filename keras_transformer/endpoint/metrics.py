"""What Prometheus reads: how many requests, how long they took, how well they were joined."""

from http import HTTPStatus

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

# Where TF Serving has them, by the bundle's `monitoring.config`.
PATH = "/monitoring/prometheus/metrics"


class Metrics:
    """The metrics of an endpoint; several in one process do not disturb each other.

    Example:
        >>> metrics = Metrics()
        >>> metrics.observe("/translate", 200, 0.03)
        >>> b'endpoint_requests_total{route="/translate",status="200"} 1.0' in metrics.text()
        True
    """

    def __init__(self) -> None:
        self._registry = registry = CollectorRegistry()
        self._requests = Counter(
            "endpoint_requests",
            "Requests that were answered.",
            ["route", "status"],
            registry=registry,
        )
        self._seconds = Histogram(
            "endpoint_request_seconds", "Time to the end of a reply.", ["route"], registry=registry
        )
        sizes = [2**i for i in range(11)]
        self.batch_rows = Histogram(
            "endpoint_batch_rows", "Strings of the batches.", buckets=sizes, registry=registry
        )
        self.waiting_rows = Gauge("endpoint_waiting_rows", "Strings that wait.", registry=registry)

    def observe(self, route: str, status: int | HTTPStatus, seconds: float) -> None:
        """Counts a request.

        Args:
            route: The pattern of its address, of which there are few.
            status: Of the reply.
            seconds: How long it took.
        """
        self._requests.labels(route, int(status)).inc()
        self._seconds.labels(route).observe(seconds)

    def text(self) -> bytes:
        """Returns all in Prometheus's text format."""
        return generate_latest(self._registry)
