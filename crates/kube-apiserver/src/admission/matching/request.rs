//! [`Request`]: a request as webhooks and policies see it.

use std::sync::OnceLock;

use kubewright_apiserver::{
    admission::{Attributes, Operation},
    registry::{Equivalent, Shape},
    request::{RequestContext, Verb},
};
use kubewright_machinery::gvk::{GroupVersionKind, GroupVersionResource};
use serde_json::Value;

use super::rule::RuleInput;

/// A request as webhooks and policies see it.
pub(crate) struct Request<'a> {
    pub(crate) cx: &'a RequestContext,
    pub(crate) attributes: &'a Attributes<'a>,
    /// The kind of the objects at the endpoint.
    pub(crate) kind: &'a GroupVersionKind,
    pub(crate) shape: Shape,
    pub(crate) resource: GroupVersionResource,
    equivalents: OnceLock<Vec<Equivalent>>,
}

impl<'a> Request<'a> {
    pub(crate) fn new(cx: &'a RequestContext, attributes: &'a Attributes<'a>) -> Self {
        let info = &cx.info;
        let (kind, shape) = cx.resource.kind_of(&info.subresource);
        Self {
            cx,
            attributes,
            kind,
            shape,
            resource: GroupVersionResource::new(&info.group, &info.version, &info.resource),
            equivalents: OnceLock::new(),
        }
    }

    /// Returns the operation.
    pub(crate) fn operation(&self) -> Operation {
        self.attributes.operation
    }

    /// Returns the subresource, or an empty string.
    pub(crate) fn subresource(&self) -> &'a str {
        &self.cx.info.subresource
    }

    /// Returns the name of the object. It is empty if it is to be generated, and if a collection is deleted.
    pub(crate) fn name(&self) -> &'a str {
        match self.cx.info.verb {
            Verb::DeleteCollection => "",
            _ => self.attributes.name,
        }
    }

    /// Returns the namespace of the object. That of a namespace is its own name.
    pub(crate) fn namespace(&self) -> &'a str {
        let info = &self.cx.info;
        match info.namespace.as_str() {
            "" if self.is_for_namespaces() => self.name(),
            namespace => namespace,
        }
    }

    /// Reports whether the request is for namespaces or one of their subresources.
    pub(crate) fn is_for_namespaces(&self) -> bool {
        let info = &self.cx.info;
        info.group.is_empty() && info.resource == "namespaces"
    }

    /// Reports whether the objects at the endpoint have metadata. The options of a connect have none.
    pub(crate) fn has_metadata(&self) -> bool {
        match self.shape {
            Shape::Typed(ty) => ty.field("metadata").is_some(),
            Shape::Untyped => true,
        }
    }

    /// Returns the other resources that serve the same objects, in order.
    pub(super) fn equivalents(&self) -> &[Equivalent] {
        self.equivalents.get_or_init(|| {
            let versions = self.cx.resource.versions();
            let all = versions.map(|versions| versions.equivalents(self.subresource()));
            let mut others = all.unwrap_or_default();
            others.retain(|other| other.resource != self.resource);
            others
        })
    }

    /// Returns what a rule decides on, for this request or for an equivalent one to another resource.
    pub(super) fn rule_input<'b>(&'b self, resource: &'b GroupVersionResource) -> RuleInput<'b> {
        RuleInput {
            operation: self.operation(),
            resource,
            subresource: self.subresource(),
            namespace: self.namespace(),
            name: self.name(),
        }
    }

    /// Returns the stored object.
    pub(crate) fn old(&self) -> Option<&'a Value> {
        self.attributes.old
    }
}
