//! Who manages which field: `metadata.managedFields`, kept on every write, and server-side apply.
//!
//! The rules are those of `kubewright-merge`; this module tells it about types ([`TypeSchema`]) and endpoints
//! ([`FieldManager`]).

pub mod scale;
mod type_schema;

use std::sync::{Arc, OnceLock};

use kubewright_catalog::types::StructType;
use kubewright_machinery::{Status, gvk::GroupVersionKind, status, time::Time};
use kubewright_merge::{
    fieldset::{FieldSet, Filter, PathElement},
    managed::{self, Apply, ApplyError, ConvertError, Converted, Endpoint, Form, Versions},
};
use kubewright_schema::{normalize_typed, structural::Structural};
use serde_json::{Value, json};

pub use type_schema::TypeSchema;

use crate::registry::Shape;

/// Sees an object of one version in another: the object and its type, or `None` where there is no such version.
pub type SeeAs = Arc<dyn Fn(&Value, &str) -> Option<(Value, Shape)> + Send + Sync>;

/// The schema of a kind that a definition declares, in every version by its `apiVersion`.
pub type DeclaredVersions = Arc<[(String, Arc<Structural>)]>;

/// Keeps track of who manages the fields of one endpoint.
pub struct FieldManager {
    kind: GroupVersionKind,
    api_version: String,
    subresource: String,
    shape: Shape,
    filter: Option<Filter>,
    see_as: Option<SeeAs>,
    declared: Option<DeclaredVersions>,
    apply_fails: Option<String>,
    empty: OnceLock<Value>,
}

impl FieldManager {
    /// For an endpoint whose writers cannot own the fields at `reset` (dotted paths).
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
            see_as: None,
            declared: None,
            apply_fails: None,
            empty: OnceLock::new(),
        }
    }

    /// With the other versions of the kind.
    #[must_use]
    pub fn with_versions(mut self, see_as: Option<SeeAs>) -> Self {
        self.see_as = see_as;
        self
    }

    /// For a kind that a definition declares. Its versions differ in nothing but their schema.
    #[must_use]
    pub fn with_declared(mut self, versions: DeclaredVersions) -> Self {
        self.declared = Some(versions);
        self
    }

    /// For an endpoint whose applies the real server cannot finish: what it says when nothing else is wrong.
    #[must_use]
    pub fn with_failing_apply(mut self, text: impl Into<String>) -> Self {
        self.apply_fails = Some(text.into());
        self
    }

    /// Records a create, an update or a patch by `manager`. The fields of a new object are held as text: see [`Form`].
    pub fn update(&self, live: Option<&Value>, object: &mut Value, manager: &str, now: i64) {
        // What is new is written out as it is. What is there already gets compared.
        let form = match live {
            None => Form::Text,
            Some(_) => Form::Object,
        };
        let live = live.unwrap_or_else(|| self.empty());
        let other = Other(self);
        let endpoint = self.endpoint(&other);
        let now = Time::from_unix(now, 0);
        if let Err(error) = managed::update_as(live, object, &endpoint, manager, now, form) {
            // The real server logs and goes on, too: tracking must not stop a write.
            tracing::error!(kind = %self.kind.kind, "managed fields could not be updated: {error}");
        }
    }

    /// Applies a configuration; the result has no defaults yet.
    pub fn apply(
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
        let applied = managed::apply(&request, &self.endpoint(&Other(self))).map_err(refusal)?;
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
        let declared = self.declared_schema(&self.api_version);
        Endpoint {
            schema: declared.unwrap_or(TypeSchema::of(self.shape)),
            api_version: &self.api_version,
            kind: &self.kind.kind,
            subresource: &self.subresource,
            versions,
        }
    }

    fn declared_schema(&self, api_version: &str) -> Option<TypeSchema<'_>> {
        let versions = self.declared.as_deref()?;
        let (_, schema) = versions
            .iter()
            .find(|(version, _)| version == api_version)?;
        Some(TypeSchema::Declared(schema, true))
    }

    /// What an empty object of the kind encodes to.
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

/// The other versions of an endpoint.
struct Other<'a>(&'a FieldManager);

impl<'a> Versions<TypeSchema<'a>> for Other<'a> {
    fn convert(
        &self,
        object: &Value,
        api_version: &str,
    ) -> Result<Converted<TypeSchema<'a>>, ConvertError> {
        if self.0.declared.is_some() {
            let schema = self.0.declared_schema(api_version);
            let mut object = object.clone();
            object["apiVersion"] = json!(api_version);
            return Ok(Converted {
                object,
                schema: schema.ok_or(ConvertError::NoSuchVersion)?,
            });
        }
        let see_as = self.0.see_as.as_ref().ok_or(ConvertError::NoSuchVersion)?;
        let (object, shape) = see_as(object, api_version).ok_or(ConvertError::NoSuchVersion)?;
        Ok(Converted {
            object,
            schema: TypeSchema::of(shape),
        })
    }

    fn filter(&self, _api_version: &str) -> Option<&Filter> {
        self.0.filter.as_ref()
    }
}

fn refusal(error: ApplyError) -> Status {
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
