//! [`FieldManager`]: tracks `metadata.managedFields` on every write, and applies configurations (server-side apply).
//!
//! The rules are in `kubewright_merge::managed`; this module supplies the types ([`TypeSchema`]) and the endpoints.

mod conversions;
mod merge;
mod scale;
mod type_schema;

use std::sync::{Arc, OnceLock};

use kubewright_catalog::types::StructType;
use kubewright_machinery::{Status, gvk::GroupVersionKind, status, time::Time};
use kubewright_merge::{
    fieldset::{FieldSet, Filter, PathElement},
    managed::{self, Apply, ApplyError, ConvertError, Converted, Endpoint, UpdateError, Versions},
};
use kubewright_schema::{normalize_typed, structural::Structural};
use serde_json::{Value, json};

pub use scale::{ReplicasPaths, ScaleOwners};
pub use type_schema::TypeSchema;

use self::conversions::Conversions;
use crate::{
    registry::{self, Draft, Shape},
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
    versions: Option<Arc<dyn registry::Versions>>,
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
            versions: None,
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

    /// Sets the schemas of a custom kind, and the conversion between its versions if there are several.
    #[must_use]
    pub fn with_custom_versions(
        mut self,
        schemas: CustomVersions,
        versions: Option<Arc<dyn registry::Versions>>,
    ) -> Self {
        self.custom = Some(schemas);
        self.versions = versions;
        self
    }

    /// Makes every apply fail with this message, for endpoints where kube-apiserver cannot complete one.
    #[must_use]
    pub fn with_failing_apply(mut self, text: impl Into<String>) -> Self {
        self.apply_fails = Some(text.into());
        self
    }

    /// Records a write that is not an apply. `live` is the stored object, or `None` on create.
    pub(crate) async fn track(
        &self,
        cx: &RequestContext,
        live: Option<&Value>,
        draft: &mut Draft,
        options: &WriteOptions,
    ) {
        let manager = cx.field_manager(&options.field_manager);
        let now = Time::from_unix(cx.resource.clock.now().as_second(), 0);
        let tracked = match live {
            Some(live) => {
                self.track_update(live, &mut draft.value, &manager, now)
                    .await
            }
            None => self.track_create(draft, &manager, now),
        };
        if let Err(error) = tracked {
            // As in kube-apiserver, a failure to track must not fail the write.
            tracing::error!(kind = %self.kind.kind, %error, "cannot update managed fields");
        }
    }

    fn track_create(&self, draft: &mut Draft, manager: &str, now: Time) -> Result<(), UpdateError> {
        let other = Other::renaming(self);
        let endpoint = self.endpoint(&other);
        let managed = managed::create(self.empty(), &mut draft.value, &endpoint, manager, now)?;
        draft.managed = Some(managed);
        Ok(())
    }

    async fn track_update(
        &self,
        live: &Value,
        object: &mut Value,
        manager: &str,
        now: Time,
    ) -> Result<(), UpdateError> {
        let Some(versions) = self.conversion_for(&[live, &*object]) else {
            let other = Other::renaming(self);
            return managed::update(live, object, &self.endpoint(&other), manager, now);
        };
        let given = &*object;
        let compute = |endpoint: &Endpoint<'_, TypeSchema<'_>>| {
            let mut object = given.clone();
            let tracked = managed::update(live, &mut object, endpoint, manager, now);
            (object, tracked)
        };
        let (tracked_object, tracked) = self.converting(versions, compute).await;
        *object = tracked_object;
        tracked
    }

    /// Records an update of a stored object, without converting it to other versions of a custom kind.
    pub fn update(&self, live: &Value, object: &mut Value, manager: &str, now: i64) {
        let now = Time::from_unix(now, 0);
        if let Err(error) = managed::update(
            live,
            object,
            &self.endpoint(&Other::renaming(self)),
            manager,
            now,
        ) {
            tracing::error!(kind = %self.kind.kind, %error, "cannot update managed fields");
        }
    }

    /// Applies a configuration. The result is not defaulted.
    ///
    /// # Errors
    ///
    /// Fails with 409 if other managers own fields of the configuration and `force` is not set, and with 400 or 500 if the
    /// configuration does not fit the type.
    pub(crate) async fn apply(
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
        let applied = match self.conversion_for(&[request.live]) {
            Some(versions) => {
                let compute =
                    |endpoint: &Endpoint<'_, TypeSchema<'_>>| managed::apply(&request, endpoint);
                self.converting(versions, compute).await
            }
            None => managed::apply(&request, &self.endpoint(&Other::renaming(self))),
        };
        let applied = applied.map_err(apply_failure)?;
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
struct Other<'a> {
    manager: &'a FieldManager,
    /// The conversions of custom objects; `None` to change the name of the version only.
    conversions: Option<&'a Conversions>,
}

impl<'a> Other<'a> {
    fn renaming(manager: &'a FieldManager) -> Self {
        Self {
            manager,
            conversions: None,
        }
    }
}

impl<'a> Versions<TypeSchema<'a>> for Other<'a> {
    fn convert(
        &self,
        object: &Value,
        api_version: &str,
    ) -> Result<Converted<TypeSchema<'a>>, ConvertError> {
        if self.manager.custom.is_some() {
            let schema = self.manager.custom_schema(api_version);
            let schema = schema.ok_or_else(|| {
                // kube-apiserver drops owners in versions that are gone for built-in kinds only.
                ConvertError::Failed(format!(
                    "request to convert CR to an invalid group/version: {api_version}"
                ))
            })?;
            let object = match self.conversions {
                Some(conversions) => conversions.get(object, api_version)?,
                None => {
                    let mut object = object.clone();
                    object["apiVersion"] = json!(api_version);
                    object
                }
            };
            return Ok(Converted { object, schema });
        }
        let convert = self
            .manager
            .convert
            .as_ref()
            .ok_or(ConvertError::NoSuchVersion)?;
        let (object, shape) = convert(object, api_version).ok_or(ConvertError::NoSuchVersion)?;
        Ok(Converted {
            object,
            schema: TypeSchema::of(shape),
        })
    }

    fn filter(&self, _api_version: &str) -> Option<&Filter> {
        self.manager.filter.as_ref()
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
