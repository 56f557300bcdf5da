// Pods that run, with the official JavaScript client: commands, attached streams, ports and logs, against the cluster of
// KUBECONFIG. NODE_MODULES names the folder that has the client.
//
// Prints one line for each check and ends with an exit code other than 0 at the first that fails; with 77 if the client
// is too new for this node.

import { createRequire } from "node:module";
import path from "node:path";
import { PassThrough } from "node:stream";
import { text } from "node:stream/consumers";
import { pathToFileURL } from "node:url";
import { isDeepStrictEqual } from "node:util";

const modules = path.resolve(process.env.NODE_MODULES ?? "node_modules");
const entry = createRequire(path.join(modules, "x.js")).resolve("@kubernetes/client-node");
const k8s = await import(pathToFileURL(entry)).catch((error) => {
  console.log(`the client does not run on node ${process.version}: ${error.message}`);
  process.exit(77);
});

const namespace = "default";

function check(name, held, detail = "") {
  console.log((held ? "ok   " : "FAIL ") + name);
  if (!held) {
    console.error(detail);
    process.exit(1);
  }
}

function equal(name, actual, expected) {
  const detail = `expected ${JSON.stringify(expected)}, got ${JSON.stringify(actual)}`;
  check(name, isDeepStrictEqual(actual, expected), detail);
}

const config = new k8s.KubeConfig();
config.loadFromDefault();
const core = config.makeApiClient(k8s.CoreV1Api);

// Creates a pod with one container, and waits for a phase.
async function run(name, phase, container) {
  const spec = { restartPolicy: "Never", containers: [{ name: "main", ...container }] };
  await core.createNamespacedPod({ namespace, body: { metadata: { name }, spec } });
  await new Promise((done, failed) => {
    const watching = new k8s.Watch(config).watch(
      `/api/v1/namespaces/${namespace}/pods`,
      { fieldSelector: `metadata.name=${name}` },
      (_, pod) => {
        if (pod.status.phase !== phase) return;
        done();
        watching.then((request) => request.abort());
      },
      (error) => failed(error),
    );
  });
}

// Resolves when a WebSocket is closed.
const closed = (socket) => new Promise((done) => socket.on("close", done));

async function commands() {
  const [stdout, stderr, stdin] = [new PassThrough(), new PassThrough(), new PassThrough()];
  const command = ["sh", "-c", "read line; echo got $line; echo bad >&2; exit 7"];
  let status;
  const socket = await new k8s.Exec(config).exec(
    namespace, "web", "main", command, stdout, stderr, stdin, false, (result) => (status = result),
  );
  stdin.write("some words\n");
  await closed(socket);
  stdout.end();
  stderr.end();
  equal("exec", [await text(stdout), await text(stderr)], ["got some words\n", "bad\n"]);
  equal("exit code", status.details.causes[0].message, "7");
}

async function attached() {
  const script = 'while read line; do echo "got $line"; if [ "$line" = stop ]; then exit 5; fi; done';
  await run("echoes", "Running", { image: "busybox", command: ["sh", "-c", script], stdin: true });
  const [stdout, stdin] = [new PassThrough(), new PassThrough()];
  const socket = await new k8s.Attach(config).attach(namespace, "echoes", "main", stdout, null, stdin, false);
  stdin.write("one\n");
  stdin.write("stop\n");
  await closed(socket);
  stdout.end();
  equal("attach", await text(stdout), "got one\ngot stop\n");
}

async function ports() {
  const [output, input] = [new PassThrough(), new PassThrough()];
  const forward = new k8s.PortForward(config);
  const socket = await forward.portForward(namespace, "web", [80], output, null, input);
  input.write("GET / HTTP/1.1\r\nHost: web\r\nConnection: close\r\n\r\n");
  await closed(socket);
  output.end();
  const answer = await text(output);
  check("forwarded port", answer.startsWith("HTTP/1.1 200 OK") && answer.includes("Welcome to nginx!"), answer);

  const errors = new PassThrough();
  const refused = await forward.portForward(namespace, "web", [81], new PassThrough(), errors, new PassThrough());
  await closed(refused);
  errors.end();
  const error = await text(errors);
  check("error of a closed port", error.includes("connection refused"), error);
}

async function logs() {
  await run("lines", "Succeeded", { image: "busybox", command: ["sh", "-c", "for i in 1 2 3; do echo line $i; done"] });
  const output = new PassThrough();
  await new k8s.Log(config).log(namespace, "lines", "main", output, { follow: true });
  equal("followed log", await text(output), "line 1\nline 2\nline 3\n");
  const last = await core.readNamespacedPodLog({ name: "lines", namespace, tailLines: 1 });
  equal("tail", last, "line 3\n");
}

await run("web", "Running", { image: "nginx" });
for (const part of [commands, attached, ports, logs]) await part();
process.exit(0);
