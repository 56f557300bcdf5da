//! The rules of `kubewright-builtins` as a [`Strategy`].

use std::time::Duration;

use async_trait::async_trait;
use kubewright_apiserver::registry::generic::{GarbageCollection, Strategy};
use kubewright_builtins::{KindRules, Propagation};
use kubewright_machinery::field::ErrorList;
use serde_json::Value;

/// Events go by themselves after an hour.
const EVENT_TTL: Duration = Duration::from_secs(3600);

/// Which endpoint of a kind.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Endpoint {
    Main,
    Status,
}

/// A built-in kind's rules.
pub(super) struct BuiltIn {
    rules: &'static KindRules,
    endpoint: Endpoint,
    ttl: Option<Duration>,
}

impl BuiltIn {
    pub(super) fn new(group: &str, rules: &'static KindRules, endpoint: Endpoint) -> Self {
        let events = rules.default_propagation == Propagation::Unsupported
            && matches!(group, "" | "events.k8s.io");
        Self { rules, endpoint, ttl: events.then_some(EVENT_TTL) }
    }
}

#[async_trait]
impl Strategy for BuiltIn {
    fn prepare_for_create(&self, object: &mut Value) {
        (self.rules.prepare_create)(object);
    }

    fn prepare_for_update(&self, object: &mut Value, old: &Value) {
        match self.endpoint {
            Endpoint::Main => (self.rules.prepare_update)(object, old),
            Endpoint::Status => (self.rules.prepare_status_update)(object, old),
        }
    }

    fn validate(&self, object: &Value) -> ErrorList {
        (self.rules.validate_create)(object)
    }

    fn validate_update(&self, object: &Value, old: &Value) -> ErrorList {
        match self.endpoint {
            Endpoint::Main => (self.rules.validate_update)(object, old),
            Endpoint::Status => (self.rules.validate_status_update)(object, old),
        }
    }

    fn canonicalize(&self, object: &mut Value) {
        (self.rules.canonicalize)(object);
    }

    fn warnings_on_create(&self, object: &Value) -> Vec<String> {
        (self.rules.warnings_on_create)(object)
    }

    fn warnings_on_update(&self, object: &Value, old: &Value) -> Vec<String> {
        match self.endpoint {
            Endpoint::Main => (self.rules.warnings_on_update)(object, old),
            Endpoint::Status => Vec::new(),
        }
    }

    fn allow_create_on_update(&self) -> bool {
        self.endpoint == Endpoint::Main && self.rules.allow_create_on_update
    }

    fn allow_unconditional_update(&self) -> bool {
        self.rules.allow_unconditional_update
    }

    fn garbage_collection(&self) -> GarbageCollection {
        match self.rules.default_propagation {
            Propagation::Background => GarbageCollection::Collect,
            Propagation::Orphan => GarbageCollection::Orphan,
            Propagation::Unsupported => GarbageCollection::Unsupported,
        }
    }

    fn returns_deleted_object(&self) -> bool {
        self.rules.returns_deleted_object
    }

    fn grace_period(&self, object: &Value, requested: Option<i64>) -> Option<i64> {
        self.rules.grace.map(|grace| grace(object, requested).seconds)
    }

    fn time_to_live(&self, _object: &Value) -> Option<Duration> {
        self.ttl
    }
}
