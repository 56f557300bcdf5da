//! [`Plan`]: what a pod asks of its node, read from its JSON.

use std::collections::BTreeMap;

use jiff::Timestamp;
use kubewright_informer::{Key, StoredObject};
use serde::Deserialize;
use serde_json::Value;

/// The parts of a pod's spec that the node acts on.
pub(crate) struct Plan {
    pub(crate) key: Key,
    pub(crate) uid: String,
    pub(crate) resource_version: String,
    pub(crate) generation: i64,
    pub(crate) deletion: Option<Deletion>,
    pub(crate) annotations: BTreeMap<String, String>,
    pub(crate) spec: Spec,
    /// Init containers in order, then containers, then ephemeral ones.
    pub(crate) containers: Vec<ContainerPlan>,
    pub(crate) status: Seen,
}

/// The deletion of a pod.
pub(crate) struct Deletion {
    /// The time by which everything must have ended.
    pub(crate) at: Timestamp,
    pub(crate) grace_seconds: i64,
}

/// The fields of the spec that concern the whole pod.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct Spec {
    pub(crate) node_name: String,
    pub(crate) restart_policy: String,
    pub(crate) host_network: bool,
    pub(crate) active_deadline_seconds: Option<i64>,
    pub(crate) readiness_gates: Vec<ReadinessGate>,
    containers: Vec<RawContainer>,
    init_containers: Vec<RawContainer>,
    ephemeral_containers: Vec<RawContainer>,
    volumes: Vec<Volume>,
    security_context: SecurityContext,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct ReadinessGate {
    pub(crate) condition_type: String,
}

/// The role of a container.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Runs to its end before the next one starts.
    Init,
    /// An init container that goes on running.
    Sidecar,
    Main,
    Ephemeral,
}

/// The parts of a container's spec that the node acts on.
pub(crate) struct ContainerPlan {
    pub(crate) kind: Kind,
    pub(crate) raw: RawContainer,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct RawContainer {
    pub(crate) name: String,
    pub(crate) image: String,
    pub(crate) image_pull_policy: String,
    pub(crate) command: Vec<String>,
    pub(crate) args: Vec<String>,
    pub(crate) restart_policy: String,
    pub(crate) restart_policy_rules: Vec<RestartRule>,
    pub(crate) resources: Value,
    pub(crate) volume_mounts: Vec<Value>,
    pub(crate) readiness_probe: Option<Probe>,
    pub(crate) liveness_probe: Option<Probe>,
    pub(crate) startup_probe: Option<Probe>,
    pub(crate) lifecycle: Lifecycle,
    pub(crate) termination_message_policy: String,
    pub(crate) env: Vec<EnvVar>,
    pub(crate) env_from: Vec<EnvFrom>,
    security_context: SecurityContext,
}

/// A rule for restarts by exit code.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct RestartRule {
    action: String,
    exit_codes: ExitCodes,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct ExitCodes {
    operator: String,
    values: Vec<i32>,
}

/// A probe.
#[derive(Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct Probe {
    pub(crate) initial_delay_seconds: i64,
    pub(crate) period_seconds: i64,
    pub(crate) success_threshold: u32,
    pub(crate) failure_threshold: u32,
    pub(crate) http_get: Option<Value>,
    pub(crate) exec: Option<Value>,
    pub(crate) grpc: Option<Value>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct Lifecycle {
    pub(crate) pre_stop: Option<Hook>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
pub(crate) struct Hook {
    pub(crate) sleep: Option<Sleep>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
pub(crate) struct Sleep {
    pub(crate) seconds: i64,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct EnvVar {
    pub(crate) name: String,
    pub(crate) value: String,
    value_from: ValueFrom,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct ValueFrom {
    config_map_key_ref: Option<KeyRef>,
    secret_key_ref: Option<KeyRef>,
    field_ref: Option<FieldRef>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct FieldRef {
    field_path: String,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct KeyRef {
    name: String,
    optional: bool,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct EnvFrom {
    config_map_ref: Option<KeyRef>,
    secret_ref: Option<KeyRef>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Volume {
    name: String,
    config_map: Option<VolumeRef>,
    secret: Option<VolumeRef>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct VolumeRef {
    name: String,
    secret_name: String,
    optional: bool,
}

#[derive(Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct SecurityContext {
    run_as_user: Option<i64>,
    run_as_group: Option<i64>,
}

/// The status that the server shows.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct Seen {
    pub(crate) phase: String,
    pub(crate) start_time: Option<String>,
    #[serde(rename = "podIP")]
    pub(crate) pod_ip: Option<String>,
    pub(crate) conditions: Vec<Condition>,
    pub(crate) container_statuses: Vec<SeenContainer>,
    pub(crate) init_container_statuses: Vec<SeenContainer>,
    pub(crate) ephemeral_container_statuses: Vec<SeenContainer>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct Condition {
    #[serde(rename = "type")]
    pub(crate) type_: String,
    pub(crate) status: String,
    pub(crate) last_transition_time: Option<String>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct SeenContainer {
    pub(crate) name: String,
    pub(crate) restart_count: u32,
    pub(crate) ready: bool,
    pub(crate) started: bool,
    pub(crate) state: SeenState,
}

#[derive(Default, Deserialize)]
#[serde(default)]
pub(crate) struct SeenState {
    pub(crate) running: Option<SeenRunning>,
    pub(crate) terminated: Option<SeenTerminated>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct SeenRunning {
    pub(crate) started_at: Option<String>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct SeenTerminated {
    pub(crate) exit_code: i32,
    pub(crate) reason: String,
    pub(crate) started_at: Option<String>,
    pub(crate) finished_at: Option<String>,
}

/// An object that a pod cannot start without.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Reference {
    pub(crate) plural: &'static str,
    /// The kind as messages name it.
    pub(crate) kind: &'static str,
    pub(crate) name: String,
    /// The volume that needs it; containers' environments otherwise.
    pub(crate) volume: Option<String>,
}

#[derive(Deserialize)]
struct RawPod {
    metadata: RawMetadata,
    #[serde(default)]
    spec: Spec,
    #[serde(default)]
    status: Seen,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct RawMetadata {
    #[serde(default)]
    generation: i64,
    deletion_timestamp: Option<String>,
    deletion_grace_period_seconds: Option<i64>,
    #[serde(default)]
    annotations: BTreeMap<String, String>,
}

impl Plan {
    /// Reads a pod.
    pub(crate) fn read(object: &StoredObject) -> Result<Self, serde_json::Error> {
        let raw: RawPod = serde_json::from_slice(&object.json())?;
        let RawPod {
            metadata,
            mut spec,
            status,
        } = raw;
        let init = std::mem::take(&mut spec.init_containers).into_iter();
        let init = init.map(|raw| match raw.restart_policy.as_str() {
            "Always" => (Kind::Sidecar, raw),
            _ => (Kind::Init, raw),
        });
        let main = std::mem::take(&mut spec.containers).into_iter();
        let ephemeral = std::mem::take(&mut spec.ephemeral_containers).into_iter();
        let containers = init
            .chain(main.map(|raw| (Kind::Main, raw)))
            .chain(ephemeral.map(|raw| (Kind::Ephemeral, raw)))
            .map(|(kind, raw)| ContainerPlan { kind, raw })
            .collect();
        let deletion = metadata.deletion_timestamp.as_deref().and_then(time);
        Ok(Self {
            key: object.key().clone(),
            uid: object.uid().to_owned(),
            resource_version: object.resource_version().to_owned(),
            generation: metadata.generation,
            deletion: deletion.map(|at| Deletion {
                at,
                grace_seconds: metadata.deletion_grace_period_seconds.unwrap_or(0),
            }),
            annotations: metadata.annotations,
            spec,
            containers,
            status,
        })
    }

    pub(crate) fn namespace(&self) -> &str {
        self.key.namespace().unwrap_or_default()
    }

    /// Returns the objects that the pod cannot start without.
    pub(crate) fn references(&self) -> Vec<Reference> {
        let mut found = Vec::new();
        let mut add = |plural, kind, name: &str, volume: Option<&str>, optional: bool| {
            let reference = Reference {
                plural,
                kind,
                name: name.to_owned(),
                volume: volume.map(str::to_owned),
            };
            if !optional && !name.is_empty() && !found.contains(&reference) {
                found.push(reference);
            }
        };
        for volume in &self.spec.volumes {
            let at = Some(volume.name.as_str());
            if let Some(map) = &volume.config_map {
                add("configmaps", "configmap", &map.name, at, map.optional);
            }
            if let Some(secret) = &volume.secret {
                add(
                    "secrets",
                    "secret",
                    &secret.secret_name,
                    at,
                    secret.optional,
                );
            }
        }
        for container in &self.containers {
            let env = container.raw.env.iter().map(|env| &env.value_from);
            let keys = env.map(|from| (&from.config_map_key_ref, &from.secret_key_ref));
            let all = container.raw.env_from.iter();
            let all = all.map(|from| (&from.config_map_ref, &from.secret_ref));
            for (map, secret) in keys.chain(all) {
                if let Some(map) = map {
                    add("configmaps", "configmap", &map.name, None, map.optional);
                }
                if let Some(secret) = secret {
                    add("secrets", "secret", &secret.name, None, secret.optional);
                }
            }
        }
        found
    }

    /// Returns the user and the group of a container.
    pub(crate) fn user(&self, container: &ContainerPlan) -> (i64, i64) {
        let (own, pod) = (&container.raw.security_context, &self.spec.security_context);
        let user = own.run_as_user.or(pod.run_as_user).unwrap_or(0);
        let group = own.run_as_group.or(pod.run_as_group).unwrap_or(0);
        (user, group)
    }
}

impl EnvVar {
    /// Returns the field that the value is taken from.
    pub(crate) fn field(&self) -> Option<&str> {
        self.value_from
            .field_ref
            .as_ref()
            .map(|field| field.field_path.as_str())
    }
}

impl ContainerPlan {
    /// Reports whether the container is started again after it has ended.
    pub(crate) fn restarts(&self, pod: &Spec, exit_code: i32) -> bool {
        if self.kind == Kind::Ephemeral {
            return false;
        }
        let rule = self.raw.restart_policy_rules.iter().find(|rule| {
            let listed = rule.exit_codes.values.contains(&exit_code);
            match rule.exit_codes.operator.as_str() {
                "In" => listed,
                "NotIn" => !listed,
                _ => false,
            }
        });
        if let Some(rule) = rule {
            return rule.action == "Restart";
        }
        let policy = match self.raw.restart_policy.as_str() {
            "" => pod.restart_policy.as_str(),
            own => own,
        };
        match policy {
            "Never" => false,
            "OnFailure" => exit_code != 0,
            _ => self.kind != Kind::Init || exit_code != 0,
        }
    }
}

/// Reads a time.
pub(crate) fn time(text: &str) -> Option<Timestamp> {
    text.parse().ok()
}
