//! The rules of `kubewright-builtins` as a [`Strategy`].

use std::time::Duration;

use async_trait::async_trait;
use kubewright_apiserver::{
    clock::{SharedClock, rfc3339},
    registry::generic::{GarbageCollection, Reservation, Strategy},
    request::RequestContext,
};
use kubewright_builtins::{
    KindRules, Propagation, certificates::certificate_signing_request, core::persistent_volume,
};
use kubewright_machinery::{Status, field::ErrorList};
use serde_json::Value;

use super::services::Services;

/// Events go by themselves after an hour.
const EVENT_TTL: Duration = Duration::from_secs(3600);

/// A built-in kind's rules at one endpoint.
pub(crate) struct BuiltIn {
    rules: &'static KindRules,
    endpoint: Endpoint,
    ttl: Option<Duration>,
    emptied: fn(&Value) -> bool,
    services: Option<Services>,
    stamp: Option<(Stamp, SharedClock)>,
    /// Who makes the object is written into it.
    signed: bool,
}

/// Writes the time of a change into an object: new, old, now.
type Stamp = fn(&mut Value, &Value, &str);

/// What distinguishes an endpoint of a kind: how updates through it are prepared and judged.
#[derive(Clone, Copy)]
pub(crate) struct Endpoint {
    /// The object itself, not a subresource.
    pub(crate) main: bool,
    pub(crate) prepare: fn(&mut Value, &Value),
    pub(crate) validate: fn(&Value, &Value) -> ErrorList,
}

impl Endpoint {
    /// The object itself.
    pub(crate) fn main(rules: &KindRules) -> Self {
        Self {
            main: true,
            prepare: rules.prepare_update,
            validate: rules.validate_update,
        }
    }

    /// Its status.
    pub(crate) fn status(rules: &KindRules) -> Self {
        Self {
            main: false,
            prepare: rules.prepare_status_update,
            validate: rules.validate_status_update,
        }
    }
}

impl BuiltIn {
    pub(crate) fn new(
        group: &str,
        kind: &str,
        rules: &'static KindRules,
        endpoint: Endpoint,
    ) -> Self {
        let signed = kind == "CertificateSigningRequest";
        let ttl = (kind == "Event").then_some(EVENT_TTL);
        let emptied = match (group, kind) {
            ("", "Namespace") => kubewright_builtins::core::namespace::is_finalized,
            _ => |_: &Value| true,
        };
        Self {
            rules,
            endpoint,
            ttl,
            emptied,
            services: None,
            stamp: None,
            signed,
        }
    }

    /// With a clock, for kinds whose changes are stamped with the time.
    pub(crate) fn with_clock(mut self, kind: &str, clock: &SharedClock) -> Self {
        let stamp: Option<Stamp> = match kind {
            "PersistentVolume" => Some(persistent_volume::stamp_phase_transition),
            "CertificateSigningRequest" if !self.endpoint.main => {
                Some(certificate_signing_request::stamp_conditions)
            }
            _ => None,
        };
        self.stamp = stamp.map(|stamp| (stamp, clock.clone()));
        self
    }

    /// With an allocator of addresses and ports.
    pub(crate) fn with_services(mut self, services: Option<Services>) -> Self {
        self.services = services;
        self
    }
}

#[async_trait]
impl Strategy for BuiltIn {
    fn prepare_for_create(&self, cx: &RequestContext, object: &mut Value) {
        (self.rules.prepare_create)(object);
        if self.signed {
            let user = &cx.user;
            let extra = user
                .extra
                .iter()
                .map(|(k, v)| (k.clone(), Value::from(v.clone())))
                .collect();
            certificate_signing_request::put_requester(
                object,
                &user.name,
                &user.uid,
                &user.groups,
                extra,
            );
        }
    }

    fn prepare_for_update(&self, object: &mut Value, old: &Value) {
        (self.endpoint.prepare)(object, old);
        if let Some((stamp, clock)) = &self.stamp {
            stamp(object, old, &rfc3339(clock.now()));
        }
    }

    fn validate(&self, object: &Value) -> ErrorList {
        (self.rules.validate_create)(object)
    }

    fn validate_update(&self, object: &Value, old: &Value) -> ErrorList {
        (self.endpoint.validate)(object, old)
    }

    fn checks_new_metadata(&self) -> bool {
        // Events of the core group are judged by fewer rules.
        self.ttl.is_none()
    }

    fn checks_metadata_updates(&self) -> bool {
        true
    }

    fn should_delete_during_update(&self, object: &Value, _old: &Value) -> bool {
        (self.emptied)(object)
    }

    fn canonicalize(&self, object: &mut Value) {
        (self.rules.canonicalize)(object);
    }

    fn warnings_on_create(&self, object: &Value) -> Vec<String> {
        (self.rules.warnings_on_create)(object)
    }

    fn warnings_on_update(&self, object: &Value, old: &Value) -> Vec<String> {
        if self.endpoint.main {
            (self.rules.warnings_on_update)(object, old)
        } else {
            Vec::new()
        }
    }

    fn allow_create_on_update(&self) -> bool {
        self.endpoint.main && self.rules.allow_create_on_update
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
        self.rules
            .grace
            .map(|grace| grace(object, requested).seconds)
    }

    async fn begin_write(
        &self,
        _cx: &RequestContext,
        object: &mut Value,
        old: Option<&Value>,
        dry_run: bool,
    ) -> Result<Option<Box<dyn Reservation>>, Status> {
        match &self.services {
            Some(services) => services.allocate(object, old, dry_run).await,
            None => Ok(None),
        }
    }

    fn after_delete(&self, object: &Value) {
        if let Some(services) = &self.services {
            services.release(object);
        }
    }

    fn time_to_live(&self, _object: &Value) -> Option<Duration> {
        self.ttl
    }
}
