//! Flow control: the objects of a new cluster, and the flow of each request.

use std::sync::{
    Arc,
    atomic::{AtomicI64, Ordering},
};

use http::{HeaderMap, Request};
use jiff::Timestamp;
use kubewright_apiserver::{
    Body, Clock,
    auth::{Anonymous, Authenticated, AuthenticationError, Authenticator, Credentials, Union},
    boxed_async,
    flow::Overloaded,
    request::UserInfo,
};
use kubewright_kube_apiserver::{
    AuthorizationMode, FIRST_REVISION, KubeApiServer, PriorityAndFairness,
};
use kubewright_store::{MemoryStore, Store};
use serde_json::{Value, json};

const FLOW: &str = "/apis/flowcontrol.apiserver.k8s.io/v1";
const SCHEMA: &str = "x-kubernetes-pf-flowschema-uid";
const LEVEL: &str = "x-kubernetes-pf-prioritylevel-uid";
const ADMIN: &str = "admin system:masters system:authenticated";

/// Believes a header of the form `name group group`, and fails for `bad`.
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
        let name = words.next().unwrap_or_default().to_owned();
        if name == "bad" {
            return Err(AuthenticationError::new("a bad user"));
        }
        let user = UserInfo {
            name,
            groups: words.map(str::to_owned).collect(),
            ..UserInfo::default()
        };
        Ok(Some(user.into()))
    }
}

struct Server(KubeApiServer);

impl Server {
    async fn start() -> Self {
        Self::start_with(PriorityAndFairness::Enabled).await
    }

    async fn start_with(fairness: PriorityAndFairness) -> Self {
        let users = Union::fail_on_error(vec![Arc::new(Named), Arc::new(Anonymous)]);
        let builder = KubeApiServer::builder()
            .priority_and_fairness(fairness)
            .authorization([AuthorizationMode::Rbac])
            .authenticator(Arc::new(users));
        Self(builder.build().await.expect("a server in memory starts"))
    }

    async fn ask(&self, user: &str, request: &str, body: Value) -> (u16, HeaderMap, Value) {
        let (method, uri) = request.split_once(' ').expect("a method and a path");
        let mut request = Request::builder().method(method).uri(uri);
        if !user.is_empty() {
            request = request.header("x-test-user", user);
        }
        let body = match body {
            Value::Null => Body::empty(),
            body => Body::from(body.to_string()),
        };
        let media = match method {
            "PATCH" => "application/merge-patch+json",
            _ => "application/json",
        };
        let request = request.header("content-type", media).body(body);
        let answer = self.0.server().handle(request.expect("a request")).await;
        let (parts, body) = answer.into_parts();
        let bytes = body
            .collect_up_to(8 << 20)
            .await
            .expect("an end")
            .expect("a short answer");
        let value = serde_json::from_slice(&bytes).unwrap_or_default();
        (parts.status.as_u16(), parts.headers, value)
    }

    async fn get(&self, path: &str) -> Value {
        self.ask(ADMIN, &format!("GET {path}"), Value::Null).await.2
    }

    /// Returns the names of the flow schema and the priority level that an answer names by their uids.
    async fn names(&self, headers: &HeaderMap) -> Option<(String, String)> {
        let mut names = Vec::new();
        for (header, plural) in [
            (SCHEMA, "flowschemas"),
            (LEVEL, "prioritylevelconfigurations"),
        ] {
            let uid = headers.get(header)?.to_str().expect("text").to_owned();
            let list = self.get(&format!("{FLOW}/{plural}")).await;
            let mut items = list["items"].as_array().expect("items").iter();
            let item = items
                .find(|item| item["metadata"]["uid"] == uid)
                .expect("an object");
            names.push(
                item["metadata"]["name"]
                    .as_str()
                    .unwrap_or_default()
                    .to_owned(),
            );
        }
        let level = names.pop()?;
        Some((names.pop()?, level))
    }

    async fn flow(&self, user: &str, request: &str) -> Option<(String, String)> {
        let (_, headers, _) = self.ask(user, request, Value::Null).await;
        self.names(&headers).await
    }
}

#[tokio::test]
async fn the_objects_of_a_new_cluster_are_those_of_kubernetes() {
    let recorded = include_str!("../../../../conformance/golden/flow/control.json");
    let recorded: Value = serde_json::from_str(recorded).expect("a recording");
    let steps = recorded["scenarios"][0]["steps"].as_array().expect("steps");
    let server = Server::start().await;
    let mut compared = 0;
    for step in steps {
        let path = step["step"]
            .as_str()
            .unwrap_or_default()
            .replace("<f>", FLOW);
        let (code, _, mut object) = server.ask(ADMIN, &path, Value::Null).await;
        assert_eq!(json!(code), step["code"], "{path}");
        if code == 200 {
            replace(&mut object);
            let mut theirs = step["body"].clone();
            replace(&mut theirs);
            assert_eq!(object, theirs, "{path}");
            compared += 1;
        }
    }
    assert_eq!(compared, 19);
}

/// Replaces what differs from run to run.
fn replace(value: &mut Value) {
    match value {
        Value::Array(items) => items.iter_mut().for_each(replace),
        Value::Object(fields) => {
            for (key, field) in fields {
                let changing = [
                    "uid",
                    "resourceVersion",
                    "creationTimestamp",
                    "time",
                    "lastTransitionTime",
                ];
                match changing.contains(&key.as_str()) && field.is_string() {
                    true => *field = json!("..."),
                    false => replace(field),
                }
            }
        }
        _ => {}
    }
}

#[tokio::test]
async fn every_answer_names_the_flow_of_its_request() {
    let server = Server::start().await;
    let pods = "GET /api/v1/namespaces/default/pods";
    let lease = "GET /apis/coordination.k8s.io/v1/namespaces/kube-system/leases/x";
    let node = "system:node:n1 system:nodes system:authenticated";
    for (user, request, schema, level) in [
        (ADMIN, pods, "exempt", "exempt"),
        (
            ADMIN,
            "GET /api/v1/namespaces/default/nothings",
            "exempt",
            "exempt",
        ),
        (
            ADMIN,
            "POST /api/v1/namespaces/default/configmaps",
            "exempt",
            "exempt",
        ),
        (
            ADMIN,
            "GET /api/v1/pods?watch=1&timeoutSeconds=0&resourceVersion=x",
            "exempt",
            "exempt",
        ),
        (
            "bob system:authenticated",
            pods,
            "global-default",
            "global-default",
        ),
        (
            "bob system:authenticated",
            "GET /healthz",
            "probes",
            "exempt",
        ),
        ("", "GET /livez", "probes", "exempt"),
        ("", "GET /metrics", "global-default", "global-default"),
        (
            "system:serviceaccount:shop:sa system:serviceaccounts system:authenticated",
            pods,
            "service-accounts",
            "workload-low",
        ),
        (
            "system:serviceaccount:kube-system:sa system:serviceaccounts system:authenticated",
            pods,
            "kube-system-service-accounts",
            "workload-high",
        ),
        (
            "system:kube-controller-manager system:authenticated",
            pods,
            "kube-controller-manager",
            "workload-high",
        ),
        (
            "system:kube-scheduler system:authenticated",
            lease,
            "system-leader-election",
            "leader-election",
        ),
        (node, pods, "system-nodes", "system"),
        (
            node,
            "PATCH /api/v1/nodes/n1/status",
            "system-node-high",
            "node-high",
        ),
    ] {
        let expected = Some((schema.to_owned(), level.to_owned()));
        assert_eq!(
            server.flow(user, request).await,
            expected,
            "{user}: {request}"
        );
    }
    // Streams and users who are not known have no flow.
    assert_eq!(
        server
            .flow(ADMIN, "GET /api/v1/namespaces/default/pods/none/log")
            .await,
        None
    );
    assert_eq!(server.flow("bad", pods).await, None);
}

#[tokio::test]
async fn without_priority_and_fairness_answers_name_no_flow_and_schemas_have_no_conditions() {
    let server = Server::start_with(PriorityAndFairness::Disabled).await;
    for (user, request, expected) in [
        (ADMIN, "GET /api/v1/namespaces/default/pods", 200),
        ("", "GET /api/v1/pods", 403),
    ] {
        let (code, headers, _) = server.ask(user, request, Value::Null).await;
        assert_eq!(code, expected, "{request}");
        assert_eq!(
            headers.get(SCHEMA).or(headers.get(LEVEL)),
            None,
            "{request}"
        );
    }
    let schemas = server.get(&format!("{FLOW}/flowschemas")).await;
    let schemas = schemas["items"].as_array().expect("items");
    assert!(
        schemas
            .iter()
            .any(|schema| schema["metadata"]["name"] == "catch-all")
    );
    for schema in schemas {
        assert_eq!(schema["status"], json!({}), "{schema}");
        let managers = schema["metadata"]["managedFields"].as_array();
        assert_eq!(managers.map(Vec::len), Some(1), "{schema}");
    }
}

#[tokio::test]
async fn flow_schemas_count_from_the_next_request_on_and_say_whether_their_level_exists() {
    let server = Server::start().await;
    let pods = "GET /api/v1/namespaces/default/pods";
    let zoe = "zoe system:authenticated";
    let schema = |name: &str, precedence: u32, level: &str| {
        json!({
            "metadata": {"name": name},
            "spec": {
                "matchingPrecedence": precedence, "priorityLevelConfiguration": {"name": level},
                "rules": [{
                    "subjects": [{"kind": "User", "user": {"name": "zoe"}}],
                    "resourceRules": [{"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"], "namespaces": ["*"]}],
                }],
            },
        })
    };
    let level = json!({
        "metadata": {"name": "own"},
        "spec": {"type": "Limited", "limited": {"nominalConcurrencyShares": 5, "limitResponse": {"type": "Reject"}}},
    });
    let schemas = format!("POST {FLOW}/flowschemas");
    let (code, _, created) = server.ask(ADMIN, &schemas, schema("own", 50, "own")).await;
    assert_eq!((code, &created["status"]), (201, &json!({})));
    let condition = |schema: &Value| {
        let condition = &schema["status"]["conditions"][0];
        (condition["status"].clone(), condition["reason"].clone())
    };
    let dangling = server.get(&format!("{FLOW}/flowschemas/own")).await;
    assert_eq!(condition(&dangling), (json!("True"), json!("NotFound")));
    let global = Some(("global-default".to_owned(), "global-default".to_owned()));
    assert_eq!(
        server.flow(zoe, pods).await,
        global,
        "a schema without a level does not count"
    );

    let levels = format!("POST {FLOW}/prioritylevelconfigurations");
    assert_eq!(server.ask(ADMIN, &levels, level).await.0, 201);
    assert_eq!(
        server.flow(zoe, pods).await,
        Some(("own".to_owned(), "own".to_owned()))
    );
    let found = server.get(&format!("{FLOW}/flowschemas/own")).await;
    assert_eq!(condition(&found), (json!("False"), json!("Found")));
    assert_eq!(
        found["status"]["conditions"][0]["message"],
        "This FlowSchema references the PriorityLevelConfiguration object named \"own\" and it exists"
    );

    server
        .ask(ADMIN, &schemas, schema("first", 40, "workload-low"))
        .await;
    assert_eq!(
        server.flow(zoe, pods).await,
        Some(("first".to_owned(), "workload-low".to_owned()))
    );
    server
        .ask(
            ADMIN,
            &format!("DELETE {FLOW}/flowschemas/first"),
            Value::Null,
        )
        .await;
    server
        .ask(
            ADMIN,
            &format!("DELETE {FLOW}/prioritylevelconfigurations/own"),
            Value::Null,
        )
        .await;
    assert_eq!(server.flow(zoe, pods).await, global);
    let dangling = server.get(&format!("{FLOW}/flowschemas/own")).await;
    assert_eq!(condition(&dangling), (json!("True"), json!("NotFound")));
}

/// A clock that is set.
#[derive(Default)]
struct SetClock(AtomicI64);

impl Clock for SetClock {
    fn now(&self) -> Timestamp {
        let second = 1_800_000_000 + self.0.load(Ordering::SeqCst);
        Timestamp::from_second(second).expect("a time")
    }
}

/// Changes a mandatory level, another one on purpose, and deletes a flow schema.
async fn spoil(server: &Server) {
    let shares = json!({"spec": {"limited": {"nominalConcurrencyShares": 7}}});
    let mut on_purpose = shares.clone();
    on_purpose["metadata"]["annotations"]["apf.kubernetes.io/autoupdate-spec"] = json!("false");
    for (request, body) in [
        ("PATCH prioritylevelconfigurations/catch-all", shares),
        ("PATCH prioritylevelconfigurations/workload-low", on_purpose),
        ("DELETE flowschemas/system-nodes", Value::Null),
    ] {
        let request = request.replacen(' ', &format!(" {FLOW}/"), 1);
        let (code, _, answer) = server.ask(ADMIN, &request, body).await;
        assert_eq!(code, 200, "{request}: {answer}");
    }
}

/// Reports whether what was spoilt is restored: the mandatory level, and the flow schema.
async fn restored(server: &Server) -> (bool, bool) {
    let shares = async |level: &str| {
        let path = format!("{FLOW}/prioritylevelconfigurations/{level}");
        server.get(&path).await["spec"]["limited"]["nominalConcurrencyShares"].clone()
    };
    assert_eq!(shares("workload-low").await, 7, "it was changed on purpose");
    let schema = server
        .get(&format!("{FLOW}/flowschemas/system-nodes"))
        .await;
    (shares("catch-all").await == 5, schema["spec"].is_object())
}

#[tokio::test]
async fn the_objects_of_a_new_cluster_are_restored_after_a_minute_and_at_the_start() {
    let clock = Arc::new(SetClock::default());
    let store: Arc<dyn Store> = Arc::new(MemoryStore::starting_at(FIRST_REVISION));
    let start = async || {
        let users = Union::fail_on_error(vec![Arc::new(Named), Arc::new(Anonymous)]);
        let builder = KubeApiServer::builder()
            .store(store.clone())
            .clock(clock.clone())
            .authenticator(Arc::new(users));
        Server(builder.build().await.expect("a server in memory starts"))
    };
    let server = start().await;
    let level = |name: &str, annotations: Value| {
        json!({
            "metadata": {"name": name, "annotations": annotations},
            "spec": {"type": "Limited", "limited": {"limitResponse": {"type": "Reject"}}},
        })
    };
    let levels = format!("POST {FLOW}/prioritylevelconfigurations");
    let updated = json!({"apf.kubernetes.io/autoupdate-spec": "true"});
    for object in [level("former", updated), level("own", json!({}))] {
        assert_eq!(server.ask(ADMIN, &levels, object).await.0, 201);
    }
    spoil(&server).await;
    assert_eq!(restored(&server).await, (false, false));
    clock.0.fetch_add(61, Ordering::SeqCst);
    assert_eq!(restored(&server).await, (true, true));
    for (name, code) in [("former", 404), ("own", 200)] {
        let get = format!("GET {FLOW}/prioritylevelconfigurations/{name}");
        let answer = server.ask(ADMIN, &get, Value::Null).await;
        assert_eq!(answer.0, code, "{name}");
    }
    spoil(&server).await;
    assert_eq!(restored(&server).await, (false, false));
    drop(server);
    assert_eq!(restored(&start().await).await, (true, true));
}

#[tokio::test]
async fn an_overloaded_server_answers_with_plain_text_and_the_flow() {
    let server = Server::start().await;
    let mut request = Request::get("/api/v1/pods")
        .body(Body::empty())
        .expect("a request");
    request
        .extensions_mut()
        .insert(Overloaded { retry_after: 3 });
    let answer = server.0.server().handle(request).await;
    let (parts, body) = answer.into_parts();
    assert_eq!(parts.status, 429);
    assert_eq!(parts.headers["retry-after"], "3");
    assert_eq!(parts.headers["content-type"], "text/plain; charset=utf-8");
    assert_eq!(parts.headers["x-content-type-options"], "nosniff");
    let flow = server.names(&parts.headers).await;
    assert_eq!(
        flow,
        Some(("global-default".to_owned(), "global-default".to_owned()))
    );
    let text = body
        .collect_up_to(100)
        .await
        .expect("an end")
        .expect("a short answer");
    assert_eq!(text, "Too many requests, please try again later.\n");
}
