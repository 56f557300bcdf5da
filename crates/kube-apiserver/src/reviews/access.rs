//! The family of `SubjectAccessReview`: the decision about a hypothetical request.

use kubewright_apiserver::{
    auth::{Attributes, ResourceAttributes, Verdict},
    request::{RequestContext, UserInfo},
};
use kubewright_machinery::{Status, json::Read};
use serde_json::{Value, json};

use super::{Review, selectors::Selectors, validate};

/// `SelfSubjectAccessReview`, `SubjectAccessReview`, `LocalSubjectAccessReview`
pub(super) struct Access;

impl Review for Access {
    fn check(&self, review: &Value) -> Result<(), Status> {
        validate::check(review)
    }

    async fn answer(&self, cx: &RequestContext, review: &mut Value) -> Result<(), Status> {
        let spec = &review["spec"];
        let user = match review["kind"].text() {
            "SelfSubjectAccessReview" => (*cx.user).clone(),
            _ => subject(spec),
        };
        let selectors = Selectors::of(&spec["resourceAttributes"]);
        let decision = cx
            .authorizer
            .authorize(&asked(&user, spec, &selectors))
            .await;
        let mut status = json!({"allowed": decision.is_allow()});
        if decision.verdict == Verdict::Deny {
            status["denied"] = json!(true);
        }
        if !decision.reason.is_empty() {
            status["reason"] = json!(decision.reason.to_string());
        }
        let problems: Vec<String> = decision
            .error
            .into_iter()
            .chain(selectors.problems())
            .collect();
        if !problems.is_empty() {
            status["evaluationError"] = json!(problems.join("; "));
        }
        review["status"] = status;
        Ok(())
    }
}

/// Returns the user that a review is about.
fn subject(spec: &Value) -> UserInfo {
    let texts = |list: &Value| list.texts().map(str::to_owned).collect::<Vec<_>>();
    let extra = spec["extra"].entries().into_iter();
    let extra = extra.map(|(key, values)| (key.to_owned(), texts(values)));
    UserInfo {
        name: spec["user"].text().to_owned(),
        uid: spec["uid"].text().to_owned(),
        groups: texts(&spec["groups"]),
        extra: extra.collect(),
    }
}

/// Returns the request that a review describes.
fn asked<'a>(user: &'a UserInfo, spec: &'a Value, selectors: &'a Selectors<'a>) -> Attributes<'a> {
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
        field_selector: selectors.fields(),
        label_selector: selectors.labels(),
    };
    Attributes::of_resource(user, resource["verb"].text(), attributes)
}
