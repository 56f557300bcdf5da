//! Matching of requests by webhooks and policies.
//!
//! | file | contents |
//! |---|---|
//! | `rule` | [`Rule`]: operations, groups, versions, resources, scope, names |
//! | `request` | [`Request`]: the request, its kind, and the other versions of the same objects |
//! | `namespace` | [`RequestNamespace`]: the namespace whose labels a selector reads |
//!
//! [`Criteria`] brings them together. They decide in the order of kube-apiserver, where the error of a selector counts only if
//! a rule selects the request.

mod namespace;
mod request;
mod rule;
#[cfg(test)]
mod tests;

use kubewright_apiserver::{admission::Operation, registry::Equivalent};
use kubewright_machinery::{
    Status,
    gvk::{GroupVersionKind, GroupVersionResource},
    json::Read,
    labels::LabelSelector,
    status,
};
use serde_json::Value;

pub(crate) use namespace::RequestNamespace;
pub(crate) use request::Request;
pub(crate) use rule::{Rule, operation_name};

/// The requests that a webhook or a policy is for.
#[derive(Clone, Debug)]
pub(crate) struct Criteria {
    pub(crate) rules: Vec<Rule>,
    /// Exceptions from the rules. Only policies have them.
    pub(crate) excluded: Vec<Rule>,
    /// Whether no rules at all select every request, as in the bindings of policies.
    pub(crate) unruled_is_all: bool,
    /// Whether requests to other versions of the same objects are converted, in place of `matchPolicy: Exact`.
    pub(crate) equivalent: bool,
    /// The parsed selector, or the error that a matching request fails with.
    pub(crate) namespaces: Result<LabelSelector, String>,
    /// The parsed selector, or the error that a matching request fails with.
    pub(crate) objects: Result<LabelSelector, String>,
}

/// The resource by which a request was matched: its own, or an equivalent one that the objects are converted to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Match {
    pub(crate) resource: GroupVersionResource,
    pub(crate) kind: GroupVersionKind,
}

impl Criteria {
    /// Reads the criteria of a webhook.
    pub(crate) fn of_webhook(webhook: &Value) -> Self {
        Self {
            rules: rules(&webhook["rules"]),
            excluded: Vec::new(),
            unruled_is_all: false,
            ..Self::of_resources(webhook)
        }
    }

    /// Reads `matchConstraints` of a policy or `matchResources` of a binding.
    pub(crate) fn of_resources(resources: &Value) -> Self {
        let selector = |key: &str| {
            LabelSelector::from_label_selector(&resources[key]).map_err(|e| e.to_string())
        };
        Self {
            rules: rules(&resources["resourceRules"]),
            excluded: rules(&resources["excludeResourceRules"]),
            unruled_is_all: true,
            equivalent: resources["matchPolicy"].text() == "Equivalent",
            namespaces: selector("namespaceSelector"),
            objects: selector("objectSelector"),
        }
    }

    /// Decides whether a request is matched, with the object as earlier plugins left it.
    ///
    /// # Errors
    ///
    /// Fails if the request is matched as far as is known and a selector is invalid, the namespace does not exist or cannot be
    /// read.
    pub(crate) async fn matches(
        &self,
        request: &Request<'_>,
        object: Option<&Value>,
        namespace: &RequestNamespace<'_>,
    ) -> Result<Option<Match>, Status> {
        // Rules cost least, so they decide first. The outcome does not depend on the order.
        if self.selected_by(&self.excluded, request).is_some() {
            return Ok(None);
        }
        let selected = match self.rules.is_empty() && self.unruled_is_all {
            true => Some(None),
            false => self.selected_by(&self.rules, request),
        };
        let Some(equivalent) = selected else {
            return Ok(None);
        };
        let in_namespace = self.selects_namespace(request, object, namespace).await;
        if matches!(in_namespace, Ok(false)) {
            return Ok(None);
        }
        let object = self.selects_object(request, object);
        if matches!(object, Ok(false)) {
            return Ok(None);
        }
        in_namespace?;
        object?;
        // Made last, since most policies do not match.
        Ok(Some(Match::new(request, equivalent)))
    }

    /// Reports whether requests for a resource, or its subresources, may be matched. Equivalent resources count.
    pub(crate) fn concerns(&self, request: &Request<'_>) -> bool {
        let all = self.rules.is_empty() && self.unruled_is_all;
        let concerned = |resource: &GroupVersionResource| {
            let rules = self.rules.iter();
            rules
                .into_iter()
                .any(|rule| rule.concerns(&resource.group, &resource.resource))
        };
        all || concerned(&request.resource)
            || (self.equivalent && request.equivalents().iter().any(|e| concerned(&e.resource)))
    }

    /// Returns the names of the resources that may be matched, or `None` if any may.
    pub(crate) fn resources(&self) -> Option<Vec<String>> {
        if self.rules.is_empty() && self.unruled_is_all {
            return None;
        }
        let mut all = Vec::new();
        for rule in &self.rules {
            all.extend(rule.resources()?);
        }
        Some(all)
    }

    /// Returns the key and the value of a label without which no object is matched, if there is one.
    pub(crate) fn required_label(&self) -> Option<(&str, &str)> {
        self.objects.as_ref().ok()?.required_label()
    }

    /// Returns the resource that rules select, unless they select none: an equivalent one, or `None` for that of the request.
    fn selected_by<'a>(
        &self,
        rules: &[Rule],
        request: &'a Request<'_>,
    ) -> Option<Option<&'a Equivalent>> {
        let own = request.rule_input(&request.resource);
        if rules.iter().any(|rule| rule.matches(&own)) {
            return Some(None);
        }
        if !self.equivalent || rules.is_empty() {
            return None;
        }
        // Earlier rules go first, then earlier versions.
        rules.iter().find_map(|rule| {
            let mut equivalents = request.equivalents().iter();
            let found = equivalents.find(|e| rule.matches(&request.rule_input(&e.resource)))?;
            Some(Some(found))
        })
    }

    async fn selects_namespace(
        &self,
        request: &Request<'_>,
        object: Option<&Value>,
        namespace: &RequestNamespace<'_>,
    ) -> Result<bool, Status> {
        let is_namespaces = request.resource.resource == "namespaces";
        if request.namespace().is_empty() && !is_namespaces {
            return Ok(true);
        }
        let selector = self.namespaces.as_ref().map_err(status::internal)?;
        if selector.is_empty() {
            return Ok(true);
        }
        let written = matches!(request.operation(), Operation::Create | Operation::Update);
        let own = is_namespaces && request.subresource().is_empty() && written;
        Ok(match object.filter(|_| own) {
            Some(object) => selects(selector, object),
            None => selects(selector, namespace.get().await?),
        })
    }

    fn selects_object(
        &self,
        request: &Request<'_>,
        object: Option<&Value>,
    ) -> Result<bool, Status> {
        let selector = self.objects.as_ref().map_err(status::internal)?;
        if selector.is_empty() {
            return Ok(true);
        }
        let mut objects = object.into_iter().chain(request.old());
        Ok(request.has_metadata() && objects.any(|object| selects(selector, object)))
    }
}

impl Match {
    /// Returns an equivalent resource, or that of the request itself.
    fn new(request: &Request<'_>, equivalent: Option<&Equivalent>) -> Self {
        match equivalent {
            Some(other) => Self {
                resource: other.resource.clone(),
                kind: other.kind.clone(),
            },
            None => Self {
                resource: request.resource.clone(),
                kind: request.kind.clone(),
            },
        }
    }
}

/// Reports whether a request is for the configuration of admission, which no webhook sees.
pub(crate) fn is_exempt_from_webhooks(kind: &GroupVersionKind) -> bool {
    kind.group == "admissionregistration.k8s.io"
        && matches!(
            kind.kind.as_str(),
            "ValidatingWebhookConfiguration"
                | "MutatingWebhookConfiguration"
                | "ValidatingAdmissionPolicy"
                | "ValidatingAdmissionPolicyBinding"
                | "MutatingAdmissionPolicy"
                | "MutatingAdmissionPolicyBinding"
        )
}

fn rules(list: &Value) -> Vec<Rule> {
    list.items().iter().map(Rule::read).collect()
}

fn selects(selector: &LabelSelector, object: &Value) -> bool {
    let labels = &object["metadata"]["labels"];
    selector.matches(|key| labels.get(key).and_then(Value::as_str))
}
