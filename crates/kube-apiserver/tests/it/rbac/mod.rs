//! RBAC through requests of users with and without permissions.

mod decisions;
mod escalation;
mod impersonation;
mod nodes;
mod policy;
mod reviews;
mod second_checks;

use std::sync::Arc;

use http::{HeaderMap, Request, header};
use kubewright_apiserver::{
    Body,
    auth::{Anonymous, Authenticated, AuthenticationError, Authenticator, Credentials, Union},
    boxed_async,
    request::UserInfo,
};
use kubewright_kube_apiserver::{AuthorizationMode, KubeApiServer, KubeApiServerBuilder};
use serde_json::{Value, json};

const LONGEST: usize = 8 << 20;
const RBAC: &str = "/apis/rbac.authorization.k8s.io/v1";

/// Believes a header of the form `name group group`.
struct Named;

#[boxed_async]
impl Authenticator for Named {
    async fn authenticate(
        &self,
        credentials: &Credentials<'_>,
    ) -> Result<Option<Authenticated>, AuthenticationError> {
        let Some(text) = credentials.parts.headers.get("x-test-user") else {
            return Ok(None);
        };
        let mut words = text.to_str().unwrap_or_default().split(' ');
        let user = UserInfo {
            name: words.next().unwrap_or_default().to_owned(),
            groups: words.map(str::to_owned).collect(),
            ..UserInfo::default()
        };
        Ok(Some(user.into()))
    }
}

/// A server that decides by roles.
pub(crate) struct Server(KubeApiServer);

pub(crate) struct Answer {
    pub(crate) code: u16,
    pub(crate) headers: HeaderMap,
    pub(crate) text: String,
}

impl Server {
    pub(crate) async fn start() -> Self {
        Self::of(KubeApiServer::builder().authorization([AuthorizationMode::Rbac])).await
    }

    pub(crate) async fn of(builder: KubeApiServerBuilder) -> Self {
        let users = Union::fail_on_error(vec![Arc::new(Named), Arc::new(Anonymous)]);
        let server = builder.authenticator(Arc::new(users)).build().await;
        Self(server.expect("a server in memory starts"))
    }

    /// Sends `GET /path` as a user, or as nobody if the name is empty.
    pub(crate) async fn ask(&self, user: &str, request: &str, body: Value) -> Answer {
        self.send(user, request, &[], body).await
    }

    /// Sends a request with more headers.
    pub(crate) async fn send(
        &self,
        user: &str,
        request: &str,
        headers: &[(&str, &str)],
        body: Value,
    ) -> Answer {
        let (method, path) = request.split_once(' ').expect("a method and a path");
        let media = match method {
            "APPLY" => "application/apply-patch+yaml",
            "PATCH" => "application/merge-patch+json",
            _ => "application/json",
        };
        let mut builder = Request::builder()
            .method(if method == "APPLY" { "PATCH" } else { method })
            .uri(path)
            .header(header::USER_AGENT, "tester/1")
            .header(header::CONTENT_TYPE, media);
        if !user.is_empty() {
            builder = builder.header("x-test-user", user);
        }
        for (name, value) in headers {
            builder = builder.header(*name, *value);
        }
        let body = match body {
            Value::Null => Body::empty(),
            body => Body::from(body.to_string()),
        };
        let response = self.0.server().handle(builder.body(body).unwrap()).await;
        let (code, headers) = (response.status().as_u16(), response.headers().clone());
        let bytes = response.into_body().collect_up_to(LONGEST).await;
        let bytes = bytes.expect("a body").expect("a short body");
        Answer {
            code,
            headers,
            text: String::from_utf8(bytes.to_vec()).expect("text"),
        }
    }

    /// Does something that must succeed as an administrator.
    pub(crate) async fn admin(&self, request: &str, body: Value) -> Value {
        let answer = self.ask("root system:masters", request, body).await;
        assert!(answer.code < 300, "{request}: {}", answer.text);
        answer.json()
    }

    async fn code(&self, user: &str, request: &str) -> u16 {
        self.ask(user, request, Value::Null).await.code
    }

    /// Grants permissions in a namespace, or everywhere if it is empty.
    pub(crate) async fn grant(&self, namespace: &str, name: &str, rules: Value, subjects: Value) {
        let (prefix, role) = match namespace {
            "" => (RBAC.to_owned(), "ClusterRole"),
            namespace => (format!("{RBAC}/namespaces/{namespace}"), "Role"),
        };
        let plural = format!("{}s", role.to_lowercase());
        let object = json!({"metadata": {"name": name}, "rules": rules});
        self.admin(&format!("POST {prefix}/{plural}"), object).await;
        let plural = format!("{}bindings", role.to_lowercase());
        let object = json!({
            "metadata": {"name": name},
            "roleRef": {"kind": role, "name": name, "apiGroup": "rbac.authorization.k8s.io"},
            "subjects": subjects,
        });
        self.admin(&format!("POST {prefix}/{plural}"), object).await;
    }
}

impl Answer {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.text).expect("JSON")
    }

    pub(crate) fn message(&self) -> String {
        let message = &self.json()["message"];
        message.as_str().unwrap_or_default().to_owned()
    }
}

pub(crate) fn user(name: &str) -> Value {
    json!([{"kind": "User", "name": name}])
}

pub(crate) fn rule(verbs: &[&str], group: &str, resources: &[&str]) -> Value {
    json!({"verbs": verbs, "apiGroups": [group], "resources": resources})
}
