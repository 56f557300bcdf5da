//! [`Subject`]: a request while policies are evaluated, with the variables of their expressions.

use std::sync::Arc;

use kubewright_cel::{AccessedResource, AdmissionInput};
use kubewright_machinery::{Status, json::Read};
use serde_json::{Map, Value};

use super::decisions::{Decisions, request_resource};
use crate::admission::{
    matching::{Match, Request, RequestNamespace},
    versioned::{Versioned, request_value},
};

/// The fields of a namespace's metadata that expressions see.
const NAMESPACE_METADATA: [&str; 12] = [
    "name",
    "generateName",
    "namespace",
    "uid",
    "resourceVersion",
    "generation",
    "creationTimestamp",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
    "labels",
    "annotations",
    "finalizers",
];

/// A request while policies are evaluated. What a policy does not use is not made.
pub(crate) struct Subject<'a> {
    pub(crate) request: &'a Request<'a>,
    pub(crate) decisions: Decisions,
    /// The objects in the version of the last policy.
    pub(crate) versioned: Option<Versioned>,
    namespace: RequestNamespace<'a>,
    namespace_object: Option<Value>,
    /// The variable `request`, by the resource that the policy matched.
    request_value: Option<(Match, Value)>,
    resource: Arc<AccessedResource>,
}

impl<'a> Subject<'a> {
    pub(crate) fn new(request: &'a Request<'a>, namespace: RequestNamespace<'a>) -> Self {
        let resource = request_resource(request.cx, request.namespace(), request.name());
        Self {
            request,
            decisions: Decisions::default(),
            versioned: None,
            namespace,
            namespace_object: None,
            request_value: None,
            resource: Arc::new(resource),
        }
    }

    /// Converts the objects to the version that a policy matched by. `object` is that of the request.
    ///
    /// # Errors
    ///
    /// Fails if the objects cannot be converted.
    pub(crate) async fn convert(
        &mut self,
        object: Option<&Value>,
        matched: &Match,
    ) -> Result<(), Status> {
        match &mut self.versioned {
            Some(versioned) => {
                let conversion = versioned.convert(self.request, object, &matched.kind);
                conversion.await
            }
            none => {
                let versioned = Versioned::new(self.request, object, &matched.kind).await?;
                *none = Some(versioned);
                Ok(())
            }
        }
    }

    /// Makes the variables that a policy uses.
    ///
    /// # Errors
    ///
    /// Fails with 404 if the namespace of the request does not exist.
    pub(crate) async fn prepare(
        &mut self,
        matched: &Match,
        uses: impl Fn(usize) -> bool,
    ) -> Result<(), Status> {
        if uses(AdmissionInput::NAMESPACE_OBJECT)
            && self.namespace_object.is_none()
            && !self.request.is_for_namespaces()
            && !self.request.namespace().is_empty()
        {
            let namespace = self.namespace.get().await?;
            self.namespace_object = Some(namespace_object(namespace));
        }
        let known = self.request_value.as_ref();
        if uses(AdmissionInput::REQUEST) && known.is_none_or(|(known, _)| known != matched) {
            let value = Value::Object(request_value(self.request, matched));
            self.request_value = Some((matched.clone(), value));
        }
        Ok(())
    }

    /// Returns the variables of expressions.
    pub(crate) fn input<'b>(&'b self, params: Option<&'b Value>) -> AdmissionInput<'b> {
        let versioned = self.versioned.as_ref();
        AdmissionInput {
            object: versioned.and_then(|v| v.object.as_ref()),
            old_object: versioned.and_then(|v| v.old.as_ref()),
            namespace_object: self.namespace_object.as_ref(),
            request: self.request_value.as_ref().map(|(_, value)| value),
            params,
            decisions: Some(&self.decisions),
            request_resource: Some(&self.resource),
        }
    }
}

fn namespace_object(namespace: &Value) -> Value {
    let mut metadata = Map::new();
    for name in NAMESPACE_METADATA {
        if let Some(value) = namespace["metadata"].get(name) {
            metadata.insert(name.to_owned(), value.clone());
        }
    }
    let mut out = Map::new();
    out.insert("metadata".into(), metadata.into());
    for name in ["spec", "status"] {
        let part = Some(&namespace[name]).filter(|part| part.is_set());
        let part = part.cloned().unwrap_or_else(|| Map::new().into());
        out.insert(name.into(), part);
    }
    out.into()
}
