//! The verdict of the server on an object, without one.
//!
//! It is the code of the server that judges (`kubewright_schema::structural::object`), after the same preparation: unknown
//! fields gone, defaults filled in. What depends on more than the object is not judged: who asks, quotas, webhooks, whether
//! the name is taken.

use kubewright_cel::Validator;
use kubewright_machinery::{
    Status,
    gvk::{GroupKind, GroupVersionKind},
    status,
};
use kubewright_schema::{
    Node, TypeError, decode_untyped, normalize_untyped,
    structural::{
        CompileError, Structural,
        coerce::{Passage, conform, refresh},
        default::apply_defaults,
        object::{
            ObjectRules, ScalePaths, default_status, prepare_for_create, prepare_for_status_update,
            prepare_for_update,
        },
        rules::compile_rules,
    },
};
use serde_json::{Value, json};

use crate::definition::CustomKind;

/// What the server fills in, and a writer need not know.
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

/// The version of an old object that does not come from a server: an update must name one.
const NOT_STORED: &str = "1";

/// Judges objects of one version of a kind.
#[derive(Debug)]
pub struct Judge(Result<Judged, CompileError>);

#[derive(Debug)]
struct Judged {
    kind: GroupVersionKind,
    namespaced: bool,
    has_status: bool,
    scale: Option<Scale>,
    schema: Structural,
    rules: Option<Validator>,
    document: Value,
}

#[derive(Debug)]
struct Scale {
    spec_replicas: String,
    status_replicas: String,
    selector: Option<String>,
}

impl Judge {
    /// The judge of a type.
    pub fn of<K: CustomKind>() -> Self {
        Self::new(&K::manifest(), &K::version(&()))
    }

    /// The judge of one version of a definition.
    pub fn new(manifest: &Value, version: &str) -> Self {
        Self(Judged::read(manifest, version))
    }

    /// The schema, as it stands in the definition. `null` if there is none that can be used.
    pub fn document(&self) -> &Value {
        self.0
            .as_ref()
            .map_or(&Value::Null, |judged| &judged.document)
    }

    /// The schema, compiled, if it can be.
    pub fn schema(&self) -> Option<&Structural> {
        self.0.as_ref().ok().map(|judged| &judged.schema)
    }

    /// The object with the defaults of the schema.
    pub fn with_defaults(&self, object: &Value) -> Value {
        let mut object = object.clone();
        if let Some(schema) = self.schema() {
            apply_defaults(&mut object, schema);
        }
        object
    }

    /// Judges a new object. The answer is the object as it would be stored, without what only a server can give.
    #[allow(clippy::result_large_err)]
    pub fn create(&self, object: &Value) -> Result<Value, Status> {
        let judged = self.judged()?;
        let mut object = judged.arrive(object)?;
        prepare_for_create(&mut object, judged.has_status);
        let errors = judged.rules().judge_create(&object);
        default_status(&mut object, &judged.schema);
        judged.answer(object, &errors)
    }

    /// Judges an object that replaces another.
    #[allow(clippy::result_large_err)]
    pub fn update(&self, object: &Value, old: &Value) -> Result<Value, Status> {
        let judged = self.judged()?;
        let old = judged.stored(old);
        let mut object = judged.arrive(object)?;
        keep_system_fields(&mut object, &old);
        prepare_for_update(&mut object, &old, judged.has_status);
        let errors = judged.rules().judge_update(&object, &old).errors;
        judged.answer(object, &errors)
    }

    /// Judges an object of which the status replaces that of another.
    #[allow(clippy::result_large_err)]
    pub fn update_status(&self, object: &Value, old: &Value) -> Result<Value, Status> {
        let judged = self.judged()?;
        let old = judged.stored(old);
        let mut object = judged.arrive(object)?;
        keep_system_fields(&mut object, &old);
        prepare_for_status_update(&mut object, &old);
        let errors = judged.rules().judge_status_update(&object, &old).errors;
        judged.answer(object, &errors)
    }

    #[allow(clippy::result_large_err)]
    fn judged(&self) -> Result<&Judged, Status> {
        self.0.as_ref().map_err(status::internal)
    }
}

impl Judged {
    fn read(manifest: &Value, version: &str) -> Result<Self, CompileError> {
        let spec = &manifest["spec"];
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
            has_status: !found["subresources"]["status"].is_null(),
            scale: (!scale.is_null()).then(|| Scale {
                spec_replicas: text(&scale["specReplicasPath"]),
                status_replicas: text(&scale["statusReplicasPath"]),
                selector: scale["labelSelectorPath"].as_str().map(str::to_owned),
            }),
            rules: compile_rules(&schema, true),
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

    /// An object on its way in: numbers as Go has them, in the shape of the schema, with defaults.
    #[allow(clippy::result_large_err)]
    fn arrive(&self, object: &Value) -> Result<Value, Status> {
        let bad = |e: TypeError| status::bad_request(e.to_string());
        let node = Node::from_value(object.clone()).map_err(bad)?;
        let (mut object, _) = decode_untyped(node).map_err(bad)?;
        conform(&mut object, &self.schema, Passage::default()).map_err(|e| {
            let (kind, version) = (&self.kind.kind, &self.kind.version);
            status::bad_request(format!(
                "{kind} in version \"{version}\" cannot be handled as a {kind}: {e}"
            ))
        })?;
        apply_defaults(&mut object, &self.schema);
        if !object["metadata"].is_object() {
            object["metadata"] = json!({});
        }
        if self.namespaced && object["metadata"]["namespace"].is_null() {
            object["metadata"]["namespace"] = json!("default");
        }
        Ok(object)
    }

    /// An object as it comes out of storage.
    fn stored(&self, object: &Value) -> Value {
        let mut object = object.clone();
        normalize_untyped(&mut object);
        refresh(&mut object, &self.schema);
        if !object["metadata"].is_object() {
            object["metadata"] = json!({});
        }
        if self.namespaced && object["metadata"]["namespace"].is_null() {
            object["metadata"]["namespace"] = json!("default");
        }
        if object["metadata"]["resourceVersion"].is_null() {
            object["metadata"]["resourceVersion"] = json!(NOT_STORED);
        }
        object
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

/// A writer may leave out what only the server writes.
fn keep_system_fields(object: &mut Value, old: &Value) {
    for key in SYSTEM_FIELDS {
        let kept = &old["metadata"][key];
        if object["metadata"][key].is_null() && !kept.is_null() {
            object["metadata"][key] = kept.clone();
        }
    }
}
