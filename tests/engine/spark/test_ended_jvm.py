"""A JVM that has ended is told in one line, whatever Py4J makes of it."""

from __future__ import annotations

import socket

import pytest
from py4j.clientserver import JavaClient, JavaParameters, PythonParameters
from py4j.java_gateway import GatewayProperty, PythonProxyPool
from py4j.protocol import Py4JNetworkError

from sframe_spark.engine.spark.error_translation import translated_errors
from sframe_spark.errors import ExecutionError

TOLD = "^Spark failed while sorting: its JVM has ended or was killed; restart this program, or its session$"


def test_a_connection_that_is_refused() -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    client = JavaClient(JavaParameters(port=port), PythonParameters(), GatewayProperty(False, PythonProxyPool()))
    with pytest.raises(ExecutionError, match=TOLD), translated_errors("sorting"):
        client.send_command("anything")


def test_a_connection_that_breaks_off() -> None:
    with pytest.raises(ExecutionError, match=TOLD), translated_errors("sorting"):
        raise Py4JNetworkError("Answer from Java side is empty")


def test_connections_of_others_are_not_those_of_spark() -> None:
    with pytest.raises(ConnectionRefusedError), translated_errors("sorting"):
        raise ConnectionRefusedError(111, "Connection refused")
