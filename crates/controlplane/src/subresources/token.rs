//! `serviceaccounts/token`: the shape of a token request.
//!
//! The token is a random string that opens nothing: this control plane has no issuer yet.

use std::sync::Arc;

use async_trait::async_trait;
use jiff::SignedDuration;
use kubewright_apiserver::{
    clock::rfc3339,
    object::Object,
    registry::{Create, Handlers, generic::Generic},
    request::{RequestContext, WriteOptions},
};
use kubewright_machinery::{
    Status,
    field::{self, Path},
    gvk::GroupKind,
    status,
};
use serde_json::{Value, json};

use crate::kinds::BuiltInKind;

const DEFAULT_SECONDS: i64 = 3600;
const LEAST_SECONDS: i64 = 600;
const MOST_SECONDS: i64 = 1 << 32;

pub(super) fn handlers(kind: &BuiltInKind<'_>) -> Handlers {
    let create = Arc::new(Token(kind.generic.clone()));
    Handlers { create: Some(create), ..Handlers::default() }
}

struct Token(Generic);

#[async_trait]
impl Create for Token {
    async fn create(
        &self,
        cx: &RequestContext,
        name: &str,
        mut request: Value,
        _options: &WriteOptions,
    ) -> Result<Object, Status> {
        let account = self.0.read(cx, name).await?;
        let seconds = request["spec"]["expirationSeconds"].as_i64().unwrap_or(DEFAULT_SECONDS);
        validate(seconds)?;
        if request["spec"]["audiences"].as_array().is_none_or(Vec::is_empty) {
            request["spec"]["audiences"] = json!(["https://kubernetes.default.svc"]);
        }
        request["spec"]["expirationSeconds"] = json!(seconds);
        let now = self.0.clock().now();
        let expiry = now + SignedDuration::from_secs(seconds);
        let token = format!("{:032x}{:032x}", rand::random::<u128>(), rand::random::<u128>());
        request["metadata"] = json!({
            "name": account["metadata"]["name"],
            "namespace": account["metadata"]["namespace"],
            "creationTimestamp": rfc3339(now),
        });
        request["status"] = json!({"token": token, "expirationTimestamp": rfc3339(expiry)});
        Ok(Object::from_value(&request))
    }
}

fn validate(seconds: i64) -> Result<(), Status> {
    let path = Path::new("spec").child("expirationSeconds");
    let text = if seconds < LEAST_SECONDS {
        "may not specify a duration less than 10 minutes"
    } else if seconds > MOST_SECONDS {
        "may not specify a duration larger than 2^32 seconds"
    } else {
        return Ok(());
    };
    let error = field::invalid(&path, &json!(seconds), text);
    Err(status::invalid(&GroupKind::new("authentication.k8s.io", "TokenRequest"), "", &[error]))
}
