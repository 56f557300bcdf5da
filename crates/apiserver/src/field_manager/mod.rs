//! [`FieldManager`]: tracks `metadata.managedFields` on every write, and applies configurations (server-side apply).
//!
//! The rules are in `kubewright_merge::managed`; this module supplies the types ([`TypeSchema`]) and the endpoints.

mod merge;
mod scale;
mod type_schema;

use std::sync::{Arc, OnceLock};

use kubewright_catalog::types::StructType;
use kubewright_machinery::{Status, gvk::GroupVersionKind, status, time::Time};
use kubewright_merge::{
    fieldset::{FieldSet, Filter, PathElement},
    managed::{self, Apply, ApplyError, ConvertError, Converted, Endpoint, Versions},
};
use kubewright_schema::{normalize_typed, structural::Structural};
use serde_json::{Value, json};

pub use scale::{ReplicasPaths, ScaleOwners};
pub use type_schema::TypeSchema;

use crate::{
    registry::{Draft, Shape},
    request::{RequestContext, WriteOptions},
};

/// Converts an object to another version of its kind. Returns the object and its type, or `None` if there is no such version.
pub type ConvertVersion = Arc<dyn Fn(&Value, &str) -> Option<(Value, Shape)> + Send + Sync>;

/// The schemas of a custom kind in all its versions, by `apiVersion`.
pub type CustomVersions = Arc<[(String, Arc<Structural>)]>;

/// Tracks the owners of fields that are written through one endpoint.
///
/// ```
/// use kubewright_apiserver::{FieldManager, registry::Shape};
/// use kubewright_machinery::gvk::GroupVersionKind;
/// use serde_json::json;
///
/// let kind = GroupVersionKind::new("sky.example.com", "v1", "Comet");
/// let manager = FieldManager::new(&kind, Shape::Untyped, "", &["status"]);
/// let live = json!({"kind": "Comet", "apiVersion": "sky.example.com/v1", "metadata": {"name": "halley"}});
/// let mut object = live.clone();
/// object["spec"] = json!({"years": 76});
/// manager.update(&live, &mut object, "astronomer", 0);
/// assert_eq!(object["metadata"]["managedFields"][0]["manager"], "astronomer");
/// ```
pub struct FieldManager {
    kind: GroupVersionKind,
    api_version: String,
    subresource: String,
    shape: Shape,
    filter: Option<Filter>,
    convert: Option<ConvertVersion>,
    custom: Option<CustomVersions>,
    apply_fails: Option<String>,
    empty: OnceLock<Value>,
}

impl FieldManager {
    /// Returns the tracker of an endpoint. Its writers cannot own the fields at `reset`, which are dotted paths.
    pub fn new(kind: &GroupVersionKind, shape: Shape, subresource: &str, reset: &[&str]) -> Self {
        let mut excluded = FieldSet::default();
        for path in reset {
            let path: Vec<PathElement> = path.split('.').map(PathElement::field).collect();
            excluded.insert(&path);
        }
        Self {
            kind: kind.clone(),
            api_version: kind.api_version(),
            subresource: subresource.to_owned(),
            shape,
            filter: (!reset.is_empty()).then_some(Filter::Exclude(excluded)),
            convert: None,
            custom: None,
            apply_fails: None,
            empty: OnceLock::new(),
        }
    }

    /// Sets the conversion to other versions of the kind.
    #[must_use]
    pub fn with_versions(mut self, convert: Option<ConvertVersion>) -> Self {
        self.convert = convert;
        self
    }

    /// Sets the versions of a custom kind. They differ in their schema only.
    #[must_use]
    pub fn with_custom_versions(mut self, versions: CustomVersions) -> Self {
        self.custom = Some(versions);
        self
    }

    /// Makes every apply fail with this message, for endpoints where kube-apiserver cannot complete one.
    #[must_use]
    pub fn with_failing_apply(mut self, text: impl Into<String>) -> Self {
        self.apply_fails = Some(text.into());
        self
    }

    /// Records a write that is not an apply. `live` is the stored object, or `None` on create.
    pub(crate) fn track(
        &self,
        cx: &RequestContext,
        live: Option<&Value>,
        draft: &mut Draft,
        options: &WriteOptions,
    ) {
        let manager = cx.field_manager(&options.field_manager);
        let now = cx.resource.clock.now().as_second();
        let other = Other(self);
        let endpoint = self.endpoint(&other);
        let (object, now) = (&mut draft.value, Time::from_unix(now, 0));
        let tracked = match live {
            Some(live) => managed::update(live, object, &endpoint, &manager, now),
            None => managed::create(self.empty(), object, &endpoint, &manager, now)
                .map(|managed| draft.managed = Some(managed)),
        };
        if let Err(error) = tracked {
            // As in kube-apiserver, a failure to track must not fail the write.
            tracing::error!(kind = %self.kind.kind, %error, "cannot update managed fields");
        }
    }

    /// Records an update of a stored object.
    pub fn update(&self, live: &Value, object: &mut Value, manager: &str, now: i64) {
        let now = Time::from_unix(now, 0);
        if let Err(error) =
            managed::update(live, object, &self.endpoint(&Other(self)), manager, now)
        {
            tracing::error!(kind = %self.kind.kind, %error, "cannot update managed fields");
        }
    }

    /// Applies a configuration. The result is not defaulted.
    ///
    /// # Errors
    ///
    /// Fails with 409 if other managers own fields of the configuration and `force` is not set, and with 400 or 500 if the
    /// configuration does not fit the type.
    pub(crate) fn apply(
        &self,
        live: Option<&Value>,
        patch: &Value,
        manager: &str,
        force: bool,
        now: i64,
    ) -> Result<Value, Status> {
        let empty = self.empty();
        let request = Apply {
            live: live.unwrap_or(empty),
            empty,
            patch,
            manager,
            force,
            now: Time::from_unix(now, 0),
        };
        let applied =
            managed::apply(&request, &self.endpoint(&Other(self))).map_err(apply_failure)?;
        match &self.apply_fails {
            None => Ok(applied.object),
            Some(text) => {
                let part = |key: &str| patch["metadata"][key].as_str().unwrap_or_default();
                let (namespace, name) = (part("namespace"), part("name"));
                let (version, kind) = (&self.api_version, &self.kind.kind);
                Err(status::unknown(format!(
                    "failed to convert new object ({namespace}/{name}; {version}, Kind={kind}) to proper version: {text}"
                )))
            }
        }
    }

    fn endpoint<'a>(&'a self, versions: &'a Other<'a>) -> Endpoint<'a, TypeSchema<'a>> {
        let custom = self.custom_schema(&self.api_version);
        Endpoint {
            schema: custom.unwrap_or(TypeSchema::of(self.shape)),
            api_version: &self.api_version,
            kind: &self.kind.kind,
            subresource: &self.subresource,
            versions,
        }
    }

    fn custom_schema(&self, api_version: &str) -> Option<TypeSchema<'_>> {
        let versions = self.custom.as_deref()?;
        let (_, schema) = versions
            .iter()
            .find(|(version, _)| version == api_version)?;
        Some(TypeSchema::Custom(schema, true))
    }

    /// Returns an empty object of the kind as it is encoded.
    fn empty(&self) -> &Value {
        self.empty.get_or_init(|| {
            let bare = json!({"kind": self.kind.kind, "apiVersion": self.api_version});
            match self.shape {
                Shape::Typed(ty) => empty_of(ty, bare),
                Shape::Untyped => bare,
            }
        })
    }
}

fn empty_of(ty: &'static StructType, bare: Value) -> Value {
    normalize_typed(bare.clone(), ty).unwrap_or(bare)
}

/// Converts to the other versions of an endpoint.
struct Other<'a>(&'a FieldManager);

impl<'a> Versions<TypeSchema<'a>> for Other<'a> {
    fn convert(
        &self,
        object: &Value,
        api_version: &str,
    ) -> Result<Converted<TypeSchema<'a>>, ConvertError> {
        if self.0.custom.is_some() {
            let schema = self.0.custom_schema(api_version);
            let mut object = object.clone();
            object["apiVersion"] = json!(api_version);
            return Ok(Converted {
                object,
                schema: schema.ok_or(ConvertError::NoSuchVersion)?,
            });
        }
        let convert = self.0.convert.as_ref().ok_or(ConvertError::NoSuchVersion)?;
        let (object, shape) = convert(object, api_version).ok_or(ConvertError::NoSuchVersion)?;
        Ok(Converted {
            object,
            schema: TypeSchema::of(shape),
        })
    }

    fn filter(&self, _api_version: &str) -> Option<&Filter> {
        self.0.filter.as_ref()
    }
}

fn apply_failure(error: ApplyError) -> Status {
    match error {
        ApplyError::Conflicts(conflicts) => {
            let causes = conflicts.causes().into_iter().map(|cause| status::Cause {
                reason: "FieldManagerConflict".to_owned(),
                message: cause.message,
                field: cause.field,
            });
            status::apply_conflict(conflicts.to_string(), causes.collect())
        }
        ApplyError::BadRequest(text) => status::bad_request(text),
        ApplyError::Internal(text) => status::unknown(text),
    }
}
