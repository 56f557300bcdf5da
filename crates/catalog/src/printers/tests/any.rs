//! Rules that hold for all printers.

use serde_json::{Value, json};

use super::NOW;
use crate::printers::{DEFAULT, PrintOptions, Printer, printer};

const GROUPS: [&str; 20] = [
    "",
    "admissionregistration.k8s.io",
    "apiregistration.k8s.io",
    "apps",
    "autoscaling",
    "batch",
    "certificates.k8s.io",
    "coordination.k8s.io",
    "discovery.k8s.io",
    "events.k8s.io",
    "flowcontrol.apiserver.k8s.io",
    "internal.apiserver.k8s.io",
    "networking.k8s.io",
    "node.k8s.io",
    "policy",
    "rbac.authorization.k8s.io",
    "resource.k8s.io",
    "scheduling.k8s.io",
    "storage.k8s.io",
    "storagemigration.k8s.io",
];

const KINDS: &str = "APIService CSIDriver CSINode CertificateSigningRequest ClusterRoleBinding ClusterTrustBundle \
    ComponentStatus ConfigMap ControllerRevision CronJob DaemonSet Deployment DeviceClass DeviceTaintRule \
    EndpointSlice Endpoints Event FlowSchema HorizontalPodAutoscaler IPAddress Ingress IngressClass Job Lease \
    LeaseCandidate MutatingAdmissionPolicy MutatingAdmissionPolicyBinding MutatingWebhookConfiguration Namespace \
    NetworkPolicy Node PersistentVolume PersistentVolumeClaim Pod PodCertificateRequest PodDisruptionBudget PodGroup \
    PodTemplate PriorityClass PriorityLevelConfiguration ReplicaSet ReplicationController ResourceClaim \
    ResourceClaimTemplate ResourcePoolStatusRequest ResourceQuota ResourceSlice RoleBinding RuntimeClass Scale \
    Secret Service ServiceAccount ServiceCIDR StatefulSet StorageClass StorageVersion StorageVersionMigration \
    ValidatingAdmissionPolicy ValidatingAdmissionPolicyBinding ValidatingWebhookConfiguration VolumeAttachment \
    VolumeAttributesClass Workload";

fn printers() -> Vec<(&'static str, &'static Printer)> {
    let kinds = || KINDS.split_whitespace();
    let all = GROUPS
        .iter()
        .flat_map(|group| kinds().map(move |kind| (*group, kind)));
    all.filter_map(|(group, kind)| Some((kind, printer(group, kind)?)))
        .collect()
}

fn print(printer: &Printer, object: &Value) -> Vec<Value> {
    (printer.cells)(
        object,
        &PrintOptions {
            now_unix_seconds: NOW,
        },
    )
}

#[test]
fn every_kind_has_one_printer_and_events_have_two() {
    let kinds = KINDS.split_whitespace().count();
    assert_eq!(printers().len(), kinds + 1);
}

#[test]
fn kinds_without_a_printer_of_their_own_have_none() {
    assert!(printer("rbac.authorization.k8s.io", "Role").is_none());
    assert!(printer("storage.k8s.io", "CSIStorageCapacity").is_none());
    assert!(printer("", "LimitRange").is_none());
    assert!(printer("apps", "Pod").is_none());
    assert!(printer("example.com", "Pod").is_none());
}

#[test]
fn every_column_is_described_and_of_a_known_type() {
    for (kind, printer) in printers() {
        for column in printer.columns {
            assert!(!column.description.is_empty(), "{kind} {}", column.name);
            assert!(
                ["string", "integer", "boolean"].contains(&column.ty),
                "{kind} {}",
                column.name
            );
            assert!(column.priority <= 1, "{kind} {}", column.name);
        }
    }
}

#[test]
fn every_row_is_as_wide_as_its_columns_but_for_addresses() {
    for (kind, printer) in printers() {
        let extra = usize::from(kind == "IPAddress");
        assert_eq!(
            print(printer, &json!({})).len(),
            printer.columns.len() + extra,
            "{kind}"
        );
    }
}

#[test]
fn the_default_shows_name_and_time_of_creation() {
    let columns = DEFAULT
        .columns
        .iter()
        .map(|column| (column.name, column.ty, column.format));
    assert_eq!(
        columns.collect::<Vec<_>>(),
        [("Name", "string", "name"), ("Created At", "date", "")]
    );
    let role = json!({"metadata": {"name": "r", "creationTimestamp": "2026-01-01T01:00:00+01:00"}});
    assert_eq!(print(&DEFAULT, &role), ["r", "2026-01-01T00:00:00Z"]);
    assert_eq!(print(&DEFAULT, &json!({})), ["", "0001-01-01T00:00:00Z"]);
}

#[test]
fn ages_that_are_not_set_are_unknown_and_those_in_the_future_invalid() {
    let accounts = printer("", "ServiceAccount").expect("has a printer");
    let age = |created: Value| {
        print(
            accounts,
            &json!({"metadata": {"creationTimestamp": created}}),
        )
        .swap_remove(1)
    };
    assert_eq!(age(Value::Null), "<unknown>");
    assert_eq!(age(json!("0001-01-01T00:00:00Z")), "<unknown>");
    assert_eq!(age(json!("yesterday")), "<unknown>");
    assert_eq!(age(json!("2026-01-02T00:00:01Z")), "0s");
    assert_eq!(age(json!("2026-01-02T00:01:00Z")), "<invalid>");
    assert_eq!(age(json!("2025-12-31T23:59:59Z")), "24h");
}

#[test]
fn no_printer_minds_objects_of_the_wrong_shape() {
    let junk = [
        json!(null),
        json!(true),
        json!(i64::MAX),
        json!(-1.5),
        json!("x"),
        json!([[]]),
        json!({}),
    ];
    let object = rich_object();
    let printers = printers();
    let print_all = |object: &Value| {
        printers
            .iter()
            .for_each(|(_, printer)| drop(print(printer, object)))
    };
    for value in &junk {
        print_all(value);
        for pointer in pointers(&object) {
            let mut changed = object.clone();
            *changed
                .pointer_mut(&pointer)
                .expect("the pointer is of this object") = value.clone();
            print_all(&changed);
        }
    }
}

/// An object with most of the fields any printer reads.
fn rich_object() -> Value {
    let container = json!({
        "name": "a", "image": "a:1", "restartPolicy": "Always", "ready": true, "started": true,
        "restartCount": i64::MAX,
        "state": {"waiting": {"reason": "r"}, "terminated": {"exitCode": 1, "signal": 2}},
        "lastState": {"terminated": {"finishedAt": "2026-01-01T00:00:00Z"}},
    });
    let containers = json!([container, container]);
    json!({
        "metadata": {"name": "n", "labels": {"a": "b"}, "ownerReferences": [{"controller": true}]},
        "spec": {
            "replicas": 1, "containers": containers, "initContainers": containers,
            "selector": {"matchLabels": {"a": "b"}, "matchExpressions": [{"key": "a"}]},
            "template": {"spec": {"containers": containers}},
            "type": "LoadBalancer", "ports": [{"port": 80, "nodePort": 1}], "externalIPs": ["a"],
            "metrics": [{"type": "External", "external": {"target": {"value": "1"}}}],
            "rules": [{"host": "a"}], "capacity": {"storage": "1Gi"}, "claimRef": {"name": "a"},
            "limited": {"limitResponse": {"queuing": {"queues": 1}}},
            "paramRef": {"selector": {"matchLabels": {"a": "b"}}},
            "parentRef": {"resource": "r"}, "taint": {"key": "k"},
        },
        "status": {
            "conditions": [{"type": "Ready", "status": "True"}], "pools": [{"totalDevices": i64::MAX}],
            "initContainerStatuses": containers, "containerStatuses": containers,
            "hard": {"pods": "1"}, "used": {"pods": "1"},
            "loadBalancer": {"ingress": [{"ip": "a"}]},
            "currentMetrics": [{"external": {"current": {"value": "1"}}}],
        },
        "subsets": [{"addresses": [{"ip": "a"}], "ports": [{"port": 1}]}],
        "endpoints": [{"addresses": ["a"]}],
        "series": {"count": 1},
        "subjects": [{"kind": "User"}],
    })
}

/// The JSON pointers of every value within a value.
fn pointers(value: &Value) -> Vec<String> {
    let children: Vec<(String, &Value)> = match value {
        Value::Object(entries) => entries
            .iter()
            .map(|(key, child)| (key.clone(), child))
            .collect(),
        Value::Array(items) => items
            .iter()
            .enumerate()
            .map(|(index, child)| (index.to_string(), child))
            .collect(),
        _ => Vec::new(),
    };
    let below = children.into_iter().flat_map(|(step, child)| {
        std::iter::once(format!("/{step}"))
            .chain(
                pointers(child)
                    .into_iter()
                    .map(move |rest| format!("/{step}{rest}")),
            )
            .collect::<Vec<_>>()
    });
    below.collect()
}
