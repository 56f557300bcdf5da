//! Reviews: kinds that are answered and never stored.

mod validate;

use std::sync::Arc;

use async_trait::async_trait;
use http::{HeaderValue, Request, header};
use kubewright_apiserver::{
    Object, SharedClock,
    auth::{
        Attributes, Authenticated, AuthenticationError, Authenticator, Credentials,
        ResourceAttributes, Verdict,
    },
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
        ("authentication.k8s.io", "TokenReview") => answering(Token {
            authenticator: environment.authenticator.clone(),
            audiences: environment.service_accounts.issuer.audiences().to_vec(),
        }),
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
    let mut out = json!({"username": user.name});
    if !user.groups.is_empty() {
        out["groups"] = json!(user.groups);
    }
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
struct Token {
    authenticator: Arc<dyn Authenticator>,
    /// The audiences of the server.
    audiences: Vec<String>,
}

impl Review for Token {
    async fn answer(&self, _cx: &RequestContext, review: &mut Value) -> Result<(), Status> {
        let spec = &review["spec"];
        let token = spec["token"].text();
        if token.is_empty() {
            return Err(status::bad_request(
                "token is required for TokenReview in authentication",
            ));
        }
        let audiences = match &spec["audiences"] {
            audiences if audiences.is_blank() => self.audiences.clone(),
            audiences => audiences.texts().map(str::to_owned).collect(),
        };
        review["status"] = match self.known(token, &audiences).await? {
            Ok(known) => {
                let mut status = json!({"authenticated": true, "user": user_json(&known.user)});
                let audiences = known.audiences.unwrap_or_default();
                if !audiences.is_empty() {
                    status["audiences"] = json!(audiences);
                }
                status
            }
            Err(error) => json!({"user": {}, "error": error.to_string()}),
        };
        Ok(())
    }
}

impl Token {
    /// Returns the user of a token, with the audiences that the token and the review share.
    async fn known(
        &self,
        token: &str,
        audiences: &[String],
    ) -> Result<Result<Authenticated, AuthenticationError>, Status> {
        let invalid = || AuthenticationError::new("invalid bearer token");
        let Ok(header) = HeaderValue::try_from(format!("Bearer {token}")) else {
            return Ok(Err(invalid()));
        };
        let (mut parts, ()) = Request::new(()).into_parts();
        parts.headers.insert(header::AUTHORIZATION, header);
        let credentials = Credentials::new(&parts, audiences);
        let mut known = match credentials.authenticate(&*self.authenticator).await {
            Ok(Some(known)) => known,
            Ok(None) => return Ok(Err(invalid())),
            Err(error) => return Ok(Err(error)),
        };
        let shared = |own: &[String]| -> Vec<String> {
            let shared = own.iter().filter(|audience| audiences.contains(audience));
            shared.cloned().collect()
        };
        match &known.audiences {
            Some(own) if !audiences.is_empty() && shared(own).is_empty() => {
                Err(status::internal("error validating audiences"))
            }
            Some(_) => Ok(Ok(known)),
            // Credentials that name no audience are meant for the server.
            None => match shared(&self.audiences) {
                own if own.is_empty() && !audiences.is_empty() => Ok(Err(invalid())),
                own => {
                    known.audiences = Some(own);
                    Ok(Ok(known))
                }
            },
        }
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
