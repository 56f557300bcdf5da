use std::sync::Arc;

use http::Method;
use kubewright_apiserver::{
    admission::{AdmissionChain, Attributes},
    auth::AlwaysAllow,
    boxed_async,
    registry::{Equivalent, Handlers, Resource, ResourceSpec, Versions},
    request::{DeleteOptions, Query, RequestContext, RequestInfo, WriteOptions},
};
use kubewright_store::{Key, MemoryStore, Store};
use serde_json::json;

use super::*;
use crate::admission::stored::Stored;

/// A kind with the versions `v1` and `v2`.
struct TwoVersions;

#[boxed_async]
impl Versions for TwoVersions {
    fn equivalents(&self, subresource: &str) -> Vec<Equivalent> {
        let versions = match subresource {
            "" => vec!["v1", "v2"],
            _ => vec!["v1"],
        };
        let equivalent = |version| Equivalent {
            resource: GroupVersionResource::new("sky.example.com", version, "comets"),
            kind: GroupVersionKind::new("sky.example.com", version, "Comet"),
        };
        versions.into_iter().map(equivalent).collect()
    }

    async fn convert(&self, object: Value, _api_version: &str) -> Result<Value, Status> {
        Ok(object)
    }

    fn default(&self, _object: &mut Value) -> Result<(), Status> {
        Ok(())
    }
}

fn context(method: &Method, path: &str, kind: &str) -> RequestContext {
    let query = Query::default();
    let info = RequestInfo::new(method, path, &query);
    let kind = GroupVersionKind::new(&info.group, &info.version, kind);
    let spec = ResourceSpec::new(kind, &info.resource).namespaced();
    let resource = Resource::computed(spec, Handlers::default());
    RequestContext {
        info: Arc::new(info),
        query: Arc::new(query),
        user: Arc::default(),
        user_agent: "test".into(),
        warnings: Default::default(),
        resource: Arc::new(resource.with_versions(Arc::new(TwoVersions))),
        admission: AdmissionChain::default(),
        authorizer: Arc::new(AlwaysAllow),
        annotations: Default::default(),
        deadline: None,
    }
}

async fn store() -> Stored {
    let store = MemoryStore::new();
    for (name, team) in [("north", "a"), ("south", "b")] {
        let namespace = json!({"metadata": {"name": name, "labels": {"team": team}}});
        let payload = kubewright_apiserver::registry::payload(&namespace);
        let key = Key::new("namespaces", name);
        store.create(key, payload).await.unwrap();
    }
    Stored(Arc::new(store))
}

fn webhook(change: Value) -> Criteria {
    let mut webhook = json!({
        "rules": [{
            "operations": ["*"], "apiGroups": ["*"], "apiVersions": ["*"], "resources": ["*/*"],
        }],
        "matchPolicy": "Equivalent",
        "namespaceSelector": {},
        "objectSelector": {},
    });
    for (key, value) in change.as_object().into_iter().flatten() {
        webhook[key] = value.clone();
    }
    Criteria::of_webhook(&webhook)
}

/// Decides about the create of an object.
async fn matched(
    criteria: &Criteria,
    cx: &RequestContext,
    object: &Value,
) -> Result<Option<Match>, Status> {
    let options = WriteOptions::default();
    let attributes = Attributes::create(object["metadata"]["name"].text(), &options);
    let request = Request::new(cx, &attributes);
    let stored = store().await;
    let namespace = RequestNamespace::new(&stored, request.namespace());
    criteria.matches(&request, Some(object), &namespace).await
}

const COMETS: &str = "/apis/sky.example.com/v1/namespaces/north/comets";

#[tokio::test]
async fn an_equivalent_version_is_matched() {
    let cx = context(&Method::POST, COMETS, "Comet");
    let rule = |version: &str| {
        json!({"operations": ["CREATE"], "apiGroups": ["sky.example.com"],
            "apiVersions": [version], "resources": ["comets"]})
    };
    let found = |criteria: Criteria| {
        let cx = cx.clone();
        async move {
            let found = matched(&criteria, &cx, &json!({})).await.unwrap();
            found.map(|found| (found.resource.version, found.kind.version))
        }
    };
    let both = |version: &str| Some((version.to_owned(), version.to_owned()));
    assert_eq!(
        found(webhook(json!({"rules": [rule("v1")]}))).await,
        both("v1")
    );
    assert_eq!(
        found(webhook(json!({"rules": [rule("v2")]}))).await,
        both("v2")
    );
    // The version of the request goes before the order of rules.
    let rules = json!({"rules": [rule("v2"), rule("v1")]});
    assert_eq!(found(webhook(rules)).await, both("v1"));
    let exact = json!({"rules": [rule("v2")], "matchPolicy": "Exact"});
    assert_eq!(found(webhook(exact)).await, None);
    assert_eq!(found(webhook(json!({"rules": []}))).await, None);
}

#[tokio::test]
async fn labels_of_the_namespace_decide() {
    let criteria = webhook(json!({"namespaceSelector": {"matchLabels": {"team": "a"}}}));
    let cases = [
        ("/api/v1/namespaces/north/pods", true),
        ("/api/v1/namespaces/south/pods", false),
        ("/api/v1/nodes", true),
    ];
    for (path, expected) in cases {
        let cx = context(&Method::POST, path, "Thing");
        let found = matched(&criteria, &cx, &json!({})).await.unwrap();
        assert_eq!(found.is_some(), expected, "{path}");
    }
    let cx = context(&Method::POST, "/api/v1/namespaces/west/pods", "Pod");
    let missing = matched(&criteria, &cx, &json!({})).await.unwrap_err();
    assert_eq!(missing.code, 404);
    assert_eq!(missing.message, "namespaces \"west\" not found");
    // The error counts only if a rule selects the request.
    let none = webhook(json!({"rules": [], "namespaceSelector": {"matchLabels": {"team": "a"}}}));
    assert_eq!(matched(&none, &cx, &json!({})).await.unwrap(), None);
}

#[tokio::test]
async fn a_namespace_is_selected_by_its_own_labels() {
    let criteria = webhook(json!({"namespaceSelector": {"matchLabels": {"team": "a"}}}));
    let cx = context(&Method::POST, "/api/v1/namespaces", "Namespace");
    let namespace = json!({"metadata": {"name": "west", "labels": {"team": "a"}}});
    assert!(matched(&criteria, &cx, &namespace).await.unwrap().is_some());
    let other = json!({"metadata": {"name": "north", "labels": {"team": "c"}}});
    assert!(matched(&criteria, &cx, &other).await.unwrap().is_none());
    // A delete has no object, so the stored labels count.
    let cx = context(&Method::DELETE, "/api/v1/namespaces/north", "Namespace");
    let (old, options) = (
        json!({"metadata": {"name": "north"}}),
        DeleteOptions::default(),
    );
    let attributes = Attributes::delete("north", &old, &options);
    let request = Request::new(&cx, &attributes);
    let stored = store().await;
    let namespace = RequestNamespace::new(&stored, request.namespace());
    let found = criteria.matches(&request, None, &namespace).await.unwrap();
    assert!(found.is_some());
}

#[tokio::test]
async fn labels_of_either_object_decide() {
    let criteria = webhook(json!({"objectSelector": {"matchLabels": {"size": "l"}}}));
    let cx = context(&Method::PUT, &format!("{COMETS}/halley"), "Comet");
    let sized = |size: &str| json!({"metadata": {"labels": {"size": size}}});
    let options = WriteOptions::default();
    let stored = store().await;
    for (new, old, expected) in [("l", "s", true), ("s", "l", true), ("s", "s", false)] {
        let (new, old) = (sized(new), sized(old));
        let attributes = Attributes::update("halley", &old, &options);
        let request = Request::new(&cx, &attributes);
        let namespace = RequestNamespace::new(&stored, request.namespace());
        let found = criteria.matches(&request, Some(&new), &namespace).await;
        assert_eq!(found.unwrap().is_some(), expected);
    }
}

#[tokio::test]
async fn an_invalid_selector_fails_what_it_might_select() {
    let broken = json!({"matchExpressions": [{"key": "a", "operator": "Near"}]});
    let criteria = webhook(json!({"objectSelector": broken}));
    let cx = context(&Method::POST, COMETS, "Comet");
    let failed = matched(&criteria, &cx, &json!({})).await.unwrap_err();
    assert_eq!(
        failed.message,
        "Internal error occurred: \"Near\" is not a valid label selector operator"
    );
}

#[tokio::test]
async fn policies_have_exceptions_and_names() {
    let rule = |names: Value| {
        json!({"operations": ["*"], "apiGroups": ["*"], "apiVersions": ["*"],
            "resources": ["comets"], "resourceNames": names})
    };
    let resources = |change: Value| {
        let mut resources =
            json!({"matchPolicy": "Equivalent", "namespaceSelector": {}, "objectSelector": {}});
        for (key, value) in change.as_object().into_iter().flatten() {
            resources[key] = value.clone();
        }
        Criteria::of_resources(&resources)
    };
    let cx = context(&Method::POST, COMETS, "Comet");
    let halley = json!({"metadata": {"name": "halley"}});
    for (change, expected) in [
        (json!({}), true),
        (json!({"resourceRules": [rule(json!(["halley"]))]}), true),
        (json!({"resourceRules": [rule(json!(["encke"]))]}), false),
        (
            json!({"excludeResourceRules": [rule(json!(["halley"]))]}),
            false,
        ),
        (
            json!({"excludeResourceRules": [rule(json!(["encke"]))]}),
            true,
        ),
    ] {
        let found = matched(&resources(change.clone()), &cx, &halley).await;
        assert_eq!(found.unwrap().is_some(), expected, "{change}");
    }
}

#[test]
fn a_deleted_collection_has_no_name() {
    let cx = context(&Method::DELETE, COMETS, "Comet");
    let (old, options) = (json!({}), DeleteOptions::default());
    let attributes = Attributes::delete("halley", &old, &options);
    assert_eq!(Request::new(&cx, &attributes).name(), "");
    assert_eq!(Request::new(&cx, &attributes).namespace(), "north");
}

#[test]
fn admission_configuration_is_exempt() {
    let kind = |group: &str, kind: &str| GroupVersionKind::new(group, "v1", kind);
    let group = "admissionregistration.k8s.io";
    assert!(is_exempt_from_webhooks(&kind(
        group,
        "MutatingWebhookConfiguration"
    )));
    assert!(is_exempt_from_webhooks(&kind(
        group,
        "ValidatingAdmissionPolicyBinding"
    )));
    assert!(!is_exempt_from_webhooks(&kind("", "Pod")));
    assert!(!is_exempt_from_webhooks(&kind(
        "authorization.k8s.io",
        "SubjectAccessReview"
    )));
}
