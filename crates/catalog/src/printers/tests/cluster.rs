use serde_json::{Value, json};

use super::{assert_row, cell, cells};
use crate::printers::printer;

#[test]
fn nodes_show_status_roles_and_software() {
    let node = json!({
        "metadata": {"labels": {
            "node-role.kubernetes.io/worker": "",
            "node-role.kubernetes.io/control-plane": "",
            "kubernetes.io/role": "edge",
            "other": "label",
        }},
        "spec": {"unschedulable": true},
        "status": {
            "conditions": [{"type": "Ready", "status": "True"}],
            "addresses": [
                {"type": "Hostname", "address": "h"},
                {"type": "InternalIP", "address": "10.1.1.1"},
                {"type": "InternalIP", "address": "10.1.1.2"},
            ],
            "nodeInfo": {
                "kubeletVersion": "v1.36.0", "kernelVersion": "6.1", "osImage": "Debian",
                "containerRuntimeVersion": "containerd://2.0", "architecture": "arm64",
            },
        },
    });
    assert_row(
        cells("", "Node", node),
        json!([
            "it",
            "Ready,SchedulingDisabled",
            "control-plane,edge,worker",
            "5m",
            "v1.36.0",
            "10.1.1.1",
            "<none>",
            "Debian",
            "6.1 (arm64)",
            "containerd://2.0",
        ]),
    );
}

#[test]
fn nodes_that_do_not_report_are_not_ready_or_unknown() {
    let status = |conditions: Value| {
        cell(
            "",
            "Node",
            "Status",
            json!({"status": {"conditions": conditions}}),
        )
    };
    assert_eq!(
        status(json!([{"type": "Ready", "status": "Unknown"}])),
        "NotReady"
    );
    assert_eq!(status(json!([])), "Unknown");
    assert_eq!(cell("", "Node", "Roles", json!({})), "<none>");
    assert_eq!(cell("", "Node", "Kernel-Version", json!({})), "<unknown>");
}

#[test]
fn component_statuses_show_health() {
    let component = |status: &str| {
        json!({"conditions": [
            {"type": "Healthy", "status": status, "message": "ok", "error": "no"},
        ]})
    };
    let row = |object| cells("", "ComponentStatus", object);
    assert_row(row(component("True")), json!(["it", "Healthy", "ok", "no"]));
    assert_row(
        row(component("False")),
        json!(["it", "Unhealthy", "ok", "no"]),
    );
    assert_row(row(json!({})), json!(["it", "Unknown", "", ""]));
}

#[test]
fn configuration_shows_how_much_there_is() {
    let map = json!({"data": {"a": "1", "b": "2"}, "binaryData": {"c": "AA=="}});
    assert_row(cells("", "ConfigMap", map), json!(["it", 3, "5m"]));
    let secret = json!({"type": "Opaque", "data": {"a": "AA=="}});
    assert_row(
        cells("", "Secret", secret),
        json!(["it", "Opaque", 1, "5m"]),
    );
    assert_row(cells("", "ServiceAccount", json!({})), json!(["it", "5m"]));
    let namespace = json!({"status": {"phase": "Terminating"}});
    assert_row(
        cells("", "Namespace", namespace),
        json!(["it", "Terminating", "5m"]),
    );
}

#[test]
fn quotas_show_used_of_hard_in_two_columns() {
    let quota = json!({"status": {
        "hard": {"pods": "100", "limits.cpu": "1000m", "requests.memory": "1024Mi", "limits": "3"},
        "used": {"pods": "1", "limits.cpu": "500m"},
    }});
    assert_row(
        cells("", "ResourceQuota", quota),
        json!([
            "it",
            "limits: 0/3, pods: 1/100, requests.memory: 0/1Gi",
            "limits.cpu: 500m/1",
            "5m"
        ]),
    );
}

#[test]
fn core_events_show_when_and_what() {
    let event = json!({
        "involvedObject": {"kind": "Pod", "name": "web", "fieldPath": "spec.containers{a}"},
        "type": "Normal", "reason": "Started", "message": " hello\n", "count": 4,
        "source": {"component": "kubelet", "host": "node-1"},
        "firstTimestamp": "2026-01-01T23:00:00Z", "lastTimestamp": "2026-01-01T23:59:00Z",
    });
    assert_row(
        cells("", "Event", event),
        json!([
            "60s",
            "Normal",
            "Started",
            "pod/web",
            "spec.containers{a}",
            "kubelet, node-1",
            "hello",
            "60m",
            4,
            "it",
        ]),
    );
}

#[test]
fn events_of_the_new_group_print_alike() {
    let mut event = json!({
        "regarding": {"kind": "Node"},
        "type": "Warning", "reason": "Lost", "note": "gone",
        "reportingController": "example.com/c", "reportingInstance": "c-0",
        "eventTime": "2026-01-01T23:50:00.000000Z",
    });
    let row = |event: &Value| cells("events.k8s.io", "Event", event.clone());
    let source = "example.com/c, c-0";
    assert_row(
        row(&event),
        json!([
            "10m", "Warning", "Lost", "node", "", source, "gone", "10m", 1, "it"
        ]),
    );
    event["series"] = json!({"count": 9, "lastObservedTime": "2026-01-01T23:59:30.000000Z"});
    assert_row(
        row(&event),
        json!([
            "30s", "Warning", "Lost", "node", "", source, "gone", "10m", 9, "it"
        ]),
    );
}

#[test]
fn events_without_times_are_of_unknown_age() {
    assert_eq!(cell("", "Event", "Last Seen", json!({})), "<unknown>");
    assert_eq!(
        cell("", "Event", "First Seen", json!({"firstTimestamp": null})),
        "<unknown>"
    );
}

#[test]
fn disruption_budgets_show_numbers_and_shares() {
    let budget = json!({"spec": {"minAvailable": 2}, "status": {"disruptionsAllowed": 1}});
    let row = |object| cells("policy", "PodDisruptionBudget", object);
    assert_row(row(budget), json!(["it", "2", "N/A", 1, "5m"]));
    let budget = json!({"spec": {"maxUnavailable": "30%"}});
    assert_row(row(budget), json!(["it", "N/A", "30%", 0, "5m"]));
}

#[test]
fn bindings_show_role_and_subjects_by_kind() {
    let binding = json!({
        "roleRef": {"kind": "ClusterRole", "name": "view"},
        "subjects": [
            {"kind": "User", "name": "jane"},
            {"kind": "ServiceAccount", "name": "bot", "namespace": "ci"},
            {"kind": "User", "name": "joe"},
            {"kind": "Group", "name": "ops"},
        ],
    });
    for kind in ["RoleBinding", "ClusterRoleBinding"] {
        assert_row(
            cells("rbac.authorization.k8s.io", kind, binding.clone()),
            json!(["it", "ClusterRole/view", "5m", "jane, joe", "ops", "ci/bot"]),
        );
    }
}

#[test]
fn signing_requests_show_their_condition() {
    let request = json!({
        "spec": {"signerName": "example.com/s", "username": "jane", "expirationSeconds": 3600},
        "status": {
            "conditions": [{"type": "Approved"}, {"type": "Failed"}],
            "certificate": "AA==",
        },
    });
    let row = |object| cells("certificates.k8s.io", "CertificateSigningRequest", object);
    assert_row(
        row(request),
        json!([
            "it",
            "5m",
            "example.com/s",
            "jane",
            "60m",
            "Approved,Failed,Issued"
        ]),
    );
    assert_row(
        row(json!({})),
        json!(["it", "5m", "<none>", "", "<none>", "Pending"]),
    );
    let denied = json!({"status": {"conditions": [{"type": "Approved"}, {"type": "Denied"}]}});
    let condition = cell(
        "certificates.k8s.io",
        "CertificateSigningRequest",
        "Condition",
        denied,
    );
    assert_eq!(condition, "Denied");
}

#[test]
fn trust_bundles_and_pod_certificates_show_their_signer() {
    let bundle = json!({"spec": {"signerName": "example.com/s"}});
    let row = cells("certificates.k8s.io", "ClusterTrustBundle", bundle);
    assert_row(row, json!(["it", "example.com/s"]));
    let request = json!({
        "spec": {
            "podName": "web", "serviceAccountName": "sa", "nodeName": "n",
            "signerName": "example.com/s", "unverifiedUserAnnotations": {"a": "b"},
        },
        "status": {"conditions": [{"type": "Issued", "status": "True"}]},
    });
    assert_row(
        cells("certificates.k8s.io", "PodCertificateRequest", request),
        json!(["it", "web", "sa", "n", "example.com/s", "Issued", "a=b"]),
    );
}

#[test]
fn leases_show_their_holder_and_candidates_their_versions() {
    let lease = json!({"spec": {"holderIdentity": "me"}});
    assert_row(
        cells("coordination.k8s.io", "Lease", lease),
        json!(["it", "me", "5m"]),
    );
    let candidate = json!({"spec": {
        "leaseName": "l", "binaryVersion": "1.36.0", "emulationVersion": "1.35.0",
    }});
    assert_row(
        cells("coordination.k8s.io", "LeaseCandidate", candidate),
        json!(["it", "l", "1.36.0", "1.35.0", "5m"]),
    );
}

#[test]
fn flow_schemas_show_their_level_and_are_listed_by_precedence() {
    let schema = |name: &str, precedence: i64| {
        json!({
            "metadata": {"name": name},
            "spec": {
                "priorityLevelConfiguration": {"name": "high"}, "matchingPrecedence": precedence,
                "distinguisherMethod": {"type": "ByUser"},
            },
            "status": {"conditions": [{"type": "Dangling", "status": "False"}]},
        })
    };
    let group = "flowcontrol.apiserver.k8s.io";
    assert_row(
        cells(group, "FlowSchema", schema("a", 9)),
        json!(["it", "high", 9, "ByUser", "5m", "False"]),
    );
    assert_row(
        cells(group, "FlowSchema", json!({})),
        json!(["it", "", 0, "<none>", "5m", "?"]),
    );
    let order = printer(group, "FlowSchema")
        .and_then(|it| it.list_order)
        .expect("has an order");
    let mut schemas = [schema("b", 9), schema("c", 1), schema("a", 9)];
    schemas.sort_by(order);
    assert_eq!(
        schemas.map(|schema| schema["metadata"]["name"].clone()),
        ["c", "a", "b"]
    );
}

#[test]
fn priority_levels_show_numbers_where_they_are_limited() {
    let row = |object| {
        cells(
            "flowcontrol.apiserver.k8s.io",
            "PriorityLevelConfiguration",
            object,
        )
    };
    let queuing = json!({"queues": 64, "handSize": 8, "queueLengthLimit": 50});
    let level = json!({"spec": {"type": "Limited", "limited": {
        "nominalConcurrencyShares": 30, "limitResponse": {"queuing": queuing},
    }}});
    assert_row(row(level), json!(["it", "Limited", 30, 64, 8, 50, "5m"]));
    let none = "<none>";
    let level = json!({"spec": {"type": "Limited", "limited": {"nominalConcurrencyShares": 0}}});
    assert_row(
        row(level),
        json!(["it", "Limited", 0, none, none, none, "5m"]),
    );
    let level = json!({"spec": {"type": "Exempt"}});
    assert_row(
        row(level),
        json!(["it", "Exempt", none, none, none, none, "5m"]),
    );
}

#[test]
fn admission_policies_and_webhooks_show_how_many_rules_they_have() {
    let group = "admissionregistration.k8s.io";
    let policy = json!({"spec": {
        "paramKind": {"apiVersion": "v1", "kind": "ConfigMap"},
        "validations": [{}, {}], "mutations": [{}],
    }});
    assert_row(
        cells(group, "ValidatingAdmissionPolicy", policy.clone()),
        json!(["it", 2, "v1/ConfigMap", "5m"]),
    );
    assert_row(
        cells(group, "MutatingAdmissionPolicy", policy),
        json!(["it", 1, "v1/ConfigMap", "5m"]),
    );
    assert_eq!(
        cell(group, "MutatingAdmissionPolicy", "ParamKind", json!({})),
        "<unset>"
    );
    for kind in [
        "ValidatingWebhookConfiguration",
        "MutatingWebhookConfiguration",
    ] {
        assert_row(
            cells(group, kind, json!({"webhooks": [{}, {}]})),
            json!(["it", 2, "5m"]),
        );
    }
}

#[test]
fn policy_bindings_show_their_parameters() {
    let param = |reference: Value| {
        let binding = json!({"spec": {"policyName": "p", "paramRef": reference}});
        cell(
            "admissionregistration.k8s.io",
            "ValidatingAdmissionPolicyBinding",
            "ParamRef",
            binding,
        )
    };
    assert_eq!(param(Value::Null), "<unset>");
    assert_eq!(param(json!({"name": "x", "namespace": "y"})), "y/x");
    assert_eq!(param(json!({"name": "x"})), "*/x");
    let expression = json!({"key": "k", "operator": "In", "values": ["b", "a"]});
    assert_eq!(
        param(json!({"selector": {"matchLabels": {"a": "1"}, "matchExpressions": [expression]}})),
        "&LabelSelector{MatchLabels:map[string]string{a: 1,},MatchExpressions:\
         []LabelSelectorRequirement{LabelSelectorRequirement{Key:k,Operator:In,Values:[b a],},},}"
    );
}

#[test]
fn scheduling_kinds_show_priority_and_groups() {
    let group = "scheduling.k8s.io";
    let class = json!({"value": -5, "globalDefault": true, "preemptionPolicy": "Never"});
    assert_row(
        cells(group, "PriorityClass", class),
        json!(["it", -5, true, "5m", "Never"]),
    );
    assert_row(cells(group, "Workload", json!({})), json!(["it", "5m"]));
    assert_row(
        cells(group, "PodGroup", json!({})),
        json!(["it", "Basic", "<none>", "Pending", "5m"]),
    );
    let mut pods = json!({
        "spec": {
            "schedulingPolicy": {"gang": {"minCount": 2}},
            "podGroupTemplateRef": {"workload": {"workloadName": "train"}},
        },
        "status": {"conditions": [{"type": "PodGroupScheduled", "status": "False"}]},
    });
    assert_row(
        cells(group, "PodGroup", pods.clone()),
        json!(["it", "Gang", "train", "Unschedulable", "5m"]),
    );
    pods["status"]["conditions"][0]["status"] = json!("True");
    assert_eq!(cell(group, "PodGroup", "Status", pods.clone()), "Scheduled");
    pods["status"]["conditions"] =
        json!([{"type": "DisruptionTarget", "status": "True", "reason": "PreemptionByScheduler"}]);
    assert_eq!(
        cell(group, "PodGroup", "Status", pods),
        "PreemptionByScheduler"
    );
}

#[test]
fn runtime_classes_show_their_handler() {
    let class = json!({"handler": "gvisor"});
    assert_row(
        cells("node.k8s.io", "RuntimeClass", class),
        json!(["it", "gvisor", "5m"]),
    );
}

#[test]
fn storage_versions_and_migrations_show_progress() {
    let version = json!({"status": {"storageVersions": [
        {"apiServerID": "a", "encodingVersion": "v1"},
        {"apiServerID": "b", "encodingVersion": "v2"},
    ]}});
    assert_row(
        cells("internal.apiserver.k8s.io", "StorageVersion", version),
        json!(["it", "<unset>", "a=v1,b=v2", "5m"]),
    );
    let migration = json!({
        "spec": {"resource": {"group": "apps", "resource": "deployments"}},
        "status": {"conditions": [
            {"type": "Running", "status": "False"}, {"type": "Succeeded", "status": "True"},
        ]},
    });
    assert_row(
        cells(
            "storagemigration.k8s.io",
            "StorageVersionMigration",
            migration,
        ),
        json!(["it", "deployments.apps", "Succeeded"]),
    );
}

#[test]
fn api_services_show_where_they_are_served_and_whether() {
    let row = |object| cells("apiregistration.k8s.io", "APIService", object);
    assert_row(row(json!({})), json!(["it", "Local", "Unknown", "5m"]));
    let service = |status: &str, reason: &str| {
        json!({
            "spec": {"service": {"namespace": "a", "name": "b"}},
            "status": {"conditions": [{"type": "Available", "status": status, "reason": reason}]},
        })
    };
    assert_row(
        row(service("True", "Passed")),
        json!(["it", "a/b", "True", "5m"]),
    );
    assert_row(
        row(service("False", "MissingEndpoints")),
        json!(["it", "a/b", "False (MissingEndpoints)", "5m"]),
    );
}
