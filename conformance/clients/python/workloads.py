"""Pods that run, with the official Python client: commands, attached streams, ports and logs, against the cluster of KUBECONFIG.

Prints one line for each check and ends with an exit code other than 0 at the first that fails.
"""

import sys

from kubernetes import client, config, watch
from kubernetes.client.exceptions import ApiException
from kubernetes.stream import portforward, stream

NAMESPACE = "default"
SECONDS = 60


def check(name, held, detail=""):
    print(("ok   " if held else "FAIL ") + name, flush=True)
    if not held:
        print(detail, file=sys.stderr)
        sys.exit(1)


def equal(name, actual, expected):
    check(name, actual == expected, f"expected {expected!r}, got {actual!r}")


def run(core, name, wanted, **container):
    """Creates a pod with one container, and waits for it."""
    spec = client.V1PodSpec(
        containers=[client.V1Container(name="main", **container)],
        restart_policy="Never",
        termination_grace_period_seconds=1,
    )
    core.create_namespaced_pod(NAMESPACE, client.V1Pod(metadata=client.V1ObjectMeta(name=name), spec=spec))
    events = watch.Watch()
    for event in events.stream(
        core.list_namespaced_pod, NAMESPACE, field_selector=f"metadata.name={name}", timeout_seconds=SECONDS
    ):
        if event["object"].status.phase == wanted:
            events.stop()
            return
    check(f"pod {name} is {wanted}", False)


def commands(core):
    def execute(*command, **options):
        options = {"stderr": True, "stdin": False, "stdout": True, "tty": False, **options}
        return stream(core.connect_get_namespaced_pod_exec, "web", NAMESPACE, command=list(command), **options)

    equal("exec", execute("sh", "-c", "echo to stdout; hostname"), "to stdout\nweb\n")
    both = execute("sh", "-c", "echo to stdout; echo to stderr >&2; exit 7", _preload_content=False)
    both.run_forever(timeout=SECONDS)
    equal("streams", (both.read_stdout(), both.read_stderr()), ("to stdout\n", "to stderr\n"))
    equal("exit code", both.returncode, 7)

    typed = execute("sh", stdin=True, _preload_content=False)
    typed.write_stdin("echo one\n")
    equal("answer", typed.readline_stdout(timeout=SECONDS), "one")
    typed.write_stdin("echo two >&2\n")
    equal("answer on stderr", typed.readline_stderr(timeout=SECONDS), "two")
    typed.write_stdin("exit 3\n")
    typed.run_forever(timeout=SECONDS)
    equal("exit code of a shell", typed.returncode, 3)

    try:
        execute("true", container="other")
        check("unknown container", False, "it was not refused")
    except ApiException as error:
        check("unknown container", "400" in error.reason or error.status == 400, error)


def attached(core):
    script = 'while read line; do echo "got $line"; if [ "$line" = stop ]; then exit 5; fi; done'
    run(core, "echoes", "Running", image="busybox", command=["sh", "-c", script], stdin=True)
    typed = stream(
        core.connect_get_namespaced_pod_attach, "echoes", NAMESPACE,
        stderr=True, stdin=True, stdout=True, tty=False, _preload_content=False,
    )
    typed.write_stdin("hello\n")
    equal("attach", typed.readline_stdout(timeout=SECONDS), "got hello")
    typed.write_stdin("stop\n")
    typed.run_forever(timeout=SECONDS)
    equal("attach ends with the container", typed.read_stdout(), "got stop\n")
    equal("log of the container", core.read_namespaced_pod_log("echoes", NAMESPACE), "got hello\ngot stop\n")


def ports(core):
    forwarded = portforward(core.connect_get_namespaced_pod_portforward, "web", NAMESPACE, ports="80,81")
    http = forwarded.socket(80)
    http.setblocking(True)
    http.sendall(b"GET / HTTP/1.1\r\nHost: web\r\nConnection: close\r\n\r\n")
    answer = b""
    while True:
        read = http.recv(1024)
        if not read:
            break
        answer += read
    http.close()
    check("forwarded port", answer.startswith(b"HTTP/1.1 200 OK") and b"Welcome to nginx!" in answer, answer)
    equal("no error", forwarded.error(80), None)
    closed = forwarded.socket(81)
    closed.setblocking(True)
    equal("closed port", closed.recv(1), b"")
    check("error of a closed port", "connection refused" in (forwarded.error(81) or ""), forwarded.error(81))


def logs(core):
    script = "for i in 1 2 3; do echo line $i; done"
    run(core, "lines", "Succeeded", image="busybox", command=["sh", "-c", script])
    equal("log", core.read_namespaced_pod_log("lines", NAMESPACE), "line 1\nline 2\nline 3\n")
    equal("tail", core.read_namespaced_pod_log("lines", NAMESPACE, tail_lines=1), "line 3\n")
    followed = list(watch.Watch().stream(core.read_namespaced_pod_log, name="lines", namespace=NAMESPACE))
    equal("followed log", followed, ["line 1", "line 2", "line 3"])


def main():
    config.load_kube_config()
    core = client.CoreV1Api()
    run(core, "web", "Running", image="nginx")
    for part in [commands, attached, ports, logs]:
        part(core)


if __name__ == "__main__":
    main()
