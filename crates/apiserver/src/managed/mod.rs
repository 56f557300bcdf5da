//! Who manages which field: `metadata.managedFields`, kept on every write, and server-side apply.
//!
//! The rules are those of `kubewright-merge`; this module tells it about types ([`TypeSchema`]) and endpoints
//! ([`FieldManager`]).

pub mod scale;
mod type_schema;

use std::sync::{Arc, OnceLock};

use kubewright_catalog::types::StructType;
use kubewright_machinery::{Status, gvk::GroupVersionKind, status};
use kubewright_merge::{
    fieldset::{FieldSet, Filter, PathElement},
    managed::{self, Apply, ApplyError, ConvertError, Converted, Endpoint, Timestamp, Versions},
};
use kubewright_schema::normalize_typed;
use serde_json::{Value, json};

pub use type_schema::TypeSchema;

use crate::registry::Shape;

/// Sees an object of one version in another: the object and its type, or `None` where there is no such version.
pub type SeeAs = Arc<dyn Fn(&Value, &str) -> Option<(Value, Shape)> + Send + Sync>;

/// Keeps track of who manages the fields of one endpoint.
pub struct FieldManager {
    kind: GroupVersionKind,
    api_version: String,
    subresource: String,
    shape: Shape,
    filter: Option<Filter>,
    see_as: Option<SeeAs>,
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
            empty: OnceLock::new(),
        }
    }

    /// With the other versions of the kind.
    #[must_use]
    pub fn with_versions(mut self, see_as: Option<SeeAs>) -> Self {
        self.see_as = see_as;
        self
    }

    /// Records a create, an update or a patch by `manager`.
    pub fn update(&self, live: Option<&Value>, object: &mut Value, manager: &str, now: i64) {
        let live = live.unwrap_or_else(|| self.empty());
        let endpoint = self.endpoint();
        if let Err(error) = managed::update(live, object, &endpoint, manager, Timestamp(now)) {
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
            now: Timestamp(now),
        };
        managed::apply(&request, &self.endpoint())
            .map(|applied| applied.object)
            .map_err(refusal)
    }

    fn endpoint(&self) -> Endpoint<'_, TypeSchema> {
        Endpoint {
            schema: TypeSchema::of(self.shape),
            api_version: &self.api_version,
            kind: &self.kind.kind,
            subresource: &self.subresource,
            versions: self,
        }
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

impl Versions<TypeSchema> for FieldManager {
    fn convert(
        &self,
        object: &Value,
        api_version: &str,
    ) -> Result<Converted<TypeSchema>, ConvertError> {
        let see_as = self.see_as.as_ref().ok_or(ConvertError::NoSuchVersion)?;
        let (object, shape) = see_as(object, api_version).ok_or(ConvertError::NoSuchVersion)?;
        Ok(Converted {
            object,
            schema: TypeSchema::of(shape),
        })
    }

    fn filter(&self, _api_version: &str) -> Option<&Filter> {
        self.filter.as_ref()
    }
}

fn refusal(error: ApplyError) -> Status {
    match error {
        ApplyError::Conflicts(conflicts) => {
            let mut refusal = Status::failure(409, "Conflict", conflicts.to_string())
                .with_details(Default::default());
            for cause in conflicts.causes() {
                refusal = refusal.with_cause("FieldManagerConflict", cause.message, &cause.field);
            }
            refusal
        }
        ApplyError::BadRequest(text) => status::bad_request(text),
        ApplyError::Internal(text) => Status::failure(500, "", text),
    }
}
