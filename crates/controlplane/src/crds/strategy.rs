//! The rules of a declared kind: its schema, and what every object is held to.

use std::sync::Arc;

use async_trait::async_trait;
use kubewright_apiserver::{
    registry::generic::{Reservation, Strategy},
    request::RequestContext,
};
use kubewright_cel::limits::RUNTIME_COST_BUDGET;
use kubewright_machinery::{
    Status,
    field::{self, ErrorKind, ErrorList, Path},
    gvk::{GroupResource, GroupVersionKind},
    status,
    validation::{
        meta::{validate_object_meta, validate_object_meta_update},
        names,
    },
};
use kubewright_schema::structural::{
    Structural,
    embedded::validate_embedded,
    list_types::validate_list_types,
    validate::{Old, validate, validate_update},
};
use serde_json::{Value, json};

use super::{
    definition::{LazyRules, Scale},
    nested::{nested_i64, nested_str},
};

/// Finalizers that need no domain.
const STANDARD_FINALIZERS: [&str; 3] = ["orphan", "foregroundDeletion", "kubernetes"];

/// The rules of one version.
pub(super) struct Rules {
    pub(super) kind: GroupVersionKind,
    pub(super) resource: GroupResource,
    pub(super) namespaced: bool,
    pub(super) schema: Arc<Structural>,
    /// `x-kubernetes-validations`
    pub(super) cel: Arc<LazyRules>,
    pub(super) has_status: bool,
    pub(super) scale: Option<Scale>,
    pub(super) terminating: bool,
}

/// The object itself.
pub(super) struct Main(pub(super) Arc<Rules>);

/// Its status.
pub(super) struct StatusOnly(pub(super) Arc<Rules>);

#[async_trait]
impl Strategy for Main {
    fn prepare_for_create(&self, _cx: &RequestContext, object: &mut Value) {
        if self.0.has_status {
            object.as_object_mut().map(|fields| fields.remove("status"));
        }
        object["metadata"]["generation"] = json!(1);
    }

    fn prepare_for_update(&self, object: &mut Value, old: &Value) {
        if self.0.has_status {
            put(object, "status", old.get("status").cloned());
        }
        if !same_but_metadata(object, old) {
            let generation = old["metadata"]["generation"].as_i64().unwrap_or_default();
            object["metadata"]["generation"] = json!(generation.saturating_add(1));
        }
    }

    fn validate(&self, object: &Value) -> ErrorList {
        let rules = &self.0;
        let mut errors = rules.validate_type(object);
        if !errors.is_empty() {
            return errors;
        }
        errors.extend(validate_object_meta(
            &object["metadata"],
            rules.namespaced,
            names::name_is_dns_subdomain,
            &Path::new("metadata"),
        ));
        let root = Path::root();
        errors.extend(validate(object, &rules.schema, &root));
        rules.validate_spec_replicas(object, &mut errors);
        rules.validate_scale_status(object, &mut errors);
        errors.extend(validate_embedded(object, &rules.schema, false, &root));
        errors.extend(validate_list_types(object, &rules.schema, &root));
        rules.run_rules(object, None, &mut errors);
        errors
    }

    fn checks_new_metadata(&self) -> bool {
        true
    }

    fn judge_update(&self, cx: &RequestContext, object: &Value, old: &Value) -> ErrorList {
        let rules = &self.0;
        let mut errors = rules.validate_type(object);
        if !errors.is_empty() {
            return errors;
        }
        let root = Path::root();
        errors.extend(metadata_update(object, old));
        let correlated = Old::new(old, &rules.schema);
        errors.extend(validate_update(object, correlated, &rules.schema, &root));
        rules.validate_spec_replicas(object, &mut errors);
        rules.validate_scale_status(object, &mut errors);
        errors.extend(validate_embedded(object, &rules.schema, false, &root));
        rules.validate_lists(object, old, &mut errors);
        let warnings = rules.run_rules(object, Some(old), &mut errors);
        warnings
            .into_iter()
            .for_each(|warning| cx.warnings.add(warning));
        errors
    }

    fn warnings_on_create(&self, object: &Value) -> Vec<String> {
        finalizer_warnings(object, &Value::Null)
    }

    fn warnings_on_update(&self, object: &Value, old: &Value) -> Vec<String> {
        finalizer_warnings(object, old)
    }

    fn allow_unconditional_update(&self) -> bool {
        false
    }

    async fn begin_write(
        &self,
        _cx: &RequestContext,
        object: &mut Value,
        old: Option<&Value>,
        _dry_run: bool,
    ) -> Result<Option<Box<dyn Reservation>>, Status> {
        if self.0.terminating && old.is_none() {
            let name = object["metadata"]["name"].as_str().unwrap_or_default();
            let cause = "create not allowed while custom resource definition is terminating";
            return Err(status::forbidden(&self.0.resource, name, cause));
        }
        Ok(None)
    }
}

impl Strategy for StatusOnly {
    fn prepare_for_update(&self, object: &mut Value, old: &Value) {
        let status = object.get("status").cloned();
        let managed = object["metadata"].get("managedFields").cloned();
        let version = object["metadata"].get("resourceVersion").cloned();
        *object = old.clone();
        put(object, "status", status);
        put(&mut object["metadata"], "managedFields", managed);
        put(&mut object["metadata"], "resourceVersion", version);
    }

    fn judge_update(&self, cx: &RequestContext, object: &Value, old: &Value) -> ErrorList {
        let rules = &self.0;
        let mut errors = rules.validate_type(object);
        if !errors.is_empty() {
            return errors;
        }
        errors.extend(metadata_update(object, old));
        if let (Some(status), Some(schema)) =
            (object.get("status"), rules.schema.property("status"))
        {
            let path = Path::new("status");
            let before = old.get("status").unwrap_or(&Value::Null);
            errors.extend(validate_update(
                status,
                Old::new(before, schema),
                schema,
                &path,
            ));
        }
        rules.validate_scale_status(object, &mut errors);
        rules.validate_lists(object, old, &mut errors);
        let warnings = rules.run_rules(object, Some(old), &mut errors);
        warnings
            .into_iter()
            .for_each(|warning| cx.warnings.add(warning));
        errors
    }

    fn allow_unconditional_update(&self) -> bool {
        false
    }
}

impl Rules {
    fn validate_type(&self, object: &Value) -> ErrorList {
        let mut errors = ErrorList::new();
        let expected = [
            ("kind", self.kind.kind.clone()),
            ("apiVersion", self.kind.api_version()),
        ];
        for (key, expected) in expected {
            let given = object[key].as_str().unwrap_or_default();
            if given != expected {
                let message = format!("must be {expected}");
                errors.push(field::invalid_str(&Path::new(key), given, message));
            }
        }
        errors
    }

    fn validate_spec_replicas(&self, object: &Value, errors: &mut ErrorList) {
        if let Some(scale) = &self.scale {
            validate_count(object, &scale.spec_replicas, errors);
        }
    }

    fn validate_scale_status(&self, object: &Value, errors: &mut ErrorList) {
        let Some(scale) = &self.scale else {
            return;
        };
        validate_count(object, &scale.status_replicas, errors);
        if let Some(path) = &scale.selector
            && let Err(e) = nested_str(object, path)
        {
            errors.push(field::invalid_str(&Path::new(path), "", e));
        }
    }

    /// Runs the rules of the schema, unless something is wrong that they take for granted. Gives what to warn of.
    fn run_rules(
        &self,
        object: &Value,
        old: Option<&Value>,
        errors: &mut ErrorList,
    ) -> Vec<String> {
        let Some(rules) = self.cel.get(&self.schema) else {
            return Vec::new();
        };
        let blocking = |error: &field::FieldError| {
            matches!(
                error.kind,
                ErrorKind::NotSupported
                    | ErrorKind::Required
                    | ErrorKind::TooLong
                    | ErrorKind::TooMany
                    | ErrorKind::TypeInvalid
            )
        };
        let root = Path::root();
        if errors.iter().any(blocking) {
            let message = "some validation rules were not checked because the object was invalid; correct the existing errors to complete validation";
            errors.push(field::invalid(&root, &Value::Null, message));
            return Vec::new();
        }
        let outcome = rules.validate(object, old, RUNTIME_COST_BUDGET, true);
        errors.extend(outcome.errors);
        outcome.warnings
    }

    /// Lists that had something twice before may keep it.
    fn validate_lists(&self, object: &Value, old: &Value, errors: &mut ErrorList) {
        let found = validate_list_types(object, &self.schema, &Path::root());
        if !found.is_empty() && validate_list_types(old, &self.schema, &Path::root()).is_empty() {
            errors.extend(found);
        }
    }
}

fn validate_count(object: &Value, path: &str, errors: &mut ErrorList) {
    let at = Path::new(path);
    match nested_i64(object, path) {
        Err(e) => errors.push(field::invalid(&at, &json!(0), e)),
        Ok(Some(n)) if n < 0 => {
            errors.push(field::invalid(
                &at,
                &json!(n),
                "should be a non-negative integer",
            ));
        }
        Ok(Some(n)) if n > i64::from(i32::MAX) => {
            let message = format!("should be less than or equal to {}", i32::MAX);
            errors.push(field::invalid(&at, &json!(n), message));
        }
        Ok(_) => {}
    }
}

fn metadata_update(object: &Value, old: &Value) -> ErrorList {
    let path = Path::new("metadata");
    validate_object_meta_update(&object["metadata"], &old["metadata"], &path)
}

/// Sets a field, or removes it.
fn put(object: &mut Value, key: &str, value: Option<Value>) {
    if let Some(fields) = object.as_object_mut() {
        match value {
            Some(value) => fields.insert(key.to_owned(), value),
            None => fields.remove(key),
        };
    }
}

fn same_but_metadata(a: &Value, b: &Value) -> bool {
    let (Some(a), Some(b)) = (a.as_object(), b.as_object()) else {
        return a == b;
    };
    let rest = |(key, _): &(&String, &Value)| *key != "metadata";
    a.iter().filter(rest).eq(b.iter().filter(rest))
}

fn finalizer_warnings(object: &Value, old: &Value) -> Vec<String> {
    let all = |object: &Value| -> Vec<String> {
        let items = object["metadata"]["finalizers"]
            .as_array()
            .into_iter()
            .flatten();
        items.filter_map(Value::as_str).map(str::to_owned).collect()
    };
    let known = all(old);
    let mut added: Vec<String> = all(object)
        .into_iter()
        .filter(|f| !known.contains(f))
        .collect();
    added.sort_unstable();
    added.dedup();
    let mut warnings = Vec::new();
    for name in added {
        let quoted = field::go_quote(&name);
        for message in names::is_qualified_name(&name) {
            warnings.push(format!("metadata.finalizers: {quoted}: {message}"));
        }
        if name.contains('/') || STANDARD_FINALIZERS.contains(&name.as_str()) {
            continue;
        }
        let with_path = if name.contains('.') {
            " including a path (/)"
        } else {
            ""
        };
        warnings.push(format!(
            "metadata.finalizers: {quoted}: prefer a domain-qualified finalizer name{with_path} to avoid accidental conflicts with other finalizer writers"
        ));
    }
    warnings
}
