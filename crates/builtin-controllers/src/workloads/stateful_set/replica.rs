//! [`Replica`]: a pod of a StatefulSet that exists or will be created.

use std::sync::Arc;

use jiff::Timestamp;
use kube::ResourceExt;
use kubewright_informer::StoredObject;
use serde_json::json;

use super::identity::{POD_NAME, REVISION, pod_name, set_identity, set_storage};
use crate::workloads::objects::{Draft, Pod, StatefulSet, Template, controller_reference};
use crate::workloads::pods::pod_of;

/// A pod that exists or will be created.
pub(super) struct Replica {
    pub(super) ordinal: i32,
    pub(super) pod: Arc<Pod>,
    /// The pod as it is stored; `None` if it does not exist.
    pub(super) stored: Option<Arc<StoredObject>>,
    /// The template to create the pod from.
    pub(super) template: Option<Template>,
}

impl Replica {
    /// Returns a pod to create.
    pub(super) fn missing(
        set: &StatefulSet,
        ordinal: i32,
        template: Template,
        revision: &str,
    ) -> Self {
        let mut pod = Pod::default();
        pod.metadata.name = Some(pod_name(set, ordinal));
        pod.metadata.namespace = set.namespace();
        let labels = [
            (POD_NAME.to_owned(), pod.name_any()),
            (REVISION.to_owned(), revision.to_owned()),
        ];
        pod.metadata.labels = Some(labels.into());
        Self {
            ordinal,
            pod: Arc::new(pod),
            stored: None,
            template: Some(template),
        }
    }

    /// Returns the pod to create.
    pub(super) fn draft(&self, set: &StatefulSet) -> Draft<Pod> {
        let template = self.template.clone().unwrap_or_default();
        let namespace = set.namespace().unwrap_or_default();
        let owner = controller_reference(set);
        let pod = pod_of(&template, &namespace, &owner);
        let (metadata, mut body) = pod.into_parts();
        set_identity(set, self.ordinal, &mut body);
        body["metadata"]["labels"][REVISION] = json!(self.pod.label(REVISION));
        body["spec"]["hostname"] = json!(pod_name(set, self.ordinal));
        body["spec"]["subdomain"] = json!(set.spec.service_name);
        set_storage(set, self.ordinal, &mut body);
        Draft::new(metadata, body)
    }

    pub(super) fn exists(&self) -> bool {
        !self.pod.status.phase.is_empty()
    }

    pub(super) fn is_terminating(&self) -> bool {
        self.pod.metadata.deletion_timestamp.is_some()
    }

    pub(super) fn is_running_and_ready(&self) -> bool {
        self.pod.status.phase == "Running" && self.pod.ready().is_some()
    }

    pub(super) fn is_unavailable(&self, min_ready_seconds: i32, now: Timestamp) -> bool {
        !self.pod.is_available(min_ready_seconds, now) || self.is_terminating()
    }

    pub(super) fn revision(&self) -> &str {
        self.pod.label(REVISION).unwrap_or_default()
    }
}
