//! [`BuiltIn`]: the rules of `kubewright-builtins` as a [`Strategy`].

use std::time::Duration;

use kubewright_apiserver::{
    SharedClock, boxed_async,
    registry::{BlockingPool, Reservation, Strategy, StrategyOptions},
    request::RequestContext,
    rfc3339,
};
use kubewright_builtins::KindRules;
use kubewright_machinery::{Status, field::ErrorList};
use serde_json::Value;

use super::{Environment, services::Services};
use crate::{admission::policy::param_access::ParamAccess, rbac::Escalation};

/// The rules of a built-in kind at one endpoint.
pub(crate) struct BuiltIn {
    rules: &'static KindRules,
    endpoint: Endpoint,
    clock: SharedClock,
    services: Option<Services>,
    escalation: Option<Escalation>,
    param_access: Option<ParamAccess>,
    compiler: Option<BlockingPool>,
}

/// The rules for updates through one endpoint of a kind.
#[derive(Clone, Copy)]
pub(crate) struct Endpoint {
    /// Whether it is the object itself, not a subresource.
    pub(crate) main: bool,
    pub(crate) prepare: fn(&mut Value, &Value),
    pub(crate) validate: fn(&Value, &Value) -> ErrorList,
}

impl Endpoint {
    /// Returns the rules for updates of the object itself.
    pub(crate) fn main(rules: &KindRules) -> Self {
        Self {
            main: true,
            prepare: rules.prepare_update,
            validate: rules.validate_update,
        }
    }

    /// Returns the rules for updates of `status`.
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
        rules: &'static KindRules,
        endpoint: Endpoint,
        environment: &Environment,
    ) -> Self {
        let slow = rules.validation_is_slow;
        Self {
            rules,
            endpoint,
            clock: environment.clock.clone(),
            services: None,
            escalation: None,
            param_access: None,
            compiler: slow.then(|| environment.compiler.clone()),
        }
    }

    /// Adds an allocator of service addresses and ports if the kind needs one.
    pub(crate) fn with_services(mut self, environment: &Environment) -> Self {
        let needed = self.rules.needs_service_addresses;
        self.services = needed.then(|| Services::new(environment));
        self
    }
}

impl BuiltIn {
    /// Adds the check of objects that grant permissions.
    pub(crate) fn with_escalation(mut self, escalation: Option<Escalation>) -> Self {
        self.escalation = escalation;
        self
    }
}

impl BuiltIn {
    /// Adds the check of objects that refer to parameters.
    pub(crate) fn with_param_access(mut self, access: Option<ParamAccess>) -> Self {
        self.param_access = access;
        self
    }
}

#[boxed_async]
impl Strategy for BuiltIn {
    fn options(&self) -> StrategyOptions {
        let rules = self.rules;
        StrategyOptions {
            allow_create_on_update: self.endpoint.main && rules.allow_create_on_update,
            allow_unconditional_update: rules.allow_unconditional_update,
            default_propagation: rules.default_propagation,
            returns_deleted_object: rules.returns_deleted_object,
            time_to_live: rules.ttl_seconds.map(Duration::from_secs),
        }
    }

    async fn authorize(
        &self,
        cx: &RequestContext,
        object: &Value,
        old: Option<&Value>,
    ) -> Result<(), Status> {
        match &self.escalation {
            Some(escalation) => escalation.check(cx, object, old).await,
            None => Ok(()),
        }
    }

    async fn reserve(
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

    fn prepare_for_create(&self, cx: &RequestContext, object: &mut Value) {
        cx.warnings
            .extend((self.rules.warnings_before_create)(object));
        (self.rules.prepare_create)(object);
        if let Some(put_requester) = self.rules.put_requester {
            let user = &cx.user;
            let extra = user.extra.iter();
            let extra = extra
                .map(|(k, v)| (k.clone(), Value::from(v.clone())))
                .collect();
            put_requester(object, &user.name, &user.uid, &user.groups, extra);
        }
    }

    fn validation_pool(&self) -> Option<&BlockingPool> {
        self.compiler.as_ref()
    }

    fn validate_create(&self, _cx: &RequestContext, object: &Value) -> ErrorList {
        (self.rules.validate_create)(object)
    }

    async fn validate_access(
        &self,
        cx: &RequestContext,
        object: &Value,
        old: Option<&Value>,
    ) -> ErrorList {
        match &self.param_access {
            Some(access) => access.check(cx, object, old).await,
            None => ErrorList::new(),
        }
    }

    fn warnings_on_create(&self, object: &Value) -> Vec<String> {
        (self.rules.warnings_on_create)(object)
    }

    fn prepare_for_update(&self, object: &mut Value, old: &Value) {
        (self.endpoint.prepare)(object, old);
        let stamp = match self.endpoint.main {
            true => self.rules.stamp_update,
            false => self.rules.stamp_subresource_update,
        };
        if let Some(stamp) = stamp {
            stamp(object, old, &rfc3339(self.clock.now()));
        }
    }

    fn validate_update(&self, _cx: &RequestContext, object: &Value, old: &Value) -> ErrorList {
        (self.endpoint.validate)(object, old)
    }

    fn warnings_on_update(&self, object: &Value, old: &Value) -> Vec<String> {
        match self.endpoint.main {
            true => (self.rules.warnings_on_update)(object, old),
            false => Vec::new(),
        }
    }

    fn canonicalize(&self, object: &mut Value) {
        (self.rules.canonicalize)(object);
    }

    fn grace_period(&self, object: &Value, requested: Option<i64>) -> Option<i64> {
        let grace = self.rules.grace?;
        Some(grace(object, requested).seconds)
    }

    fn should_delete_during_update(&self, object: &Value, _old: &Value) -> bool {
        (self.rules.may_be_removed)(object)
    }

    fn release(&self, object: &Value) {
        if let Some(services) = &self.services {
            services.release(object);
        }
    }
}
