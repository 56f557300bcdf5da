//! [`PodInfo`]: the fields of a pod that matter for scheduling. Pods of the same template share their common fields.

use std::{collections::BTreeMap, sync::Arc};

use kubewright_informer::Key;
use serde::Deserialize;

use crate::{
    resources::{Amounts, Resources},
    selector::{Labels, NodeTerm, Selector},
};

/// A pod as the scheduler sees it.
#[derive(Clone, Debug)]
pub(crate) struct PodInfo {
    pub(crate) key: Key,
    pub(crate) uid: Arc<str>,
    pub(crate) generation: i64,
    /// The time of creation, in seconds.
    pub(crate) created: i64,
    pub(crate) nominated: Option<String>,
    pub(crate) is_deleted: bool,
    pub(crate) is_preempted: bool,
    /// The message of the condition `PodScheduled` if it is false on the server.
    pub(crate) unscheduled: Option<String>,
    pub(crate) template: Arc<Template>,
}

/// The fields that pods of the same template share.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Template {
    pub(crate) namespace: String,
    pub(crate) labels: Labels,
    /// The UID of the controller that owns the pods.
    pub(crate) owner: Option<String>,
    pub(crate) scheduler: String,
    pub(crate) priority: i32,
    pub(crate) never_preempts: bool,
    pub(crate) is_gated: bool,
    pub(crate) requests: Resources,
    pub(crate) ports: Vec<HostPort>,
    pub(crate) node_selector: Labels,
    pub(crate) affinity: Affinity,
    pub(crate) tolerations: Vec<Toleration>,
    pub(crate) spread: Vec<SpreadConstraint>,
    pub(crate) claims: Vec<PodClaim>,
    pub(crate) images: Vec<String>,
}

/// A claim of a pod.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct PodClaim {
    pub(crate) name: String,
    /// Whether a controller creates it for the pod.
    pub(crate) is_ephemeral: bool,
}

/// A host port of a pod.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct HostPort {
    pub(crate) ip: String,
    pub(crate) protocol: String,
    pub(crate) port: u16,
}

/// The affinities of a pod.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct Affinity {
    pub(crate) node_affinity: Option<NodeAffinity>,
    pub(crate) pod_affinity: Option<PodAffinity>,
    pub(crate) pod_anti_affinity: Option<PodAffinity>,
}

/// The required and preferred nodes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Deserialize)]
#[serde(default)]
pub(crate) struct NodeAffinity {
    #[serde(rename = "requiredDuringSchedulingIgnoredDuringExecution")]
    pub(crate) required: Option<NodeTerms>,
    #[serde(rename = "preferredDuringSchedulingIgnoredDuringExecution")]
    pub(crate) preferred: Vec<Preferred<NodeTerm>>,
}

/// Terms of which at least one must match.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct NodeTerms {
    pub(crate) node_selector_terms: Vec<NodeTerm>,
}

/// The required and preferred pods to run near.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Deserialize)]
#[serde(default)]
pub(crate) struct PodAffinity {
    #[serde(rename = "requiredDuringSchedulingIgnoredDuringExecution")]
    pub(crate) required: Vec<PodTerm>,
    #[serde(rename = "preferredDuringSchedulingIgnoredDuringExecution")]
    pub(crate) preferred: Vec<WeightedPodTerm>,
}

/// A preference with its weight.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Deserialize)]
#[serde(default)]
pub(crate) struct Preferred<T> {
    pub(crate) weight: i64,
    pub(crate) preference: T,
}

/// A preferred neighbour with its weight.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct WeightedPodTerm {
    pub(crate) weight: i64,
    pub(crate) pod_affinity_term: PodTerm,
}

/// A selector of pods, and the domain to share with them or to avoid.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct PodTerm {
    pub(crate) topology_key: String,
    /// Without a selector, no pod matches.
    pub(crate) label_selector: Option<Selector>,
    pub(crate) namespaces: Vec<String>,
    pub(crate) namespace_selector: Option<Selector>,
    pub(crate) match_label_keys: Vec<String>,
}

/// A taint that a pod tolerates.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Deserialize)]
#[serde(default)]
pub(crate) struct Toleration {
    pub(crate) key: String,
    pub(crate) operator: String,
    pub(crate) value: String,
    pub(crate) effect: String,
}

/// A taint of a node.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Deserialize)]
#[serde(default)]
pub(crate) struct Taint {
    pub(crate) key: String,
    pub(crate) value: String,
    pub(crate) effect: String,
}

/// A constraint on the distribution of pods.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct SpreadConstraint {
    pub(crate) max_skew: i64,
    pub(crate) topology_key: String,
    pub(crate) when_unsatisfiable: String,
    pub(crate) label_selector: Option<Selector>,
    pub(crate) min_domains: Option<i64>,
    pub(crate) node_affinity_policy: Option<String>,
    pub(crate) node_taints_policy: Option<String>,
    pub(crate) match_label_keys: Vec<String>,
}

impl Toleration {
    pub(crate) fn tolerates(&self, taint: &Taint) -> bool {
        (self.effect.is_empty() || self.effect == taint.effect)
            && (self.key.is_empty() || self.key == taint.key)
            && match self.operator.as_str() {
                "Exists" => true,
                "" | "Equal" => !self.key.is_empty() && self.value == taint.value,
                _ => false,
            }
    }
}

impl PodInfo {
    pub(crate) fn namespace(&self) -> &str {
        &self.template.namespace
    }

    pub(crate) fn name(&self) -> &str {
        self.key.name()
    }

    pub(crate) fn priority(&self) -> i32 {
        self.template.priority
    }
}

/// The decoded fields of a Pod.
#[derive(Deserialize)]
pub(crate) struct RawPod {
    metadata: RawMetadata,
    #[serde(default)]
    spec: RawSpec,
    #[serde(default)]
    status: RawStatus,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct RawMetadata {
    #[serde(default)]
    labels: Labels,
    #[serde(default)]
    generation: i64,
    creation_timestamp: Option<String>,
    deletion_timestamp: Option<String>,
    #[serde(default)]
    owner_references: Vec<RawOwner>,
}

#[derive(Deserialize)]
struct RawOwner {
    uid: String,
    #[serde(default)]
    controller: bool,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct RawSpec {
    node_name: String,
    scheduler_name: String,
    priority: i32,
    preemption_policy: String,
    scheduling_gates: Vec<serde::de::IgnoredAny>,
    containers: Vec<RawContainer>,
    init_containers: Vec<RawContainer>,
    resources: RawResources,
    overhead: Amounts,
    node_selector: Labels,
    affinity: Affinity,
    tolerations: Vec<Toleration>,
    topology_spread_constraints: Vec<SpreadConstraint>,
    volumes: Vec<RawVolume>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct RawContainer {
    image: String,
    restart_policy: String,
    resources: RawResources,
    ports: Vec<RawPort>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct RawResources {
    requests: Amounts,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct RawPort {
    host_port: u16,
    #[serde(rename = "hostIP")]
    host_ip: String,
    protocol: String,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct RawVolume {
    name: String,
    persistent_volume_claim: Option<RawClaim>,
    ephemeral: Option<serde::de::IgnoredAny>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct RawClaim {
    claim_name: String,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct RawStatus {
    phase: String,
    nominated_node_name: String,
    conditions: Vec<BTreeMap<String, serde_json::Value>>,
}

/// The fields that are decoded of every changed pod, to determine whether the change matters.
#[derive(Default, Deserialize)]
#[serde(default)]
pub(crate) struct Glance {
    spec: GlanceSpec,
    status: GlanceStatus,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct GlanceSpec {
    node_name: String,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct GlanceStatus {
    phase: String,
}

impl Glance {
    /// Returns the node that the pod is assigned to.
    pub(crate) fn node(&self) -> Option<&str> {
        Some(self.spec.node_name.as_str()).filter(|name| !name.is_empty())
    }

    /// Reports whether the pod has terminated.
    pub(crate) fn has_ended(&self) -> bool {
        matches!(self.status.phase.as_str(), "Succeeded" | "Failed")
    }
}

impl RawPod {
    /// Returns the node that the pod is assigned to.
    pub(crate) fn node(&self) -> Option<&str> {
        Some(self.spec.node_name.as_str()).filter(|name| !name.is_empty())
    }

    pub(crate) fn has_ended(&self) -> bool {
        matches!(self.status.phase.as_str(), "Succeeded" | "Failed")
    }

    /// Extracts the fields that matter for scheduling. `share` returns an existing template that equals the given one.
    pub(crate) fn into_info(
        self,
        key: Key,
        uid: &str,
        share: impl FnOnce(Template) -> Arc<Template>,
    ) -> PodInfo {
        let Self {
            metadata,
            spec,
            status,
        } = self;
        let requests = spec.requests();
        let ports = spec.ports();
        let claims = spec.claims(key.name());
        let namespace = key.namespace().unwrap_or_default().to_owned();
        let owner = metadata.owner_references.into_iter();
        let images = spec.containers.into_iter().map(|c| c.image);
        let template = Template {
            namespace,
            labels: metadata.labels,
            owner: owner.filter(|o| o.controller).map(|o| o.uid).next(),
            scheduler: spec.scheduler_name,
            priority: spec.priority,
            never_preempts: spec.preemption_policy == "Never",
            is_gated: !spec.scheduling_gates.is_empty(),
            requests,
            ports,
            node_selector: spec.node_selector,
            affinity: spec.affinity,
            tolerations: spec.tolerations,
            spread: spec.topology_spread_constraints,
            claims,
            images: images.collect(),
        };
        let preempted = status.conditions.iter().any(|condition| {
            let is = |field: &str, value: &str| condition.get(field).is_some_and(|v| v == value);
            is("type", "DisruptionTarget")
                && is("status", "True")
                && is("reason", "PreemptionByScheduler")
        });
        let unscheduled = status.conditions.iter().find(|condition| {
            let is = |field: &str, value: &str| condition.get(field).is_some_and(|v| v == value);
            is("type", "PodScheduled") && is("status", "False")
        });
        let unscheduled = unscheduled.map(|condition| {
            let message = condition.get("message").and_then(|text| text.as_str());
            message.unwrap_or_default().to_owned()
        });
        PodInfo {
            unscheduled,
            uid: uid.into(),
            generation: metadata.generation,
            created: seconds(metadata.creation_timestamp.as_deref()),
            nominated: Some(status.nominated_node_name).filter(|name| !name.is_empty()),
            is_deleted: metadata.deletion_timestamp.is_some(),
            is_preempted: preempted,
            template: share(template),
            key,
        }
    }
}

fn seconds(time: Option<&str>) -> i64 {
    let time = time.and_then(|text| text.parse::<jiff::Timestamp>().ok());
    time.map_or(0, |time| time.as_second())
}

impl RawSpec {
    /// Returns the requests of the pod: the sum of its containers and sidecars, or more during initialization. Requests of the
    /// pod as a whole replace the sum.
    fn requests(&self) -> Resources {
        let mut sum = Resources::default();
        for container in &self.containers {
            sum.add(&Resources::parse(&container.resources.requests));
        }
        let (mut sidecars, mut starting) = (Resources::default(), Resources::default());
        for container in &self.init_containers {
            let own = Resources::parse(&container.resources.requests);
            let mut now = sidecars.clone();
            now.add(&own);
            starting.raise(&now);
            if container.restart_policy == "Always" {
                sidecars = now;
            }
        }
        sum.add(&sidecars);
        sum.raise(&starting);
        sum.replace(&Resources::parse(&self.resources.requests));
        sum.add(&Resources::parse(&self.overhead));
        sum
    }

    fn ports(&self) -> Vec<HostPort> {
        let sidecars = self.init_containers.iter();
        let sidecars = sidecars.filter(|c| c.restart_policy == "Always");
        let containers = self.containers.iter().chain(sidecars);
        let ports = containers.flat_map(|c| &c.ports);
        let ports = ports
            .filter(|port| port.host_port > 0)
            .map(|port| HostPort {
                ip: match port.host_ip.as_str() {
                    "" => "0.0.0.0".to_owned(),
                    ip => ip.to_owned(),
                },
                protocol: match port.protocol.as_str() {
                    "" => "TCP".to_owned(),
                    protocol => protocol.to_owned(),
                },
                port: port.host_port,
            });
        ports.collect()
    }

    fn claims(&self, pod: &str) -> Vec<PodClaim> {
        let claim = |volume: &RawVolume| match &volume.persistent_volume_claim {
            Some(claim) => Some(PodClaim {
                name: claim.claim_name.clone(),
                is_ephemeral: false,
            }),
            None => volume.ephemeral.is_some().then(|| PodClaim {
                name: format!("{pod}-{}", volume.name),
                is_ephemeral: true,
            }),
        };
        self.volumes.iter().filter_map(claim).collect()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn info(spec: serde_json::Value) -> PodInfo {
        let pod = json!({"metadata": {"name": "p", "namespace": "n"}, "spec": spec});
        let raw: RawPod = serde_json::from_value(pod).unwrap();
        raw.into_info(Key::new(Some("n"), "p"), "u", Arc::new)
    }

    #[test]
    fn requests_are_the_maximum_over_all_phases() {
        let cpu = |amount: &str| json!({"requests": {"cpu": amount}});
        let pod = info(json!({
            "containers": [{"resources": cpu("1")}, {"resources": cpu("500m")}],
            "initContainers": [
                {"resources": cpu("100m"), "restartPolicy": "Always"},
                {"resources": cpu("3")},
            ],
            "overhead": {"cpu": "10m"},
        }));
        assert_eq!(pod.template.requests.milli_cpu, 3110);
        let whole = info(json!({
            "containers": [{"resources": cpu("1")}],
            "resources": {"requests": {"cpu": "200m"}},
        }));
        assert_eq!(whole.template.requests.milli_cpu, 200);
    }

    #[test]
    fn tolerations_match_by_key_value_and_effect() {
        let taint = Taint {
            key: "k".into(),
            value: "v".into(),
            effect: "NoSchedule".into(),
        };
        let tolerates = |toleration: serde_json::Value| {
            let toleration: Toleration = serde_json::from_value(toleration).unwrap();
            toleration.tolerates(&taint)
        };
        assert!(tolerates(json!({"operator": "Exists"})));
        assert!(tolerates(
            json!({"key": "k", "value": "v", "effect": "NoSchedule"})
        ));
        assert!(!tolerates(json!({"key": "k", "value": "w"})));
        assert!(!tolerates(
            json!({"key": "k", "operator": "Exists", "effect": "NoExecute"})
        ));
    }

    #[test]
    fn claims_of_ephemeral_volumes_have_the_name_of_the_pod() {
        let pod = info(json!({"volumes": [
            {"name": "a", "persistentVolumeClaim": {"claimName": "data"}},
            {"name": "b", "ephemeral": {}},
            {"name": "c", "emptyDir": {}},
        ]}));
        let claims = pod.template.claims.iter();
        let claims: Vec<_> = claims.map(|c| (c.name.as_str(), c.is_ephemeral)).collect();
        assert_eq!(claims, [("data", false), ("p-b", true)]);
    }
}
