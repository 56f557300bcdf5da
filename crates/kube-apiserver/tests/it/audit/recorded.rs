//! The same requests as a real server got, and the same events.
//!
//! `recorded.jsonl` is the audit log of kube-apiserver 1.36.4 with one rule, `level: RequestResponse`. Each request had a user agent
//! of its own, by which its events are found.

use kubewright_apiserver::audit::{Level, Policy};
use serde_json::{Value, json};

use super::Audited;

const RECORDED: &str = include_str!("recorded.jsonl");

const ADMIN: (&str, &str) = ("authorization", "Bearer tok");
const ALICE: (&str, &str) = ("authorization", "Bearer usertok");
const NOBODY: (&str, &str) = ("accept", "*/*");
const MAPS: &str = "/api/v1/namespaces/aa/configmaps";

/// Requests in the order in which they were recorded: name, credentials, request, further headers, body.
type Recorded<'a> = (
    &'a str,
    (&'a str, &'a str),
    String,
    Vec<(&'a str, &'a str)>,
    String,
);

fn requests(version: &str) -> Vec<Recorded<'static>> {
    let json = || vec![("content-type", "application/json")];
    let of = |media| vec![("content-type", media)];
    let maps = |method: &str, rest: &str| format!("{method} {MAPS}{rest}");
    let plain = |name, request: String| (name, ADMIN, request, Vec::new(), String::new());
    let post = |name, path: &str, body: &str| {
        (name, ADMIN, format!("POST {path}"), json(), body.to_owned())
    };
    let put = |name, data: &str| {
        let metadata = format!(r#"{{"name":"c","resourceVersion":"{version}"}}"#);
        let body = format!(r#"{{"metadata":{metadata},"data":{{"a":"{data}"}}}}"#);
        (name, ADMIN, maps("PUT", "/c"), json(), body)
    };
    let patch =
        |name, media, body: &str| (name, ADMIN, maps("PATCH", "/c"), of(media), body.to_owned());
    let pods = "/api/v1/namespaces/aa/pods";
    let comets = "/apis/sky.io/v1/namespaces/aa/comets";
    let map = r#"{"metadata":{"name":"c"},"data":{"a":"b"}}"#;
    vec![
        post(
            "create-ns",
            "/api/v1/namespaces",
            r#"{"metadata":{"name":"aa"}}"#,
        ),
        post(
            "create-cm",
            MAPS,
            r#"{"metadata":{"name":"c"},"data":{"a":"b"},"bogus":1}"#,
        ),
        post(
            "create-gen",
            MAPS,
            r#"{"metadata":{"generateName":"c-"},"data":{"a":"b"}}"#,
        ),
        post(
            "create-sec",
            "/api/v1/namespaces/aa/secrets",
            r#"{"metadata":{"name":"s"},"data":{"a":"c2VjcmV0"}}"#,
        ),
        post("create-again", MAPS, map),
        post(
            "create-bad",
            MAPS,
            r#"{"metadata":{"name":"c"},"data":{"a":5}}"#,
        ),
        post("create-syntax", MAPS, r#"{"metadata":"#),
        post(
            "create-invalid",
            MAPS,
            r#"{"metadata":{"name":"C_"},"data":{"a":"b"}}"#,
        ),
        plain("get", maps("GET", "/c")),
        plain("get-missing", maps("GET", "/none")),
        (
            "get-pom",
            ADMIN,
            maps("GET", "/c"),
            vec![(
                "accept",
                "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io",
            )],
            String::new(),
        ),
        plain("list", maps("GET", "?limit=1")),
        plain(
            "list-named",
            maps("GET", "?fieldSelector=metadata.name%3Dc"),
        ),
        plain("list-empty", format!("GET {pods}")),
        plain("watch", maps("GET", "?watch=1&timeoutSeconds=1")),
        plain(
            "watch-bad",
            maps("GET", "?watch=1&timeoutSeconds=1&resourceVersion=x"),
        ),
        put("update", "c"),
        put("update-conflict", "d"),
        patch(
            "patch-merge",
            "application/merge-patch+json",
            r#"{"data":{"a":"e"}}"#,
        ),
        patch(
            "patch-json",
            "application/json-patch+json",
            r#"[{"op":"replace","path":"/data/a","value":"f"}]"#,
        ),
        patch("patch-media", "text/plain", "{}"),
        (
            "delete-opts",
            ADMIN,
            maps("DELETE", "/y"),
            json(),
            r#"{"kind":"DeleteOptions","apiVersion":"v1","propagationPolicy":"Background"}"#
                .to_owned(),
        ),
        plain("delete-noopts", maps("DELETE", "/c")),
        plain("deletecoll", maps("DELETE", "")),
        (
            "forbidden",
            ALICE,
            maps("GET", ""),
            Vec::new(),
            String::new(),
        ),
        (
            "forbidden-post",
            ALICE,
            maps("POST", ""),
            json(),
            map.to_owned(),
        ),
        (
            "unauth",
            ("authorization", "Bearer nonsense"),
            maps("GET", ""),
            Vec::new(),
            String::new(),
        ),
        ("anon", NOBODY, maps("GET", ""), Vec::new(), String::new()),
        (
            "healthz",
            NOBODY,
            "GET /healthz".into(),
            Vec::new(),
            String::new(),
        ),
        (
            "version",
            NOBODY,
            "GET /version?x=1".into(),
            Vec::new(),
            String::new(),
        ),
        plain("api404", "GET /nothing".into()),
        plain("res404", "GET /api/v1/namespaces/aa/nothings".into()),
        plain("group404", "GET /apis/nope/v1/nothings".into()),
        (
            "imp",
            ADMIN,
            maps("GET", ""),
            vec![
                ("impersonate-user", "zoe"),
                ("impersonate-group", "g1"),
                ("impersonate-extra-a", "b"),
                ("impersonate-uid", "u1"),
            ],
            String::new(),
        ),
        (
            "imp-denied",
            ALICE,
            maps("GET", ""),
            vec![("impersonate-user", "zoe")],
            String::new(),
        ),
        (
            "xff",
            ADMIN,
            maps("GET", "/none"),
            vec![
                ("x-forwarded-for", "1.2.3.4, 5.6.7.8"),
                ("x-real-ip", "9.9.9.9"),
            ],
            String::new(),
        ),
        (
            "auditid",
            ADMIN,
            "GET /version".into(),
            vec![("audit-id", "my id")],
            String::new(),
        ),
        plain("log", format!("GET {pods}/none/log")),
        plain("exec", format!("POST {pods}/none/exec?command=ls")),
        post(
            "token",
            "/api/v1/namespaces/aa/serviceaccounts",
            r#"{"metadata":{"name":"sa"}}"#,
        ),
        post(
            "sar",
            "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews",
            r#"{"spec":{"resourceAttributes":{"verb":"get","resource":"pods"}}}"#,
        ),
        post(
            "dryrun",
            "/api/v1/namespaces/aa/configmaps?dryRun=All",
            r#"{"metadata":{"name":"dd"}}"#,
        ),
        (
            "delete-dep",
            ADMIN,
            "DELETE /apis/apps/v1/namespaces/aa/deployments/none".into(),
            json(),
            String::new(),
        ),
        plain("deprecated", "GET /api/v1/namespaces/aa/endpoints".into()),
        post(
            "pod",
            pods,
            r#"{"metadata":{"name":"p"},"spec":{"containers":[{"name":"c","image":"i"}]}}"#,
        ),
        post(
            "binding",
            &format!("{pods}/p/binding"),
            r#"{"target":{"name":"n"}}"#,
        ),
        (
            "podstatus",
            ADMIN,
            format!("PATCH {pods}/p/status"),
            of("application/strategic-merge-patch+json"),
            r#"{"status":{"phase":"Running"}}"#.to_owned(),
        ),
        post(
            "eviction",
            &format!("{pods}/p/eviction"),
            r#"{"metadata":{"name":"p"}}"#,
        ),
        plain(
            "delete-pod",
            format!("DELETE {pods}/p?gracePeriodSeconds=0"),
        ),
        plain("head", maps("HEAD", "")),
        plain("options", maps("OPTIONS", "")),
        (
            "put-method",
            ADMIN,
            maps("PUT", ""),
            json(),
            "{}".to_owned(),
        ),
        plain("ua-long", "GET /version".into()),
        post(
            "cr-create",
            comets,
            r#"{"apiVersion":"sky.io/v1","kind":"Comet","metadata":{"name":"h"},"spec":{"b":"x","zz":1}}"#,
        ),
        plain("cr-list", format!("GET {comets}")),
        (
            "cr-patch",
            ADMIN,
            format!("PATCH {comets}/h"),
            of("application/merge-patch+json"),
            r#"{"spec":{"b":"y"}}"#.to_owned(),
        ),
        plain("cr-delete", format!("DELETE {comets}/h")),
    ]
}

#[tokio::test(start_paused = true)]
async fn events_are_those_of_a_real_server() {
    let server = Audited::start(Policy::everything(Level::RequestResponse)).await;
    let (code, _) = server
        .admin(
            "POST /apis/apiextensions.k8s.io/v1/customresourcedefinitions",
            &comets(),
        )
        .await;
    assert_eq!(code, 201);
    let mut version = "0".to_owned();
    let mut wrong = Vec::new();
    for i in 0..requests("").len() {
        let (name, credentials, request, headers, body) = requests(&version).swap_remove(i);
        let agent = match name {
            "ua-long" => "a".repeat(1100),
            name => format!("t/1 ({name})"),
        };
        let mut headers = headers;
        headers.extend([credentials, ("user-agent", agent.as_str())]);
        server.take();
        let (_, answer) = server.send(&request, &headers, &body).await;
        if name == "get" {
            let map: Value = serde_json::from_slice(&answer).expect("an object");
            version = map["metadata"]["resourceVersion"]
                .as_str()
                .unwrap_or_default()
                .to_owned();
        }
        let lines = server.take().into_iter().map(|event| event.to_json());
        let ours: Vec<Value> = lines.map(|line| normal(&line)).collect();
        let recorded = RECORDED
            .lines()
            .filter(|line| line.contains(&agent[..agent.len().min(1024)]));
        let theirs: Vec<Value> = recorded.map(normal).collect();
        assert!(!theirs.is_empty(), "{name} was not recorded");
        if ours != theirs {
            wrong.push(format!(
                "{name}:\nours   {}\ntheirs {}",
                json!(ours),
                json!(theirs)
            ));
        }
    }
    assert!(
        wrong.is_empty(),
        "{} differ:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
}

#[tokio::test]
async fn the_order_of_the_fields_is_that_of_the_log() {
    let server = Audited::start(Policy::everything(Level::RequestResponse)).await;
    let headers = [
        ADMIN,
        ("content-type", "application/json"),
        ("user-agent", "t"),
    ];
    let body = r#"{"metadata":{"name":"a"}}"#;
    server.send("POST /api/v1/namespaces", &headers, body).await;
    let ours = server.take().pop().expect("an event").to_json();
    let theirs = RECORDED.lines().nth(1).expect("a line");
    let mut at = (0, 0);
    for key in [
        "kind",
        "apiVersion",
        "level",
        "auditID",
        "stage",
        "requestURI",
        "verb",
        "user",
        "sourceIPs",
        "userAgent",
        "objectRef",
        "responseStatus",
        "requestObject",
        "responseObject",
        "requestReceivedTimestamp",
        "stageTimestamp",
        "annotations",
    ] {
        let find = |line: &str, from: usize| {
            let key = format!("\"{key}\":");
            line[from..].find(&key).map(|found| from + found)
        };
        at = (
            find(&ours, at.0).expect(key),
            find(theirs, at.1).expect(key),
        );
    }
}

fn comets() -> Value {
    let spec = json!({"type": "object", "properties": {
        "a": {"type": "integer", "default": 4}, "b": {"type": "string"},
    }});
    json!({
        "metadata": {"name": "comets.sky.io"},
        "spec": {
            "group": "sky.io", "scope": "Namespaced", "names": {"plural": "comets", "kind": "Comet"},
            "versions": [{
                "name": "v1", "served": true, "storage": true,
                "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": spec}}},
            }],
        },
    })
}

/// Replaces what differs from run to run.
fn normal(line: &str) -> Value {
    let mut event: Value = serde_json::from_str(line).expect("a line of JSON");
    // There is no admission plugin PodSecurity here.
    if let Some(annotations) = event["annotations"].as_object_mut() {
        annotations.remove("pod-security.kubernetes.io/enforce-policy");
    }
    replace(&mut event);
    event
}

fn replace(value: &mut Value) {
    const CHANGING: [&str; 8] = [
        "auditID",
        "requestReceivedTimestamp",
        "stageTimestamp",
        "resourceVersion",
        "creationTimestamp",
        "time",
        "continue",
        "lastTransitionTime",
    ];
    match value {
        Value::Array(items) => items.iter_mut().for_each(replace),
        Value::Object(fields) => {
            for (key, field) in fields {
                let text = field.as_str().unwrap_or_default();
                let generated =
                    (key == "uid" && text.len() == 36) || (key == "name" && text.starts_with("c-"));
                match text {
                    "" => replace(field),
                    // The id that a client chose is kept.
                    "my id" => {}
                    _ if CHANGING.contains(&key.as_str()) || generated => *field = json!("..."),
                    _ => {}
                }
            }
        }
        _ => {}
    }
}
