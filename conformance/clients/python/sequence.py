"""What a program with the official Python client does all day, against the cluster of KUBECONFIG.

Prints one line for each check and ends with an exit code other than 0 at the first that fails.
"""

import json
import os
import sys
import tempfile

from kubernetes import client, config, dynamic, utils, watch
from kubernetes.client.exceptions import ApiException

NAMESPACE = "python-client"


def check(name, held, detail=""):
    print(("ok   " if held else "FAIL ") + name, flush=True)
    if not held:
        print(detail, file=sys.stderr)
        sys.exit(1)


def equal(name, actual, expected):
    check(name, actual == expected, f"expected {expected!r}, got {actual!r}")


def refused(name, status, reason, call):
    try:
        call()
    except ApiException as error:
        body = json.loads(error.body)
        actual = (error.status, body["kind"], body["status"], body["reason"], body["code"])
        equal(name, actual, (status, "Status", "Failure", reason, status))
        return body
    check(name, False, "it was not refused")


def discovery():
    version = client.VersionApi().get_code()
    check("version", version.major == "1" and int(version.minor) >= 36, version)
    equal("core versions", client.CoreApi().get_api_versions().versions, ["v1"])
    groups = {group.name: group for group in client.ApisApi().get_api_versions().groups}
    equal("group apps", groups["apps"].preferred_version.group_version, "apps/v1")
    resources = {r.name: r for r in client.AppsV1Api().get_api_resources().resources}
    equal("resource deployments", resources["deployments"].kind, "Deployment")
    check("subresource scale", "deployments/scale" in resources)


def configmaps(core):
    body = client.V1ConfigMap(
        metadata=client.V1ObjectMeta(name="a", labels={"n": "1"}), data={"x": "1"}
    )
    made = core.create_namespaced_config_map(NAMESPACE, body)
    equal("create", (made.metadata.name, made.data), ("a", {"x": "1"}))
    check("server fields", all([made.metadata.uid, made.metadata.resource_version, made.metadata.creation_timestamp]))
    status = refused("create twice", 409, "AlreadyExists", lambda: core.create_namespaced_config_map(NAMESPACE, body))
    equal("message", status["message"], 'configmaps "a" already exists')
    equal("details", status["details"], {"name": "a", "kind": "configmaps"})
    refused("read missing", 404, "NotFound", lambda: core.read_namespaced_config_map("b", NAMESPACE))
    read = core.read_namespaced_config_map("a", NAMESPACE)
    equal("read", read.to_dict(), made.to_dict())

    read.data["x"] = "2"
    replaced = core.replace_namespaced_config_map("a", NAMESPACE, read)
    equal("replace", replaced.data, {"x": "2"})
    refused("replace stale", 409, "Conflict", lambda: core.replace_namespaced_config_map("a", NAMESPACE, made))

    patched = core.patch_namespaced_config_map("a", NAMESPACE, {"data": {"y": "3"}})
    equal("strategic patch", patched.data, {"x": "2", "y": "3"})
    patched = core.patch_namespaced_config_map(
        "a", NAMESPACE, {"data": {"x": None}}, _content_type="application/merge-patch+json"
    )
    equal("merge patch", patched.data, {"y": "3"})
    patched = core.patch_namespaced_config_map(
        "a", NAMESPACE, [{"op": "replace", "path": "/data/y", "value": "4"}]
    )
    equal("json patch", patched.data, {"y": "4"})
    tried = core.patch_namespaced_config_map("a", NAMESPACE, {"data": {"y": "5"}}, dry_run="All")
    equal("dry run", tried.data, {"y": "5"})
    equal("dry run kept nothing", core.read_namespaced_config_map("a", NAMESPACE).data, {"y": "4"})
    invalid = client.V1ConfigMap(metadata=client.V1ObjectMeta(name="Not_A_Name"))
    status = refused("invalid", 422, "Invalid", lambda: core.create_namespaced_config_map(NAMESPACE, invalid))
    equal("cause", status["details"]["causes"][0]["field"], "metadata.name")
    core.delete_namespaced_config_map("a", NAMESPACE)
    refused("delete", 404, "NotFound", lambda: core.read_namespaced_config_map("a", NAMESPACE))
    refused("delete missing", 404, "NotFound", lambda: core.delete_namespaced_config_map("a", NAMESPACE))


def lists(core):
    for name, color in [("l1", "red"), ("l2", "blue"), ("l3", "red"), ("l4", "red")]:
        body = client.V1ConfigMap(metadata=client.V1ObjectMeta(name=name, labels={"color": color}))
        core.create_namespaced_config_map(NAMESPACE, body)

    def names(found):
        return [item.metadata.name for item in found.items]

    equal("list", names(core.list_namespaced_config_map(NAMESPACE)), ["l1", "l2", "l3", "l4"])
    red = core.list_namespaced_config_map(NAMESPACE, label_selector="color=red")
    equal("list by label", names(red), ["l1", "l3", "l4"])
    one = core.list_namespaced_config_map(NAMESPACE, field_selector="metadata.name=l2")
    equal("list by field", names(one), ["l2"])
    first = core.list_namespaced_config_map(NAMESPACE, limit=3)
    equal("limit", (names(first), first.metadata.remaining_item_count), (["l1", "l2", "l3"], 1))
    rest = core.list_namespaced_config_map(NAMESPACE, limit=3, _continue=first.metadata._continue)
    equal("continue", (names(rest), rest.metadata._continue), (["l4"], None))
    equal("same version", rest.metadata.resource_version, first.metadata.resource_version)
    everywhere = core.list_config_map_for_all_namespaces(label_selector="color=blue")
    equal("list everywhere", names(everywhere), ["l2"])
    core.delete_collection_namespaced_config_map(NAMESPACE, label_selector="color=red")
    equal("delete collection", names(core.list_namespaced_config_map(NAMESPACE)), ["l2"])


def watches(core):
    start = core.list_namespaced_config_map(NAMESPACE).metadata.resource_version
    core.create_namespaced_config_map(NAMESPACE, client.V1ConfigMap(metadata=client.V1ObjectMeta(name="w")))
    stream = watch.Watch()
    seen = []
    for event in stream.stream(
        core.list_namespaced_config_map, NAMESPACE, resource_version=start, timeout_seconds=30
    ):
        seen.append((event["type"], event["object"].metadata.name))
        if len(seen) == 1:
            core.delete_namespaced_config_map("w", NAMESPACE)
        elif len(seen) == 2:
            stream.stop()
    equal("watch", seen, [("ADDED", "w"), ("DELETED", "w")])


def pods(core):
    spec = client.V1PodSpec(containers=[client.V1Container(name="main", image="nginx")])
    body = client.V1Pod(metadata=client.V1ObjectMeta(generate_name="p-"), spec=spec)
    pod = core.create_namespaced_pod(NAMESPACE, body)
    name = pod.metadata.name
    check("generated name", name.startswith("p-") and len(name) == 7, name)
    equal("defaults", (pod.spec.restart_policy, pod.status.phase), ("Always", "Pending"))
    core.patch_namespaced_pod_status(name, NAMESPACE, {"status": {"phase": "Running", "podIP": "10.1.2.3"}})
    equal("status", core.read_namespaced_pod_status(name, NAMESPACE).status.pod_ip, "10.1.2.3")
    refused(
        "unchangeable", 422, "Invalid", lambda: core.patch_namespaced_pod(name, NAMESPACE, {"spec": {"hostNetwork": True}})
    )
    core.delete_namespaced_pod(name, NAMESPACE, grace_period_seconds=0)
    refused("pod is gone", 404, "NotFound", lambda: core.read_namespaced_pod(name, NAMESPACE))


def deployments(apps):
    labels = {"app": "d"}
    template = client.V1PodTemplateSpec(
        metadata=client.V1ObjectMeta(labels=labels),
        spec=client.V1PodSpec(containers=[client.V1Container(name="main", image="nginx")]),
    )
    spec = client.V1DeploymentSpec(selector=client.V1LabelSelector(match_labels=labels), template=template)
    body = client.V1Deployment(metadata=client.V1ObjectMeta(name="d"), spec=spec)
    made = apps.create_namespaced_deployment(NAMESPACE, body)
    equal("deployment", (made.spec.replicas, made.metadata.generation), (1, 1))
    side = {"spec": {"template": {"spec": {"containers": [{"name": "side", "image": "busybox"}]}}}}
    patched = apps.patch_namespaced_deployment("d", NAMESPACE, side)
    equal("containers merge by name", sorted(c.name for c in patched.spec.template.spec.containers), ["main", "side"])
    scale = apps.read_namespaced_deployment_scale("d", NAMESPACE)
    scale.spec.replicas = 3
    equal("scale", apps.replace_namespaced_deployment_scale("d", NAMESPACE, scale).spec.replicas, 3)
    equal("generation", apps.read_namespaced_deployment("d", NAMESPACE).metadata.generation, 3)
    apps.delete_namespaced_deployment("d", NAMESPACE)
    equal("deployments", apps.list_namespaced_deployment(NAMESPACE).items, [])


def dynamic_client():
    found = dynamic.DynamicClient(client.ApiClient(), cache_file=os.path.join(tempfile.mkdtemp(), "discovery"))
    api = found.resources.get(api_version="v1", kind="Secret")
    equal("discovered", (api.name, api.namespaced), ("secrets", True))
    made = api.create(namespace=NAMESPACE, body={"kind": "Secret", "metadata": {"name": "s"}, "stringData": {"a": "b"}})
    equal("dynamic create", made.data.to_dict(), {"a": "Yg=="})
    applied = api.server_side_apply(
        namespace=NAMESPACE,
        body={"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}, "data": {"c": "ZA=="}},
        field_manager="sequence",
    )
    equal("server-side apply", applied.data.to_dict(), {"a": "Yg==", "c": "ZA=="})
    equal("dynamic list", [item.metadata.name for item in api.get(namespace=NAMESPACE).items], ["s"])
    equal("dynamic delete", api.delete(name="s", namespace=NAMESPACE).status, "Success")
    try:
        api.get(name="s", namespace=NAMESPACE)
        check("dynamic error", False, "it was found")
    except dynamic.exceptions.NotFoundError as error:
        equal("dynamic error", error.status, 404)


def manifests(core):
    documents = f"""
apiVersion: v1
kind: ConfigMap
metadata: {{name: from-yaml, namespace: {NAMESPACE}}}
data: {{x: "1"}}
---
apiVersion: apps/v1
kind: Deployment
metadata: {{name: from-yaml, namespace: {NAMESPACE}}}
spec:
  selector: {{matchLabels: {{app: y}}}}
  template:
    metadata: {{labels: {{app: y}}}}
    spec: {{containers: [{{name: c, image: nginx}}]}}
"""
    with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
        file.write(documents)
        file.flush()
        utils.create_from_yaml(client.ApiClient(), file.name)
        equal("create from yaml", core.read_namespaced_config_map("from-yaml", NAMESPACE).data, {"x": "1"})
        try:
            utils.create_from_yaml(client.ApiClient(), file.name)
            check("create from yaml twice", False, "it was not refused")
        except utils.FailToCreateError as error:
            equal("create from yaml twice", [e.status for e in error.api_exceptions], [409, 409])


def main():
    config.load_kube_config()
    core, apps = client.CoreV1Api(), client.AppsV1Api()
    discovery()
    core.create_namespace(client.V1Namespace(metadata=client.V1ObjectMeta(name=NAMESPACE)))
    configmaps(core)
    lists(core)
    watches(core)
    pods(core)
    deployments(apps)
    dynamic_client()
    manifests(core)


main()
