//! Reviews: kinds that are answered and never stored.

mod validate;

use std::sync::Arc;

use async_trait::async_trait;
use http::Request;
use kubewright_apiserver::{
    Object, SharedClock,
    auth::{Attributes, Authenticator, Credentials, ResourceAttributes, Verdict},
    registry::{Create, Draft, Handlers},
    request::{RequestContext, UserInfo, WriteOptions},
    rfc3339,
};
use kubewright_catalog::resource::ResourceInfo;
use kubewright_machinery::{Status, go, json::Read, status};
use serde_json::{Value, json};

use crate::kinds::Environment;

/// Returns the handlers of a review kind, or `None` for kinds that are stored.
pub(crate) fn handlers(
    environment: &Environment,
    group: &str,
    info: &ResourceInfo,
) -> Option<Handlers> {
    Some(match (group, info.kind) {
        ("authentication.k8s.io", "SelfSubjectReview") => {
            answering(SelfSubject(environment.clock.clone()))
        }
        ("authentication.k8s.io", "TokenReview") => {
            answering(Token(environment.authenticator.clone()))
        }
        ("authorization.k8s.io", "SelfSubjectRulesReview") => answering(Rules),
        ("authorization.k8s.io", _) => answering(Access),
        _ => return None,
    })
}

/// Answers reviews of one kind.
trait Review: Send + Sync + 'static {
    /// Writes the status.
    fn answer(
        &self,
        cx: &RequestContext,
        review: &mut Value,
    ) -> impl Future<Output = Result<(), Status>> + Send;
}

/// A create that returns the review with its answer.
struct Answering<R>(R);

#[async_trait]
impl<R: Review> Create for Answering<R> {
    async fn create(
        &self,
        cx: &RequestContext,
        _name: &str,
        draft: Draft,
        _options: &WriteOptions,
    ) -> Result<Object, Status> {
        let mut review = draft.into_value();
        self.0.answer(cx, &mut review).await?;
        Ok(Object::from_value(&review))
    }
}

fn answering(review: impl Review) -> Handlers {
    Handlers {
        create: Some(Arc::new(Answering(review))),
        ..Handlers::default()
    }
}

fn user_json(user: &UserInfo) -> Value {
    let mut out = json!({"username": user.name, "groups": user.groups});
    if !user.uid.is_empty() {
        out["uid"] = json!(user.uid);
    }
    if !user.extra.is_empty() {
        out["extra"] = user
            .extra
            .iter()
            .map(|(k, v)| (k.clone(), json!(v)))
            .collect();
    }
    out
}

/// `SelfSubjectReview`
struct SelfSubject(SharedClock);

impl Review for SelfSubject {
    async fn answer(&self, cx: &RequestContext, review: &mut Value) -> Result<(), Status> {
        review["metadata"]["creationTimestamp"] = json!(rfc3339(self.0.now()));
        review["status"] = json!({"userInfo": user_json(&cx.user)});
        Ok(())
    }
}

/// `TokenReview`
struct Token(Arc<dyn Authenticator>);

impl Review for Token {
    async fn answer(&self, _cx: &RequestContext, review: &mut Value) -> Result<(), Status> {
        let token = review["spec"]["token"].as_str().unwrap_or_default();
        if token.is_empty() {
            return Err(status::bad_request(
                "token is required for TokenReview in authentication",
            ));
        }
        let request = Request::get("/")
            .header("authorization", format!("Bearer {token}"))
            .body(());
        let known = match request {
            Ok(request) => {
                let (parts, ()) = request.into_parts();
                Credentials::new(&parts, &[]).authenticate(&*self.0).await
            }
            Err(_) => Ok(None),
        };
        review["status"] = match known {
            Ok(Some(known)) => json!({"authenticated": true, "user": user_json(&known.user)}),
            Ok(None) => json!({"user": {}}),
            Err(error) => json!({"user": {}, "error": error.to_string()}),
        };
        Ok(())
    }
}

/// `SelfSubjectAccessReview`, `SubjectAccessReview`, `LocalSubjectAccessReview`
struct Access;

impl Review for Access {
    async fn answer(&self, cx: &RequestContext, review: &mut Value) -> Result<(), Status> {
        validate::check(review)?;
        let spec = &review["spec"];
        let text = |v: &Value| v.as_str().unwrap_or_default().to_owned();
        let user = if review["kind"] == "SelfSubjectAccessReview" {
            (*cx.user).clone()
        } else {
            let groups = spec["groups"]
                .as_array()
                .into_iter()
                .flatten()
                .map(text)
                .collect();
            UserInfo {
                name: text(&spec["user"]),
                uid: text(&spec["uid"]),
                groups,
                extra: Vec::new(),
            }
        };
        let decision = cx.authorizer.authorize(&asked(&user, spec)).await;
        let mut status = json!({"allowed": decision.is_allow()});
        if decision.verdict == Verdict::Deny {
            status["denied"] = json!(true);
        }
        if !decision.reason.is_empty() {
            status["reason"] = json!(decision.reason.to_string());
        }
        if let Some(error) = decision.error {
            status["evaluationError"] = json!(error);
        }
        review["status"] = status;
        Ok(())
    }
}

/// Returns the request that a review describes.
fn asked<'a>(user: &'a UserInfo, spec: &'a Value) -> Attributes<'a> {
    let (resource, other) = (&spec["resourceAttributes"], &spec["nonResourceAttributes"]);
    if resource.is_null() {
        return Attributes::of_path(user, other["verb"].text(), other["path"].text());
    }
    let attributes = ResourceAttributes {
        group: resource["group"].text(),
        version: match resource["version"].text() {
            "" => "*",
            version => version,
        },
        resource: resource["resource"].text(),
        subresource: resource["subresource"].text(),
        namespace: resource["namespace"].text(),
        name: resource["name"].text(),
        ..ResourceAttributes::default()
    };
    Attributes::of_resource(user, resource["verb"].text(), attributes)
}

/// `SelfSubjectRulesReview`
struct Rules;

impl Review for Rules {
    async fn answer(&self, cx: &RequestContext, review: &mut Value) -> Result<(), Status> {
        let namespace = review["spec"]["namespace"].text();
        if namespace.is_empty() {
            return Err(status::bad_request("no namespace on request"));
        }
        let rules = cx.authorizer.rules_for(&cx.user, namespace).await;
        let resources = rules.resource_rules.iter().map(|rule| {
            let mut shown = json!({"verbs": rule.verbs});
            show(&mut shown, "apiGroups", &rule.api_groups);
            show(&mut shown, "resources", &rule.resources);
            show(&mut shown, "resourceNames", &rule.resource_names);
            shown
        });
        let others = rules.non_resource_rules.iter().map(|rule| {
            let mut shown = json!({"verbs": rule.verbs});
            show(&mut shown, "nonResourceURLs", &rule.non_resource_urls);
            shown
        });
        let mut status = json!({
            "resourceRules": resources.collect::<Vec<_>>(),
            "nonResourceRules": others.collect::<Vec<_>>(),
            "incomplete": rules.incomplete,
        });
        if !rules.errors.is_empty() {
            status["evaluationError"] = json!(go::aggregate(&rules.errors));
        }
        review["status"] = status;
        Ok(())
    }
}

fn show(rule: &mut Value, field: &str, values: &[String]) {
    if !values.is_empty() {
        rule[field] = json!(values);
    }
}
