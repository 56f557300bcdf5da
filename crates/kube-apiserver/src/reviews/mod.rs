//! Reviews: kinds that are answered and never stored.

mod validate;

use std::sync::Arc;

use async_trait::async_trait;
use http::Request;
use kubewright_apiserver::{
    Object, SharedClock,
    auth::{Attributes, Authenticator, Authorizer, Decision},
    registry::{Create, Draft, Handlers},
    request::{Query, RequestContext, RequestInfo, UserInfo, WriteOptions},
    rfc3339,
};
use kubewright_catalog::resource::ResourceInfo;
use kubewright_machinery::{Status, status};
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
        ("authorization.k8s.io", _) => answering(Access(environment.authorizer.clone())),
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
        let user = match request {
            Ok(request) => self.0.authenticate(&request.into_parts().0).await,
            Err(_) => Ok(None),
        };
        review["status"] = match user {
            Ok(Some(user)) => json!({"authenticated": true, "user": user_json(&user)}),
            Ok(None) => json!({"user": {}}),
            Err(e) if e.code == 401 => json!({"user": {}, "error": "invalid bearer token"}),
            Err(e) => json!({"user": {}, "error": e.message}),
        };
        Ok(())
    }
}

/// `SelfSubjectAccessReview`, `SubjectAccessReview`, `LocalSubjectAccessReview`
struct Access(Arc<dyn Authorizer>);

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
        let (info, method) = asked(spec);
        let query = Query::default();
        let attributes = Attributes::new(&user, &info, &method, &query);
        review["status"] = match self.0.authorize(&attributes).await {
            Decision::Allow => json!({"allowed": true}),
            Decision::Deny(reason) => json!({"allowed": false, "denied": true, "reason": reason}),
            Decision::NoOpinion(reason) => json!({"allowed": false, "reason": reason}),
        };
        Ok(())
    }
}

/// Returns the request that a review describes.
fn asked(spec: &Value) -> (RequestInfo, http::Method) {
    use kubewright_apiserver::request::Verb;
    let text = |v: &Value| v.as_str().unwrap_or_default().to_owned();
    let resource = &spec["resourceAttributes"];
    let non_resource = &spec["nonResourceAttributes"];
    let is_resource = !resource.is_null();
    let verb = text(if is_resource {
        &resource["verb"]
    } else {
        &non_resource["verb"]
    });
    let (verb, method) = match verb.as_str() {
        "get" => (Verb::Get, http::Method::GET),
        "list" => (Verb::List, http::Method::GET),
        "watch" => (Verb::Watch, http::Method::GET),
        "create" | "post" => (Verb::Create, http::Method::POST),
        "update" | "put" => (Verb::Update, http::Method::PUT),
        "patch" => (Verb::Patch, http::Method::PATCH),
        "delete" => (Verb::Delete, http::Method::DELETE),
        "deletecollection" => (Verb::DeleteCollection, http::Method::DELETE),
        _ => (Verb::Other, http::Method::GET),
    };
    let info = RequestInfo {
        path: text(&non_resource["path"]),
        is_resource,
        verb,
        group: text(&resource["group"]),
        version: text(&resource["version"]),
        namespace: text(&resource["namespace"]),
        resource: text(&resource["resource"]),
        name: text(&resource["name"]),
        selected_name: String::new(),
        subresource: text(&resource["subresource"]),
        rest: Vec::new(),
    };
    (info, method)
}

/// `SelfSubjectRulesReview`: without RBAC, everything is allowed.
struct Rules;

impl Review for Rules {
    async fn answer(&self, _cx: &RequestContext, review: &mut Value) -> Result<(), Status> {
        if review["spec"]["namespace"]
            .as_str()
            .unwrap_or_default()
            .is_empty()
        {
            return Err(status::bad_request("no namespace on request"));
        }
        review["status"] = json!({
            "resourceRules": [{"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]}],
            "nonResourceRules": [{"verbs": ["*"], "nonResourceURLs": ["*"]}],
            "incomplete": false,
        });
        Ok(())
    }
}
