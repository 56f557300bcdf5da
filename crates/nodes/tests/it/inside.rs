//! The environment, the user and the volumes of a container.

use k8s_openapi::api::core::v1::Pod;
use kube::Api;
use kubewright_testing::TestCluster;
use serde_json::{Value, json};

use crate::agnhost::{create, has_ended, log, start, until};

#[tokio::test]
async fn containers_see_resources_groups_and_expanded_paths() {
    let cluster = start().await;
    let pod = json!({
        "metadata": {"name": "a"},
        "spec": {
            "restartPolicy": "Never",
            "securityContext": {"runAsUser": 1001, "runAsGroup": 2002, "supplementalGroups": [50]},
            "containers": [{
                "name": "c", "image": "busybox",
                "command": ["sh", "-c", "id; echo $CPU $LIMIT; echo text > /data/file; ls /all/a-1"],
                "resources": {"requests": {"cpu": "250m"}},
                "env": [
                    {"name": "POD", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}},
                    {"name": "CPU", "valueFrom": {"resourceFieldRef": {"resource": "requests.cpu", "divisor": "1m"}}},
                    {"name": "LIMIT", "valueFrom": {"resourceFieldRef": {"resource": "limits.cpu"}}},
                ],
                "volumeMounts": [
                    {"name": "data", "mountPath": "/data", "subPathExpr": "$(POD)-1"},
                    {"name": "data", "mountPath": "/all"},
                ],
            }],
            "volumes": [{"name": "data", "emptyDir": {}}],
        },
    });
    create(&cluster, "/api/v1/namespaces/default/pods", pod).await;
    until(&cluster, "a", has_ended).await;
    let expected = "uid=1001 gid=2002 groups=2002,50\n250 8\nfile\n";
    assert_eq!(log(&cluster, "a").await, expected);
}

#[tokio::test]
async fn a_path_below_a_volume_waits_for_its_variables() {
    let cluster = start().await;
    let pod = json!({
        "metadata": {"name": "a"},
        "spec": {
            "restartPolicy": "Never",
            "containers": [{
                "name": "c", "image": "busybox", "command": ["true"],
                "env": [{
                    "name": "PART",
                    "valueFrom": {"fieldRef": {"fieldPath": "metadata.annotations['part']"}},
                }],
                "volumeMounts": [{"name": "data", "mountPath": "/data", "subPathExpr": "$(PART)"}],
            }],
            "volumes": [{"name": "data", "emptyDir": {}}],
        },
    });
    create(&cluster, "/api/v1/namespaces/default/pods", pod).await;
    let reason = |pod: &Pod| {
        let containers = pod.status.clone()?.container_statuses?;
        containers.first()?.state.clone()?.waiting?.reason
    };
    until(&cluster, "a", |pod| {
        reason(pod).as_deref() == Some("CreateContainerConfigError")
    })
    .await;
    let pods: Api<Pod> = Api::default_namespaced(cluster.client());
    let part = kube::api::Patch::Merge(json!({"metadata": {"annotations": {"part": "x"}}}));
    pods.patch("a", &Default::default(), &part).await.unwrap();
    until(&cluster, "a", has_ended).await;
}

#[tokio::test]
async fn variables_come_from_files_that_init_containers_write() {
    let cluster = start().await;
    let key = |name: &str, is_optional: bool| {
        let file = json!({"volumeName": "config", "path": "config.env", "key": name, "optional": is_optional});
        json!({"name": name, "valueFrom": {"fileKeyRef": file}})
    };
    let pod = |name: &str, variables: Value| {
        json!({
            "metadata": {"name": name},
            "spec": {
                "restartPolicy": "Never",
                "initContainers": [{
                    "name": "i", "image": "busybox",
                    "command": ["sh", "-c", "echo \"A='1'\" > /data/config.env; echo \"B='2'\" >> /data/config.env"],
                    "volumeMounts": [{"name": "config", "mountPath": "/data"}],
                }],
                "containers": [{
                    "name": "c", "image": "busybox", "command": ["sh", "-c", "echo $A-$B-$C"], "env": variables,
                }],
                "volumes": [{"name": "config", "emptyDir": {}}],
            },
        })
    };
    let path = "/api/v1/namespaces/default/pods";
    let variables = json!([key("A", false), key("B", false), key("C", true)]);
    create(&cluster, path, pod("a", variables)).await;
    until(&cluster, "a", has_ended).await;
    assert_eq!(log(&cluster, "a").await, "1-2-\n");
    create(&cluster, path, pod("b", json!([key("C", false)]))).await;
    until(&cluster, "b", |pod| {
        let message = || {
            let containers = pod.status.clone()?.container_statuses?;
            containers.first()?.state.clone()?.waiting?.message
        };
        message().is_some_and(|text| {
            text.starts_with(
                "environment variable key \"C\" not found in file \"/var/lib/kubelet/pods/",
            )
        })
    })
    .await;
}

#[tokio::test]
async fn host_names_are_short_qualified_or_overridden() {
    let cluster = start().await;
    let long = "a".repeat(62) + "-b";
    for (name, spec, expected) in [
        ("plain", json!({}), "plain plain plain"),
        (
            "qualified",
            json!({"subdomain": "s", "setHostnameAsFQDN": true}),
            "qualified.s.default.svc.cluster.local qualified.s.default.svc.cluster.local qualified.s.default.svc.cluster.local",
        ),
        (
            "domain",
            json!({"hostname": "h", "subdomain": "s"}),
            "h h.s.default.svc.cluster.local h",
        ),
        (
            "overridden",
            json!({"hostname": "h", "subdomain": "s", "hostnameOverride": "other.example"}),
            "other.example other.example other.example",
        ),
        (&long, json!({}), &format!("{0} {0} {0}", "a".repeat(62))),
    ] {
        let mut pod = json!({
            "metadata": {"name": name},
            "spec": {
                "restartPolicy": "Never",
                "containers": [{
                    "name": "c", "image": "busybox",
                    "command": ["sh", "-c", "echo $(hostname) $(hostname -f) $HOSTNAME"],
                }],
            },
        });
        for (field, value) in spec.as_object().unwrap() {
            pod["spec"][field] = value.clone();
        }
        create(&cluster, "/api/v1/namespaces/default/pods", pod).await;
        until(&cluster, name, has_ended).await;
        assert_eq!(log(&cluster, name).await.trim_end(), expected, "{name}");
    }
}

/// Runs a script in a pod with these fields until it ends, and returns the log.
pub(crate) async fn output(cluster: &TestCluster, name: &str, script: &str, more: Value) -> String {
    let container = json!({"name": "c", "image": "busybox", "command": ["sh", "-c", script]});
    let mut spec = json!({"restartPolicy": "Never", "containers": [container]});
    for (field, value) in more.as_object().unwrap() {
        match field.as_str() {
            "volumeMounts" | "terminationMessagePolicy" => {
                spec["containers"][0][field] = value.clone();
            }
            _ => spec[field] = value.clone(),
        }
    }
    let pod = json!({"metadata": {"name": name}, "spec": spec});
    create(cluster, "/api/v1/namespaces/default/pods", pod).await;
    until(cluster, name, has_ended).await;
    log(cluster, name).await
}

#[tokio::test]
async fn safe_kernel_parameters_are_set_and_others_are_rejected() {
    let cluster = start().await;
    let sysctls =
        |name: &str| json!({"securityContext": {"sysctls": [{"name": name, "value": "1"}]}});
    let script = "sysctl kernel.shm_rmid_forced; sysctl -n net/ipv4/tcp_fin_timeout; sysctl no.such || echo $?";
    for (pod, name) in [
        ("dots", "kernel.shm_rmid_forced"),
        ("slashes", "kernel/shm_rmid_forced"),
    ] {
        let printed = output(&cluster, pod, script, sysctls(name)).await;
        let expected =
            "kernel.shm_rmid_forced = 1\n60\nsysctl: error: 'no.such' is an unknown key\n1\n";
        assert_eq!(printed, expected);
    }
    let mut spec = sysctls("kernel.msgmax");
    spec["containers"] = json!([{"name": "c", "image": "busybox"}]);
    let pod = json!({"metadata": {"name": "unsafe"}, "spec": spec});
    create(&cluster, "/api/v1/namespaces/default/pods", pod).await;
    until(&cluster, "unsafe", |pod| {
        let status = pod.status.as_ref();
        status.is_some_and(|status| status.reason.as_deref() == Some("SysctlForbidden"))
    })
    .await;
}

#[tokio::test]
async fn volumes_show_the_files_of_images() {
    let cluster = start().await;
    let image = json!({"reference": "registry.k8s.io/e2e-test-images/kitten:1.8"});
    let more = json!({
        "volumes": [{"name": "image", "image": image}],
        "volumeMounts": [{"name": "image", "mountPath": "/volume"}],
    });
    let script = "cat /volume/data.json; echo; grep -c Alpine /volume/etc/os-release; touch /volume/a || echo read-only";
    let printed = output(&cluster, "a", script, more).await;
    assert!(
        printed.starts_with("{\"image\": \"kitten.jpg\"}\n2\n"),
        "{printed}"
    );
    assert!(printed.ends_with("read-only\n"), "{printed}");
}

#[tokio::test]
async fn the_end_of_a_line_that_was_not_written_is_not_in_the_log() {
    let cluster = start().await;
    let more = json!({"terminationMessagePolicy": "FallbackToLogsOnError"});
    let printed = output(&cluster, "a", "echo -n DONE; exit 1", more).await;
    assert_eq!(printed, "DONE");
    let pods: Api<Pod> = Api::default_namespaced(cluster.client());
    let status = pods.get("a").await.unwrap().status.unwrap();
    let state = status.container_statuses.unwrap().remove(0).state.unwrap();
    assert_eq!(state.terminated.unwrap().message.as_deref(), Some("DONE"));
}

#[tokio::test]
async fn scripts_copy_blocks_and_print_fields() {
    let cluster = start().await;
    let script = "dd if=/dev/zero of=/tmp/a bs=1k count=2 2>/dev/null; wc -c /tmp/a | awk {'print $1'}; \
                  echo hello | dd bs=1 count=2 2>/dev/null";
    assert_eq!(output(&cluster, "a", script, json!({})).await, "2048\nhe");
}

#[tokio::test]
async fn functions_handle_signals() {
    let cluster = start().await;
    let script = "reason=stopped; finish() { echo $reason; exit 3; }; trap finish SIGTERM; echo ready; while true; do sleep 1; done";
    let container = json!({"name": "c", "image": "busybox", "command": ["sh", "-c", script]});
    let pod = json!({
        "metadata": {"name": "a", "finalizers": ["example.com/kept"]},
        "spec": {"restartPolicy": "Never", "containers": [container]},
    });
    create(&cluster, "/api/v1/namespaces/default/pods", pod).await;
    let pods: Api<Pod> = Api::default_namespaced(cluster.client());
    until(&cluster, "a", |pod| {
        let status = pod.status.as_ref();
        status.is_some_and(|status| status.phase.as_deref() == Some("Running"))
    })
    .await;
    while log(&cluster, "a").await.is_empty() {
        tokio::task::yield_now().await;
    }
    pods.delete("a", &Default::default()).await.unwrap();
    until(&cluster, "a", has_ended).await;
    let status = pods.get("a").await.unwrap().status.unwrap();
    let state = status.container_statuses.unwrap().remove(0).state.unwrap();
    assert_eq!(state.terminated.unwrap().exit_code, 3);
}

#[tokio::test]
async fn users_and_groups_of_the_pod_own_its_volumes() {
    let cluster = start().await;
    let token = json!({"serviceAccountToken": {"path": "token"}});
    let owned = async |name: &str, security: Value| {
        let container = json!({
            "name": "c", "image": "registry.k8s.io/e2e-test-images/agnhost:2.63.0",
            "args": ["mounttest", "--file_perm=/volume/token", "--file_owner=/volume/token"],
            "volumeMounts": [{"name": "token", "mountPath": "/volume"}],
        });
        let pod = json!({
            "metadata": {"name": name},
            "spec": {
                "restartPolicy": "Never", "serviceAccountName": "default",
                "securityContext": security, "containers": [container],
                "volumes": [{"name": "token", "projected": {"sources": [token]}}],
            },
        });
        create(&cluster, "/api/v1/namespaces/default/pods", pod).await;
        until(&cluster, name, has_ended).await;
        log(&cluster, name).await
    };
    let expected = |mode: &str, user: &str, group: &str| {
        format!(
            "perms of file \"/volume/token\": {mode}\nowner UID of \"/volume/token\": {user}\nowner GID of \"/volume/token\": {group}\n"
        )
    };
    let printed = owned("plain", json!({})).await;
    assert_eq!(printed, expected("-rw-r--r--", "0", "0"));
    let printed = owned("user", json!({"runAsUser": 1000})).await;
    assert_eq!(printed, expected("-rw-------", "1000", "0"));
    let printed = owned("group", json!({"fsGroup": 123})).await;
    assert_eq!(printed, expected("-rw-r-----", "0", "123"));
}

#[tokio::test]
async fn control_groups_show_the_resources_of_the_pod() {
    let cluster = start().await;
    let more = json!({
        "resources": {"requests": {"cpu": "100m"}, "limits": {"cpu": "200m", "memory": "64Mi"}},
        "volumes": [{"name": "host", "hostPath": {"path": "/sys/fs/cgroup"}}],
        "volumeMounts": [{"name": "host", "mountPath": "/host"}],
    });
    let script = "cat /sys/fs/cgroup/cpu.max /sys/fs/cgroup/memory.max; \
                  cat $(find /host -name '*kubepods-burstable-pod*')/memory.max";
    let printed = output(&cluster, "a", script, more).await;
    assert_eq!(printed, "20000 100000\n67108864\n67108864\n");
}

#[tokio::test]
async fn a_rule_restarts_all_containers_of_a_pod() {
    let cluster = start().await;
    let script = "if [ -f /mnt/done ]; then sleep 1000; else touch /mnt/done; exit 42; fi";
    let rule =
        json!({"action": "RestartAllContainers", "exitCodes": {"operator": "In", "values": [42]}});
    let pod = json!({
        "metadata": {"name": "a"},
        "spec": {
            "restartPolicy": "Never",
            "initContainers": [{"name": "init", "image": "busybox", "command": ["true"]}],
            "containers": [
                {
                    "name": "source", "image": "busybox", "command": ["sh", "-c", script],
                    "restartPolicy": "Never", "restartPolicyRules": [rule],
                    "volumeMounts": [{"name": "work", "mountPath": "/mnt"}],
                },
                {"name": "other", "image": "busybox", "command": ["sleep", "1000"]},
            ],
            "volumes": [{"name": "work", "emptyDir": {}}],
        },
    });
    create(&cluster, "/api/v1/namespaces/default/pods", pod).await;
    until(&cluster, "a", |pod| {
        let status = pod.status.clone().unwrap_or_default();
        let init = status.init_container_statuses.unwrap_or_default();
        let main = status.container_statuses.unwrap_or_default();
        init.iter().all(|c| c.restart_count == 1)
            && main.len() == 2
            && main.iter().all(|c| {
                let runs = c
                    .state
                    .as_ref()
                    .is_some_and(|state| state.running.is_some());
                let last = c
                    .last_state
                    .as_ref()
                    .and_then(|last| last.terminated.as_ref());
                runs && c.restart_count == 1 && last.is_some()
            })
    })
    .await;
}

#[tokio::test]
async fn containers_after_a_failed_init_container_have_not_ended() {
    let cluster = start().await;
    let pod = json!({
        "metadata": {"name": "a", "finalizers": ["example.com/kept"]},
        "spec": {
            "restartPolicy": "Never",
            "initContainers": [{"name": "fail", "image": "busybox", "command": ["sleep", "1000"]}],
            "containers": [{"name": "blocked", "image": "busybox", "command": ["true"]}],
        },
    });
    create(&cluster, "/api/v1/namespaces/default/pods", pod).await;
    let pods: Api<Pod> = Api::default_namespaced(cluster.client());
    until(&cluster, "a", |pod| {
        let init = pod
            .status
            .clone()
            .unwrap_or_default()
            .init_container_statuses;
        let state = init
            .unwrap_or_default()
            .first()
            .and_then(|c| c.state.clone());
        state.is_some_and(|state| state.running.is_some())
    })
    .await;
    pods.delete("a", &Default::default()).await.unwrap();
    until(&cluster, "a", has_ended).await;
    let status = pods.get("a").await.unwrap().status.unwrap();
    let state = status.container_statuses.unwrap().remove(0).state.unwrap();
    assert!(state.waiting.is_some(), "{state:?}");
    let state = status
        .init_container_statuses
        .unwrap()
        .remove(0)
        .state
        .unwrap();
    assert!(state.terminated.is_some(), "{state:?}");
}

#[tokio::test]
async fn scripts_run_the_generator_of_logs() {
    let cluster = start().await;
    let script = "/agnhost logs-generator --log-lines-total 2 --run-duration 2ms && echo end";
    let printed = output(&cluster, "a", script, json!({})).await;
    let lines: Vec<&str> = printed.lines().collect();
    assert!(lines[0].contains("logs_generator.go:76] 0 "), "{printed}");
    assert!(lines[1].contains("logs_generator.go:76] 1 "), "{printed}");
    assert_eq!(lines[2..], ["end"]);
}
