//! [`Webhook`]: one admission webhook.

use std::{fmt, sync::Arc, time::Duration};

use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;
use kubewright_controller::Object;

use crate::{
    defaulter::{Defaulter, Defaulting},
    handler::{DynHandler, Handler},
    registration::{
        FailurePolicy, MatchCondition, MatchPolicy, Registration, ReinvocationPolicy, Rule,
        SideEffects, WebhookType,
    },
    review::Operation,
    validator::{Validating, Validator},
};

/// The default operations.
const OPERATIONS: [Operation; 2] = [Operation::Create, Operation::Update];

/// An admission webhook: its handler and its registration.
///
/// Default paths and names are those of controller-runtime and kubebuilder.
///
/// ```
/// use std::time::Duration;
/// use k8s_openapi::api::core::v1::ConfigMap;
/// use kubewright_webhook::{FailurePolicy, Webhook};
///
/// let webhook = Webhook::validator(|map: &ConfigMap| match &map.data {
///     Some(_) => Ok(()),
///     None => Err("a ConfigMap needs data".into()),
/// })
/// .failure_policy(FailurePolicy::Ignore)
/// .timeout(Duration::from_secs(2));
/// assert_eq!(webhook.path(), "/validate--v1-configmap");
/// assert_eq!(webhook.name(), "vconfigmap-v1.kb.io");
/// ```
#[derive(Clone)]
#[must_use = "a webhook answers nothing before it is registered"]
pub struct Webhook {
    pub(crate) handler: Arc<dyn DynHandler>,
    registration: Registration,
    /// Whether the handler decodes new and changed objects, and therefore detects those that are not JSON.
    pub(crate) decodes: bool,
    /// The operations of rules that have none.
    operations: Vec<Operation>,
}

impl Webhook {
    /// Creates the webhook for a [`Defaulter`].
    pub fn defaulter<K: Object, D: Defaulter<K>>(defaulter: D) -> Self {
        let handler = Defaulting::<D, K>::new(defaulter);
        Self::typed::<K>(WebhookType::Mutating, Arc::new(handler))
    }

    /// Creates the webhook for a [`Validator`].
    pub fn validator<K: Object, V: Validator<K>>(validator: V) -> Self {
        let handler = Validating::<V, K>::new(validator);
        Self::typed::<K>(WebhookType::Validating, Arc::new(handler))
    }

    /// Creates a mutating webhook for a [`Handler`]. It needs a [name](Self::named) and [rules](Self::rule).
    pub fn mutating(path: &str, handler: impl Handler) -> Self {
        Self::raw(WebhookType::Mutating, path, Arc::new(handler))
    }

    /// Creates a validating webhook for a [`Handler`]. It needs a [name](Self::named) and [rules](Self::rule).
    pub fn validating(path: &str, handler: impl Handler) -> Self {
        Self::raw(WebhookType::Validating, path, Arc::new(handler))
    }

    fn typed<K: Object>(type_: WebhookType, handler: Arc<dyn DynHandler>) -> Self {
        let (verb, letter) = match type_ {
            WebhookType::Mutating => ("mutate", 'm'),
            WebhookType::Validating => ("validate", 'v'),
        };
        let group = K::group(&()).replace('.', "-");
        let (version, kind) = (K::version(&()), K::kind(&()).to_lowercase());
        let path = format!("/{verb}-{group}-{version}-{kind}");
        let name = format!("{letter}{kind}-{version}.kb.io");
        let webhook = Self::raw(type_, &path, handler)
            .named(&name)
            .rule(Rule::of::<K>());
        Self {
            decodes: true,
            ..webhook
        }
    }

    fn raw(type_: WebhookType, path: &str, handler: Arc<dyn DynHandler>) -> Self {
        let registration = Registration {
            type_,
            path: path.to_owned(),
            name: format!("{}.kb.io", path.trim_matches('/').replace(['/', '_'], "-")),
            admission_review_versions: vec!["v1".to_owned()],
            failure_policy: FailurePolicy::Fail,
            side_effects: SideEffects::None,
            match_policy: None,
            timeout_seconds: None,
            reinvocation_policy: None,
            rules: Vec::new(),
            namespace_selector: None,
            object_selector: None,
            match_conditions: Vec::new(),
        };
        Self {
            handler,
            registration,
            decodes: false,
            operations: OPERATIONS.to_vec(),
        }
    }

    /// Sets the name in the configuration, a domain name with at least three parts.
    pub fn named(mut self, name: &str) -> Self {
        name.clone_into(&mut self.registration.name);
        self
    }

    /// Sets the path on the server.
    pub fn at(mut self, path: &str) -> Self {
        path.clone_into(&mut self.registration.path);
        self
    }

    /// Sets the operations of all rules (default: `CREATE` and `UPDATE`).
    pub fn operations(mut self, operations: impl IntoIterator<Item = Operation>) -> Self {
        self.operations = operations.into_iter().collect();
        for rule in &mut self.registration.rules {
            rule.operations.clone_from(&self.operations);
        }
        self
    }

    /// Adds a rule. The webhook of a type starts with a rule for the type's resource.
    pub fn rule(mut self, mut rule: Rule) -> Self {
        if rule.operations.is_empty() {
            rule.operations.clone_from(&self.operations);
        }
        self.registration.rules.push(rule);
        self
    }

    /// Replaces all rules.
    pub fn rules(mut self, rules: impl IntoIterator<Item = Rule>) -> Self {
        self.registration.rules.clear();
        rules.into_iter().fold(self, Self::rule)
    }

    /// Sets the policy for requests while the webhook cannot be called (default: [`FailurePolicy::Fail`]).
    pub fn failure_policy(mut self, policy: FailurePolicy) -> Self {
        self.registration.failure_policy = policy;
        self
    }

    /// Declares the side effects (default: [`SideEffects::None`]).
    pub fn side_effects(mut self, effects: SideEffects) -> Self {
        self.registration.side_effects = effects;
        self
    }

    /// Sets whether requests for other versions match. The cluster's default is [`MatchPolicy::Equivalent`].
    pub fn match_policy(mut self, policy: MatchPolicy) -> Self {
        self.registration.match_policy = Some(policy);
        self
    }

    /// Sets the time limit of a call, rounded up to seconds. The cluster allows 1 to 30 seconds, and its default is 10.
    pub fn timeout(mut self, timeout: Duration) -> Self {
        let seconds = timeout.as_millis().div_ceil(1000).clamp(1, 30);
        self.registration.timeout_seconds = u8::try_from(seconds).ok();
        self
    }

    /// Sets whether a mutating webhook is called again after other webhooks have changed the object. The cluster's default is
    /// [`ReinvocationPolicy::Never`].
    pub fn reinvocation_policy(mut self, policy: ReinvocationPolicy) -> Self {
        self.registration.reinvocation_policy = Some(policy);
        self
    }

    /// Restricts the webhook to objects in namespaces with these labels.
    pub fn namespace_selector(mut self, selector: LabelSelector) -> Self {
        self.registration.namespace_selector = Some(selector);
        self
    }

    /// Restricts the webhook to objects with these labels.
    pub fn object_selector(mut self, selector: LabelSelector) -> Self {
        self.registration.object_selector = Some(selector);
        self
    }

    /// Adds a condition in CEL, such as `object.metadata.name != "system"`.
    pub fn match_condition(mut self, name: &str, expression: &str) -> Self {
        self.registration.match_conditions.push(MatchCondition {
            name: name.to_owned(),
            expression: expression.to_owned(),
        });
        self
    }

    /// Returns the path on the server.
    pub fn path(&self) -> &str {
        &self.registration.path
    }

    /// Returns the name in the configuration.
    pub fn name(&self) -> &str {
        &self.registration.name
    }

    /// Returns the entry for a webhook configuration.
    pub fn registration(&self) -> &Registration {
        &self.registration
    }
}

impl fmt::Debug for Webhook {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.registration.fmt(f)
    }
}
