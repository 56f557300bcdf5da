//! [`NodeAuthorizer`]: decides about requests of kubelets.

mod relations;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use kubewright_apiserver::{
    auth::{Attributes, Authorizer, Decision, ResourceAttributes, Rules, Selection, node_identity},
    boxed_async,
    request::UserInfo,
};
use kubewright_machinery::{
    fields::{FieldOperator, FieldSelector},
    go,
};
use kubewright_rbac::{PolicyKind, PolicyRule, policy};
use kubewright_store::Store;
use serde::Deserialize;

use self::relations::{Kind, Relations};
use crate::rbac::allows;

/// The namespace of the leases of nodes.
pub(crate) const LEASES: &str = "kube-node-lease";

/// Allows nodes, which are users `system:node:<name>` of the group `system:nodes`, what they need for their pods. A
/// node reads the secrets, config maps, claims and volumes that its pods refer to, and no others. Everything else that
/// nodes do is allowed by the rules of the cluster role `system:node`. It has no opinion about other users.
///
/// The admission plugin `NodeRestriction` decides which objects a node may create or change: use both.
///
/// ```
/// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
/// use std::sync::Arc;
///
/// use kubewright_apiserver::{
///     auth::{Attributes, Authorizer, ResourceAttributes},
///     request::UserInfo,
/// };
/// use kubewright_kube_apiserver::NodeAuthorizer;
/// use kubewright_store::MemoryStore;
///
/// let nodes = NodeAuthorizer::new(Arc::new(MemoryStore::new()));
/// let kubelet = UserInfo {
///     name: "system:node:n1".into(),
///     groups: vec!["system:nodes".into()],
///     ..UserInfo::default()
/// };
/// let secret = ResourceAttributes {
///     resource: "secrets", namespace: "shop", name: "key", ..ResourceAttributes::default()
/// };
/// let decision = nodes.authorize(&Attributes::of_resource(&kubelet, "get", secret)).await;
/// assert_eq!(
///     decision.reason.to_string(),
///     "no relationship found between node 'n1' and this object"
/// );
/// # });
/// ```
pub struct NodeAuthorizer {
    relations: Relations,
    /// The rules that do not depend on the node.
    rules: Vec<PolicyRule>,
}

/// A request of a node about a resource.
struct NodeRequest<'a> {
    node: &'a str,
    verb: &'a str,
    target: &'a ResourceAttributes<'a>,
}

impl NodeAuthorizer {
    /// Returns an authorizer by the pods and volumes of a store.
    pub fn new(store: Arc<dyn Store>) -> Self {
        #[derive(Deserialize)]
        struct Role {
            rules: Vec<PolicyRule>,
        }
        let role = policy()
            .find(|object| object.kind == PolicyKind::ClusterRole && object.name == "system:node");
        let role = role.and_then(|role| Role::deserialize(role.to_value()).ok());
        Self {
            relations: Relations::new(store),
            rules: role.map(|role| role.rules).unwrap_or_default(),
        }
    }

    /// Decides by the rules that all nodes share.
    fn by_rules(&self, attributes: &Attributes<'_>) -> Decision {
        let allowed = self.rules.iter().any(|rule| allows(rule, attributes));
        match allowed {
            true => Decision::allow(),
            false => Decision::no_opinion(""),
        }
    }

    /// Allows the request if its object is related to the node.
    async fn if_related(&self, request: &NodeRequest<'_>, kind: Kind) -> Decision {
        let NodeRequest { node, target, .. } = *request;
        if target.name.is_empty() {
            return Decision::no_opinion("No Object name found");
        }
        let related = self
            .relations
            .has(node, kind, target.namespace, target.name)
            .await;
        match related {
            Ok(true) => Decision::allow(),
            Ok(false) => Decision::no_opinion(format!(
                "no relationship found between node '{node}' and this object"
            )),
            Err(error) => Decision::no_opinion("").with_error(error.message),
        }
    }

    async fn get(&self, request: &NodeRequest<'_>, kind: Kind) -> Decision {
        if request.verb != "get" {
            return Decision::no_opinion("can only get individual resources of this type");
        }
        if !request.target.subresource.is_empty() {
            return Decision::no_opinion("cannot get subresource");
        }
        self.if_related(request, kind).await
    }

    async fn read_in_namespace(&self, request: &NodeRequest<'_>, kind: Kind) -> Decision {
        if !matches!(request.verb, "get" | "list" | "watch") {
            return Decision::no_opinion("can only read resources of this type");
        }
        if !request.target.subresource.is_empty() {
            return Decision::no_opinion("cannot read subresource");
        }
        if request.target.namespace.is_empty() {
            return Decision::no_opinion("can only read namespaced object of this type");
        }
        self.if_related(request, kind).await
    }

    async fn volume_claim(&self, request: &NodeRequest<'_>) -> Decision {
        match (request.target.subresource, request.verb) {
            ("status", "update" | "patch") => self.if_related(request, Kind::VolumeClaim).await,
            ("status", _) => Decision::no_opinion("can only get/update/patch this type"),
            _ => self.get(request, Kind::VolumeClaim).await,
        }
    }

    async fn service_account(&self, request: &NodeRequest<'_>) -> Decision {
        let target = request.target;
        if request.verb == "get" && target.subresource.is_empty() {
            return self.read_in_namespace(request, Kind::ServiceAccount).await;
        }
        if request.verb != "create" || target.name.is_empty() {
            return Decision::no_opinion("can only create tokens for individual service accounts");
        }
        if target.subresource != "token" {
            return Decision::no_opinion("can only create token subresource of serviceaccount");
        }
        self.if_related(request, Kind::ServiceAccount).await
    }

    async fn resource_slice(&self, request: &NodeRequest<'_>) -> Decision {
        if !request.target.subresource.is_empty() {
            return Decision::no_opinion("cannot authorize ResourceSlice subresources");
        }
        match request.verb {
            // The name of the node in it is checked by admission.
            "create" => Decision::allow(),
            "get" | "update" | "patch" | "delete" => {
                self.if_related(request, Kind::ResourceSlice).await
            }
            "watch" | "list" | "deletecollection" if request.selects("spec.nodeName") => {
                Decision::allow()
            }
            "watch" | "list" | "deletecollection" => Decision::no_opinion(
                "can only list/watch/deletecollection resourceslices with nodeName field selector",
            ),
            _ => Decision::no_opinion(
                "only the following verbs are allowed for a ResourceSlice: get, watch, list, create, update, patch, delete, deletecollection",
            ),
        }
    }

    /// Decides about pods. Admission restricts writes to the pods of the node.
    async fn pod(&self, request: &NodeRequest<'_>) -> Decision {
        match (request.target.subresource, request.verb) {
            ("", "get") => self.get(request, Kind::Pod).await,
            ("", "list" | "watch") if request.selects("spec.nodeName") => Decision::allow(),
            ("", "list" | "watch") if !request.target.name.is_empty() => {
                self.if_related(request, Kind::Pod).await
            }
            ("", "list" | "watch") => {
                Decision::no_opinion("can only list/watch pods with spec.nodeName field selector")
            }
            ("", "create" | "delete") | ("status", "update" | "patch") | ("eviction", "create") => {
                Decision::allow()
            }
            _ => Decision::no_opinion(""),
        }
    }
}

impl NodeRequest<'_> {
    /// Returns whether only objects are selected whose field is the name of the node.
    fn selects(&self, field: &str) -> bool {
        let selects = |selector: &FieldSelector| {
            selector.terms().iter().any(|term| {
                term.field == field
                    && term.operator == FieldOperator::Equals
                    && term.value == self.node
            })
        };
        match self.target.field_selector {
            Selection::Invalid { rest, .. } => rest.is_some_and(selects),
            selection => matches!(selection.parsed(), Ok(Some(selector)) if selects(&selector)),
        }
    }

    /// Decides about an object of the node that has its name. On create the name is checked by admission.
    fn own(&self, reason: &'static str) -> Decision {
        match self.verb == "create" || self.target.name == self.node {
            true => Decision::allow(),
            false => Decision::no_opinion(reason),
        }
    }

    fn is_write_or_get(&self) -> bool {
        matches!(self.verb, "get" | "create" | "update" | "patch" | "delete")
    }

    fn lease(&self) -> Decision {
        if !self.is_write_or_get() {
            return Decision::no_opinion(
                "can only get, create, update, patch, or delete a node lease",
            );
        }
        if self.target.namespace != LEASES {
            let namespace = go::quote(LEASES);
            return Decision::no_opinion(format!(
                "can only access leases in the {namespace} system namespace"
            ));
        }
        self.own("can only access node lease with the same name as the requesting node")
    }

    fn csi_node(&self) -> Decision {
        if !self.is_write_or_get() {
            return Decision::no_opinion(
                "can only get, create, update, patch, or delete a CSINode",
            );
        }
        if !self.target.subresource.is_empty() {
            return Decision::no_opinion("cannot authorize CSINode subresources");
        }
        self.own("can only access CSINode with the same name as the requesting node")
    }

    /// Decides about nodes. Admission restricts writes to the node itself.
    fn node(&self) -> Decision {
        let node = self.node;
        match (self.target.subresource, self.verb, self.target.name) {
            ("", "create" | "update" | "patch", _) | ("status", "update" | "patch", _) => {
                Decision::allow()
            }
            ("", "get" | "list" | "watch", name) if name == node => Decision::allow(),
            ("", "get" | "list" | "watch", "") => Decision::no_opinion(format!(
                "node '{node}' cannot read all nodes, only its own Node object"
            )),
            ("", "get" | "list" | "watch", name) => Decision::no_opinion(format!(
                "node '{node}' cannot read '{name}', only its own Node object"
            )),
            _ => Decision::no_opinion(""),
        }
    }
}

#[boxed_async]
impl Authorizer for NodeAuthorizer {
    async fn authorize(&self, attributes: &Attributes<'_>) -> Decision {
        let Some(node) = node_identity(attributes.user) else {
            return Decision::no_opinion("");
        };
        if node.is_empty() {
            let user = go::quote(&attributes.user.name);
            return Decision::no_opinion(format!("unknown node for user {user}"));
        }
        let Some(target) = attributes.resource() else {
            return self.by_rules(attributes);
        };
        let request = NodeRequest {
            node,
            verb: attributes.verb,
            target,
        };
        match (target.group, target.resource) {
            ("", "secrets") => self.read_in_namespace(&request, Kind::Secret).await,
            ("", "configmaps") => self.read_in_namespace(&request, Kind::ConfigMap).await,
            ("", "persistentvolumeclaims") => self.volume_claim(&request).await,
            ("", "persistentvolumes") => self.get(&request, Kind::Volume).await,
            ("resource.k8s.io", "resourceclaims") => self.get(&request, Kind::ResourceClaim).await,
            ("storage.k8s.io", "volumeattachments") => {
                self.get(&request, Kind::VolumeAttachment).await
            }
            ("", "serviceaccounts") => self.service_account(&request).await,
            ("coordination.k8s.io", "leases") => request.lease(),
            ("storage.k8s.io", "csinodes") => request.csi_node(),
            ("resource.k8s.io", "resourceslices") => self.resource_slice(&request).await,
            ("", "nodes") => request.node(),
            ("", "pods") => self.pod(&request).await,
            ("certificates.k8s.io", "podcertificaterequests") => Decision::no_opinion(""),
            _ => self.by_rules(attributes),
        }
    }

    /// Lists nothing. What a node may do depends on its pods.
    async fn rules_for(&self, user: &UserInfo, _namespace: &str) -> Rules {
        match node_identity(user) {
            Some(_) => Rules::unknown("node authorizer does not support user rule resolution"),
            None => Rules::default(),
        }
    }
}
