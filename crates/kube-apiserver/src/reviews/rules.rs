//! `SelfSubjectRulesReview`: lists the permissions of the user.

use kubewright_apiserver::request::RequestContext;
use kubewright_machinery::{Status, go, json::Read, status};
use serde_json::{Value, json};

use super::Review;

/// `SelfSubjectRulesReview`
pub(super) struct Rules;

impl Review for Rules {
    fn check(&self, review: &Value) -> Result<(), Status> {
        match review["spec"]["namespace"].text() {
            "" => Err(status::bad_request("no namespace on request")),
            _ => Ok(()),
        }
    }

    async fn answer(&self, cx: &RequestContext, review: &mut Value) -> Result<(), Status> {
        let namespace = review["spec"]["namespace"].text();
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
        // Only the answer is returned, without the question.
        review["metadata"] = json!({});
        review["spec"] = json!({});
        review["status"] = status;
        Ok(())
    }
}

fn show(rule: &mut Value, field: &str, values: &[String]) {
    if !values.is_empty() {
        rule[field] = json!(values);
    }
}
