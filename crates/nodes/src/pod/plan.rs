//! [`Plan`]: the parts of a pod's JSON that the node acts on.

use std::{collections::BTreeMap, net::Ipv4Addr};

use jiff::Timestamp;
use kubewright_informer::{Key, StoredObject};
use serde::Deserialize;
use serde_json::Value;

pub(crate) use super::env_file::FileKeyRef;
pub(crate) use super::seen::{Seen, SeenContainer};
pub(crate) use super::volume::{Item, ResourceRef, Source, TokenRef, VolumePlan};
use super::{container::Ended, sysctls::Sysctl};
use crate::{
    image::{full_name, untagged},
    network::Call,
};

/// The parts of a pod's spec that the node acts on.
pub(crate) struct Plan {
    pub(crate) key: Key,
    pub(crate) uid: String,
    pub(crate) resource_version: String,
    pub(crate) generation: i64,
    pub(crate) deletion: Option<Deletion>,
    pub(crate) annotations: BTreeMap<String, String>,
    pub(crate) labels: BTreeMap<String, String>,
    pub(crate) spec: Spec,
    /// Init containers in order, then containers, then ephemeral ones.
    pub(crate) containers: Vec<ContainerPlan>,
    pub(crate) status: Seen,
}

/// The deletion of a pod.
pub(crate) struct Deletion {
    /// The time by which all containers must have ended.
    pub(crate) at: Timestamp,
    pub(crate) grace_seconds: i64,
}

/// The fields of the spec that apply to the whole pod.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct Spec {
    pub(crate) node_name: String,
    pub(crate) restart_policy: String,
    pub(crate) host_network: bool,
    #[serde(rename = "hostIPC")]
    pub(crate) host_ipc: bool,
    pub(crate) active_deadline_seconds: Option<i64>,
    termination_grace_period_seconds: Option<i64>,
    pub(crate) readiness_gates: Vec<ReadinessGate>,
    containers: Vec<RawContainer>,
    init_containers: Vec<RawContainer>,
    ephemeral_containers: Vec<RawContainer>,
    pub(crate) volumes: Vec<VolumePlan>,
    /// The resources of the pod as a whole.
    pub(crate) resources: Value,
    pub(crate) hostname: String,
    pub(crate) hostname_override: String,
    #[serde(rename = "setHostnameAsFQDN")]
    pub(crate) set_hostname_as_fqdn: bool,
    pub(crate) subdomain: String,
    pub(crate) host_aliases: Vec<HostAlias>,
    pub(crate) dns_policy: String,
    pub(crate) dns_config: DnsConfig,
    pub(crate) service_account_name: String,
    pub(crate) enable_service_links: bool,
    security_context: SecurityContext,
}

/// Names of an address, in addition to those of DNS.
#[derive(Default, Deserialize)]
#[serde(default)]
pub(crate) struct HostAlias {
    pub(crate) ip: String,
    pub(crate) hostnames: Vec<String>,
}

/// Settings of the resolver.
#[derive(Default, Deserialize)]
#[serde(default)]
pub(crate) struct DnsConfig {
    pub(crate) nameservers: Vec<String>,
    pub(crate) searches: Vec<String>,
    pub(crate) options: Vec<DnsOption>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
pub(crate) struct DnsOption {
    pub(crate) name: String,
    pub(crate) value: Option<String>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct ReadinessGate {
    pub(crate) condition_type: String,
}

/// The role of a container.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Runs to completion before the next one starts.
    Init,
    /// An init container that keeps running.
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
    pub(crate) resize_policy: Vec<ResizePolicy>,
    pub(crate) volume_mounts: Vec<Value>,
    pub(crate) readiness_probe: Option<Probe>,
    pub(crate) liveness_probe: Option<Probe>,
    pub(crate) startup_probe: Option<Probe>,
    pub(crate) lifecycle: Lifecycle,
    pub(crate) termination_message_policy: String,
    pub(crate) env: Vec<EnvVar>,
    pub(crate) env_from: Vec<EnvFrom>,
    pub(crate) working_dir: String,
    pub(crate) stdin: bool,
    pub(crate) stdin_once: bool,
    pub(crate) tty: bool,
    pub(crate) termination_message_path: String,
    pub(crate) ports: Vec<ContainerPort>,
    security_context: SecurityContext,
}

/// The effect on a container of resizing a resource.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct ResizePolicy {
    pub(crate) resource_name: String,
    pub(crate) restart_policy: String,
}

/// A restart rule for exit codes.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct RestartRule {
    pub(super) action: String,
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
    pub(crate) timeout_seconds: u64,
    pub(crate) termination_grace_period_seconds: Option<i64>,
    pub(crate) http_get: Option<PortAction>,
    pub(crate) tcp_socket: Option<PortAction>,
    pub(crate) exec: Option<ExecAction>,
    pub(crate) grpc: Option<Value>,
}

/// A connection to a port, or an HTTP request.
#[derive(Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct PortAction {
    port: Value,
    pub(crate) path: String,
    pub(crate) scheme: String,
    pub(crate) host: String,
}

/// A command.
#[derive(Clone, Default, Deserialize)]
#[serde(default)]
pub(crate) struct ExecAction {
    pub(crate) command: Vec<String>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct Lifecycle {
    pub(crate) post_start: Option<Handler>,
    pub(crate) pre_stop: Option<Handler>,
}

/// The action of a lifecycle hook.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct Handler {
    pub(crate) sleep: Option<Sleep>,
    pub(crate) exec: Option<ExecAction>,
    pub(crate) http_get: Option<PortAction>,
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
    pub(crate) value_from: ValueFrom,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct ValueFrom {
    pub(crate) config_map_key_ref: Option<KeyRef>,
    pub(crate) secret_key_ref: Option<KeyRef>,
    pub(crate) file_key_ref: Option<FileKeyRef>,
    field_ref: Option<FieldRef>,
    pub(crate) resource_field_ref: Option<ResourceRef>,
}

/// A port that a container declares.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct ContainerPort {
    pub(crate) name: String,
    pub(crate) container_port: u16,
    pub(crate) host_port: u16,
    #[serde(rename = "hostIP")]
    pub(crate) host_ip: String,
    pub(crate) protocol: String,
}

impl ContainerPort {
    /// Reports whether calls to an address of the node reach the port.
    pub(crate) fn is_at(&self, host: Ipv4Addr, call: &Call) -> bool {
        let protocol = match self.protocol.as_str() {
            "" => "TCP",
            protocol => protocol,
        };
        let takes =
            matches!(self.host_ip.as_str(), "" | "0.0.0.0") || self.host_ip == host.to_string();
        self.host_port == call.port && protocol == call.protocol.as_str() && takes
    }
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct FieldRef {
    pub(crate) field_path: String,
}

#[derive(Default, Deserialize)]
#[serde(default)]
pub(crate) struct KeyRef {
    pub(crate) name: String,
    pub(crate) key: String,
    pub(crate) optional: bool,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct EnvFrom {
    pub(crate) prefix: String,
    pub(crate) config_map_ref: Option<KeyRef>,
    pub(crate) secret_ref: Option<KeyRef>,
}

#[derive(Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct SecurityContext {
    run_as_user: Option<i64>,
    run_as_group: Option<i64>,
    run_as_non_root: Option<bool>,
    read_only_root_filesystem: bool,
    allow_privilege_escalation: Option<bool>,
    privileged: bool,
    supplemental_groups: Vec<i64>,
    fs_group: Option<i64>,
    sysctls: Vec<Sysctl>,
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
    #[serde(default)]
    labels: BTreeMap<String, String>,
}

impl Plan {
    /// Decodes a pod.
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
            labels: metadata.labels,
            spec,
            containers,
            status,
        })
    }

    pub(crate) fn namespace(&self) -> &str {
        self.key.namespace().unwrap_or_default()
    }

    /// Returns the user and the group of a container.
    pub(crate) fn user(&self, container: &ContainerPlan) -> (i64, i64) {
        let (own, pod) = (&container.raw.security_context, &self.spec.security_context);
        let user = own.run_as_user.or(pod.run_as_user);
        let user = user.unwrap_or_else(|| image_user(&container.raw.image));
        let group = own.run_as_group.or(pod.run_as_group).unwrap_or(0);
        (user, group)
    }

    /// Returns the kernel parameters that the pod sets.
    pub(super) fn sysctls(&self) -> &[Sysctl] {
        &self.spec.security_context.sysctls
    }

    /// Returns why a container must not run as the user that it would run as.
    pub(crate) fn user_error(&self, container: &ContainerPlan) -> Option<String> {
        let (own, pod) = (&container.raw.security_context, &self.spec.security_context);
        let must_not_be_root = own.run_as_non_root.or(pod.run_as_non_root) == Some(true);
        if !must_not_be_root || self.user(container).0 != 0 {
            return None;
        }
        let why = match own.run_as_user.or(pod.run_as_user) {
            Some(_) => "container's runAsUser breaks non-root policy",
            None => "container has runAsNonRoot and image will run as root",
        };
        let (name, namespace) = (self.key.name(), self.namespace());
        Some(format!(
            "{why} (pod: \"{name}_{namespace}({})\", container: {})",
            self.uid, container.raw.name
        ))
    }

    /// Returns the group that owns the files of the pod's volumes.
    pub(crate) fn fs_group(&self) -> Option<i64> {
        self.spec.security_context.fs_group
    }

    /// Returns the mode of service account tokens, if users and groups of the pod determine it.
    pub(crate) fn token_mode(&self) -> Option<u32> {
        if self.fs_group().is_some() {
            return Some(0o640);
        }
        let pod = self.spec.security_context.run_as_user;
        let mut users = self.containers.iter().map(|container| {
            let own = container.raw.security_context.run_as_user;
            own.or(pod)
        });
        let first = users.next()??;
        users.all(|user| user == Some(first)).then_some(0o600)
    }

    /// Returns the groups of the processes of a container whose own group is given.
    pub(crate) fn groups(&self, group: i64) -> Vec<i64> {
        let pod = &self.spec.security_context;
        let more = pod.supplemental_groups.iter().chain(&pod.fs_group);
        let mut groups = vec![group];
        for group in more {
            if !groups.contains(group) {
                groups.push(*group);
            }
        }
        groups
    }
}

impl Spec {
    /// Returns the grace period of terminations.
    pub(crate) fn grace_seconds(&self) -> i64 {
        self.termination_grace_period_seconds.unwrap_or(30)
    }
}

impl EnvVar {
    /// Returns the path of the field that the value comes from.
    pub(crate) fn field(&self) -> Option<&str> {
        self.value_from
            .field_ref
            .as_ref()
            .map(|field| field.field_path.as_str())
    }
}

impl Probe {
    /// Returns the port to connect to. A name refers to a port that the container declares.
    pub(crate) fn port(&self, container: &ContainerPlan) -> Option<u16> {
        if let Some(grpc) = &self.grpc {
            return grpc["port"].as_u64()?.try_into().ok();
        }
        let action = self.http_get.as_ref().or(self.tcp_socket.as_ref())?;
        action.port(container)
    }
}

impl PortAction {
    /// Returns the port. A name is one that the container declares.
    pub(crate) fn port(&self, container: &ContainerPlan) -> Option<u16> {
        if let Some(name) = self.port.as_str() {
            let mut ports = container.raw.ports.iter();
            return ports
                .find(|port| port.name == name)
                .map(|port| port.container_port);
        }
        self.port.as_u64().and_then(|port| port.try_into().ok())
    }
}

impl ContainerPlan {
    /// Reports whether the container cannot write to the files of its image.
    pub(crate) fn has_read_only_files(&self) -> bool {
        self.raw.security_context.read_only_root_filesystem
    }

    /// Reports whether the container has all capabilities.
    pub(crate) fn is_privileged(&self) -> bool {
        self.raw.security_context.privileged
    }

    /// Reports whether processes of the container may get more privileges than their parents.
    pub(crate) fn may_escalate(&self) -> bool {
        self.raw.security_context.allow_privilege_escalation != Some(false)
    }

    /// Returns the rule that applies to the exit code of the container.
    pub(super) fn restart_rule(&self, ended: &Ended) -> Option<&RestartRule> {
        self.raw.restart_policy_rules.iter().find(|rule| {
            let listed = rule.exit_codes.values.contains(&ended.code);
            match rule.exit_codes.operator.as_str() {
                "In" => listed,
                "NotIn" => !listed,
                _ => false,
            }
        })
    }

    /// Reports whether the container is restarted after it has ended.
    pub(crate) fn restarts(&self, pod: &Spec, ended: &Ended) -> bool {
        if self.kind == Kind::Ephemeral {
            return false;
        }
        if self.restart_rule(ended).is_some() {
            return true;
        }
        let policy = match self.raw.restart_policy.as_str() {
            "" => pod.restart_policy.as_str(),
            own => own,
        };
        match policy {
            "Never" => false,
            // A container that was terminated because of a probe is restarted whatever its exit code.
            _ if ended.is_unhealthy => true,
            "OnFailure" => ended.code != 0,
            _ => self.kind != Kind::Init || ended.code != 0,
        }
    }
}

/// Returns the user that an image sets.
fn image_user(image: &str) -> i64 {
    // The image of Kubernetes' own tests that does not run as root.
    match untagged(&full_name(image)).ends_with("/nonroot") {
        true => 1234,
        false => 0,
    }
}

/// Parses a time.
pub(crate) fn time(text: &str) -> Option<Timestamp> {
    text.parse().ok()
}
