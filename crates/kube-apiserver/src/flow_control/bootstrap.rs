//! The flow schemas and priority levels that a cluster has from the start.

use jiff::Timestamp;
use kubewright_apiserver::{random_uid, registry::payload, rfc3339};
use kubewright_machinery::{Status, status};
use kubewright_store::{Key, Store, WriteError};
use serde_json::{Value, json};

use super::{CONSUMER, GROUP, PriorityAndFairness, index::condition};
use crate::kinds::collection;

/// The manager of the objects.
pub(super) const PRODUCER: &str = "api-priority-and-fairness-config-producer-v1";

/// The annotation that says whether the spec of an object is kept as it is in a new cluster.
pub(super) const AUTO_UPDATE: &str = "apf.kubernetes.io/autoupdate-spec";

/// The plural names of the kinds.
pub(super) const LEVELS_PLURAL: &str = "prioritylevelconfigurations";
pub(super) const SCHEMAS_PLURAL: &str = "flowschemas";

/// A priority level.
struct Level {
    name: &'static str,
    shares: u32,
    lendable_percent: u32,
    response: Response,
}

/// The treatment of requests that do not fit.
enum Response {
    /// There are none.
    Exempt,
    Reject,
    Queue {
        queues: u32,
        hand_size: u32,
    },
}

const LEVELS: [Level; 8] = [
    Level::new("catch-all", 5, 0, Response::Reject),
    Level::new("exempt", 0, 0, Response::Exempt),
    Level::new("global-default", 20, 50, Response::queue(128, 6)),
    Level::new("leader-election", 10, 0, Response::queue(16, 4)),
    Level::new("node-high", 40, 25, Response::queue(64, 6)),
    Level::new("system", 30, 33, Response::queue(64, 6)),
    Level::new("workload-high", 40, 50, Response::queue(128, 6)),
    Level::new("workload-low", 100, 90, Response::queue(128, 6)),
];

impl Response {
    const fn queue(queues: u32, hand_size: u32) -> Self {
        Self::Queue { queues, hand_size }
    }
}

impl Level {
    const fn new(
        name: &'static str,
        shares: u32,
        lendable_percent: u32,
        response: Response,
    ) -> Self {
        Self {
            name,
            shares,
            lendable_percent,
            response,
        }
    }

    fn spec(&self) -> Value {
        let mut settings = json!({
            "nominalConcurrencyShares": self.shares, "lendablePercent": self.lendable_percent,
        });
        match self.response {
            Response::Exempt => return json!({"type": "Exempt", "exempt": settings}),
            Response::Reject => settings["limitResponse"] = json!({"type": "Reject"}),
            Response::Queue { queues, hand_size } => {
                let queuing =
                    json!({"queues": queues, "handSize": hand_size, "queueLengthLimit": 50});
                settings["limitResponse"] = json!({"type": "Queue", "queuing": queuing});
            }
        }
        json!({"type": "Limited", "limited": settings})
    }
}

/// Returns the name, the precedence, the priority level, the distinguisher and the rule of each flow schema.
fn schemas() -> [(&'static str, u32, &'static str, &'static str, Value); 11] {
    let user = |name: &str| json!({"kind": "User", "user": {"name": name}});
    let group = |name: &str| json!({"kind": "Group", "group": {"name": name}});
    let account = |namespace: &str| json!({"kind": "ServiceAccount", "serviceAccount": {"namespace": namespace, "name": "*"}});
    let resources = |verbs: Value, group: &str, resources: Value, cluster: bool| {
        let mut rule = json!({
            "verbs": verbs, "apiGroups": [group], "resources": resources, "namespaces": ["*"],
        });
        if cluster {
            rule["clusterScope"] = json!(true);
        }
        rule
    };
    let all = |subjects: Value| {
        json!({
            "subjects": subjects,
            "resourceRules": [resources(json!(["*"]), "*", json!(["*"]), true)],
            "nonResourceRules": [{"verbs": ["*"], "nonResourceURLs": ["*"]}],
        })
    };
    let everybody = || {
        json!([
            group("system:unauthenticated"),
            group("system:authenticated")
        ])
    };
    let (manager, scheduler) = ("system:kube-controller-manager", "system:kube-scheduler");
    let leases = "coordination.k8s.io";
    [
        ("catch-all", 10000, "catch-all", "ByUser", all(everybody())),
        (
            "exempt",
            1,
            "exempt",
            "",
            all(json!([group("system:masters")])),
        ),
        (
            "global-default",
            9900,
            "global-default",
            "ByUser",
            all(everybody()),
        ),
        (
            "kube-controller-manager",
            800,
            "workload-high",
            "ByNamespace",
            all(json!([user(manager)])),
        ),
        (
            "kube-scheduler",
            800,
            "workload-high",
            "ByNamespace",
            all(json!([user(scheduler)])),
        ),
        (
            "kube-system-service-accounts",
            900,
            "workload-high",
            "ByNamespace",
            all(json!([account("kube-system")])),
        ),
        (
            "probes",
            2,
            "exempt",
            "",
            json!({
                "subjects": everybody(),
                "nonResourceRules": [{"verbs": ["get"], "nonResourceURLs": ["/healthz", "/readyz", "/livez"]}],
            }),
        ),
        (
            "service-accounts",
            9000,
            "workload-low",
            "ByUser",
            all(json!([group("system:serviceaccounts")])),
        ),
        (
            "system-leader-election",
            100,
            "leader-election",
            "ByUser",
            json!({
                "subjects": [user(manager), user(scheduler), account("kube-system")],
                "resourceRules": [resources(json!(["get", "create", "update"]), leases, json!(["leases"]), false)],
            }),
        ),
        (
            "system-node-high",
            400,
            "node-high",
            "ByUser",
            json!({
                "subjects": [group("system:nodes")],
                "resourceRules": [
                    resources(json!(["*"]), "", json!(["nodes", "nodes/status"]), true),
                    resources(json!(["*"]), leases, json!(["leases"]), false),
                ],
            }),
        ),
        (
            "system-nodes",
            500,
            "system",
            "ByUser",
            all(json!([group("system:nodes")])),
        ),
    ]
}

/// An object that a cluster has from the start.
pub(super) struct Bootstrapped {
    pub(super) plural: &'static str,
    pub(super) name: &'static str,
    pub(super) object: Value,
}

impl Bootstrapped {
    /// Reports whether the object is mandatory. Users may change the others.
    pub(super) fn is_mandatory(&self) -> bool {
        matches!(self.name, "exempt" | "catch-all")
    }

    /// Returns the key in the store.
    pub(super) fn key(&self) -> Key {
        Key::new(collection(GROUP, self.plural), self.name)
    }

    /// Writes the object as it is stored, without a request. Returns false if there is one already.
    pub(super) async fn create(&self, store: &dyn Store) -> Result<bool, Status> {
        match store.create(self.key(), payload(&self.object)).await {
            Ok(_) => Ok(true),
            Err(WriteError::Exists(_)) => Ok(false),
            Err(error) => Err(status::internal(error)),
        }
    }
}

/// Returns the objects of a new cluster. Without fairness, flow schemas have no conditions.
pub(super) fn objects(now: Timestamp, fairness: PriorityAndFairness) -> Vec<Bootstrapped> {
    let time = rfc3339(now);
    let levels = LEVELS.iter().map(|level| {
        let (name, spec) = (level.name, level.spec());
        Bootstrapped {
            plural: LEVELS_PLURAL,
            name,
            object: object("PriorityLevelConfiguration", name, spec, &time),
        }
    });
    let schemas = schemas();
    let schemas = schemas.into_iter().map(|(name, precedence, level, distinguisher, rule)| {
        let mut spec = json!({
            "matchingPrecedence": precedence, "priorityLevelConfiguration": {"name": level}, "rules": [rule],
        });
        if !distinguisher.is_empty() {
            spec["distinguisherMethod"] = json!({"type": distinguisher});
        }
        let mut object = object("FlowSchema", name, spec, &time);
        if fairness == PriorityAndFairness::Enabled {
            object["status"] = json!({"conditions": [condition(level, false, &time)]});
            if let Some(managers) = object["metadata"]["managedFields"].as_array_mut() {
                managers.insert(0, consumer(&time));
            }
        }
        Bootstrapped {
            plural: SCHEMAS_PLURAL,
            name,
            object,
        }
    });
    levels.chain(schemas).collect()
}

fn object(kind: &str, name: &str, spec: Value, time: &str) -> Value {
    let mut fields = json!({
        "f:metadata": {"f:annotations": {".": {}}},
        "f:spec": owned(&spec),
    });
    fields["f:metadata"]["f:annotations"][format!("f:{AUTO_UPDATE}")] = json!({});
    json!({
        "apiVersion": format!("{GROUP}/v1"), "kind": kind,
        "metadata": {
            "name": name, "uid": random_uid(), "generation": 1, "creationTimestamp": time,
            "annotations": {AUTO_UPDATE: "true"},
            "managedFields": [{
                "manager": PRODUCER, "operation": "Update", "apiVersion": format!("{GROUP}/v1"), "time": time,
                "fieldsType": "FieldsV1", "fieldsV1": fields,
            }],
        },
        "spec": spec,
        "status": {},
    })
}

/// Returns the fields of a spec as their manager owns them. Lists are atomic, and a reference belongs to the spec.
fn owned(value: &Value) -> Value {
    let Value::Object(fields) = value else {
        return json!({});
    };
    let owned = fields.iter().map(|(key, field)| {
        let mut inner = owned(field);
        if field.is_object() && key != "priorityLevelConfiguration" {
            inner["."] = json!({});
        }
        (format!("f:{key}"), inner)
    });
    Value::Object(owned.collect())
}

fn consumer(time: &str) -> Value {
    let condition = json!({
        ".": {}, "f:lastTransitionTime": {}, "f:message": {}, "f:reason": {}, "f:status": {}, "f:type": {},
    });
    json!({
        "manager": CONSUMER, "operation": "Apply", "apiVersion": format!("{GROUP}/v1"), "time": time,
        "fieldsType": "FieldsV1", "subresource": "status",
        "fieldsV1": {"f:status": {"f:conditions": {r#"k:{"type":"Dangling"}"#: condition}}},
    })
}
