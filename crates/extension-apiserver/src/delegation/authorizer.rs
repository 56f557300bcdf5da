//! [`AccessReviews`]: authorization by the API server of the cluster.

use std::{sync::Arc, time::Duration};

use kube::Client;
use kubewright_apiserver::{
    auth::{Attributes, Authorizer, Decision, ResourceAttributes, Rules, Selection, Target},
    boxed_async,
    request::UserInfo,
};
use kubewright_machinery::json::Read;
use serde_json::{Value, json};

use super::{cache::Cache, calls};

const PATH: &str = "/apis/authorization.k8s.io/v1/subjectaccessreviews";
/// The maximum size of a review whose decision is cached, in bytes.
const MAX_CACHED: usize = 10_000;
/// The paths of probes.
const PROBES: [&str; 3] = ["/healthz", "/readyz", "/livez"];

/// Authorizes requests by SubjectAccessReviews.
pub(super) struct AccessReviews {
    client: Client,
    paths: Vec<String>,
    /// Decisions by the spec of the review.
    allowed: Arc<Cache<String, Decision>>,
    denied: Arc<Cache<String, Decision>>,
}

impl AccessReviews {
    /// Returns an authorizer whose decisions are used for some time.
    pub(super) fn new(client: Client, allowed: Duration, denied: Duration) -> Self {
        Self {
            client,
            paths: PROBES.map(str::to_owned).to_vec(),
            allowed: Arc::new(Cache::new(allowed)),
            denied: Arc::new(Cache::new(denied)),
        }
    }

    /// Returns an authorizer that always allows additional paths.
    pub(super) fn with_paths(&self, paths: impl Iterator<Item = String>) -> Self {
        Self {
            client: self.client.clone(),
            paths: self.paths.iter().cloned().chain(paths).collect(),
            allowed: self.allowed.clone(),
            denied: self.denied.clone(),
        }
    }

    fn is_always_allowed(&self, path: &str) -> bool {
        self.paths
            .iter()
            .any(|allowed| match allowed.strip_suffix('*') {
                Some(prefix) => path.starts_with(prefix),
                None => path == allowed,
            })
    }
}

#[boxed_async]
impl Authorizer for AccessReviews {
    async fn authorize(&self, attributes: &Attributes<'_>) -> Decision {
        if let Target::Path(path) = attributes.target
            && self.is_always_allowed(path)
        {
            return Decision::allow();
        }
        let spec = spec(attributes);
        let key = spec.to_string();
        let cached = self.allowed.get(&key).or_else(|| self.denied.get(&key));
        if let Some(decision) = cached {
            return decision;
        }
        let review = json!({
            "apiVersion": "authorization.k8s.io/v1",
            "kind": "SubjectAccessReview",
            "spec": spec,
        });
        let decision = match calls::create(&self.client, PATH, &review).await {
            Ok(reviewed) => decision(&reviewed["status"]),
            // The review failed, so the request is denied, and nothing is cached.
            Err(e) => return Decision::no_opinion("").with_error(e),
        };
        if key.len() < MAX_CACHED {
            let answers = match decision.is_allow() {
                true => &self.allowed,
                false => &self.denied,
            };
            answers.insert(key, decision.clone());
        }
        decision
    }

    async fn rules_for(&self, _: &UserInfo, _: &str) -> Rules {
        Rules {
            incomplete: true,
            errors: vec![
                "the rules of users are known to the API server of the cluster".to_owned(),
            ],
            ..Rules::default()
        }
    }
}

fn spec(attributes: &Attributes<'_>) -> Value {
    let user = attributes.user;
    let mut spec = json!({"user": user.name, "uid": user.uid, "groups": user.groups});
    if !user.extra.is_empty() {
        let extra = user.extra.iter();
        spec["extra"] = extra
            .map(|(key, values)| (key.clone(), json!(values)))
            .collect();
    }
    match &attributes.target {
        Target::Path(path) => {
            spec["nonResourceAttributes"] = json!({"path": path, "verb": attributes.verb});
        }
        Target::Resource(resource) => {
            spec["resourceAttributes"] = resource_attributes(resource, attributes.verb);
        }
    }
    spec
}

fn resource_attributes(resource: &ResourceAttributes<'_>, verb: &str) -> Value {
    let mut attributes = json!({
        "verb": verb,
        "group": resource.group,
        "version": resource.version,
        "resource": resource.resource,
        "subresource": resource.subresource,
        "namespace": resource.namespace,
        "name": resource.name,
    });
    if let Selection::Text(selector) = resource.field_selector {
        attributes["fieldSelector"] = json!({"rawSelector": selector});
    }
    if let Selection::Text(selector) = resource.label_selector {
        attributes["labelSelector"] = json!({"rawSelector": selector});
    }
    attributes
}

fn decision(status: &Value) -> Decision {
    let reason = status["reason"].text().to_owned();
    let decision = match (status["allowed"].flag(), status["denied"].flag()) {
        (true, false) => Decision::allow_because(reason),
        (_, true) => Decision::deny(reason),
        (false, false) => Decision::no_opinion(reason),
    };
    match status["evaluationError"].text() {
        "" => decision,
        error => decision.with_error(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_allowed_reviews_allow() {
        assert!(decision(&json!({"allowed": true})).is_allow());
        for status in [
            json!({}),
            json!(null),
            json!({"allowed": "true"}),
            json!({"allowed": true, "denied": true}),
        ] {
            assert!(!decision(&status).is_allow(), "{status}");
        }
    }

    #[test]
    fn reviews_contain_the_attributes_of_the_request() {
        let user = UserInfo {
            name: "alice".into(),
            ..UserInfo::default()
        };
        let planets = ResourceAttributes {
            group: "sky.example.com",
            version: "v1",
            resource: "planets",
            field_selector: Selection::Text("metadata.name=mars"),
            ..ResourceAttributes::default()
        };
        let spec = spec(&Attributes::of_resource(&user, "list", planets));
        assert_eq!(spec["resourceAttributes"]["verb"], "list");
        let selector = &spec["resourceAttributes"]["fieldSelector"];
        assert_eq!(selector["rawSelector"], "metadata.name=mars");
    }
}
