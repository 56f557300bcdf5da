//! Conversion by a webhook: all objects in one call, with checks of the response.

use std::sync::Arc;

use base64::{Engine, engine::general_purpose::STANDARD};
use http::Method;
use kubewright_testing::TestCluster;
use parking_lot::Mutex;
use rcgen::{CertifiedKey, generate_simple_self_signed};
use rustls::{ServerConfig, pki_types::PrivateKeyDer};
use serde_json::{Value, json};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpListener,
};
use tokio_rustls::TlsAcceptor;

use super::{CRDS, WIDGETS, definition, spec, version, widget};
use crate::http_client::{APPLY, Http};

pub(crate) const V2: &str = "/apis/example.com/v2/namespaces/default/widgets";

/// The behaviour of an endpoint: maps a review, which has the `path` it was sent to, to the status and the body (or the
/// redirect) of the response. `None` means that it never responds.
pub(crate) type Behaviour = fn(&Value) -> Option<(u16, String)>;

pub(crate) struct Endpoint {
    url: String,
    ca_bundle: String,
    /// The number of objects in each call.
    pub(crate) calls: Arc<Mutex<Vec<usize>>>,
}

/// An endpoint that converts with a function.
async fn endpoint(behaviour: Behaviour) -> Endpoint {
    let CertifiedKey { cert, signing_key } =
        generate_simple_self_signed(["localhost".to_owned()]).expect("a certificate");
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let key = PrivateKeyDer::try_from(signing_key.serialize_der()).expect("a key");
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .expect("versions")
        .with_no_client_auth()
        .with_single_cert(vec![cert.der().clone()], key)
        .expect("a server");
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let port = listener.local_addr().expect("an address").port();
    let calls: Arc<Mutex<Vec<usize>>> = Arc::default();
    let (seen, acceptor) = (calls.clone(), TlsAcceptor::from(Arc::new(config)));
    tokio::spawn(async move {
        while let Ok((socket, _)) = listener.accept().await {
            let (acceptor, seen) = (acceptor.clone(), seen.clone());
            tokio::spawn(async move {
                let Ok(mut stream) = acceptor.accept(socket).await else {
                    return;
                };
                let review = read_review(&mut stream).await;
                let objects = review["request"]["objects"].as_array().map_or(0, Vec::len);
                seen.lock().push(objects);
                let Some((code, body)) = behaviour(&review) else {
                    std::future::pending::<()>().await;
                    return;
                };
                let (location, body) = match code {
                    300..400 => (format!("location: {body}\r\n"), String::new()),
                    _ => (String::new(), body),
                };
                let head = format!(
                    "HTTP/1.1 {code} X\r\ncontent-length: {}\r\n{location}\r\n",
                    body.len()
                );
                let _ = stream.write_all(head.as_bytes()).await;
                let _ = stream.write_all(body.as_bytes()).await;
            });
        }
    });
    Endpoint {
        url: format!("https://localhost:{port}/convert"),
        ca_bundle: STANDARD.encode(cert.pem()),
        calls,
    }
}

/// Returns the request that was sent; for a request without a body, only the path.
async fn read_review(stream: &mut (impl AsyncReadExt + Unpin)) -> Value {
    let mut bytes = Vec::new();
    let mut buffer = [0; 4096];
    loop {
        let read = stream.read(&mut buffer).await.unwrap_or(0);
        bytes.extend_from_slice(&buffer[..read]);
        let text = String::from_utf8_lossy(&bytes);
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let path = head.split(' ').nth(1).unwrap_or_default();
            if head.starts_with("GET") {
                return json!({"path": path});
            }
            if let Ok(mut review) = serde_json::from_str::<Value>(body) {
                review["path"] = json!(path);
                return review;
            }
        }
        if read == 0 {
            return Value::Null;
        }
    }
}

/// A review with every object converted by a function.
fn reply(review: &Value, convert: impl Fn(&mut Value)) -> Option<(u16, String)> {
    let request = &review["request"];
    let mut objects = request["objects"].as_array().cloned().unwrap_or_default();
    for object in &mut objects {
        object["apiVersion"] = request["desiredAPIVersion"].clone();
        convert(object);
    }
    answer(review, json!({"status": "Success"}), objects)
}

fn answer(review: &Value, result: Value, objects: Vec<Value>) -> Option<(u16, String)> {
    let body = json!({
        "kind": "ConversionReview",
        "apiVersion": review["apiVersion"],
        "response": {"uid": review["request"]["uid"], "result": result, "convertedObjects": objects},
    });
    Some((200, body.to_string()))
}

/// A field moves from version to version.
pub(crate) fn moving(review: &Value) -> Option<(u16, String)> {
    reply(review, |object| {
        let spec = &mut object["spec"];
        let (from, to) = if spec.get("one").is_some() {
            ("one", "two")
        } else {
            ("two", "one")
        };
        let value = spec[from].take();
        *spec = json!({to: value});
    })
}

pub(crate) async fn converting(behaviour: Behaviour) -> (TestCluster, Http, Endpoint) {
    let cluster = TestCluster::start().await;
    let http = Http::of(&cluster);
    let endpoint = endpoint(behaviour).await;
    let with = |name: &str| spec(json!({name: {"type": "string"}}));
    let mut crd = definition(json!([
        version("v1", true, with("one")),
        version("v2", false, with("two"))
    ]));
    crd["spec"]["conversion"] = json!({"strategy": "Webhook", "webhook": {
        "conversionReviewVersions": ["v1"],
        "clientConfig": {"url": endpoint.url, "caBundle": endpoint.ca_bundle},
    }});
    http.post(CRDS, crd).await.ok();
    for name in ["a", "b", "c"] {
        http.post(WIDGETS, widget(name, json!({"one": name})))
            .await
            .ok();
    }
    (cluster, http, endpoint)
}

#[tokio::test]
async fn objects_are_converted_in_both_directions_many_at_once() {
    let (_cluster, http, endpoint) = converting(moving).await;
    assert!(endpoint.calls.lock().is_empty());
    assert_eq!(
        http.get(&format!("{V2}/a")).await.ok()["spec"],
        json!({"two": "a"})
    );
    let list = http.get(V2).await.ok();
    assert_eq!(list["items"][2]["spec"], json!({"two": "c"}));
    assert_eq!(*endpoint.calls.lock(), [1, 3]);
    let mut object = widget("d", json!({"two": "d"}));
    object["apiVersion"] = json!("example.com/v2");
    assert_eq!(
        http.post(V2, object).await.ok()["spec"],
        json!({"two": "d"})
    );
    assert_eq!(
        http.get(&format!("{WIDGETS}/d")).await.ok()["spec"],
        json!({"one": "d"})
    );
    let changed = http
        .patch(&format!("{V2}/d"), json!({"spec": {"two": "e"}}))
        .await
        .ok();
    assert_eq!(changed["spec"], json!({"two": "e"}));
    assert_eq!(
        http.get(&format!("{WIDGETS}/d")).await.ok()["spec"],
        json!({"one": "e"})
    );
}

/// A field moves from version to version, if the object has it.
fn moving_what_is_there(review: &Value) -> Option<(u16, String)> {
    reply(review, |object| {
        let Some(spec) = object.get_mut("spec").and_then(Value::as_object_mut) else {
            return;
        };
        if let Some(value) = spec.remove("one") {
            spec.insert("two".to_owned(), value);
        } else if let Some(value) = spec.remove("two") {
            spec.insert("one".to_owned(), value);
        }
    })
}

#[tokio::test]
async fn fields_owned_in_another_version_are_converted() {
    let (_cluster, http, _endpoint) = converting(moving_what_is_there).await;
    let apply = async |version: &str, manager: &str, spec: Value| {
        let mut object = widget("m", spec);
        object["apiVersion"] = json!(format!("example.com/{version}"));
        let path = format!(
            "/apis/example.com/{version}/namespaces/default/widgets/m?fieldManager={manager}"
        );
        http.send(Method::PATCH, &path, APPLY, object.to_string())
            .await
    };
    let owners = |object: &Value| {
        let entries = object["metadata"]["managedFields"].as_array();
        let entries = entries.into_iter().flatten();
        let entry = |e: &Value| json!([e["manager"], e["apiVersion"], e["fieldsV1"]]);
        let mut entries = entries.map(entry).collect::<Vec<_>>();
        // Entries of the same kind are ordered by time.
        entries.sort_by_key(|entry| entry[0].to_string());
        entries
    };
    apply("v1", "old", json!({"one": "x"})).await.ok();
    apply("v2", "new", json!({"two": "y"})).await.refused_with(
        409,
        "Apply failed with 1 conflict: conflict with \"old\": .spec.one",
    );
    let shared = apply("v2", "new", json!({"two": "x"})).await.ok();
    let old = json!(["old", "example.com/v1", {"f:spec": {"f:one": {}}}]);
    let new = json!(["new", "example.com/v2", {"f:spec": {"f:two": {}}}]);
    assert_eq!(owners(&shared), [new.clone(), old]);
    // The manager of the old version moves to the new one.
    let moved = apply("v2", "old", json!({"two": "x"})).await.ok();
    assert_eq!(moved["spec"], json!({"two": "x"}));
    let old = json!(["old", "example.com/v2", {"f:spec": {"f:two": {}}}]);
    assert_eq!(owners(&moved), [new, old]);
    // An update takes fields away from the owners in another version.
    apply("v1", "old", json!({"one": "x"})).await.ok();
    let path = format!("{V2}/m?fieldManager=updater");
    let updated = http.patch(&path, json!({"spec": {"two": "z"}})).await.ok();
    let updater = json!(["updater", "example.com/v2", {"f:spec": {"f:two": {}}}]);
    assert_eq!(owners(&updated), [updater]);
}

#[tokio::test]
async fn an_endpoint_that_does_wrong_is_caught() {
    let cases: [(Behaviour, &str); 7] = [
        (
            |r| answer(r, json!({"status": "Failure", "message": "no way"}), vec![]),
            "failed: no way",
        ),
        (
            |r| answer(r, json!({"status": "Success"}), vec![]),
            "returned 0 objects, expected 1",
        ),
        (
            |r| reply(r, |o| o["metadata"]["name"] = json!("other")),
            "returned invalid object: must have the same name: a != other",
        ),
        (
            |r| reply(r, |o| o["apiVersion"] = json!("example.com/v1")),
            "returned invalid object at index 0: invalid groupVersion (expected example.com/v2, received example.com/v1)",
        ),
        (
            |r| reply(r, |o| o["kind"] = json!("Gadget")),
            "returned invalid object at index 0: invalid kind (expected Widget, received Gadget)",
        ),
        (
            |_| Some((307, String::new())),
            "the server responded with the status code 307",
        ),
        (
            |_| Some((500, "broken".to_owned())),
            "has prevented the request from succeeding",
        ),
    ];
    for (behaviour, text) in cases {
        let (_cluster, http, _endpoint) = converting(behaviour).await;
        let status = http.get(&format!("{V2}/a")).await.refused(500);
        let message = status["message"].as_str().unwrap();
        assert!(
            message.starts_with("conversion webhook for example.com/v1, Kind=Widget"),
            "{message}"
        );
        assert!(message.contains(text), "{message}");
        // What needs no conversion goes on.
        http.get(WIDGETS).await.ok();
    }
}

#[tokio::test]
async fn a_dry_run_asks_the_endpoint_too() {
    let (_cluster, http, _endpoint) = converting(moving).await;
    let mut object = widget("d", json!({"two": "d"}));
    object["apiVersion"] = json!("example.com/v2");
    let tried = http
        .post(&format!("{V2}?dryRun=All"), object.clone())
        .await
        .ok();
    assert_eq!(tried["spec"], json!({"two": "d"}));
    let broken: Behaviour = |_| Some((503, String::new()));
    let (_cluster, http, _endpoint) = converting(broken).await;
    http.post(&format!("{V2}?dryRun=All"), object).await.refused_with(
        500,
        "conversion webhook for example.com/v2, Kind=Widget failed: the server is currently unable to handle the request",
    );
}

#[tokio::test(start_paused = true)]
async fn an_endpoint_that_hangs_is_given_up() {
    let (_cluster, http, _endpoint) = converting(|_| None).await;
    let status = http.get(&format!("{V2}/a")).await.refused(500);
    assert!(
        status["message"]
            .as_str()
            .unwrap()
            .ends_with("context deadline exceeded")
    );
    http.get(WIDGETS).await.ok();
}

#[tokio::test]
async fn metadata_other_than_labels_and_annotations_stays_what_it_was() {
    let (_cluster, http, _endpoint) = converting(|r| {
        reply(r, |o| {
            o["metadata"]["labels"] = json!({"seen": "yes"});
            o["metadata"]["generation"] = json!(99);
        })
    })
    .await;
    let seen = http.get(&format!("{V2}/a")).await.ok();
    assert_eq!(seen["metadata"]["labels"], json!({"seen": "yes"}));
    assert_eq!(seen["metadata"]["generation"], 1);
}

#[tokio::test]
async fn an_endpoint_that_does_half_of_a_list_fails_it_whole() {
    fn spoil(review: &Value, spoil: fn(&mut Vec<Value>)) -> Option<(u16, String)> {
        let request = &review["request"];
        let mut objects = request["objects"].as_array().cloned().unwrap_or_default();
        for object in &mut objects {
            object["apiVersion"] = request["desiredAPIVersion"].clone();
        }
        spoil(&mut objects);
        answer(review, json!({"status": "Success"}), objects)
    }
    let cases: [(Behaviour, &str); 4] = [
        (
            |r| {
                spoil(r, |all| {
                    all.pop();
                })
            },
            "returned 2 objects, expected 3",
        ),
        (
            |r| spoil(r, |all| all[1]["metadata"]["name"] = json!("other")),
            "returned invalid converted object at index 1: must have the same name: b != other",
        ),
        (
            |r| spoil(r, |all| all[2]["apiVersion"] = json!("example.com/v1")),
            "returned invalid converted object at index 2: invalid groupVersion (expected example.com/v2, received example.com/v1)",
        ),
        (
            |r| {
                let half = json!({"status": "Failure", "message": "half of it"});
                answer(r, half, vec![])
            },
            "failed: half of it",
        ),
    ];
    for (behaviour, text) in cases {
        let (_cluster, http, _endpoint) = converting(behaviour).await;
        let message = http.get(V2).await.refused(500)["message"].to_string();
        let whole = format!("conversion webhook for example.com/v1, Kind=WidgetList {text}");
        assert_eq!(message, json!(whole).to_string());
        assert_eq!(http.get(WIDGETS).await.names(), ["a", "b", "c"]);
    }
}
