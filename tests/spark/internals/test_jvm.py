"""What is taken of the objects behind PySpark's, and what they say when there is no JVM any more."""

import json
import socket
import subprocess
import sys

import pytest
from py4j.protocol import Py4JError

from pitstop.spark.internals.jvm import classes, is_lost_java

KILLED = """
import json, os, signal, threading
from pyspark.java_gateway import launch_gateway
from pitstop.spark.internals.jvm import is_lost_java

told = []


def call(gateway, wait):
    try:
        gateway.jvm.java.lang.Thread.sleep(wait)
        told.append("the JVM has answered")
    except Exception as error:
        told.append([type(error).__name__, is_lost_java(error)])


for stopped_before in (False, True):  # it has read what it was asked, or has not
    gateway = launch_gateway()
    call(gateway, 1)
    if stopped_before:
        gateway.proc.send_signal(signal.SIGSTOP)
        os.waitpid(gateway.proc.pid, os.WUNTRACED)  # until then it goes on reading
    threading.Timer(0.5, gateway.proc.kill).start()
    call(gateway, 60_000)
    call(gateway, 1)
    thread = threading.Thread(target=call, args=(gateway, 1))
    thread.start()
    thread.join()
print(json.dumps(told))
"""


@pytest.mark.long
def test_every_call_that_finds_no_jvm_says_so_also_one_that_was_under_way_as_it_died():
    run = subprocess.run([sys.executable, "-c", KILLED], capture_output=True, text=True, timeout=120)
    assert run.returncode == 0, run.stderr
    answered, *lost = json.loads(run.stdout)
    again = lost.pop(3)
    assert answered == again == "the JVM has answered"
    assert [said[1] for said in lost] == [True] * 6, lost
    assert "Py4JError" in {said[0] for said in lost}, f"py4j says another thing now of a call that was under way: {lost}"


def test_what_java_itself_answers_is_no_sign_that_it_is_gone(spark):
    with pytest.raises(Py4JError) as raised:
        classes(spark).java.lang.Integer.parseInt("none", "of", "these")
    assert not is_lost_java(raised.value)


def test_what_a_job_cannot_reach_is_no_sign_of_it_either():
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    with pytest.raises(ConnectionRefusedError) as raised:
        socket.create_connection(("127.0.0.1", port), timeout=5)
    assert not is_lost_java(raised.value)
