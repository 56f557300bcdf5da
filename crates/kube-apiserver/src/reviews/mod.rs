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
    let create: Arc<dyn Create> = match (group, info.kind) {
        ("authentication.k8s.io", "SelfSubjectReview") => {
            Arc::new(WhoAmI(environment.clock.clone()))
        }
        ("authentication.k8s.io", "TokenReview") => {
            Arc::new(WhoseToken(environment.authenticator.clone()))
        }
        ("authorization.k8s.io", "SelfSubjectRulesReview") => Arc::new(MyRules),
        ("authorization.k8s.io", _) => Arc::new(MayThey(environment.authorizer.clone())),
        _ => return None,
    };
    Some(Handlers {
        create: Some(create),
        ..Handlers::default()
    })
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
struct WhoAmI(SharedClock);

#[async_trait]
impl Create for WhoAmI {
    async fn create(
        &self,
        cx: &RequestContext,
        _name: &str,
        draft: Draft,
        _options: &WriteOptions,
    ) -> Result<Object, Status> {
        let mut review = draft.into_value();
        review["metadata"]["creationTimestamp"] = json!(rfc3339(self.0.now()));
        review["status"] = json!({"userInfo": user_json(&cx.user)});
        Ok(Object::from_value(&review))
    }
}

/// `TokenReview`
struct WhoseToken(Arc<dyn Authenticator>);

#[async_trait]
impl Create for WhoseToken {
    async fn create(
        &self,
        _cx: &RequestContext,
        _name: &str,
        draft: Draft,
        _options: &WriteOptions,
    ) -> Result<Object, Status> {
        let mut review = draft.into_value();
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
        Ok(Object::from_value(&review))
    }
}

/// `SelfSubjectAccessReview`, `SubjectAccessReview`, `LocalSubjectAccessReview`
struct MayThey(Arc<dyn Authorizer>);

#[async_trait]
impl Create for MayThey {
    async fn create(
        &self,
        cx: &RequestContext,
        _name: &str,
        draft: Draft,
        _options: &WriteOptions,
    ) -> Result<Object, Status> {
        let mut review = draft.into_value();
        validate::check(&review)?;
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
        Ok(Object::from_value(&review))
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
struct MyRules;

#[async_trait]
impl Create for MyRules {
    async fn create(
        &self,
        _cx: &RequestContext,
        _name: &str,
        draft: Draft,
        _options: &WriteOptions,
    ) -> Result<Object, Status> {
        let mut review = draft.into_value();
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
        Ok(Object::from_value(&review))
    }
}
