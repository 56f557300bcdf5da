// What a program with the official JavaScript client does all day, against the cluster of KUBECONFIG.
// NODE_MODULES names the folder that has the client.
//
// Prints one line for each check and ends with an exit code other than 0 at the first that fails; with 77 if the client
// is too new for this node.

import { isDeepStrictEqual } from "node:util";
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";
import path from "node:path";

const modules = path.resolve(process.env.NODE_MODULES ?? "node_modules");
const entry = createRequire(path.join(modules, "x.js")).resolve("@kubernetes/client-node");
const k8s = await import(pathToFileURL(entry)).catch((error) => {
  console.log(`the client does not run on node ${process.version}: ${error.message}`);
  process.exit(77);
});

const namespace = "node-client";

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

async function refused(name, code, reason, call) {
  let answer;
  try {
    answer = await call();
  } catch (error) {
    const body = typeof error.body === "string" ? JSON.parse(error.body) : error.body;
    if (body === undefined) throw error;
    equal(name, [error.code, body.status, body.reason, body.code], [code, "Failure", reason, code]);
    return body;
  }
  check(name, false, answer);
}

const names = (list) => list.items.map((item) => item.metadata.name);
const patchAs = (type) => k8s.setHeaderOptions("Content-Type", type);

const config = new k8s.KubeConfig();
config.loadFromDefault();
const core = config.makeApiClient(k8s.CoreV1Api);
const apps = config.makeApiClient(k8s.AppsV1Api);

async function discovery() {
  const version = await config.makeApiClient(k8s.VersionApi).getCode();
  check("version", version.major === "1" && Number.parseInt(version.minor) >= 36, version);
  const groups = await config.makeApiClient(k8s.ApisApi).getAPIVersions();
  const group = groups.groups.find((group) => group.name === "apps");
  equal("group apps", group.preferredVersion.groupVersion, "apps/v1");
  const { resources } = await apps.getAPIResources();
  equal("resource deployments", resources.find((r) => r.name === "deployments").kind, "Deployment");
}

async function configMaps() {
  const body = { metadata: { name: "a", labels: { n: "1" } }, data: { x: "1" } };
  const made = await core.createNamespacedConfigMap({ namespace, body });
  equal("create", [made.metadata.name, made.data], ["a", { x: "1" }]);
  const again = await refused("create twice", 409, "AlreadyExists", () =>
    core.createNamespacedConfigMap({ namespace, body }),
  );
  equal("message", again.message, 'configmaps "a" already exists');
  await refused("read missing", 404, "NotFound", () => core.readNamespacedConfigMap({ namespace, name: "b" }));
  const read = await core.readNamespacedConfigMap({ namespace, name: "a" });
  equal("read", read.metadata.uid, made.metadata.uid);

  read.data.x = "2";
  equal("replace", (await core.replaceNamespacedConfigMap({ namespace, name: "a", body: read })).data, { x: "2" });
  await refused("replace stale", 409, "Conflict", () =>
    core.replaceNamespacedConfigMap({ namespace, name: "a", body: made }),
  );

  const patch = async (type, body, more = {}) =>
    (await core.patchNamespacedConfigMap({ namespace, name: "a", body, ...more }, patchAs(type))).data;
  const { PatchStrategy } = k8s;
  equal("strategic patch", await patch(PatchStrategy.StrategicMergePatch, { data: { y: "3" } }), { x: "2", y: "3" });
  equal("merge patch", await patch(PatchStrategy.MergePatch, { data: { x: null } }), { y: "3" });
  const operations = [{ op: "replace", path: "/data/y", value: "4" }];
  equal("json patch", await patch(PatchStrategy.JsonPatch, operations), { y: "4" });
  const applied = { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "a" }, data: { z: "5" } };
  const apply = await patch(PatchStrategy.ServerSideApply, applied, { fieldManager: "sequence" });
  equal("server-side apply", apply, { y: "4", z: "5" });
  const tried = await patch(PatchStrategy.MergePatch, { data: null }, { dryRun: "All" });
  equal("dry run", tried, undefined);
  equal("dry run kept nothing", (await core.readNamespacedConfigMap({ namespace, name: "a" })).data, apply);
  const invalid = await refused("invalid", 422, "Invalid", () =>
    core.createNamespacedConfigMap({ namespace, body: { metadata: { name: "Not_A_Name" } } }),
  );
  equal("cause", invalid.details.causes[0].field, "metadata.name");
  equal("delete", (await core.deleteNamespacedConfigMap({ namespace, name: "a" })).status, "Success");
  await refused("delete missing", 404, "NotFound", () => core.deleteNamespacedConfigMap({ namespace, name: "a" }));
}

async function lists() {
  for (const [name, color] of [["l1", "red"], ["l2", "blue"], ["l3", "red"], ["l4", "red"]]) {
    await core.createNamespacedConfigMap({ namespace, body: { metadata: { name, labels: { color } } } });
  }
  equal("list", names(await core.listNamespacedConfigMap({ namespace })), ["l1", "l2", "l3", "l4"]);
  const red = { namespace, labelSelector: "color=red" };
  equal("list by label", names(await core.listNamespacedConfigMap(red)), ["l1", "l3", "l4"]);
  const one = { namespace, fieldSelector: "metadata.name=l2" };
  equal("list by field", names(await core.listNamespacedConfigMap(one)), ["l2"]);
  const first = await core.listNamespacedConfigMap({ namespace, limit: 3 });
  equal("limit", [names(first), first.metadata.remainingItemCount], [["l1", "l2", "l3"], 1]);
  const rest = await core.listNamespacedConfigMap({ namespace, limit: 3, _continue: first.metadata._continue });
  equal("continue", [names(rest), rest.metadata._continue], [["l4"], undefined]);
  await core.deleteCollectionNamespacedConfigMap(red);
  equal("delete collection", names(await core.listNamespacedConfigMap({ namespace })), ["l2"]);
}

async function watches() {
  const path = `/api/v1/namespaces/${namespace}/configmaps`;
  const start = (await core.listNamespacedConfigMap({ namespace })).metadata.resourceVersion;
  const seen = [];
  let stop;
  const ended = new Promise((resolve, reject) => {
    const each = (type, object) => {
      seen.push([type, object.metadata.name]);
      if (seen.length === 2) stop.abort();
    };
    const done = (error) => (error && error.name !== "AbortError" ? reject(error) : resolve());
    new k8s.Watch(config)
      .watch(path, { resourceVersion: start, timeoutSeconds: 30 }, each, done)
      .then((controller) => (stop = controller))
      .then(() => core.createNamespacedConfigMap({ namespace, body: { metadata: { name: "w" } } }))
      .then(() => core.deleteNamespacedConfigMap({ namespace, name: "w" }))
      .catch(reject);
  });
  await ended;
  equal("watch", seen, [["ADDED", "w"], ["DELETED", "w"]]);
}

async function informer() {
  const list = () => core.listNamespacedConfigMap({ namespace });
  const informer = k8s.makeInformer(config, `/api/v1/namespaces/${namespace}/configmaps`, list);
  const added = new Promise((resolve, reject) => {
    informer.on("add", (object) => object.metadata.name === "i" && resolve());
    informer.on("error", reject);
  });
  await informer.start();
  equal("informer list", informer.list().map((item) => item.metadata.name), ["l2"]);
  await core.createNamespacedConfigMap({ namespace, body: { metadata: { name: "i" } } });
  await added;
  check("informer", informer.get("i", namespace) !== undefined);
  await informer.stop();
}

async function pods() {
  const spec = { containers: [{ name: "main", image: "nginx" }] };
  const pod = await core.createNamespacedPod({ namespace, body: { metadata: { generateName: "p-" }, spec } });
  const { name } = pod.metadata;
  check("generated name", /^p-.{5}$/.test(name), name);
  equal("defaults", [pod.spec.restartPolicy, pod.status.phase], ["Always", "Pending"]);
  await core.patchNamespacedPodStatus(
    { namespace, name, body: { status: { phase: "Running", podIP: "10.1.2.3" } } },
    patchAs(k8s.PatchStrategy.MergePatch),
  );
  equal("status", (await core.readNamespacedPodStatus({ namespace, name })).status.podIP, "10.1.2.3");
  await core.deleteNamespacedPod({ namespace, name, gracePeriodSeconds: 0 });
  await refused("pod is gone", 404, "NotFound", () => core.readNamespacedPod({ namespace, name }));
}

async function deployments() {
  const labels = { app: "d" };
  const template = { metadata: { labels }, spec: { containers: [{ name: "main", image: "nginx" }] } };
  const body = { metadata: { name: "d" }, spec: { selector: { matchLabels: labels }, template } };
  const made = await apps.createNamespacedDeployment({ namespace, body });
  equal("deployment", [made.spec.replicas, made.metadata.generation], [1, 1]);
  const scale = await apps.readNamespacedDeploymentScale({ namespace, name: "d" });
  scale.spec.replicas = 3;
  const scaled = await apps.replaceNamespacedDeploymentScale({ namespace, name: "d", body: scale });
  equal("scale", scaled.spec.replicas, 3);
  equal("generation", (await apps.readNamespacedDeployment({ namespace, name: "d" })).metadata.generation, 2);
  await apps.deleteNamespacedDeployment({ namespace, name: "d" });
  equal("deployments", (await apps.listNamespacedDeployment({ namespace })).items, []);
}

async function objects() {
  const api = k8s.KubernetesObjectApi.makeApiClient(config);
  const documents = k8s.loadAllYaml(`
apiVersion: v1
kind: Secret
metadata: {name: s, namespace: ${namespace}}
stringData: {a: b}
---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: b, namespace: ${namespace}}
spec: {minAvailable: 1, selector: {matchLabels: {app: d}}}
`);
  for (const document of documents) await api.create(document);
  equal("from yaml", (await api.read(documents[0])).data, { a: "Yg==" });
  equal("any kind", (await api.read(documents[1])).spec.minAvailable, 1);
  const listed = await api.list("v1", "Secret", namespace);
  equal("list any kind", names(listed), ["s"]);
  for (const document of documents) await api.delete(document);
  await refused("deleted", 404, "NotFound", () => api.read(documents[0]));
}

await discovery();
await core.createNamespace({ body: { metadata: { name: namespace } } });
await configMaps();
await lists();
await watches();
await informer();
await pods();
await deployments();
await objects();
process.exit(0);
