//! The objects of a request in the version that a webhook or a policy asks for.
//!
//! | file | contents |
//! |---|---|
//! | `request_value` | the fields of an `AdmissionRequest` |
//! | `options` | its `options` |
//! | `managed_fields` | managed fields, which the code of others sees and may break |

mod managed_fields;
mod options;
mod request_value;

use kubewright_apiserver::{check_patched_kind, registry::Shape};
use kubewright_machinery::{
    Status, go,
    gvk::GroupVersionKind,
    json::Read,
    limits::{MAX_MUTATED_BYTES, fits},
    status,
};
use kubewright_schema::{Node, decode_typed, normalize_typed, retype_numbers};
use serde_json::{Value, json};

use crate::admission::matching::Request;

pub(crate) use managed_fields::BeforeMutation;
pub(crate) use request_value::request_value;

/// The objects of a request in one version, in the form in which they are served.
#[derive(Debug)]
pub(crate) struct Versioned {
    pub(crate) kind: GroupVersionKind,
    pub(crate) object: Option<Value>,
    pub(crate) old: Option<Value>,
    /// Whether `object` was changed and is no longer that of the request.
    dirty: bool,
}

impl Versioned {
    /// Converts the objects of a request.
    ///
    /// # Errors
    ///
    /// Fails if the objects cannot be converted, for example by the webhook of a CRD.
    pub(crate) async fn new(
        request: &Request<'_>,
        object: Option<&Value>,
        kind: &GroupVersionKind,
    ) -> Result<Self, Status> {
        Ok(Self {
            kind: kind.clone(),
            object: served_in(request, object, kind).await?,
            old: served_in(request, request.old(), kind).await?,
            dirty: false,
        })
    }

    /// Converts the objects to another version.
    ///
    /// # Errors
    ///
    /// Fails if the objects cannot be converted.
    pub(crate) async fn convert(
        &mut self,
        request: &Request<'_>,
        object: Option<&Value>,
        kind: &GroupVersionKind,
    ) -> Result<(), Status> {
        if self.kind == *kind {
            return Ok(());
        }
        let object = match self.object.take().filter(|_| self.dirty) {
            Some(changed) => Some(convert(request, changed, kind).await?),
            None => served_in(request, object, kind).await?,
        };
        *self = Self {
            kind: kind.clone(),
            object,
            old: served_in(request, request.old(), kind).await?,
            dirty: self.dirty,
        };
        Ok(())
    }

    /// Replaces the object with a patched one, decoded and with its defaults. Returns whether they differ.
    ///
    /// # Errors
    ///
    /// Returns the message for the client if the patched object does not fit its type, or is larger than
    /// [`MAX_MUTATED_BYTES`].
    pub(crate) fn replace(
        &mut self,
        request: &Request<'_>,
        patched: Value,
    ) -> Result<bool, Status> {
        let mut decoded = decode(request, patched, &self.kind)?;
        let changed = self.object.as_ref() != Some(&decoded);
        default(request, &mut decoded)?;
        if !fits(&decoded, MAX_MUTATED_BYTES) {
            return Err(status::object_too_large());
        }
        self.object = Some(decoded);
        self.dirty = true;
        Ok(changed)
    }

    /// Returns the object in the version of the request if it was changed.
    ///
    /// # Errors
    ///
    /// Fails if it cannot be converted.
    pub(crate) async fn into_changed(self, request: &Request<'_>) -> Result<Option<Value>, Status> {
        match self.object.filter(|_| self.dirty) {
            Some(object) => convert(request, object, request.kind).await.map(Some),
            None => Ok(None),
        }
    }
}

/// Returns an object of the request as another version serves it.
async fn served_in(
    request: &Request<'_>,
    object: Option<&Value>,
    kind: &GroupVersionKind,
) -> Result<Option<Value>, Status> {
    let Some(object) = object else {
        return Ok(None);
    };
    let mut object = object.clone();
    if let Some(fields) = object.as_object_mut() {
        fields.insert("kind".into(), json!(request.kind.kind));
        fields.insert("apiVersion".into(), json!(request.kind.api_version()));
    }
    let new = request.old().is_none();
    if new && request.has_metadata() {
        managed_fields::add(request, &mut object);
    }
    let object = match request.shape {
        Shape::Typed(ty) => normalize_typed(object, ty).map_err(status::internal)?,
        Shape::Untyped => object,
    };
    convert(request, object, kind).await.map(Some)
}

async fn convert(
    request: &Request<'_>,
    object: Value,
    kind: &GroupVersionKind,
) -> Result<Value, Status> {
    let wanted = kind.api_version();
    if matches!(request.shape, Shape::Untyped) {
        check_group(&object, kind)?;
    }
    match request.cx.resource.versions() {
        Some(versions) if object["apiVersion"] != wanted => versions.convert(object, &wanted).await,
        _ => Ok(object),
    }
}

/// Checks that a custom object is of the group that it is converted to. A patch may have changed it.
fn check_group(object: &Value, kind: &GroupVersionKind) -> Result<(), Status> {
    let given = object["apiVersion"].text();
    let (group, version) = given.split_once('/').unwrap_or(("", given));
    if group == kind.group {
        return Ok(());
    }
    let wanted = go::quote(&kind.api_version());
    Err(status::unknown(format!(
        "{group}/{version}, Kind={} is unstructured and is not suitable for converting to {wanted}",
        object["kind"].text()
    )))
}

/// Fills in the defaults of the version that the object is in.
fn default(request: &Request<'_>, object: &mut Value) -> Result<(), Status> {
    let resource = &request.cx.resource;
    if *request.kind != resource.spec().kind {
        let defaults = resource.defaults_of(request.subresource());
        return defaults.map_or(Ok(()), |default| default(object));
    }
    match resource.versions() {
        Some(versions) => versions.default(object),
        None => resource
            .defaults_of("")
            .map_or(Ok(()), |default| default(object)),
    }
}

/// Decodes a patched object. Fields that the type does not have are dropped; those of custom objects stay.
fn decode(
    request: &Request<'_>,
    mut patched: Value,
    kind: &GroupVersionKind,
) -> Result<Value, Status> {
    let ty = kubewright_catalog::kind_type(&kind.group, &kind.version, &kind.kind);
    let ty = ty.filter(|_| matches!(request.shape, Shape::Typed(_)));
    let Some(ty) = ty else {
        if patched["kind"].text().is_empty() {
            let text = format!("Object 'Kind' is missing in '{patched}'");
            return Err(status::internal(text));
        }
        retype_numbers(&mut patched);
        return Ok(patched);
    };
    check_patched_kind(&patched, kind).map_err(|text| {
        // The object is read, and found to be of another kind only when it is converted back.
        match text.ends_with("unknown conversion") {
            true => status::unknown(text),
            false => status::internal(text),
        }
    })?;
    let node = Node::from_value(patched).map_err(status::internal)?;
    let mut decoded = decode_typed(node, ty).map_err(status::internal)?.value;
    if let Some(fields) = decoded.as_object_mut() {
        fields.insert("kind".into(), json!(kind.kind));
        fields.insert("apiVersion".into(), json!(kind.api_version()));
    }
    Ok(decoded)
}
