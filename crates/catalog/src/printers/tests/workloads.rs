use serde_json::{Value, json};

use super::{assert_row, cell, cells};

fn template() -> Value {
    json!({"spec": {"containers": [
        {"name": "app", "image": "app:1"},
        {"name": "log", "image": "log:2"},
    ]}})
}

fn selector() -> Value {
    json!({
        "matchLabels": {"app": "web"},
        "matchExpressions": [
            {"key": "zone", "operator": "In", "values": ["b", "a"]},
            {"key": "old", "operator": "DoesNotExist"},
        ],
    })
}

#[test]
fn deployments_show_progress_and_template() {
    let deployment = json!({
        "spec": {"replicas": 3, "selector": selector(), "template": template()},
        "status": {"readyReplicas": 1, "updatedReplicas": 2, "availableReplicas": 1},
    });
    assert_row(
        cells("apps", "Deployment", deployment),
        json!([
            "it",
            "1/3",
            2,
            1,
            "5m",
            "app,log",
            "app:1,log:2",
            "app=web,!old,zone in (a,b)"
        ]),
    );
}

#[test]
fn a_meaningless_selector_is_marked_by_each_kind_in_its_own_way() {
    let object =
        json!({"spec": {"selector": {"matchExpressions": [{"key": "a", "operator": "Like"}]}}});
    assert_eq!(
        cell("apps", "Deployment", "Selector", object.clone()),
        "<invalid>"
    );
    assert_eq!(cell("apps", "ReplicaSet", "Selector", object), "<error>");
}

#[test]
fn an_absent_selector_is_empty_for_deployments_and_none_for_others() {
    assert_eq!(cell("apps", "Deployment", "Selector", json!({})), "");
    assert_eq!(cell("apps", "ReplicaSet", "Selector", json!({})), "<none>");
}

#[test]
fn replica_sets_and_replication_controllers_show_counts() {
    let status = json!({"replicas": 2, "readyReplicas": 1});
    let set = json!({
        "spec": {"replicas": 3, "selector": selector(), "template": template()},
        "status": status,
    });
    assert_row(
        cells("apps", "ReplicaSet", set),
        json!([
            "it",
            3,
            2,
            1,
            "5m",
            "app,log",
            "app:1,log:2",
            "app=web,!old,zone in (a,b)"
        ]),
    );
    let controller = json!({
        "spec": {"replicas": 3, "selector": {"app": "web"}, "template": template()},
        "status": status,
    });
    assert_row(
        cells("", "ReplicationController", controller),
        json!(["it", 3, 2, 1, "5m", "app,log", "app:1,log:2", "app=web"]),
    );
}

#[test]
fn stateful_sets_show_ready_of_wanted() {
    let set = json!({
        "spec": {"replicas": 3, "template": template()},
        "status": {"readyReplicas": 2},
    });
    assert_row(
        cells("apps", "StatefulSet", set),
        json!(["it", "2/3", "5m", "app,log", "app:1,log:2"]),
    );
}

#[test]
fn daemon_sets_show_counts_of_nodes() {
    let mut template = template();
    template["spec"]["nodeSelector"] = json!({"disk": "ssd"});
    let set = json!({
        "spec": {"selector": {"matchLabels": {"app": "web"}}, "template": template},
        "status": {
            "desiredNumberScheduled": 5, "currentNumberScheduled": 4, "numberReady": 3,
            "updatedNumberScheduled": 2, "numberAvailable": 1,
        },
    });
    assert_row(
        cells("apps", "DaemonSet", set),
        json!([
            "it",
            5,
            4,
            3,
            2,
            1,
            "disk=ssd",
            "5m",
            "app,log",
            "app:1,log:2",
            "app=web"
        ]),
    );
}

#[test]
fn controller_revisions_name_their_controller() {
    let owners = json!([
        {"apiVersion": "v1", "kind": "ConfigMap", "name": "other"},
        {"apiVersion": "apps/v1", "kind": "DaemonSet", "name": "web", "controller": true},
    ]);
    let revision = json!({"metadata": {"ownerReferences": owners}, "revision": 7});
    assert_row(
        cells("apps", "ControllerRevision", revision),
        json!(["it", "daemonset.apps/web", 7, "5m"]),
    );
    assert_row(
        cells("apps", "ControllerRevision", json!({})),
        json!(["it", "<none>", 0, "5m"]),
    );
}

#[test]
fn jobs_show_status_completions_and_duration() {
    let job = json!({
        "spec": {
            "completions": 5, "template": template(),
            "selector": {"matchLabels": {"job": "it"}},
        },
        "status": {
            "succeeded": 5, "startTime": "2026-01-01T23:00:00Z", "completionTime": "2026-01-01T23:01:30Z",
            "conditions": [{"type": "Complete", "status": "True"}],
        },
    });
    assert_row(
        cells("batch", "Job", job),
        json!([
            "it",
            "Complete",
            "5/5",
            "90s",
            "5m",
            "app,log",
            "app:1,log:2",
            "job=it"
        ]),
    );
}

#[test]
fn the_duration_of_a_job_counts_from_its_start_to_now_while_it_runs() {
    let job = json!({"status": {"startTime": "2026-01-01T22:00:00Z"}});
    assert_eq!(cell("batch", "Job", "Duration", job), "120m");
    assert_eq!(cell("batch", "Job", "Duration", json!({})), "");
}

#[test]
fn jobs_without_completions_show_parallelism() {
    let completions = |spec: Value| {
        cell(
            "batch",
            "Job",
            "Completions",
            json!({"spec": spec, "status": {"succeeded": 1}}),
        )
    };
    assert_eq!(completions(json!({"parallelism": 3})), "1/1 of 3");
    assert_eq!(completions(json!({"parallelism": 1})), "1/1");
    assert_eq!(completions(json!({"completions": 0})), "1/0");
}

#[test]
fn the_status_of_a_job_follows_its_conditions_in_order() {
    let status = |types: &[&str], is_deleting: bool| {
        let conditions: Vec<Value> = types
            .iter()
            .map(|ty| json!({"type": ty, "status": "True"}))
            .collect();
        let mut job = json!({"status": {"conditions": conditions}});
        if is_deleting {
            job["metadata"]["deletionTimestamp"] = json!("2026-01-01T23:59:00Z");
        }
        cell("batch", "Job", "Status", job)
    };
    assert_eq!(status(&[], false), "Running");
    assert_eq!(status(&["SuccessCriteriaMet"], false), "SuccessCriteriaMet");
    assert_eq!(status(&["FailureTarget"], false), "FailureTarget");
    assert_eq!(status(&["Suspended"], false), "Suspended");
    assert_eq!(status(&["Suspended"], true), "Terminating");
    assert_eq!(status(&["FailureTarget", "Failed"], true), "Failed");
    assert_eq!(
        status(&["SuccessCriteriaMet", "Complete"], false),
        "Complete"
    );
}

#[test]
fn cron_jobs_show_schedule_and_last_run() {
    let job = json!({
        "spec": {
            "schedule": "*/5 * * * *", "timeZone": "Europe/Berlin", "suspend": false,
            "jobTemplate": {"spec": {"template": template()}},
        },
        "status": {"active": [{}, {}], "lastScheduleTime": "2026-01-01T23:50:00Z"},
    });
    assert_row(
        cells("batch", "CronJob", job),
        json!([
            "it",
            "*/5 * * * *",
            "Europe/Berlin",
            "False",
            2,
            "10m",
            "5m",
            "app,log",
            "app:1,log:2",
            "<none>",
        ]),
    );
    assert_row(
        cells("batch", "CronJob", json!({})),
        json!([
            "it", "", "<none>", "<unset>", 0, "<none>", "5m", "", "", "<none>"
        ]),
    );
}

#[test]
fn autoscalers_show_each_metric_against_its_target() {
    let autoscaler = json!({
        "apiVersion": "autoscaling/v2",
        "spec": {
            "scaleTargetRef": {"kind": "Deployment", "name": "web"},
            "minReplicas": 2,
            "maxReplicas": 9,
            "metrics": [
                {"type": "Resource", "resource": {"name": "cpu", "target": {"averageUtilization": 50}}},
                {"type": "Resource", "resource": {"name": "memory", "target": {"averageValue": "1024Mi"}}},
                {"type": "Pods", "pods": {"target": {"averageValue": "100m"}}},
            ],
        },
        "status": {"currentReplicas": 3, "currentMetrics": [
            {"type": "Resource", "resource": {"name": "cpu", "current": {"averageUtilization": 10}}},
        ]},
    });
    assert_row(
        cells("autoscaling", "HorizontalPodAutoscaler", autoscaler),
        json!([
            "it",
            "Deployment/web",
            "cpu: 10%/50%, memory: <unknown>/1Gi + 1 more...",
            "2",
            9,
            3,
            "5m"
        ]),
    );
}

#[test]
fn autoscaler_targets_differ_by_type_of_metric() {
    let targets = |spec: Value, status: Value| {
        let autoscaler = json!({
            "apiVersion": "autoscaling/v2",
            "spec": {"metrics": [spec]},
            "status": {"currentMetrics": [status]},
        });
        cell(
            "autoscaling",
            "HorizontalPodAutoscaler",
            "Targets",
            autoscaler,
        )
    };
    let external = |target: Value| json!({"type": "External", "external": {"target": target}});
    let current = |current: Value| json!({"external": {"current": current}});
    assert_eq!(
        targets(
            external(json!({"value": "1k"})),
            current(json!({"value": "2000"}))
        ),
        "2k/1k"
    );
    assert_eq!(
        targets(external(json!({"value": "1k"})), json!({})),
        "<unknown>/1k"
    );
    assert_eq!(
        targets(external(json!({"value": "1k"})), current(json!({}))),
        "<nil>/1k"
    );
    assert_eq!(
        targets(
            external(json!({"averageValue": "3"})),
            current(json!({"averageValue": "4"}))
        ),
        "4/3 (avg)"
    );
    assert_eq!(
        targets(
            external(json!({"averageValue": "3"})),
            current(json!({"value": "4"}))
        ),
        "<unknown>/3 (avg)"
    );
    let container =
        json!({"type": "ContainerResource", "containerResource": {"name": "cpu", "target": {}}});
    assert_eq!(targets(container, json!({})), "cpu: <unknown>/<auto>");
    let object = json!({"type": "Object", "object": {"target": {"value": "3"}}});
    assert_eq!(
        targets(object, json!({"object": {"current": {"value": "9"}}})),
        "9/3"
    );
    let pods = json!({"type": "Pods", "pods": {"target": {"averageValue": "100m"}}});
    assert_eq!(
        targets(
            pods,
            json!({"pods": {"current": {"averageValue": "1500m"}}})
        ),
        "1500m/100m"
    );
    assert_eq!(targets(json!({"type": "New"}), json!({})), "<unknown type>");
}

#[test]
fn version_one_autoscalers_print_as_version_two_ones() {
    let metrics = r#"[{"type":"Pods","pods":{"metricName":"m","targetAverageValue":"100m"}}]"#;
    let current = concat!(
        r#"[{"type":"Pods","pods":{"metricName":"m","currentAverageValue":"50m"}},"#,
        r#"{"type":"Resource","resource":{"name":"cpu","currentAverageUtilization":10,"currentAverageValue":"5m"}}]"#
    );
    let autoscaler = json!({
        "apiVersion": "autoscaling/v1",
        "metadata": {"annotations": {
            "autoscaling.alpha.kubernetes.io/metrics": metrics,
            "autoscaling.alpha.kubernetes.io/current-metrics": current,
        }},
        "spec": {"targetCPUUtilizationPercentage": 60},
    });
    let targets = |object| cell("autoscaling", "HorizontalPodAutoscaler", "Targets", object);
    assert_eq!(targets(autoscaler), "50m/100m, cpu: 10%/60%");
    let plain = json!({
        "apiVersion": "autoscaling/v1",
        "spec": {"targetCPUUtilizationPercentage": 60},
        "status": {"currentCPUUtilizationPercentage": 7},
    });
    assert_eq!(targets(plain), "cpu: 7%/60%");
    assert_eq!(
        targets(json!({"apiVersion": "autoscaling/v1"})),
        "cpu: <unknown>/80%"
    );
    assert_eq!(targets(json!({"apiVersion": "autoscaling/v2"})), "<none>");
}

#[test]
fn scales_show_wanted_and_present_replicas() {
    let scale = json!({"spec": {"replicas": 3}, "status": {"replicas": 2}});
    assert_row(
        cells("autoscaling", "Scale", scale),
        json!(["it", 3, 2, "5m"]),
    );
}
