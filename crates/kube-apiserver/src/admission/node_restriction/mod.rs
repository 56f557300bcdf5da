//! `NodeRestriction`: nodes write only their own objects.
//!
//! The authorizer of nodes decides by the path of a request; this plugin looks at the objects. It restricts users
//! `system:node:<name>` of the group `system:nodes` only.

mod nodes;
mod pods;
#[cfg(test)]
mod tests;
mod tokens;

use kubewright_apiserver::{
    admission::{Attributes, Operation, Plugin},
    auth::node_identity,
    boxed_async,
    request::RequestContext,
};
use kubewright_builtins::certificates::certificate_signing_request::parse_request;
use kubewright_machinery::{
    Status, go,
    gvk::GroupResource,
    json::{Read, same},
    status,
};
use serde_json::Value;

use super::{forbidden::forbidden, stored::Stored};
use crate::node_authorizer::LEASES;

/// The signers of certificates for nodes.
const NODE_SIGNERS: [&str; 2] = [
    "kubernetes.io/kubelet-serving",
    "kubernetes.io/kube-apiserver-client-kubelet",
];

/// The `NodeRestriction` plugin.
pub(crate) struct NodeRestriction(Stored);

/// A write of a node.
struct NodeWrite<'a> {
    store: &'a Stored,
    cx: &'a RequestContext,
    attributes: &'a Attributes<'a>,
    node: &'a str,
    /// The new object, or `null`.
    object: &'a Value,
}

impl NodeRestriction {
    pub(crate) fn new(store: Stored) -> Self {
        Self(store)
    }
}

#[boxed_async]
impl Plugin for NodeRestriction {
    fn reads_updated(&self, cx: &RequestContext) -> bool {
        node_identity(&cx.user).is_some()
    }

    async fn mutate(
        &self,
        cx: &RequestContext,
        attributes: &Attributes<'_>,
        object: Option<&mut Value>,
    ) -> Result<(), Status> {
        let Some(node) = node_identity(&cx.user) else {
            return Ok(());
        };
        if attributes.operation == Operation::Connect {
            return Ok(());
        }
        let write = NodeWrite {
            store: &self.0,
            cx,
            attributes,
            node,
            object: object.as_deref().unwrap_or(&Value::Null),
        };
        if node.is_empty() {
            let user = go::quote(&cx.user.name);
            return Err(write.forbidden(format!("could not determine node from user {user}")));
        }
        write.check().await
    }
}

impl NodeWrite<'_> {
    async fn check(&self) -> Result<(), Status> {
        let info = &self.cx.info;
        match (info.group.as_str(), info.resource.as_str()) {
            ("", "pods") => self.pod().await,
            ("", "nodes") => self.node_object(),
            ("", "persistentvolumeclaims") => self.volume_claim(),
            ("", "serviceaccounts") => self.token().await,
            ("certificates.k8s.io", "podcertificaterequests") => {
                Err(self.forbidden("PodCertificateRequest feature gate is disabled"))
            }
            ("coordination.k8s.io", "leases") => self.lease(),
            ("storage.k8s.io", "csinodes") => {
                self.own("can only access CSINode with the same name as the requesting node")
            }
            ("resource.k8s.io", "resourceslices") => self.resource_slice(),
            ("certificates.k8s.io", "certificatesigningrequests") => self.certificate_request(),
            _ => Ok(()),
        }
    }

    /// Returns the name of the object.
    fn name(&self) -> &str {
        match self.attributes.name {
            "" => self.object["metadata"]["name"].text(),
            name => name,
        }
    }

    /// Returns the stored object, or `null`.
    fn old(&self) -> &Value {
        self.attributes.old.unwrap_or(&Value::Null)
    }

    /// Returns the name of the operation as Kubernetes writes it.
    fn operation(&self) -> &'static str {
        match self.attributes.operation {
            Operation::Create => "CREATE",
            Operation::Update => "UPDATE",
            Operation::Delete => "DELETE",
            Operation::Connect => "CONNECT",
        }
    }

    fn forbidden(&self, cause: impl std::fmt::Display) -> Status {
        let object = match self.object {
            Value::Null => self.old(),
            object => object,
        };
        forbidden(self.cx, self.attributes, object, cause)
    }

    /// Checks that an object has the name of the node.
    fn own(&self, cause: &str) -> Result<(), Status> {
        match self.name() == self.node {
            true => Ok(()),
            false => Err(self.forbidden(cause)),
        }
    }

    fn lease(&self) -> Result<(), Status> {
        if self.cx.namespace() != LEASES {
            let namespace = go::quote(LEASES);
            return Err(self.forbidden(format!(
                "can only access leases in the {namespace} system namespace"
            )));
        }
        self.own("can only access node lease with the same name as the requesting node")
    }

    fn resource_slice(&self) -> Result<(), Status> {
        let (slice, what) = match self.attributes.operation {
            Operation::Create => (self.object, "create"),
            Operation::Delete => (self.old(), "delete"),
            _ => return Ok(()),
        };
        match slice["spec"]["nodeName"].text() == self.node {
            true => Ok(()),
            false => Err(self.forbidden(format!(
                "can only {what} ResourceSlice with the same NodeName as the requesting node"
            ))),
        }
    }

    fn certificate_request(&self) -> Result<(), Status> {
        let signer = self.object["spec"]["signerName"].text();
        let is_create = self.attributes.operation == Operation::Create;
        if !is_create || !NODE_SIGNERS.contains(&signer) {
            return Ok(());
        }
        let request = parse_request(self.object);
        let request =
            request.map_err(|error| self.forbidden(format!("unable to parse csr: {error}")))?;
        let name = format!("system:node:{}", self.node);
        match request.subject().common_name() == name {
            true => Ok(()),
            false => Err(self.forbidden(format!("can only create a node CSR with CN={name}"))),
        }
    }

    /// Checks a claim, of which a node may change the capacity and the conditions.
    fn volume_claim(&self) -> Result<(), Status> {
        if self.cx.info.subresource != "status" {
            return Err(self.forbidden("may only update PVC status"));
        }
        if self.attributes.operation != Operation::Update {
            let operation = go::quote(self.operation());
            return Err(self.forbidden(format!("unexpected operation {operation}")));
        }
        let (old, new) = (without_progress(self.old()), without_progress(self.object));
        if same(&old, &new) {
            return Ok(());
        }
        let parts = ["metadata", "spec", "status"];
        let changed: Vec<&str> = parts
            .into_iter()
            .filter(|part| !same(&old[*part], &new[*part]))
            .collect();
        let (node, changed) = (go::quote(self.node), changed.join(", "));
        Err(self.forbidden(format!(
            "node {node} is not allowed to update fields other than status.quantity and status.conditions: {changed}"
        )))
    }
}

/// Returns a claim without what a node may change, and what says nothing about the change.
fn without_progress(claim: &Value) -> Value {
    const PROGRESS: [&str; 4] = [
        "capacity",
        "conditions",
        "allocatedResourceStatuses",
        "allocatedResources",
    ];
    let mut claim = claim.clone();
    for (part, fields) in [
        ("metadata", &["resourceVersion", "managedFields"][..]),
        ("status", &PROGRESS),
    ] {
        if let Some(part) = claim[part].as_object_mut() {
            for field in fields {
                part.remove(*field);
            }
        }
    }
    claim
}

/// Returns the error for an object that a plugin does not find, as listers word it.
fn not_found(group: &str, resource: &str, name: &str) -> Status {
    status::not_found(&GroupResource::new(group, resource), name)
}
