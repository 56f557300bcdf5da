//! The strategies of custom resources: validation by schema, `status` on its own endpoint.

use std::sync::Arc;

use async_trait::async_trait;
use kubewright_apiserver::{
    registry::{Reservation, Strategy, StrategyOptions, validate_metadata_update},
    request::RequestContext,
};
use kubewright_machinery::{
    PropagationPolicy, Status,
    field::ErrorList,
    go,
    gvk::{GroupResource, GroupVersionKind},
    status,
    validation::names,
};
use kubewright_schema::structural::{
    self, ConformOptions, ObjectRules, ScalePaths, StatusWrites, Structural, ValidationResult,
};
use serde_json::Value;

use crate::definition::{LazyRules, Scale};

/// The finalizers that need no domain.
const STANDARD_FINALIZERS: [&str; 3] = ["orphan", "foregroundDeletion", "kubernetes"];

/// The rules of one version.
pub(crate) struct Rules {
    pub(crate) kind: GroupVersionKind,
    pub(crate) resource: GroupResource,
    pub(crate) namespaced: bool,
    pub(crate) schema: Arc<Structural>,
    /// `x-kubernetes-validations`
    pub(crate) cel: Arc<LazyRules>,
    pub(crate) status: StatusWrites,
    /// Whether objects are stored in this version. Readers do not see the defaults of another one.
    pub(crate) stored: bool,
    pub(crate) scale: Option<Scale>,
    pub(crate) terminating: bool,
}

/// The strategy of the object itself.
pub(crate) struct Main(pub(crate) Arc<Rules>);

/// The strategy of `status`.
pub(crate) struct StatusOnly(pub(crate) Arc<Rules>);

/// Custom objects must be updated with their resourceVersion.
const OPTIONS: StrategyOptions = StrategyOptions {
    allow_create_on_update: false,
    allow_unconditional_update: false,
    default_propagation: Some(PropagationPolicy::Background),
    returns_deleted_object: false,
    time_to_live: None,
};

#[async_trait]
impl Strategy for Main {
    fn options(&self) -> StrategyOptions {
        OPTIONS
    }

    async fn reserve(
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

    fn prepare_for_create(&self, _cx: &RequestContext, object: &mut Value) {
        structural::prepare_for_create(object, self.0.status);
    }

    fn validate_create(&self, _cx: &RequestContext, object: &Value) -> ErrorList {
        self.0.rules().validate_create(object)
    }

    fn warnings_on_create(&self, object: &Value) -> Vec<String> {
        finalizer_warnings(object, &Value::Null)
    }

    fn prepare_for_update(&self, object: &mut Value, old: &Value) {
        structural::prepare_for_update(object, old, self.0.status);
    }

    fn validate_update(&self, cx: &RequestContext, object: &Value, old: &Value) -> ErrorList {
        let mut errors = validate_metadata_update(cx, object, old);
        errors.extend(errors_of(cx, self.0.rules().validate_update(object, old)));
        errors
    }

    fn warnings_on_update(&self, object: &Value, old: &Value) -> Vec<String> {
        finalizer_warnings(object, old)
    }

    fn prune(&self, object: &mut Value) {
        self.0.prune(object);
    }

    fn default_on_create(&self, object: &mut Value) -> Result<(), Status> {
        if self.0.stored {
            structural::default_status(object, &self.0.schema)?;
        }
        Ok(())
    }
}

impl Strategy for StatusOnly {
    fn options(&self) -> StrategyOptions {
        OPTIONS
    }

    fn prepare_for_update(&self, object: &mut Value, old: &Value) {
        structural::prepare_for_status_update(object, old);
    }

    fn validate_update(&self, cx: &RequestContext, object: &Value, old: &Value) -> ErrorList {
        let mut errors = validate_metadata_update(cx, object, old);
        let result = self.0.rules().validate_status_update(object, old);
        errors.extend(errors_of(cx, result));
        errors
    }

    fn prune(&self, object: &mut Value) {
        self.0.prune(object);
    }
}

impl Rules {
    /// Removes unknown fields, and metadata that does not fit its type.
    fn prune(&self, object: &mut Value) {
        let options = ConformOptions {
            track: false,
            drop_invalid: true,
        };
        if let Err(e) = structural::conform(object, &self.schema, options) {
            // Invalid metadata is dropped, so this does not happen.
            tracing::error!(kind = %self.kind, error = %e, "cannot prune an object");
        }
    }

    fn rules(&self) -> ObjectRules<'_> {
        ObjectRules {
            kind: &self.kind,
            namespaced: self.namespaced,
            schema: &self.schema,
            rules: self.cel.get(&self.schema),
            scale: self.scale.as_ref().map(|scale| ScalePaths {
                spec_replicas: &scale.spec_replicas,
                status_replicas: &scale.status_replicas,
                selector: scale.selector.as_deref(),
            }),
        }
    }
}

/// Returns the errors, and adds the warnings about errors that the stored object had already.
fn errors_of(cx: &RequestContext, result: ValidationResult) -> ErrorList {
    result
        .warnings
        .into_iter()
        .for_each(|warning| cx.warnings.add(warning));
    result.errors
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
        let quoted = go::quote(&name);
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
