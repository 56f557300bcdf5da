//! A schema as a tree of statics: a Deployment and a ConfigMap as far as the tests need them.

use kubewright_merge::schema::{ListMerge, Scalar, Schema, Shape};
use kubewright_merge::strategic::{Holder, PatchField, PatchSchema, Strategy};
use serde_json::{Value, json};

/// A handle to a type.
#[derive(Clone, Copy)]
pub(crate) struct Type(pub(crate) &'static Kind);

/// A type.
pub(crate) enum Kind {
    /// A number.
    Number,
    /// A string.
    Text,
    /// An object with these fields.
    Struct(&'static str, &'static [(&'static str, Kind)]),
    /// An object with these fields, as one value.
    Atomic(&'static str, &'static [(&'static str, Kind)]),
    /// An object whose keys are data.
    Map(&'static Kind),
    /// A list as one value.
    List(&'static Kind),
    /// A list of items that these members identify, some of which have a default.
    Keyed(
        &'static [(&'static str, Option<&'static str>)],
        &'static Kind,
    ),
    /// Anything.
    Any,
}

use Kind::{Any, Atomic, Keyed, List, Map, Number, Struct, Text};

static METADATA: &[(&str, Kind)] = &[
    ("name", Text),
    ("namespace", Text),
    ("uid", Text),
    ("resourceVersion", Text),
    ("generation", Number),
    ("creationTimestamp", Text),
    ("labels", Map(&Text)),
    ("annotations", Map(&Text)),
    ("managedFields", Any),
];
static QUANTITIES: &[(&str, Kind)] = &[("limits", Map(&Text)), ("requests", Map(&Text))];
static PROBE: &[(&str, Kind)] = &[
    (
        "httpGet",
        Struct(
            "HTTPGetAction",
            &[("path", Text), ("port", Any), ("scheme", Text)],
        ),
    ),
    ("timeoutSeconds", Number),
    ("periodSeconds", Number),
    ("successThreshold", Number),
    ("failureThreshold", Number),
];
static PORT: Kind = Struct(
    "ContainerPort",
    &[
        ("containerPort", Number),
        ("name", Text),
        ("protocol", Text),
    ],
);
static ENV: Kind = Struct(
    "EnvVar",
    &[("name", Text), ("value", Text), ("valueFrom", Any)],
);
static MOUNT: Kind = Struct("VolumeMount", &[("name", Text), ("mountPath", Text)]);
static CONTAINER: Kind = Struct(
    "Container",
    &[
        ("name", Text),
        ("image", Text),
        ("command", List(&Text)),
        ("args", List(&Text)),
        (
            "ports",
            Keyed(&[("containerPort", None), ("protocol", Some("TCP"))], &PORT),
        ),
        ("env", Keyed(&[("name", None)], &ENV)),
        ("resources", Struct("ResourceRequirements", QUANTITIES)),
        ("volumeMounts", Keyed(&[("mountPath", None)], &MOUNT)),
        ("livenessProbe", Struct("Probe", PROBE)),
        ("readinessProbe", Struct("Probe", PROBE)),
        ("terminationMessagePath", Text),
        ("terminationMessagePolicy", Text),
        ("imagePullPolicy", Text),
    ],
);
static SELECTOR: &[(&str, Kind)] = &[("matchLabels", Map(&Text))];
static VOLUME: Kind = Struct(
    "Volume",
    &[("name", Text), ("emptyDir", Any), ("configMap", Any)],
);
static POD_SPEC: &[(&str, Kind)] = &[
    ("volumes", Keyed(&[("name", None)], &VOLUME)),
    ("containers", Keyed(&[("name", None)], &CONTAINER)),
    ("restartPolicy", Text),
    ("terminationGracePeriodSeconds", Number),
    ("dnsPolicy", Text),
    ("serviceAccountName", Text),
    ("securityContext", Any),
    ("schedulerName", Text),
];

/// `apps/v1, Kind=Deployment`
pub(crate) static DEPLOYMENT: Kind = Struct(
    "Deployment",
    &[
        ("apiVersion", Text),
        ("kind", Text),
        ("metadata", Struct("ObjectMeta", METADATA)),
        (
            "spec",
            Struct(
                "DeploymentSpec",
                &[
                    ("replicas", Number),
                    ("selector", Atomic("LabelSelector", SELECTOR)),
                    (
                        "template",
                        Struct(
                            "PodTemplateSpec",
                            &[
                                ("metadata", Struct("ObjectMeta", METADATA)),
                                ("spec", Struct("PodSpec", POD_SPEC)),
                            ],
                        ),
                    ),
                    (
                        "strategy",
                        Struct(
                            "DeploymentStrategy",
                            &[
                                ("type", Text),
                                (
                                    "rollingUpdate",
                                    Struct(
                                        "RollingUpdateDeployment",
                                        &[("maxUnavailable", Any), ("maxSurge", Any)],
                                    ),
                                ),
                            ],
                        ),
                    ),
                    ("revisionHistoryLimit", Number),
                    ("progressDeadlineSeconds", Number),
                ],
            ),
        ),
        (
            "status",
            Struct(
                "DeploymentStatus",
                &[("replicas", Number), ("readyReplicas", Number)],
            ),
        ),
    ],
);

/// `v1, Kind=ConfigMap`
pub(crate) static CONFIG_MAP: Kind = Struct(
    "ConfigMap",
    &[
        ("apiVersion", Text),
        ("kind", Text),
        ("metadata", Struct("ObjectMeta", METADATA)),
        ("data", Map(&Text)),
    ],
);

/// The encoding of an empty Deployment.
pub(crate) fn empty_deployment() -> Value {
    json!({
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {},
        "spec": {"selector": null, "strategy": {}, "template": {"metadata": {}, "spec": {"containers": null}}},
        "status": {}
    })
}

/// A Deployment of about four kilobytes.
pub(crate) fn deployment() -> Value {
    let probe = json!({"httpGet": {"path": "/healthz", "port": 8080, "scheme": "HTTP"}, "timeoutSeconds": 1, "periodSeconds": 10, "successThreshold": 1, "failureThreshold": 3});
    let container = |name: &str| {
        json!({
            "name": name, "image": format!("registry.example.com/team/{name}:v1.2.3"),
            "command": ["/bin/server"], "args": ["--listen=:8080", "--verbose=2", "--leader-elect"],
            "ports": [{"containerPort": 8080, "name": "http", "protocol": "TCP"}, {"containerPort": 9090, "name": "metrics", "protocol": "TCP"}],
            "env": [{"name": "NODE", "value": "a"}, {"name": "ZONE", "value": "b"}, {"name": "REGION", "value": "c"}],
            "resources": {"limits": {"cpu": "500m", "memory": "128Mi"}, "requests": {"cpu": "250m", "memory": "64Mi"}},
            "volumeMounts": [{"name": "tmp", "mountPath": "/tmp"}, {"name": "config", "mountPath": "/etc/config"}],
            "livenessProbe": probe, "readinessProbe": probe,
            "terminationMessagePath": "/dev/termination-log", "terminationMessagePolicy": "File", "imagePullPolicy": "IfNotPresent"
        })
    };
    json!({
        "apiVersion": "apps/v1", "kind": "Deployment",
        "metadata": {"name": "web", "namespace": "default", "uid": "u", "labels": {"app": "web", "tier": "front"}, "annotations": {"note": "a"}},
        "spec": {
            "replicas": 3, "revisionHistoryLimit": 10, "progressDeadlineSeconds": 600,
            "selector": {"matchLabels": {"app": "web"}},
            "strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": "25%", "maxSurge": "25%"}},
            "template": {
                "metadata": {"labels": {"app": "web", "tier": "front"}},
                "spec": {
                    "volumes": [{"name": "tmp", "emptyDir": {}}, {"name": "config", "configMap": {"name": "web", "defaultMode": 420}}],
                    "containers": [container("web"), container("proxy"), container("agent")],
                    "restartPolicy": "Always", "terminationGracePeriodSeconds": 30, "dnsPolicy": "ClusterFirst",
                    "securityContext": {}, "schedulerName": "default-scheduler"
                }
            }
        },
        "status": {}
    })
}

impl Schema for Type {
    fn shape(&self) -> Shape<Self> {
        match self.0 {
            Number => Shape::Scalar(Scalar::Numeric),
            Text => Shape::Scalar(Scalar::String),
            Struct(..) => Shape::Struct {
                atomic: false,
                element: None,
            },
            Atomic(..) => Shape::Struct {
                atomic: true,
                element: None,
            },
            Map(item) => Shape::Map {
                atomic: false,
                item: Type(item),
            },
            List(item) => Shape::List {
                merge: ListMerge::Atomic,
                item: Type(item),
            },
            Keyed(_, item) => Shape::List {
                merge: ListMerge::Map,
                item: Type(item),
            },
            Any => Shape::Untyped,
        }
    }

    fn field(&self, name: &str) -> Option<Self> {
        let (Struct(_, fields) | Atomic(_, fields)) = self.0 else {
            return None;
        };
        fields
            .iter()
            .find(|(field, _)| *field == name)
            .map(|(_, kind)| Type(kind))
    }

    fn key(&self, index: usize) -> Option<&str> {
        let Keyed(keys, _) = self.0 else { return None };
        keys.get(index).map(|(name, _)| *name)
    }

    fn key_default(&self, key: &str) -> Option<Value> {
        let Keyed(keys, _) = self.0 else { return None };
        keys.iter()
            .find(|(name, _)| *name == key)?
            .1
            .map(Value::from)
    }
}

impl PatchSchema for Type {
    fn holder(&self) -> Holder<'_> {
        match self.0 {
            Struct(name, _) | Atomic(name, _) => Holder::Struct(name),
            Number => Holder::Other("int64"),
            Text => Holder::Other("string"),
            List(_) | Keyed(..) => Holder::Other("slice"),
            Map(_) | Any => Holder::Other("map"),
        }
    }

    fn patch_field(&self, name: &str) -> Option<PatchField<Self>> {
        let schema = self.field(name)?;
        let (strategy, merge_key) = match schema.0 {
            Keyed(keys, _) => (Strategy::Merge, keys.first().map(|(name, _)| *name)),
            _ => (Strategy::Default, None),
        };
        Some(PatchField {
            schema,
            strategy,
            retain_keys: name == "strategy",
            merge_key,
        })
    }

    fn item(&self) -> Option<Self> {
        match self.0 {
            List(item) | Keyed(_, item) => Some(Type(item)),
            _ => None,
        }
    }
}
