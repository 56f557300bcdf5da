//! The strategies of custom resources: validation by schema, and the `status` subresource.

use std::{
    collections::{BTreeSet, HashSet},
    sync::Arc,
};

use kubewright_apiserver::{
    boxed_async,
    registry::{BlockingPool, Reservation, Strategy, StrategyOptions, validate_metadata_update},
    request::RequestContext,
};
use kubewright_machinery::{
    PropagationPolicy, Status,
    field::ErrorList,
    go,
    gvk::{GroupResource, GroupVersionKind},
    limits::fits,
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
    /// Whether objects are stored in this version. Readers do not see the defaults of other versions.
    pub(crate) stored: bool,
    pub(crate) scale: Option<Scale>,
    pub(crate) terminating: bool,
    pub(crate) grace_period: Option<Arc<GracePeriod>>,
    /// Validates objects that are large or have expensive rules.
    pub(crate) validation_pool: BlockingPool,
}

/// The cost of rules that are evaluated in place: some milliseconds.
const COST_IN_PLACE: i64 = 100_000;

/// The size of objects that are validated in place, in bytes.
const BYTES_IN_PLACE: usize = 128 << 10;

/// Returns the grace period of a deletion in seconds, from the object and the requested period.
pub(crate) type GracePeriod = dyn Fn(&Value, Option<i64>) -> i64 + Send + Sync;

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

#[boxed_async]
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

    fn validation_pool(&self) -> Option<&BlockingPool> {
        Some(&self.0.validation_pool)
    }

    fn validate_create(&self, _cx: &RequestContext, object: &Value) -> ErrorList {
        self.0.rules().validate_create(object)
    }

    fn validate_create_in_place(&self, _cx: &RequestContext, object: &Value) -> Option<ErrorList> {
        let rules = self.0.rules_in_place(object)?;
        rules.validate_create_within(object, COST_IN_PLACE)
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

    fn validate_update_in_place(
        &self,
        cx: &RequestContext,
        object: &Value,
        old: &Value,
    ) -> Option<ErrorList> {
        let rules = self.0.rules_in_place(object)?;
        let result = rules.validate_update_within(object, old, COST_IN_PLACE)?;
        let mut errors = validate_metadata_update(cx, object, old);
        errors.extend(errors_of(cx, result));
        Some(errors)
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

    fn grace_period(&self, object: &Value, requested: Option<i64>) -> Option<i64> {
        let period = self.0.grace_period.as_ref()?;
        Some(period(object, requested).max(0))
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

    fn validation_pool(&self) -> Option<&BlockingPool> {
        Some(&self.0.validation_pool)
    }

    fn validate_update_in_place(
        &self,
        cx: &RequestContext,
        object: &Value,
        old: &Value,
    ) -> Option<ErrorList> {
        let rules = self.0.rules_in_place(object)?;
        let result = rules.validate_status_update_within(object, old, COST_IN_PLACE)?;
        let mut errors = validate_metadata_update(cx, object, old);
        errors.extend(errors_of(cx, result));
        Some(errors)
    }

    fn prune(&self, object: &mut Value) {
        self.0.prune(object);
    }
}

impl Rules {
    /// Removes unknown fields and invalid metadata.
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

    /// Returns the rules if they are compiled and the object is small.
    fn rules_in_place(&self, object: &Value) -> Option<ObjectRules<'_>> {
        let in_place = self.cel.is_compiled(&self.schema) && fits(object, BYTES_IN_PLACE);
        in_place.then(|| self.rules())
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

/// Returns the errors, and adds warnings for errors that the stored object already had.
fn errors_of(cx: &RequestContext, result: ValidationResult) -> ErrorList {
    result
        .warnings
        .into_iter()
        .for_each(|warning| cx.warnings.add(warning));
    result.errors
}

fn finalizer_warnings(object: &Value, old: &Value) -> Vec<String> {
    fn all(object: &Value) -> impl Iterator<Item = &str> {
        let items = object["metadata"]["finalizers"].as_array();
        items.into_iter().flatten().filter_map(Value::as_str)
    }
    let known: HashSet<&str> = all(old).collect();
    let added: BTreeSet<&str> = all(object).filter(|name| !known.contains(name)).collect();
    let mut warnings = Vec::new();
    for name in added {
        let quoted = go::quote(name);
        for message in names::is_qualified_name(name) {
            warnings.push(format!("metadata.finalizers: {quoted}: {message}"));
        }
        if name.contains('/') || STANDARD_FINALIZERS.contains(&name) {
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
