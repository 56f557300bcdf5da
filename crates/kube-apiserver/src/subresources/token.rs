//! `serviceaccounts/token`: token requests.
//!
//! The token is a random string that no authenticator accepts, since there is no issuer.

use std::sync::Arc;

use async_trait::async_trait;
use jiff::{SignedDuration, Timestamp};
use kubewright_apiserver::{
    Object,
    registry::{Create, Draft, Generic, Handlers},
    request::{RequestContext, WriteOptions},
    rfc3339,
};
use kubewright_builtins::authentication::token_request;
use kubewright_machinery::{Status, gvk::GroupKind, status};
use serde_json::json;

use crate::kinds::BuiltInKind;

pub(super) fn handlers(kind: &BuiltInKind<'_>) -> Handlers {
    let create = Arc::new(Token(kind.generic.clone()));
    Handlers {
        create: Some(create),
        ..Handlers::default()
    }
}

struct Token(Generic);

#[async_trait]
impl Create for Token {
    async fn create(
        &self,
        cx: &RequestContext,
        name: &str,
        draft: Draft,
        _options: &WriteOptions,
    ) -> Result<Object, Status> {
        let mut request = draft.into_value();
        let account = self.0.read(cx, name).await?;
        token_request::default(&mut request, &["https://kubernetes.default.svc"]);
        let errors = token_request::validate(&request);
        if !errors.is_empty() {
            let kind = GroupKind::new("authentication.k8s.io", "TokenRequest");
            return Err(status::invalid(&kind, "", &errors));
        }
        let seconds = request["spec"]["expirationSeconds"]
            .as_i64()
            .unwrap_or_default();
        let now = self.0.clock().now();
        let expiry = now.checked_add(SignedDuration::from_secs(seconds));
        let expiry = expiry.unwrap_or(Timestamp::MAX);
        let token = format!(
            "{:032x}{:032x}",
            rand::random::<u128>(),
            rand::random::<u128>()
        );
        request["metadata"] = json!({
            "name": account["metadata"]["name"],
            "namespace": account["metadata"]["namespace"],
            "creationTimestamp": rfc3339(now),
        });
        request["status"] = json!({"token": token, "expirationTimestamp": rfc3339(expiry)});
        Ok(Object::from_value(&request))
    }
}
