//! [`Validator`]: validates custom objects as the server does, without a server.
//!
//! It runs the code of the server (`kubewright_schema::structural`) after the same preparation: unknown fields are
//! pruned and defaults applied. Checks that need more than the object are left out: authorization, quotas, webhooks, and
//! whether the name is taken.

use kubewright_cel::{Extent, Validator as Rules};
use kubewright_machinery::{
    Status,
    gvk::{GroupKind, GroupVersionKind},
    status,
};
use kubewright_schema::{
    Node, TypeError, decode_untyped, normalize_untyped,
    structural::{
        CompileError, ConformOptions, ObjectRules, ScalePaths, StatusWrites, Structural,
        apply_defaults, compile_rules, conform, default_status, prepare_for_create,
        prepare_for_status_update, prepare_for_update, refresh,
    },
};
use serde_json::{Value, json};

use crate::{crd::CrdError, custom_kind::CustomKind};

/// The metadata that the server sets, and that a writer may omit.
const SYSTEM_FIELDS: [&str; 8] = [
    "uid",
    "creationTimestamp",
    "generation",
    "resourceVersion",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
    "managedFields",
    "namespace",
];

/// The resourceVersion given to an old object that does not come from a server, since an update must have one.
const NOT_STORED: &str = "1";

/// Validates objects of one version of a kind.
///
/// ```
/// use kubewright_resource::Validator;
/// use serde_json::json;
///
/// let crd = json!({"spec": {
///     "group": "crew.example.com", "scope": "Namespaced", "names": {"kind": "Captain", "plural": "captains"},
///     "versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": {
///         "type": "object",
///         "properties": {"spec": {"type": "object", "properties": {"mates": {"type": "integer", "default": 3}}}},
///     }}}],
/// }});
/// let validator = Validator::new(&crd, "v1");
/// let captain = json!({
///     "apiVersion": "crew.example.com/v1", "kind": "Captain", "metadata": {"name": "ahab"}, "spec": {},
/// });
/// assert_eq!(validator.create(&captain).unwrap()["spec"]["mates"], 3);
/// ```
#[derive(Debug)]
pub struct Validator(Result<Compiled, InvalidSchema>);

/// A schema that cannot be compiled.
#[derive(Debug, thiserror::Error)]
enum InvalidSchema {
    #[error(transparent)]
    Crd(#[from] CrdError),
    #[error(transparent)]
    Compile(#[from] CompileError),
}

#[derive(Debug)]
struct Compiled {
    kind: GroupVersionKind,
    namespaced: bool,
    status: StatusWrites,
    scale: Option<Scale>,
    schema: Structural,
    rules: Option<Rules>,
    document: Value,
}

#[derive(Debug)]
struct Scale {
    spec_replicas: String,
    status_replicas: String,
    selector: Option<String>,
}

impl Validator {
    /// Creates the validator of a type. If its CRD is not valid, every object is rejected with that error.
    pub fn of<K: CustomKind>() -> Self {
        Self(
            K::manifest()
                .map_err(InvalidSchema::from)
                .and_then(|crd| Ok(Compiled::new(&crd, &K::version(&()))?)),
        )
    }

    /// Creates the validator of one version of a CRD. If its schema is not valid, every object is rejected with that error.
    pub fn new(crd: &Value, version: &str) -> Self {
        Self(Compiled::new(crd, version).map_err(InvalidSchema::from))
    }

    /// Returns the schema as written in the CRD, or `null` if it is not valid.
    pub fn document(&self) -> &Value {
        self.0
            .as_ref()
            .map_or(&Value::Null, |compiled| &compiled.document)
    }

    /// Returns the compiled schema, or `None` if it is not valid.
    pub fn schema(&self) -> Option<&Structural> {
        self.0.as_ref().ok().map(|compiled| &compiled.schema)
    }

    /// Returns the object with the defaults of the schema applied.
    ///
    /// # Errors
    ///
    /// Returns the `Status` with which the server would reject the object if the defaults make it too large.
    #[allow(clippy::result_large_err)]
    pub fn with_defaults(&self, object: &Value) -> Result<Value, Status> {
        let mut object = object.clone();
        if let Some(schema) = self.schema() {
            apply_defaults(&mut object, schema)?;
        }
        Ok(object)
    }

    /// Validates a new object. Returns it as it would be stored, without the metadata that only a server can set.
    ///
    /// # Errors
    ///
    /// Returns the `Status` with which the server would reject the object.
    #[allow(clippy::result_large_err)]
    pub fn create(&self, object: &Value) -> Result<Value, Status> {
        let compiled = self.compiled()?;
        let mut object = compiled.decode(object)?;
        prepare_for_create(&mut object, compiled.status);
        let errors = compiled.rules().validate_create(&object);
        default_status(&mut object, &compiled.schema)?;
        compiled.answer(object, &errors)
    }

    /// Validates an object that replaces `old`.
    ///
    /// # Errors
    ///
    /// Returns the `Status` with which the server would reject the update.
    #[allow(clippy::result_large_err)]
    pub fn update(&self, object: &Value, old: &Value) -> Result<Value, Status> {
        let compiled = self.compiled()?;
        let old = compiled.stored(old)?;
        let mut object = compiled.decode(object)?;
        keep_system_fields(&mut object, &old);
        prepare_for_update(&mut object, &old, compiled.status);
        let errors = compiled.rules().validate_update(&object, &old).errors;
        compiled.answer(object, &errors)
    }

    /// Validates an object whose status replaces that of `old`.
    ///
    /// # Errors
    ///
    /// Returns the `Status` with which the server would reject the update.
    #[allow(clippy::result_large_err)]
    pub fn update_status(&self, object: &Value, old: &Value) -> Result<Value, Status> {
        let compiled = self.compiled()?;
        let old = compiled.stored(old)?;
        let mut object = compiled.decode(object)?;
        keep_system_fields(&mut object, &old);
        prepare_for_status_update(&mut object, &old);
        let errors = compiled
            .rules()
            .validate_status_update(&object, &old)
            .errors;
        compiled.answer(object, &errors)
    }

    #[allow(clippy::result_large_err)]
    fn compiled(&self) -> Result<&Compiled, Status> {
        self.0.as_ref().map_err(status::internal)
    }
}

impl Compiled {
    fn new(crd: &Value, version: &str) -> Result<Self, CompileError> {
        let spec = &crd["spec"];
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let versions = spec["versions"].as_array().into_iter().flatten();
        let found = versions.into_iter().find(|v| v["name"] == version);
        let found = found.unwrap_or(&Value::Null);
        let document = found["schema"]["openAPIV3Schema"].clone();
        let schema = Structural::compile(&document)?;
        let scale = &found["subresources"]["scale"];
        Ok(Self {
            kind: GroupVersionKind::new(
                text(&spec["group"]),
                version,
                text(&spec["names"]["kind"]),
            ),
            namespaced: spec["scope"] == "Namespaced",
            status: match found["subresources"]["status"].is_null() {
                true => StatusWrites::Object,
                false => StatusWrites::Subresource,
            },
            scale: (!scale.is_null()).then(|| Scale {
                spec_replicas: text(&scale["specReplicasPath"]),
                status_replicas: text(&scale["statusReplicasPath"]),
                selector: scale["labelSelectorPath"].as_str().map(str::to_owned),
            }),
            rules: compile_rules(&schema, Extent::Resource),
            schema,
            document,
        })
    }

    fn rules(&self) -> ObjectRules<'_> {
        ObjectRules {
            kind: &self.kind,
            namespaced: self.namespaced,
            schema: &self.schema,
            rules: self.rules.as_ref(),
            scale: self.scale.as_ref().map(|scale| ScalePaths {
                spec_replicas: &scale.spec_replicas,
                status_replicas: &scale.status_replicas,
                selector: scale.selector.as_deref(),
            }),
        }
    }

    /// Decodes an object as the server does: Go's numbers, pruned to the schema, defaults applied.
    #[allow(clippy::result_large_err)]
    fn decode(&self, object: &Value) -> Result<Value, Status> {
        let bad = |e: TypeError| status::bad_request(e.to_string());
        let node = Node::from_value(object.clone()).map_err(bad)?;
        let (mut object, _) = decode_untyped(node).map_err(bad)?;
        conform(&mut object, &self.schema, ConformOptions::default()).map_err(|e| {
            let (kind, version) = (&self.kind.kind, &self.kind.version);
            status::bad_request(format!(
                "{kind} in version \"{version}\" cannot be handled as a {kind}: {e}"
            ))
        })?;
        apply_defaults(&mut object, &self.schema)?;
        if !object["metadata"].is_object() {
            object["metadata"] = json!({});
        }
        if self.namespaced && object["metadata"]["namespace"].is_null() {
            object["metadata"]["namespace"] = json!("default");
        }
        Ok(object)
    }

    /// Returns an object as it is read from storage.
    #[allow(clippy::result_large_err)]
    fn stored(&self, object: &Value) -> Result<Value, Status> {
        let mut object = object.clone();
        normalize_untyped(&mut object);
        refresh(&mut object, &self.schema)?;
        if !object["metadata"].is_object() {
            object["metadata"] = json!({});
        }
        if self.namespaced && object["metadata"]["namespace"].is_null() {
            object["metadata"]["namespace"] = json!("default");
        }
        if object["metadata"]["resourceVersion"].is_null() {
            object["metadata"]["resourceVersion"] = json!(NOT_STORED);
        }
        Ok(object)
    }

    #[allow(clippy::result_large_err)]
    fn answer(
        &self,
        mut object: Value,
        errors: &[kubewright_machinery::field::FieldError],
    ) -> Result<Value, Status> {
        if errors.is_empty() {
            if object["metadata"]["resourceVersion"] == NOT_STORED
                && let Some(metadata) = object["metadata"].as_object_mut()
            {
                metadata.remove("resourceVersion");
            }
            normalize_untyped(&mut object);
            return Ok(object);
        }
        let kind = GroupKind::new(&self.kind.group, &self.kind.kind);
        let name = object["metadata"]["name"].as_str().unwrap_or_default();
        Err(status::invalid(&kind, name, errors))
    }
}

/// Copies the metadata that only the server writes from the old object.
fn keep_system_fields(object: &mut Value, old: &Value) {
    for key in SYSTEM_FIELDS {
        let kept = &old["metadata"][key];
        if object["metadata"][key].is_null() && !kept.is_null() {
            object["metadata"][key] = kept.clone();
        }
    }
}
