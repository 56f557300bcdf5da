//! Reviews: kinds that are answered and never stored.

mod access;
mod rules;
mod selectors;
mod token;
mod validate;

use std::sync::Arc;

use kubewright_apiserver::{
    Object, SharedClock,
    admission::Attributes,
    boxed_async,
    registry::{Create, Draft, Handlers},
    request::{RequestContext, UserInfo, WriteOptions},
    rfc3339,
};
use kubewright_catalog::resource::ResourceInfo;
use kubewright_machinery::Status;
use serde_json::{Value, json};

use self::{access::Access, rules::Rules, token::Token};
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
    /// Validates a review.
    fn check(&self, _review: &Value) -> Result<(), Status> {
        Ok(())
    }

    /// Writes the status.
    fn answer(
        &self,
        cx: &RequestContext,
        review: &mut Value,
    ) -> impl Future<Output = Result<(), Status>> + Send;
}

/// A create that returns the review with its answer.
struct Answering<R>(R);

#[boxed_async]
impl<R: Review> Create for Answering<R> {
    async fn create(
        &self,
        cx: &RequestContext,
        name: &str,
        draft: Draft,
        options: &WriteOptions,
    ) -> Result<Object, Status> {
        let mut review = draft.into_value();
        self.0.check(&review)?;
        let attributes = Attributes::create(name, options);
        cx.admission
            .validate(cx, &attributes, Some(&review))
            .await?;
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
        // Only the answer is returned, whatever was sent.
        review["metadata"] = json!({"creationTimestamp": rfc3339(self.0.now())});
        review["status"] = json!({"userInfo": user_json(&cx.user)});
        Ok(())
    }
}
