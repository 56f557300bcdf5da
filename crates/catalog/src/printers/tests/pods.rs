use serde_json::{Value, json};

use super::{assert_row, cell, cells};
use crate::printers::printer;

fn status(object: Value) -> Value {
    cell("", "Pod", "Status", object)
}

fn ready(object: Value) -> Value {
    cell("", "Pod", "Ready", object)
}

fn restarts(object: Value) -> Value {
    cell("", "Pod", "Restarts", object)
}

fn two_containers() -> Value {
    json!([{"name": "app"}, {"name": "log"}])
}

fn with_sidecar() -> Value {
    json!({
        "containers": [{"name": "app"}],
        "initContainers": [
            {"name": "setup"},
            {"name": "proxy", "restartPolicy": "Always"},
            {"name": "wait"},
        ],
    })
}

#[test]
fn a_running_pod_shows_everything() {
    let pod = json!({
        "spec": {
            "nodeName": "node-1",
            "containers": two_containers(),
            "readinessGates": [{"conditionType": "example.com/a"}, {"conditionType": "example.com/b"}],
        },
        "status": {
            "phase": "Running",
            "podIP": "10.0.0.7",
            "podIPs": [{"ip": "10.0.0.7"}, {"ip": "fd00::7"}],
            "nominatedNodeName": "node-2",
            "conditions": [{"type": "example.com/a", "status": "True"}],
            "containerStatuses": [
                {"name": "app", "ready": true, "restartCount": 0, "state": {"running": {}}},
                {
                    "name": "log",
                    "ready": false,
                    "restartCount": 3,
                    "state": {"running": {}},
                    "lastState": {"terminated": {"finishedAt": "2026-01-01T23:00:00Z"}},
                },
            ],
        },
    });
    assert_row(
        cells("", "Pod", pod),
        json!([
            "it",
            "1/2",
            "Running",
            "3 (60m ago)",
            "5m",
            "10.0.0.7",
            "node-1",
            "node-2",
            "1/2"
        ]),
    );
}

#[test]
fn an_empty_pod_shows_zero_values() {
    let row = cells("", "Pod", json!({}));
    assert_row(
        row,
        json!([
            "it", "0/0", "", "0", "5m", "<none>", "<none>", "<none>", "<none>"
        ]),
    );
}

#[test]
fn the_reason_of_a_pod_wins_over_its_phase() {
    assert_eq!(
        status(json!({"status": {"phase": "Failed", "reason": "Evicted"}})),
        "Evicted"
    );
}

#[test]
fn a_gated_pod_says_so() {
    let condition = json!({"type": "PodScheduled", "status": "False", "reason": "SchedulingGated"});
    let pod = json!({"status": {"phase": "Pending", "conditions": [condition]}});
    assert_eq!(status(pod), "SchedulingGated");
}

#[test]
fn a_waiting_container_gives_its_reason() {
    let pod = json!({"status": {"phase": "Running", "containerStatuses": [
        {"name": "app", "state": {"waiting": {"reason": "CrashLoopBackOff"}}},
        {"name": "log", "ready": true, "state": {"running": {}}},
    ]}});
    assert_eq!(status(pod), "CrashLoopBackOff");
}

#[test]
fn the_first_container_has_the_last_word() {
    let pod = json!({"status": {"phase": "Pending", "containerStatuses": [
        {"name": "app", "state": {"waiting": {"reason": "ErrImagePull"}}},
        {"name": "log", "state": {"waiting": {"reason": "ContainerCreating"}}},
    ]}});
    assert_eq!(status(pod), "ErrImagePull");
}

#[test]
fn terminated_containers_without_reason_show_signal_or_exit_code() {
    let pod = |terminated: Value| {
        json!({"status": {"phase": "Failed", "containerStatuses": [
            {"name": "app", "state": {"terminated": terminated}},
        ]}})
    };
    assert_eq!(status(pod(json!({"exitCode": 3}))), "ExitCode:3");
    assert_eq!(
        status(pod(json!({"exitCode": 137, "signal": 9}))),
        "Signal:9"
    );
    assert_eq!(
        status(pod(json!({"exitCode": 137, "reason": "OOMKilled"}))),
        "OOMKilled"
    );
}

#[test]
fn a_pod_with_one_completed_container_depends_on_the_others() {
    let pod = |other: Value, is_ready: &str| {
        json!({"status": {
            "phase": "Running",
            "conditions": [{"type": "Ready", "status": is_ready}],
            "containerStatuses": [
                {"name": "app", "state": {"terminated": {"exitCode": 0, "reason": "Completed"}}},
                other,
            ],
        }})
    };
    let running = json!({"name": "log", "ready": true, "state": {"running": {}}});
    let failed =
        json!({"name": "log", "state": {"terminated": {"exitCode": 1, "reason": "Error"}}});
    assert_eq!(status(pod(running.clone(), "True")), "Running");
    assert_eq!(status(pod(running, "False")), "NotReady");
    assert_eq!(status(pod(failed, "False")), "Error");
    assert_eq!(status(pod(json!({}), "False")), "Completed");
}

#[test]
fn init_containers_show_how_far_they_got() {
    let pod = |states: Value| json!({"spec": with_sidecar(), "status": {"phase": "Pending", "initContainerStatuses": states}});
    let done = json!({"name": "setup", "state": {"terminated": {"exitCode": 0}}});
    let proxy = json!({"name": "proxy", "ready": true, "started": true, "state": {"running": {}}});
    let waiting = json!({"name": "wait", "state": {"waiting": {"reason": "PodInitializing"}}});
    assert_eq!(
        status(pod(json!([{"name": "setup", "state": {"running": {}}}]))),
        "Init:0/3"
    );
    assert_eq!(
        status(pod(
            json!([done, {"name": "proxy", "state": {"running": {}}}])
        )),
        "Init:1/3"
    );
    assert_eq!(status(pod(json!([done, proxy, waiting]))), "Init:2/3");
    assert_eq!(ready(pod(json!([done, proxy, waiting]))), "1/2");
}

#[test]
fn a_broken_init_container_says_why() {
    let pod = |state: Value| {
        json!({"spec": with_sidecar(), "status": {"phase": "Pending", "initContainerStatuses": [
            {"name": "setup", "state": state},
        ]}})
    };
    let waiting = json!({"waiting": {"reason": "CrashLoopBackOff"}});
    assert_eq!(status(pod(waiting)), "Init:CrashLoopBackOff");
    assert_eq!(
        status(pod(
            json!({"terminated": {"exitCode": 1, "reason": "Error"}})
        )),
        "Init:Error"
    );
    assert_eq!(
        status(pod(json!({"terminated": {"exitCode": 1}}))),
        "Init:ExitCode:1"
    );
    assert_eq!(
        status(pod(json!({"terminated": {"exitCode": 1, "signal": 9}}))),
        "Init:Signal:9"
    );
}

#[test]
fn restarts_of_plain_init_containers_are_forgotten_once_they_are_done() {
    let ended = |at: &str| json!({"terminated": {"exitCode": 1, "finishedAt": at}});
    let pod = json!({"spec": with_sidecar(), "status": {
        "phase": "Running",
        "initContainerStatuses": [
            {"name": "setup", "restartCount": 9, "state": {"terminated": {"exitCode": 0}},
             "lastState": ended("2026-01-01T23:59:59Z")},
            {"name": "proxy", "restartCount": 2, "ready": true, "started": true,
             "state": {"running": {}}, "lastState": ended("2026-01-01T23:59:00Z")},
            {"name": "wait", "restartCount": 0, "state": {"terminated": {"exitCode": 0}}},
        ],
        "containerStatuses": [
            {"name": "app", "restartCount": 1, "ready": true, "state": {"running": {}},
             "lastState": ended("2026-01-01T20:00:00Z")},
        ],
    }});
    assert_eq!(restarts(pod.clone()), "3 (60s ago)");
    assert_eq!(ready(pod), "2/2");
}

#[test]
fn restarts_without_a_known_end_show_the_count_alone() {
    let pod = json!({"status": {"containerStatuses": [{"name": "app", "restartCount": 4}]}});
    assert_eq!(restarts(pod), "4");
}

#[test]
fn an_initialized_pod_shows_containers_even_if_a_sidecar_is_down() {
    let pod = json!({"spec": with_sidecar(), "status": {
        "phase": "Running",
        "conditions": [{"type": "Initialized", "status": "True"}],
        "initContainerStatuses": [
            {"name": "setup", "state": {"terminated": {"exitCode": 0}}},
            {"name": "proxy", "started": false, "state": {"waiting": {"reason": "CrashLoopBackOff"}}},
        ],
        "containerStatuses": [{"name": "app", "ready": true, "state": {"running": {}}}],
    }});
    assert_eq!(status(pod.clone()), "Init:CrashLoopBackOff");
    assert_eq!(ready(pod), "1/2");
}

#[test]
fn deletion_shows_unless_the_pod_is_finished() {
    let pod = |status: Value| json!({"metadata": {"deletionTimestamp": "2026-01-01T23:59:00Z"}, "status": status});
    assert_eq!(status(pod(json!({"phase": "Running"}))), "Terminating");
    assert_eq!(status(pod(json!({"phase": "Succeeded"}))), "Succeeded");
    assert_eq!(
        status(pod(json!({"phase": "Running", "reason": "NodeLost"}))),
        "Unknown"
    );
}

#[test]
fn an_old_pod_ip_wins_over_a_list_that_disagrees() {
    let pod = json!({"status": {"podIP": "10.0.0.1", "podIPs": [{"ip": "10.0.0.2"}]}});
    assert_eq!(cell("", "Pod", "IP", pod), "10.0.0.1");
    let pod = json!({"status": {"podIPs": [{"ip": "10.0.0.2"}]}});
    assert_eq!(cell("", "Pod", "IP", pod), "10.0.0.2");
}

#[test]
fn rows_of_finished_pods_are_marked_completed() {
    let condition = printer("", "Pod")
        .and_then(|pods| pods.row_condition)
        .expect("pods have one");
    let reason = |phase: &str| {
        condition(&json!({"status": {"phase": phase}})).map(|c| (c.ty, c.status, c.reason))
    };
    assert_eq!(
        reason("Succeeded"),
        Some(("Completed", "True", "Succeeded"))
    );
    assert_eq!(reason("Failed"), Some(("Completed", "True", "Failed")));
    assert_eq!(reason("Running"), None);
}

#[test]
fn pod_templates_show_containers_and_labels() {
    let template = json!({"template": {
        "metadata": {"labels": {"b": "2", "a": "1"}},
        "spec": {"containers": [{"name": "x", "image": "x:1"}, {"name": "y", "image": "y:2"}]},
    }});
    assert_row(
        cells("", "PodTemplate", template),
        json!(["it", "x,y", "x:1,y:2", "a=1,b=2"]),
    );
    assert_row(
        cells("", "PodTemplate", json!({})),
        json!(["it", "", "", "<none>"]),
    );
}
