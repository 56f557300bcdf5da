//! Applies the change of a mutation to the object of a request.

use kubewright_apiserver::registry::Shape;
use kubewright_machinery::{Status, status};
use kubewright_merge::json_patch::{self, Decoding, Patch};
use kubewright_schema::{Node, decode_typed};
use serde_json::Value;

use super::compiled::Change;
use crate::admission::{matching::Request, versioned::Versioned};

/// The reason why a change cannot be applied.
#[derive(Debug)]
pub(super) enum PatchError {
    /// The policy fails with this message, as its failure policy says.
    Policy(String),
    /// The request fails.
    Request(Box<Status>),
}

impl From<Status> for PatchError {
    fn from(status: Status) -> Self {
        Self::Request(Box::new(status))
    }
}

/// Applies a change to the object.
pub(super) fn apply(
    request: &Request<'_>,
    versioned: &mut Versioned,
    change: Change,
) -> Result<(), PatchError> {
    let Some(object) = &versioned.object else {
        return Ok(());
    };
    let patched = match change {
        Change::Configuration(config) => merge(request, versioned, object, config)?,
        Change::Operations(operations) => match patch(object, &operations)? {
            Some(patched) => {
                check_strictly(request, versioned, &patched)?;
                patched
            }
            None => object.clone(),
        },
    };
    versioned.replace(request, patched)?;
    Ok(())
}

/// Merges a configuration into the object by the schema of its kind.
fn merge(
    request: &Request<'_>,
    versioned: &Versioned,
    object: &Value,
    mut config: Value,
) -> Result<Value, PatchError> {
    let kind = &versioned.kind;
    if let Some(fields) = config.as_object_mut() {
        fields.insert("kind".into(), kind.kind.as_str().into());
        fields.insert("apiVersion".into(), kind.api_version().into());
    }
    let manager = request.cx.resource.field_manager_of(request.subresource());
    let Some(manager) = manager else {
        let (group, version, kind) = (&kind.group, &kind.version, &kind.kind);
        let text = format!(
            "Resource kind {group}/{version}, Kind={kind} not found. There can be a delay between when CustomResourceDefinitions are created and when they are available."
        );
        return Err(status::service_unavailable(text).into());
    };
    let merged = manager.merge(object, &config);
    merged.map_err(|error| PatchError::Policy(format!("error applying patch: {error}")))
}

/// Applies operations. Returns `None` if a `test` among them fails, which leaves the object as it is.
fn patch(object: &Value, operations: &Value) -> Result<Option<Value>, PatchError> {
    let failed = |error: &dyn std::fmt::Display| PatchError::Policy(format!("JSON Patch: {error}"));
    let body = operations.to_string();
    let patch = Patch::decode(body.as_bytes(), Decoding::Lenient).map_err(|e| failed(&e))?;
    match json_patch::apply(object.clone(), &patch) {
        Ok(patched) => Ok(Some(patched)),
        Err(error) if error.is_failed_test() => Ok(None),
        Err(error) => Err(failed(&error)),
    }
}

/// Rejects a patched object with fields that its type does not have.
fn check_strictly(
    request: &Request<'_>,
    versioned: &Versioned,
    patched: &Value,
) -> Result<(), PatchError> {
    let kind = &versioned.kind;
    let ty = kubewright_catalog::kind_type(&kind.group, &kind.version, &kind.kind);
    let Some(ty) = ty.filter(|_| matches!(request.shape, Shape::Typed(_))) else {
        return Ok(());
    };
    let node = Node::from_value(patched.clone()).map_err(status::internal)?;
    let decoded = decode_typed(node, ty).map_err(status::internal)?;
    match decoded.problems.is_empty() {
        true => Ok(()),
        false => Err(status::internal(decoded.problems).into()),
    }
}
