//! [`NodeAdmission`]: the checks that a kubelet repeats for pods that are bound to its node.

use std::{collections::HashMap, sync::Arc};

use kubewright_informer::StoredObject;

use crate::{
    filter,
    node::{NodeInfo, RawNode},
    pod::{HostPort, RawPod, Template},
    resources::Resources,
};

/// The admission of pods to a node: whether the node can run a pod that was bound to it, possibly without the scheduler.
///
/// The properties of the node are those of its object, and its pods are those that were admitted and not removed since.
///
/// ```
/// use k8s_openapi::api::core::v1::{Node, Pod};
/// use kube::core::ApiResource;
/// use kubewright_informer::{Compression, Ingest, ObjectKind};
/// use kubewright_scheduler::NodeAdmission;
///
/// let pods = Ingest::new(ObjectKind::new(ApiResource::erase::<Pod>(&()), Compression::None));
/// let nodes = Ingest::new(ObjectKind::new(ApiResource::erase::<Node>(&()), Compression::None));
/// let node = br#"{"metadata": {"name": "n1", "uid": "0", "resourceVersion": "1"},
///     "status": {"allocatable": {"cpu": "1", "memory": "1Gi", "pods": "110"}}}"#;
/// let pod = |uid: &str| {
///     let json = format!(r#"{{"metadata": {{"name": "p{uid}", "namespace": "default", "uid": "{uid}", "resourceVersion": "1"}},
///         "spec": {{"containers": [{{"name": "c", "resources": {{"requests": {{"cpu": "700m"}}}}}}]}}}}"#);
///     pods.object(json.as_bytes()).unwrap()
/// };
///
/// let mut admission = NodeAdmission::default();
/// admission.update(&nodes.object(node).unwrap())?;
/// assert!(admission.admit(&pod("1")).is_ok());
/// let rejected = admission.admit(&pod("2")).unwrap_err();
/// assert_eq!(rejected.reason, "OutOfcpu");
/// admission.remove("1");
/// assert!(admission.admit(&pod("2")).is_ok());
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Default)]
pub struct NodeAdmission {
    node: NodeInfo,
    /// The resourceVersion of the object that the properties are from.
    version: String,
    pods: HashMap<Arc<str>, Admitted>,
}

/// The resources and ports of an admitted pod.
#[derive(Debug)]
struct Admitted {
    requests: Resources,
    ports: Vec<HostPort>,
}

/// The reason for which a node rejects a pod, with the message of a kubelet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PodRejection {
    /// The reason of the failed pod, such as `OutOfcpu` or `NodePorts`.
    pub reason: String,
    /// The message of the failed pod.
    pub message: String,
}

/// The reason for which a node does not resize a pod, with the message of a kubelet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ResizeRejection {
    /// The node has no room until other pods end.
    Deferred(String),
    /// The node is too small.
    Infeasible(String),
}

impl NodeAdmission {
    /// Replaces the labels, taints and resources of the node. An object that has been seen is not decoded again.
    ///
    /// # Errors
    ///
    /// Fails if the object is not a node.
    pub fn update(&mut self, node: &StoredObject) -> Result<(), serde_json::Error> {
        let version = node.resource_version();
        if version.is_empty() || version != self.version {
            let raw: RawNode = serde_json::from_slice(&node.json())?;
            self.node.update(raw);
            version.clone_into(&mut self.version);
        }
        Ok(())
    }

    /// Admits a pod if the node can run it.
    ///
    /// # Errors
    ///
    /// Returns the first reason against it. Pods that cannot be decoded are admitted, and fail later.
    pub fn admit(&mut self, pod: &StoredObject) -> Result<(), PodRejection> {
        let Some(template) = template(pod) else {
            return Ok(());
        };
        if !self.pods.contains_key(pod.uid()) {
            self.check(&template)?;
            self.add(pod.uid(), template);
        }
        Ok(())
    }

    /// Allocates the resources that an admitted pod asks for now, if the node has them.
    ///
    /// # Errors
    ///
    /// Returns why the pod keeps what it has.
    pub fn resize(&mut self, pod: &StoredObject) -> Result<(), ResizeRejection> {
        let (Some(template), Some(admitted)) = (template(pod), self.pods.get_mut(pod.uid())) else {
            return Ok(());
        };
        let (want, have) = (&template.requests, &self.node.allocatable);
        for name in ["memory", "cpu"] {
            let (want, have) = (want.get(name), have.get(name));
            if want > have {
                return Err(ResizeRejection::Infeasible(format!(
                    "Node didn't have enough capacity: {name}, requested: {want}, capacity: {have}"
                )));
            }
        }
        let requested = &mut self.node.requested;
        requested.subtract(&admitted.requests);
        for name in ["cpu", "memory"] {
            let (want, have, used) = (want.get(name), have.get(name), requested.get(name));
            if want > have.saturating_sub(used) {
                requested.add(&admitted.requests);
                let refusal = lacks(name, want, used, have);
                return Err(ResizeRejection::Deferred(refusal.message));
            }
        }
        requested.add(&template.requests);
        admitted.requests = template.requests;
        Ok(())
    }

    /// Adds a pod that already runs on the node, without checks.
    pub fn keep(&mut self, pod: &StoredObject) {
        if let Some(template) = template(pod)
            && !self.pods.contains_key(pod.uid())
        {
            self.add(pod.uid(), template);
        }
    }

    /// Releases the resources and ports of a pod.
    pub fn remove(&mut self, uid: &str) {
        let Some(pod) = self.pods.remove(uid) else {
            return;
        };
        self.node.requested.subtract(&pod.requests);
        for port in &pod.ports {
            if let Some(at) = self.node.ports.iter().position(|other| other == port) {
                self.node.ports.swap_remove(at);
            }
        }
    }

    fn add(&mut self, uid: &str, template: Template) {
        self.node.requested.add(&template.requests);
        self.node.ports.extend(template.ports.iter().cloned());
        let admitted = Admitted {
            requests: template.requests,
            ports: template.ports,
        };
        self.pods.insert(uid.into(), admitted);
    }

    fn check(&self, pod: &Template) -> Result<(), PodRejection> {
        let (want, have, used) = (&pod.requests, &self.node.allocatable, &self.node.requested);
        let count = self.pods.len() as i64;
        let most = self.node.max_pods as i64;
        if count + 1 > most {
            return Err(lacks("pods", 1, count, most));
        }
        let known = ["cpu", "memory", "ephemeral-storage"].into_iter();
        // Extended resources that the node does not have are managed by the cluster.
        let others = want.others.keys().map(String::as_str);
        let others = others.filter(|name| have.others.contains_key(*name));
        for name in known.chain(others) {
            let (want, have, used) = (want.get(name), have.get(name), used.get(name));
            if want > 0 && want > have.saturating_sub(used) {
                return Err(lacks(name, want, used, have));
            }
        }
        let checks = [
            ("NodeAffinity", filter::affinity(pod, &self.node)),
            ("NodePorts", filter::ports(pod, &self.node)),
            ("TaintToleration", filter::evicting_taints(pod, &self.node)),
        ];
        for (name, checked) in checks {
            if let Err(rejection) = checked {
                let message = format!("Predicate {name} failed: {}", rejection.reasons.join(", "));
                return Err(PodRejection {
                    reason: name.to_owned(),
                    message,
                });
            }
        }
        Ok(())
    }
}

fn lacks(name: &str, requested: i64, used: i64, capacity: i64) -> PodRejection {
    PodRejection {
        reason: format!("OutOf{name}"),
        message: format!(
            "Node didn't have enough resource: {name}, requested: {requested}, used: {used}, capacity: {capacity}"
        ),
    }
}

fn template(pod: &StoredObject) -> Option<Template> {
    let raw: RawPod = serde_json::from_slice(&pod.json()).ok()?;
    let info = raw.into_info(pod.key().clone(), pod.uid(), Arc::new);
    Arc::try_unwrap(info.template).ok()
}
