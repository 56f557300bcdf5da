//! Pods: defaults and errors.

use serde_json::{Value, json};

use crate::{created, errors_of_create, named, updated};

fn pod(spec: Value) -> Value {
    json!({"metadata": named("p"), "spec": spec})
}

fn plain() -> Value {
    json!({"containers": [{"name": "c", "image": "nginx"}]})
}

#[test]
fn the_smallest_pod_gets_every_default() {
    let stored = created("", "Pod", pod(plain()));
    let expected = json!({
        "containers": [{
            "name": "c",
            "image": "nginx",
            "imagePullPolicy": "Always",
            "terminationMessagePath": "/dev/termination-log",
            "terminationMessagePolicy": "File",
        }],
        "dnsPolicy": "ClusterFirst",
        "enableServiceLinks": true,
        "restartPolicy": "Always",
        "schedulerName": "default-scheduler",
        "securityContext": {},
        "terminationGracePeriodSeconds": 30,
    });
    assert_eq!(stored["spec"], expected);
    assert_eq!(
        stored["status"],
        json!({"phase": "Pending", "qosClass": "BestEffort"})
    );
    assert!(errors_of_create("", "Pod", pod(plain())).is_empty());
}

#[test]
fn limits_become_requests_and_are_rounded_up() {
    let resources =
        json!({"limits": {"cpu": "100u", "memory": "1Gi"}, "requests": {"memory": "1Mi"}});
    let spec = json!({"containers": [{"name": "c", "image": "i:1", "resources": resources}]});
    let stored = created("", "Pod", pod(spec));
    let requests = &stored["spec"]["containers"][0]["resources"]["requests"];
    assert_eq!(*requests, json!({"cpu": "1m", "memory": "1Mi"}));
    assert_eq!(stored["status"]["qosClass"], "Burstable");
}

#[test]
fn host_network_makes_host_ports() {
    let spec = json!({"hostNetwork": true, "containers": [
        {"name": "c", "image": "i:1", "ports": [{"containerPort": 80}]},
    ]});
    let stored = created("", "Pod", pod(spec));
    let port = &stored["spec"]["containers"][0]["ports"][0];
    assert_eq!(
        *port,
        json!({"containerPort": 80, "hostPort": 80, "protocol": "TCP"})
    );
}

#[test]
fn probes_volumes_and_references_are_filled() {
    let spec = json!({
        "containers": [{
            "name": "c",
            "image": "i:1",
            "env": [{"name": "E", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}],
            "livenessProbe": {"httpGet": {"port": 80}},
        }],
        "volumes": [{"name": "e"}, {"name": "h", "hostPath": {"path": "/x"}}, {"name": "c", "configMap": {"name": "m"}}],
    });
    let stored = created("", "Pod", pod(spec));
    let container = &stored["spec"]["containers"][0];
    assert_eq!(
        container["env"][0]["valueFrom"]["fieldRef"]["apiVersion"],
        "v1"
    );
    assert_eq!(
        container["livenessProbe"]["httpGet"],
        json!({"path": "/", "port": 80, "scheme": "HTTP"})
    );
    assert_eq!(container["livenessProbe"]["failureThreshold"], 3);
    assert_eq!(stored["spec"]["volumes"][0]["emptyDir"], json!({}));
    assert_eq!(stored["spec"]["volumes"][1]["hostPath"]["type"], "");
    assert_eq!(
        stored["spec"]["volumes"][2]["configMap"]["defaultMode"],
        420
    );
}

#[test]
fn a_pod_needs_containers_with_names_and_images() {
    assert_eq!(
        errors_of_create("", "Pod", pod(json!({}))),
        ["spec.containers: Required value"]
    );
    let errors = errors_of_create(
        "",
        "Pod",
        pod(json!({"containers": [{}, {"name": "a", "image": "i"}, {"name": "a", "image": "i"}]})),
    );
    assert_eq!(
        errors,
        [
            "spec.containers[0].name: Required value",
            "spec.containers[0].image: Required value",
            "spec.containers[2].name: Duplicate value: \"a\"",
        ]
    );
}

#[test]
fn a_request_above_its_limit_is_refused() {
    let resources = json!({"limits": {"cpu": "1"}, "requests": {"cpu": "2"}});
    let spec = json!({"containers": [{"name": "c", "image": "i", "resources": resources}]});
    let expected = [
        "spec.containers[0].resources.requests: Invalid value: \"2\": must be less than or equal to cpu limit of 1",
    ];
    assert_eq!(errors_of_create("", "Pod", pod(spec)), expected);
}

#[test]
fn a_mount_needs_its_volume() {
    let mounts = json!([{"name": "no", "mountPath": "/a"}]);
    let spec = json!({"containers": [{"name": "c", "image": "i", "volumeMounts": mounts}]});
    assert_eq!(
        errors_of_create("", "Pod", pod(spec)),
        ["spec.containers[0].volumeMounts[0].name: Not found: \"no\""]
    );
}

#[test]
fn an_environment_file_is_in_an_empty_directory_of_the_pod() {
    let variable = |volume: &str| {
        let file = json!({"volumeName": volume, "path": "config.env", "key": "A"});
        json!({"name": volume.to_uppercase(), "valueFrom": {"fileKeyRef": file}})
    };
    let variables = json!([variable("ok"), variable("host"), variable("no")]);
    let spec = json!({
        "containers": [{"name": "c", "image": "i", "env": variables}],
        "volumes": [{"name": "ok", "emptyDir": {}}, {"name": "host", "hostPath": {"path": "/a"}}],
    });
    assert_eq!(
        errors_of_create("", "Pod", pod(spec)),
        [
            "spec.containers[0].env[1].valueFrom.fileKeyRef.volumeName: Invalid value: \"host\": referenced volume must be of type emptyDir",
            "spec.containers[0].env[2].valueFrom.fileKeyRef.volumeName: Not found: \"no\"",
        ]
    );
}

#[test]
fn a_container_runs_again_only_if_its_rules_or_policies_restart_it() {
    let rule =
        |action: &str| json!([{"action": action, "exitCodes": {"operator": "In", "values": [42]}}]);
    let allowed = |container: Value, code: i64| {
        let mut container = container;
        container["name"] = json!("c");
        container["image"] = json!("i");
        let spec = json!({"restartPolicy": "Never", "containers": [container]});
        let state = |state: Value| json!({"containerStatuses": [{"name": "c", "state": state}]});
        let mut old = created("", "Pod", pod(spec));
        old["metadata"]["resourceVersion"] = json!("1");
        let mut new = old.clone();
        old["status"] = state(json!({"terminated": {"exitCode": code}}));
        new["status"] = state(json!({"running": {}}));
        let rules = kubewright_builtins::rules("", "Pod");
        let errors = (rules.validate_status_update)(&new, &old);
        let errors: Vec<String> = errors.iter().map(ToString::to_string).collect();
        let refusal = "status.containerStatuses[0].state: Forbidden: may not be transitioned to non-terminated state";
        assert!(errors.is_empty() || errors == [refusal], "{errors:?}");
        errors.is_empty()
    };
    assert!(!allowed(json!({}), 42));
    assert!(!allowed(json!({"restartPolicy": "Never"}), 1));
    assert!(allowed(json!({"restartPolicy": "OnFailure"}), 1));
    let restarts = json!({"restartPolicy": "Never", "restartPolicyRules": rule("Restart")});
    assert!(allowed(restarts.clone(), 42));
    assert!(!allowed(restarts, 1));
    let all = json!({"restartPolicy": "Never", "restartPolicyRules": rule("RestartAllContainers")});
    assert!(allowed(all, 0));
}

#[test]
fn the_image_of_a_running_pod_may_change_but_not_its_command() {
    let old = created("", "Pod", pod(plain()));
    let mut new = old.clone();
    new["spec"]["containers"][0]["image"] = json!("nginx:2");
    let (stored, errors) = updated("", "Pod", &old, new.clone());
    assert!(errors.is_empty(), "{errors:?}");
    assert_eq!(stored["metadata"]["generation"], 2);
    new["spec"]["containers"][0]["command"] = json!(["x"]);
    let (_, errors) = updated("", "Pod", &old, new);
    assert!(errors[0].starts_with("spec: Forbidden: pod updates may not change fields other than"));
}

#[test]
fn a_deadline_only_gets_shorter() {
    let mut spec = plain();
    spec["activeDeadlineSeconds"] = json!(30);
    let old = created("", "Pod", pod(spec));
    let mut new = old.clone();
    new["spec"]["activeDeadlineSeconds"] = json!(60);
    let (_, errors) = updated("", "Pod", &old, new);
    let expected = [
        "spec.activeDeadlineSeconds: Invalid value: 60: must be less than or equal to previous value",
    ];
    assert_eq!(errors, expected);
}
