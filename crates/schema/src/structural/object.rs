//! Prepares and validates whole objects.
//!
//! Every validation by a structural schema goes through here, in the server and without one, so that the results are
//! the same.

use kubewright_cel::{Extent, Ratcheting, Validator, limits::RUNTIME_COST_BUDGET};
use kubewright_machinery::{
    field::{self, ErrorKind, ErrorList, FieldError, Path},
    gvk::GroupVersionKind,
    validation::{names, validate_object_meta, validate_object_meta_update},
};
use serde_json::{Value, json};

use super::{
    default::{DefaultsTooLarge, apply_defaults},
    embedded::validate_embedded,
    list_types::validate_list_types,
    model::Structural,
    nested::{nested_i64, nested_str},
    validate::{Old, validate, validate_update},
};

/// The rules for objects of one version of a kind.
///
/// ```
/// use kubewright_machinery::gvk::GroupVersionKind;
/// use kubewright_schema::structural::{ObjectRules, Structural};
/// use serde_json::json;
///
/// let schema = Structural::compile(&json!({"type": "object", "properties": {
///     "spec": {"type": "object", "properties": {"size": {"type": "integer", "maximum": 5}}},
/// }}))?;
/// let kind = GroupVersionKind::new("example.com", "v1", "Widget");
/// let rules = ObjectRules { kind: &kind, namespaced: true, schema: &schema, rules: None, scale: None };
/// let errors = rules.validate_create(&json!({
///     "apiVersion": "example.com/v1", "kind": "Widget",
///     "metadata": {"name": "w", "namespace": "shop"}, "spec": {"size": 9},
/// }));
/// assert_eq!(errors[0].field, "spec.size");
/// # Ok::<(), kubewright_schema::structural::CompileError>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct ObjectRules<'a> {
    /// The kind.
    pub kind: &'a GroupVersionKind,
    /// `true` for a namespaced kind.
    pub namespaced: bool,
    /// The schema.
    pub schema: &'a Structural,
    /// `x-kubernetes-validations`, compiled.
    pub rules: Option<&'a Validator>,
    /// The paths of the parts of a scale.
    pub scale: Option<ScalePaths<'a>>,
}

/// The paths of the parts of a scale, each with a leading dot.
///
/// ```
/// use kubewright_machinery::gvk::GroupVersionKind;
/// use kubewright_schema::structural::{ObjectRules, ScalePaths, Structural};
/// use serde_json::json;
///
/// let schema = Structural::compile(&json!({"type": "object", "properties": {
///     "spec": {"type": "object", "properties": {"replicas": {"type": "integer"}}},
/// }}))?;
/// let kind = GroupVersionKind::new("example.com", "v1", "Widget");
/// let scale = ScalePaths { spec_replicas: ".spec.replicas", status_replicas: ".status.replicas", selector: None };
/// let rules = ObjectRules { kind: &kind, namespaced: true, schema: &schema, rules: None, scale: Some(scale) };
/// let errors = rules.validate_create(&json!({
///     "apiVersion": "example.com/v1", "kind": "Widget",
///     "metadata": {"name": "w", "namespace": "shop"}, "spec": {"replicas": -1},
/// }));
/// assert_eq!(errors[0].detail, "should be a non-negative integer");
/// # Ok::<(), kubewright_schema::structural::CompileError>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct ScalePaths<'a> {
    /// The desired number of replicas.
    pub spec_replicas: &'a str,
    /// The observed number of replicas.
    pub status_replicas: &'a str,
    /// The label selector of the scaled objects.
    pub selector: Option<&'a str>,
}

/// The result of validating an update.
#[derive(Debug, Default)]
pub struct ValidationResult {
    /// The errors.
    pub errors: ErrorList,
    /// Warnings for errors that the old object had too, which are tolerated.
    pub warnings: Vec<String>,
}

/// The way in which the status of an object is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StatusWrites {
    /// Through the subresource `status` only.
    Subresource,
    /// With the object, like any other field.
    Object,
}

/// Prepares a new object.
///
/// ```
/// use kubewright_schema::structural::{StatusWrites, prepare_for_create};
/// use serde_json::json;
///
/// let mut object = json!({"metadata": {"name": "w"}, "status": {"ready": true}});
/// prepare_for_create(&mut object, StatusWrites::Subresource);
/// assert_eq!(object, json!({"metadata": {"name": "w", "generation": 1}}));
/// ```
pub fn prepare_for_create(object: &mut Value, status: StatusWrites) {
    if status == StatusWrites::Subresource {
        put(object, "status", None);
    }
    object["metadata"]["generation"] = json!(1);
}

/// Applies the default of a status that a creator could not set. A new object is validated without it.
///
/// ```
/// use kubewright_schema::structural::{Structural, default_status};
/// use serde_json::json;
///
/// let schema = Structural::compile(&json!({"type": "object", "properties": {
///     "status": {"type": "object", "default": {}},
/// }}))?;
/// let mut object = json!({"metadata": {"name": "w"}});
/// default_status(&mut object, &schema)?;
/// assert_eq!(object["status"], json!({}));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
///
/// Returns an error if the defaults add too much, see [`apply_defaults`].
pub fn default_status(object: &mut Value, schema: &Structural) -> Result<(), DefaultsTooLarge> {
    let has_default = |status: &Structural| status.default.is_some();
    if object.get("status").is_none() && schema.property("status").is_some_and(has_default) {
        apply_defaults(object, schema)?;
    }
    Ok(())
}

/// Prepares an object that replaces another.
///
/// ```
/// use kubewright_schema::structural::{StatusWrites, prepare_for_update};
/// use serde_json::json;
///
/// let old = json!({"metadata": {"generation": 3}, "spec": {"size": 1}});
/// let mut new = json!({"metadata": {"generation": 3}, "spec": {"size": 2}, "status": {"ready": true}});
/// prepare_for_update(&mut new, &old, StatusWrites::Subresource);
/// assert_eq!(new, json!({"metadata": {"generation": 4}, "spec": {"size": 2}}));
/// ```
pub fn prepare_for_update(object: &mut Value, old: &Value, status: StatusWrites) {
    if status == StatusWrites::Subresource {
        put(object, "status", old.get("status").cloned());
    }
    if !same_but_metadata(object, old) {
        let generation = old["metadata"]["generation"].as_i64().unwrap_or_default();
        object["metadata"]["generation"] = json!(generation.saturating_add(1));
    }
}

/// Prepares an object of which only the status is written.
///
/// ```
/// use kubewright_schema::structural::prepare_for_status_update;
/// use serde_json::json;
///
/// let old = json!({"metadata": {"generation": 3}, "spec": {"size": 1}});
/// let mut new = json!({"metadata": {}, "spec": {"size": 2}, "status": {"ready": true}});
/// prepare_for_status_update(&mut new, &old);
/// assert_eq!(new["spec"], old["spec"]);
/// assert_eq!(new["status"], json!({"ready": true}));
/// ```
pub fn prepare_for_status_update(object: &mut Value, old: &Value) {
    let status = object.get("status").cloned();
    let managed = object["metadata"].get("managedFields").cloned();
    let version = object["metadata"].get("resourceVersion").cloned();
    *object = old.clone();
    put(object, "status", status);
    put(&mut object["metadata"], "managedFields", managed);
    put(&mut object["metadata"], "resourceVersion", version);
}

impl ObjectRules<'_> {
    /// Validates a new object.
    pub fn validate_create(&self, object: &Value) -> ErrorList {
        self.create(object, RUNTIME_COST_BUDGET).errors
    }

    /// Validates a new object whose rules cost little. Returns `None` if they cost more than `budget`.
    pub fn validate_create_within(&self, object: &Value, budget: i64) -> Option<ErrorList> {
        self.create(object, budget)
            .within_budget()
            .map(|r| r.errors)
    }

    /// Validates an object that replaces another.
    pub fn validate_update(&self, object: &Value, old: &Value) -> ValidationResult {
        self.update(object, old, RUNTIME_COST_BUDGET).into()
    }

    /// Validates an object that replaces another and whose rules cost little. Returns `None` if they cost more than `budget`.
    pub fn validate_update_within(
        &self,
        object: &Value,
        old: &Value,
        budget: i64,
    ) -> Option<ValidationResult> {
        let found = self.update(object, old, budget);
        found.within_budget().map(Into::into)
    }

    /// Validates an object of which only the status is written.
    pub fn validate_status_update(&self, object: &Value, old: &Value) -> ValidationResult {
        self.status_update(object, old, RUNTIME_COST_BUDGET).into()
    }

    /// Validates a write of the status if the rules cost little. Returns `None` if they cost more than `budget`.
    pub fn validate_status_update_within(
        &self,
        object: &Value,
        old: &Value,
        budget: i64,
    ) -> Option<ValidationResult> {
        let found = self.status_update(object, old, budget);
        found.within_budget().map(Into::into)
    }

    fn create(&self, object: &Value, budget: i64) -> Found {
        let mut errors = self.validate_type(object);
        if !errors.is_empty() {
            return errors.into();
        }
        errors.extend(validate_object_meta(
            &object["metadata"],
            self.namespaced.into(),
            names::name_is_dns_subdomain,
            &Path::new("metadata"),
        ));
        let root = Path::root();
        errors.extend(validate(object, self.schema, &root));
        self.validate_spec_replicas(object, &mut errors);
        self.validate_scale_status(object, &mut errors);
        errors.extend(validate_embedded(object, self.schema, Extent::Value, &root));
        errors.extend(validate_list_types(object, self.schema, &root));
        self.run_rules(object, None, errors, budget)
    }

    fn update(&self, object: &Value, old: &Value, budget: i64) -> Found {
        let mut errors = self.validate_type(object);
        if !errors.is_empty() {
            return errors.into();
        }
        let root = Path::root();
        errors.extend(validate_metadata_update(object, old));
        let correlated = Old::new(old, self.schema);
        errors.extend(validate_update(object, correlated, self.schema, &root));
        self.validate_spec_replicas(object, &mut errors);
        self.validate_scale_status(object, &mut errors);
        errors.extend(validate_embedded(object, self.schema, Extent::Value, &root));
        self.validate_lists(object, old, &mut errors);
        self.run_rules(object, Some(old), errors, budget)
    }

    fn status_update(&self, object: &Value, old: &Value, budget: i64) -> Found {
        let mut errors = self.validate_type(object);
        if !errors.is_empty() {
            return errors.into();
        }
        errors.extend(validate_metadata_update(object, old));
        if let (Some(status), Some(schema)) = (object.get("status"), self.schema.property("status"))
        {
            let before = Old::new(old.get("status").unwrap_or(&Value::Null), schema);
            let path = Path::new("status");
            errors.extend(validate_update(status, before, schema, &path));
        }
        self.validate_scale_status(object, &mut errors);
        self.validate_lists(object, old, &mut errors);
        self.run_rules(object, Some(old), errors, budget)
    }

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
            validate_count(object, scale.spec_replicas, errors);
        }
    }

    fn validate_scale_status(&self, object: &Value, errors: &mut ErrorList) {
        let Some(scale) = &self.scale else {
            return;
        };
        validate_count(object, scale.status_replicas, errors);
        if let Some(path) = scale.selector
            && let Err(e) = nested_str(object, path)
        {
            errors.push(field::invalid_str(&Path::new(path), "", e));
        }
    }

    /// Runs the rules of the schema, unless something is wrong that they take for granted.
    fn run_rules(
        &self,
        object: &Value,
        old: Option<&Value>,
        mut errors: ErrorList,
        budget: i64,
    ) -> Found {
        let Some(rules) = self.rules else {
            return errors.into();
        };
        let blocking = |error: &FieldError| {
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
            return errors.into();
        }
        let outcome = rules.validate(object, old, budget, Ratcheting::Enabled);
        errors.extend(outcome.errors);
        Found {
            errors,
            warnings: outcome.warnings,
            stopped: outcome.remaining_budget < 0,
        }
    }

    /// Lists that had something twice before may keep it.
    fn validate_lists(&self, object: &Value, old: &Value, errors: &mut ErrorList) {
        let found = validate_list_types(object, self.schema, &Path::root());
        if !found.is_empty() && validate_list_types(old, self.schema, &Path::root()).is_empty() {
            errors.extend(found);
        }
    }
}

/// The result of a validation, and whether the rules cost more than they might.
struct Found {
    errors: ErrorList,
    warnings: Vec<String>,
    stopped: bool,
}

impl Found {
    fn within_budget(self) -> Option<Self> {
        (!self.stopped).then_some(self)
    }
}

impl From<ErrorList> for Found {
    fn from(errors: ErrorList) -> Self {
        Self {
            errors,
            warnings: Vec::new(),
            stopped: false,
        }
    }
}

impl From<Found> for ValidationResult {
    fn from(found: Found) -> Self {
        let Found {
            errors, warnings, ..
        } = found;
        Self { errors, warnings }
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

fn validate_metadata_update(object: &Value, old: &Value) -> ErrorList {
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
