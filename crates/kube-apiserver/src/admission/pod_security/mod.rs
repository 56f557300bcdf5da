//! `PodSecurity`: holds pods to the Pod Security Standards that the labels of their namespace ask for.
//!
//! | module | contents |
//! |---|---|
//! | [`policy`] | levels and versions, and the policy of a namespace from its labels |
//! | [`checks`] | the checks, and the violations of a pod |
//! | [`configuration`] | the policy of namespaces without labels, and exemptions |
//! | [`metrics`] | metrics by the names of kube-apiserver |
//! | [`existing`] | warnings about the pods of a namespace whose policy becomes stricter |

mod checks;
mod configuration;
mod existing;
mod metrics;
mod policy;
#[cfg(test)]
mod tests;

use kubewright_apiserver::{
    Object, Selectable,
    admission::{Attributes, Operation, Plugin},
    boxed_async,
    request::RequestContext,
};
use kubewright_machinery::{
    Status,
    field::{self, FieldError},
    go,
    gvk::GroupKind,
    json::Read,
    status,
};
use kubewright_store::Key;
use serde_json::Value;

use super::{forbidden::forbidden, stored::Stored};
use crate::kinds;
use checks::{Pod, Violations};
use metrics::{Labels, Mode};
use policy::{PREFIX, Policy, Standard};

pub use configuration::{InvalidPluginConfiguration, PodSecurityConfiguration};
pub(crate) use metrics::PodSecurityMetrics;
pub use policy::{
    InvalidPodSecurityLevel, InvalidPodSecurityVersion, PodSecurityLevel, PodSecurityVersion,
};

/// The subresources of pods whose objects are not pods, or do not affect security.
const IGNORED_SUBRESOURCES: [&str; 8] = [
    "exec",
    "attach",
    "binding",
    "eviction",
    "log",
    "portforward",
    "proxy",
    "status",
];

/// The resources that create pods, and the path to their template.
const CONTROLLERS: [(&str, &str, &[&str]); 8] = [
    ("", "replicationcontrollers", &["spec", "template"]),
    ("", "podtemplates", &["template"]),
    ("apps", "replicasets", &["spec", "template"]),
    ("apps", "deployments", &["spec", "template"]),
    ("apps", "statefulsets", &["spec", "template"]),
    ("apps", "daemonsets", &["spec", "template"]),
    ("batch", "jobs", &["spec", "template"]),
    (
        "batch",
        "cronjobs",
        &["spec", "jobTemplate", "spec", "template"],
    ),
];

/// The `PodSecurity` plugin.
pub(crate) struct PodSecurity {
    store: Stored,
    namespaces: Selectable,
    configuration: PodSecurityConfiguration,
    metrics: PodSecurityMetrics,
}

/// A request, and the object that it writes.
struct Request<'a> {
    cx: &'a RequestContext,
    attributes: &'a Attributes<'a>,
    object: &'a Value,
}

impl PodSecurity {
    /// Returns a plugin that reads the namespaces and pods of a store.
    pub(crate) fn new(
        store: Stored,
        configuration: PodSecurityConfiguration,
        metrics: PodSecurityMetrics,
    ) -> Self {
        Self {
            store,
            namespaces: kinds::selectable_of("", "v1", "namespaces"),
            configuration,
            metrics,
        }
    }

    /// Returns the policy of a namespace and the errors in its labels, or `None` if there is no such namespace.
    async fn policy(&self, namespace: &str) -> Result<Option<(Policy, Vec<FieldError>)>, Status> {
        let key = Key::new("namespaces", namespace);
        let entry = self.store.0.get(&key).await.map_err(status::internal)?;
        Ok(entry.map(|entry| {
            // The labels are in the summary, so nothing is decoded.
            let summary = Object::from_entry(&entry, &self.namespaces).summary;
            Policy::of_labels(|key| summary.label(key), &self.configuration.defaults)
        }))
    }

    /// Checks the labels of a namespace, and warns about its pods when it enforces more than before.
    async fn check_namespace(&self, request: &Request<'_>) -> Result<(), Status> {
        let Request {
            cx,
            attributes,
            object,
        } = request;
        let (old, is_create) = (attributes.old, attributes.operation == Operation::Create);
        if !cx.info.subresource.is_empty() || (old.is_none() && !is_create) {
            return Ok(());
        }
        let (policy, errors) = self.policy_of(object);
        let (old_policy, old_errors) = old.map(|old| self.policy_of(old)).unwrap_or_default();
        if !errors.is_empty() && (is_create || errors != old_errors) {
            let kind = GroupKind::new("", "Namespace");
            return Err(status::invalid(&kind, request.name(), &errors));
        }
        let same_version = policy.enforce.version == old_policy.enforce.version;
        let is_relaxed = same_version && policy.enforce.level <= old_policy.enforce.level;
        let is_privileged = policy.enforce.level == PodSecurityLevel::Privileged;
        if !is_create && (is_relaxed || is_privileged) {
            return Ok(());
        }
        let name = request.name();
        if self.configuration.exempts_namespace(name) {
            cx.warnings.extend(self.ignored(name, &policy, object));
        } else if !is_create {
            let warnings = self.warn_about_existing(cx, name, policy.enforce).await;
            cx.warnings.extend(warnings);
        }
        Ok(())
    }

    fn policy_of(&self, namespace: &Value) -> (Policy, Vec<FieldError>) {
        let labels = &namespace["metadata"]["labels"];
        let label = |key: &str| labels.get(key).map(|value| value.text());
        Policy::of_labels(label, &self.configuration.defaults)
    }

    /// Returns a warning if an exempt namespace has labels that ask for a policy.
    fn ignored(&self, name: &str, policy: &Policy, namespace: &Value) -> Option<String> {
        if policy.is_privileged() || policy.is_equivalent(&self.configuration.defaults) {
            return None;
        }
        let labels = &namespace["metadata"]["labels"];
        let modes = [
            ("enforce", policy.enforce),
            ("audit", policy.audit),
            ("warn", policy.warn),
        ];
        let is_labelled = |mode: &str| {
            let keys = [format!("{PREFIX}{mode}"), format!("{PREFIX}{mode}-version")];
            keys.iter().any(|key| labels.get(key).is_some())
        };
        let asked: Vec<String> = modes
            .into_iter()
            .filter(|(mode, standard)| {
                standard.level != PodSecurityLevel::Privileged && is_labelled(mode)
            })
            .map(|(mode, standard)| format!("{mode}={standard}"))
            .collect();
        Some(format!(
            "namespace {} is exempt from Pod Security, and the policy ({}) will be ignored",
            go::quote(name),
            asked.join(", ")
        ))
    }

    async fn check_pod(&self, request: &Request<'_>) -> Result<(), Status> {
        let Request {
            cx,
            attributes,
            object: pod,
        } = request;
        let subresource = cx.info.subresource.as_str();
        if IGNORED_SUBRESOURCES.contains(&subresource) || self.is_exempt(request) {
            return Ok(());
        }
        let namespace = cx.namespace();
        let Some((policy, errors)) = self.policy(namespace).await? else {
            self.metrics.failed(request.labels());
            let error = format!("failed to lookup namespace {}", go::quote(namespace));
            let refused = status::internal(error);
            annotate(cx, "error", || {
                let (message, missing) = (&refused.message, missing(namespace));
                format!("{message}: {missing}")
            });
            return Err(refused);
        };
        if errors.is_empty() && policy.is_privileged() {
            annotate(cx, "enforce-policy", || Standard::default().to_string());
            self.metrics.evaluated_privileged(request.labels());
            return Ok(());
        }
        let old = match attributes.operation {
            Operation::Update => Some(attributes.old.unwrap_or(&Value::Null)),
            _ => None,
        };
        if old.is_some_and(|old| !is_significant(old, pod)) {
            return Ok(());
        }
        self.evaluate(request, &policy, &errors, pod, true)
    }

    async fn check_controller(&self, request: &Request<'_>, path: &[&str]) -> Result<(), Status> {
        let cx = request.cx;
        if !cx.info.subresource.is_empty() || self.is_exempt(request) {
            return Ok(());
        }
        let namespace = cx.namespace();
        let Some((policy, errors)) = self.policy(namespace).await? else {
            self.metrics.failed(request.labels());
            annotate(cx, "error", || {
                let name = go::quote(namespace);
                format!("failed to lookup namespace {name}: {}", missing(namespace))
            });
            return Ok(());
        };
        let privileged = PodSecurityLevel::Privileged;
        if errors.is_empty() && policy.warn.level == privileged && policy.audit.level == privileged
        {
            return Ok(());
        }
        if request.object.is_null() {
            // The object was not read because the update changes nothing; there may be warnings about it all the same.
            return Err(status::internal("the object has to be read"));
        }
        let template = path
            .iter()
            .fold(request.object, |value, part| &value[*part]);
        match template.is_null() {
            true => Ok(()),
            false => self.evaluate(request, &policy, &errors, template, false),
        }
    }

    /// Evaluates a pod or a template. Only a pod is rejected.
    fn evaluate(
        &self,
        request: &Request<'_>,
        policy: &Policy,
        errors: &[FieldError],
        object: &Value,
        enforces: bool,
    ) -> Result<(), Status> {
        let (cx, labels) = (request.cx, request.labels());
        let pod = Pod {
            metadata: &object["metadata"],
            spec: &object["spec"],
        };
        if self.configuration.exempts_runtime_class(pod.spec) {
            self.metrics.exempted(labels);
            annotate(cx, "exempt", || "runtimeClass".to_owned());
            return Ok(());
        }
        if !errors.is_empty() {
            self.metrics.passed_over(labels);
            annotate(cx, "error", || {
                format!("Failed to parse policy: {}", field::aggregate(errors))
            });
        }
        let mut results = Results {
            pod,
            known: Vec::new(),
        };
        let mut refused = None;
        if enforces {
            annotate(cx, "enforce-policy", || policy.enforce.to_string());
            refused = results.violations(policy.enforce).map(|violations| {
                let cause = format!("violates PodSecurity \"{}\": {violations}", policy.enforce);
                forbidden(cx, request.attributes, request.object, cause)
            });
            let is_allowed = refused.is_none();
            self.metrics
                .evaluated(labels, Mode::Enforce, policy.enforce, is_allowed);
        }
        let would_violate = |standard: Standard, violations: &Violations| {
            format!("would violate PodSecurity \"{standard}\": {violations}")
        };
        if let Some(violations) = results.violations(policy.audit) {
            annotate(cx, "audit-violations", || {
                would_violate(policy.audit, violations)
            });
            self.metrics
                .evaluated(labels, Mode::Audit, policy.audit, false);
        }
        if let Some(refused) = refused {
            return Err(refused);
        }
        if let Some(violations) = results.violations(policy.warn) {
            cx.warnings.add(would_violate(policy.warn, violations));
            self.metrics
                .evaluated(labels, Mode::Warn, policy.warn, false);
        }
        Ok(())
    }

    /// Reports whether the namespace or the user of a request is exempt, and records it.
    fn is_exempt(&self, request: &Request<'_>) -> bool {
        let cx = request.cx;
        let what = if self.configuration.exempts_namespace(cx.namespace()) {
            "namespace"
        } else if self.configuration.exempts_user(&cx.user.name) {
            "user"
        } else {
            return false;
        };
        self.metrics.exempted(request.labels());
        annotate(cx, "exempt", || what.to_owned());
        true
    }
}

#[boxed_async]
impl Plugin for PodSecurity {
    fn reads_updated(&self, _cx: &RequestContext) -> bool {
        false
    }

    async fn validate(
        &self,
        cx: &RequestContext,
        attributes: &Attributes<'_>,
        object: Option<&Value>,
    ) -> Result<(), Status> {
        let Some(object) = object else { return Ok(()) };
        if !matches!(attributes.operation, Operation::Create | Operation::Update) {
            return Ok(());
        }
        let request = Request {
            cx,
            attributes,
            object,
        };
        let (group, resource) = (cx.info.group.as_str(), cx.info.resource.as_str());
        match (group, resource) {
            ("", "namespaces") => self.check_namespace(&request).await,
            ("", "pods") => self.check_pod(&request).await,
            _ => {
                let mut controllers = CONTROLLERS.iter();
                match controllers.find(|(g, r, _)| *g == group && *r == resource) {
                    Some((_, _, path)) => self.check_controller(&request, path).await,
                    None => Ok(()),
                }
            }
        }
    }
}

impl Request<'_> {
    fn labels(&self) -> Labels<'_> {
        Labels::of(self.cx, self.attributes)
    }

    fn name(&self) -> &str {
        match self.attributes.name {
            "" => self.object["metadata"]["name"].text(),
            name => name,
        }
    }
}

/// The violations of a pod, computed once for each standard.
struct Results<'a> {
    pod: Pod<'a>,
    known: Vec<(Standard, Violations)>,
}

impl Results<'_> {
    /// Returns the violations, or `None` if there are none.
    fn violations(&mut self, standard: Standard) -> Option<&Violations> {
        let known = self.known.iter().position(|(of, _)| *of == standard);
        let at = known.unwrap_or_else(|| {
            let found = checks::evaluate(standard, &self.pod);
            self.known.push((standard, found));
            self.known.len() - 1
        });
        let (_, violations) = self.known.get(at)?;
        (!violations.is_empty()).then_some(violations)
    }
}

/// Reports whether an update changes fields that must be checked: images, the number of containers, ephemeral containers.
fn is_significant(old: &Value, new: &Value) -> bool {
    let (old, new) = (&old["spec"], &new["spec"]);
    let image = |container: &Value| container["image"].text().to_owned();
    let differ = |list: &str| {
        let (old, new) = (old[list].items(), new[list].items());
        old.len() != new.len()
            || old
                .iter()
                .zip(new)
                .any(|(old, new)| image(old) != image(new))
    };
    differ("containers")
        || differ("initContainers")
        || new["ephemeralContainers"].items().iter().any(|added| {
            let mut before = old["ephemeralContainers"].items().iter();
            let before = before.find(|before| before["name"] == added["name"]);
            before.is_none_or(|before| image(before) != image(added))
        })
}

fn annotate(cx: &RequestContext, key: &str, value: impl FnOnce() -> String) {
    cx.annotations.add(&format!("{PREFIX}{key}"), value);
}

fn missing(namespace: &str) -> String {
    format!("namespaces {} not found", go::quote(namespace))
}
