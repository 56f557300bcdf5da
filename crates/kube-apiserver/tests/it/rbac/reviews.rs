//! Questions about permissions.

use std::sync::Mutex;

use kubewright_apiserver::{
    admission::{self, Plugin},
    auth::{Attributes, Authorizer, Decision, Selection},
    boxed_async,
    request::RequestContext,
};
use kubewright_machinery::{Status, status};

use super::*;

const AUTHORIZATION: &str = "/apis/authorization.k8s.io/v1";

impl Server {
    /// Asks about somebody as an administrator.
    async fn review(&self, spec: Value) -> Answer {
        let request = format!("POST {AUTHORIZATION}/subjectaccessreviews");
        let body = json!({"spec": spec});
        self.ask("root system:masters", &request, body).await
    }
}

/// Returns the question whether ali may list configmaps of the namespace `default`.
fn listing(selectors: Value) -> Value {
    let mut attributes = json!({"namespace": "default", "verb": "list", "resource": "configmaps"});
    for (key, value) in selectors.as_object().expect("a map") {
        attributes[key] = value.clone();
    }
    json!({"user": "ali", "resourceAttributes": attributes})
}

#[tokio::test]
async fn selectors_that_cannot_be_read_do_not_change_the_answer() {
    let server = Server::start().await;
    let rules = json!([rule(&["list"], "", &["configmaps"])]);
    server.grant("default", "r", rules, user("ali")).await;
    let field = json!({"key": "metadata.name", "operator": "In", "values": ["x"]});
    let cases = [
        (
            json!({"fieldSelector": {"rawSelector": "metadata.name=x"}, "labelSelector": {"rawSelector": "a=b,c in (d,e)"}}),
            Value::Null,
        ),
        (
            json!({"fieldSelector": {"requirements": [field]}, "labelSelector": {"requirements": [{"key": "a", "operator": "Exists"}]}}),
            Value::Null,
        ),
        (
            json!({"fieldSelector": {"rawSelector": "==="}}),
            json!("spec.resourceAttributes.fieldSelector ignored due to parse error"),
        ),
        (
            json!({"labelSelector": {"rawSelector": "a in ("}}),
            json!("spec.resourceAttributes.labelSelector ignored due to parse error"),
        ),
        (
            json!({"labelSelector": {"requirements": [{"key": "a", "operator": "Odd"}]}, "fieldSelector": {"requirements": [field, {"key": "a", "operator": "Exists"}]}}),
            json!(
                "spec.resourceAttributes.fieldSelector partially ignored due to parse error; spec.resourceAttributes.labelSelector ignored due to parse error"
            ),
        ),
    ];
    for (selectors, problem) in cases {
        let answer = server.review(listing(selectors.clone())).await;
        assert_eq!(answer.code, 201, "{selectors}: {}", answer.text);
        let review = answer.json();
        let mut status = json!({
            "allowed": true,
            "reason": r#"RBAC: allowed by RoleBinding "r/default" of Role "r" to User "ali""#,
        });
        if !problem.is_null() {
            status["evaluationError"] = problem;
        }
        assert_eq!(review["status"], status, "{selectors}");
        assert!(review["metadata"]["managedFields"].is_array());
    }
}

#[tokio::test]
async fn invalid_questions_are_answered_field_by_field_and_without_a_kind() {
    let server = Server::start().await;
    let attributes = json!({"verb": "get", "resource": "pods"});
    let path = json!({"path": "/x", "verb": "get"});
    let at = "spec.resourceAttributes";
    let field = json!([
        {"key": "", "operator": "In", "values": ["b"]},
        {"key": "a", "operator": "Odd", "values": ["b"]},
        {"key": "a", "operator": "In"},
        {"key": "a", "operator": "Exists", "values": ["b"]},
        {"key": "a", "operator": "In", "values": ["b", "c"]},
    ]);
    let cases = [
        (json!({"user": "u", "resourceAttributes": attributes, "nonResourceAttributes": path}), r#"spec.nonResourceAttributes: Invalid value: {"Path":"/x","Verb":"get"}: cannot be specified in combination with resourceAttributes"#.to_owned()),
        (json!({"resourceAttributes": attributes}), r#"spec.user: Invalid value: "": at least one of user or group must be specified"#.to_owned()),
        (json!({"user": "u"}), format!("{at}: Invalid value: null: exactly one of nonResourceAttributes or resourceAttributes must be specified")),
        (listing(json!({"fieldSelector": {}})), format!("{at}.fieldSelector.requirements: Required value: when {at}.fieldSelector is specified, requirements or rawSelector is required")),
        (listing(json!({"labelSelector": {"rawSelector": "a=b", "requirements": [{"key": "a", "operator": "Exists"}]}})), format!(r#"{at}.labelSelector.rawSelector: Invalid value: "a=b": may not specified at the same time as requirements"#)),
        (listing(json!({"fieldSelector": {"requirements": field}})), format!("[{at}.fieldSelector.requirements[0].key: Required value: must be specified, {at}.fieldSelector.requirements[2].values: Required value: must be specified when `operator` is 'In' or 'NotIn', {at}.fieldSelector.requirements[3].values: Forbidden: may not be specified when `operator` is 'Exists' or 'DoesNotExist']")),
        (listing(json!({"labelSelector": {"requirements": [{"key": "a", "operator": "In"}, {"key": "a", "operator": "Odd"}]}})), format!("{at}.labelSelector.requirements[0].values: Required value: must be specified when `operator` is 'In' or 'NotIn'")),
    ];
    for (spec, problem) in cases {
        let answer = server.review(spec).await;
        assert_eq!(answer.code, 422, "{problem}");
        let message = format!(".authorization.k8s.io \"\" is invalid: {problem}");
        assert_eq!(answer.message(), message);
        let details = &answer.json()["details"];
        assert_eq!(details["group"], "authorization.k8s.io");
        assert!(details.get("kind").is_none());
    }
}

/// Remembers the last question about configmaps.
#[derive(Clone, Default)]
struct Listener(Arc<Mutex<Option<String>>>);

#[boxed_async]
impl Authorizer for Listener {
    async fn authorize(&self, attributes: &Attributes<'_>) -> Decision {
        if let Some(target) = attributes.resource().filter(|r| r.resource == "configmaps") {
            let fields = target.field_selector.parsed();
            let rest = match target.field_selector {
                Selection::Invalid { rest, .. } => rest.map(ToString::to_string),
                _ => None,
            };
            let user = attributes.user;
            let asked = format!(
                "{} {:?} {:?} {rest:?}",
                user.name,
                user.extra,
                fields.map(|f| f.map(|f| f.to_string()))
            );
            *self.0.lock().unwrap() = Some(asked);
        }
        Decision::no_opinion("")
    }
}

#[tokio::test]
async fn an_authorizer_is_asked_with_selectors_and_the_whole_user() {
    let listener = Listener::default();
    let modes = [AuthorizationMode::Custom(Arc::new(listener.clone()))];
    let server = Server::of(KubeApiServer::builder().authorization(modes)).await;
    let good = json!({"key": "metadata.name", "operator": "NotIn", "values": ["x"]});
    let mut spec = listing(
        json!({"fieldSelector": {"requirements": [good, {"key": "a", "operator": "Odd"}]}}),
    );
    spec["extra"] = json!({"b": ["2"], "A": ["1", "3"]});
    server.review(spec).await;
    let asked = listener.0.lock().unwrap().take();
    assert_eq!(
        asked.as_deref(),
        Some(
            r#"ali [("A", ["1", "3"]), ("b", ["2"])] Err("\"Odd\" is not a valid field selector operator") Some("metadata.name!=x")"#
        )
    );
}

#[tokio::test]
async fn a_list_of_rules_has_no_question_and_names_missing_roles() {
    let server = Server::start().await;
    let rules = json!([rule(&["get"], "", &["configmaps"])]);
    server.grant("default", "r", rules, user("ali")).await;
    let dangling = json!({
        "metadata": {"name": "dangling"},
        "roleRef": {"kind": "Role", "name": "none", "apiGroup": "rbac.authorization.k8s.io"},
        "subjects": user("ali"),
    });
    let path = format!("POST {RBAC}/namespaces/default/rolebindings");
    server.admin(&path, dangling).await;
    let request = format!("POST {AUTHORIZATION}/selfsubjectrulesreviews");
    let body = json!({"metadata": {"name": "x"}, "spec": {"namespace": "default"}});
    let review = server.ask("ali", &request, body).await.json();
    assert_eq!(review["metadata"], json!({}));
    assert_eq!(review["spec"], json!({}));
    let status = &review["status"];
    assert_eq!(status["incomplete"], false);
    assert_eq!(
        status["evaluationError"],
        r#"role.rbac.authorization.k8s.io "none" not found"#
    );
    let configmaps = json!({"verbs": ["get"], "apiGroups": [""], "resources": ["configmaps"]});
    let listed = status["resourceRules"].as_array().expect("a list");
    assert!(listed.contains(&configmaps), "{status}");
    let nowhere = server.ask("ali", &request, json!({"spec": {}})).await;
    assert_eq!(
        (nowhere.code, nowhere.message().as_str()),
        (400, "no namespace on request")
    );
}

#[tokio::test]
async fn a_review_of_oneself_returns_nothing_that_was_sent() {
    let server = Server::start().await;
    let forged = json!({
        "metadata": {"name": "x", "labels": {"a": "b"}},
        "status": {"userInfo": {"username": "forged"}},
    });
    let request = "POST /apis/authentication.k8s.io/v1/selfsubjectreviews";
    let review = server.ask("ali", request, forged).await.json();
    assert_eq!(review["status"]["userInfo"]["username"], "ali");
    let metadata = review["metadata"].as_object().expect("a map");
    assert_eq!(metadata.keys().collect::<Vec<_>>(), ["creationTimestamp"]);
}

/// Rejects every review that it validates.
struct NoReviews;

#[boxed_async]
impl Plugin for NoReviews {
    async fn validate(
        &self,
        cx: &RequestContext,
        _attributes: &admission::Attributes<'_>,
        object: Option<&Value>,
    ) -> Result<(), Status> {
        match object.is_some() && cx.info.resource.ends_with("reviews") {
            true => Err(status::bad_request("no reviews today")),
            false => Ok(()),
        }
    }
}

#[tokio::test]
async fn admission_validates_reviews_that_are_valid() {
    let builder = KubeApiServer::builder().plugin(Arc::new(NoReviews));
    let server = Server::of(builder).await;
    let valid = [
        ("subjectaccessreviews", listing(json!({}))),
        ("selfsubjectrulesreviews", json!({"namespace": "default"})),
    ];
    for (resource, spec) in valid {
        let request = format!("POST {AUTHORIZATION}/{resource}");
        let answer = server.ask("ali", &request, json!({"spec": spec})).await;
        assert_eq!(answer.message(), "no reviews today", "{resource}");
        let answer = server.ask("ali", &request, json!({"spec": {}})).await;
        assert_ne!(answer.message(), "no reviews today", "{resource}");
        assert!(answer.code >= 400);
    }
}
