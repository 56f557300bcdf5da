//! Kinds in protobuf.

use std::{collections::BTreeMap, sync::Arc};

use http::{Request, Response};
use http_body_util::BodyExt;
use kube::CustomResource;
use kubewright_apiserver::Body;
use kubewright_extension_apiserver::{ExtensionServer, Kind};
use kubewright_protobuf::{DeclaredType, MessageField, MessageType, Transcoder, ValueType};
use kubewright_resource::{SameAsHub, Schema, Versions};
use kubewright_store::MemoryStore;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::sky::{COMETS, Comet, Comets, comet, delete, get, post};

/// A planet.
#[kubewright::defaults]
#[derive(CustomResource, Schema, Clone, Debug, PartialEq, Serialize, Deserialize)]
#[kube(
    group = "sky.example.com",
    version = "v1",
    kind = "Planet",
    status = "PlanetStatus"
)]
pub(crate) struct PlanetSpec {
    /// Not the one of its moons.
    #[schema(protobuf = 2, default = "grey")]
    colour: String,
    #[schema(protobuf = 1, minimum = 0)]
    rings: i32,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schema(protobuf = 4)]
    moons: Vec<Moon>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schema(protobuf = 5)]
    gases: BTreeMap<String, f64>,
}

#[derive(Schema, Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Moon {
    #[schema(protobuf = 1)]
    name: String,
    #[serde(default, rename = "dark-side")]
    #[schema(protobuf = 3)]
    dark_side: Option<bool>,
}

#[derive(Schema, Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct PlanetStatus {
    #[schema(protobuf = 1)]
    visitors: Option<i64>,
}

const PLANETS: &str = "/apis/sky.example.com/v1/planets";
const PROTOBUF: &str = "application/vnd.kubernetes.protobuf";

fn planets() -> Kind<Planet> {
    Kind::stored(Arc::new(MemoryStore::new()))
}

fn server(kind: Kind<Planet>) -> ExtensionServer {
    ExtensionServer::builder().kind(kind).build().unwrap()
}

fn saturn() -> Value {
    json!({
        "apiVersion": "sky.example.com/v1", "kind": "Planet",
        "metadata": {"name": "saturn", "labels": {"size": "large"}, "annotations": {"a": "b"}},
        "spec": {
            "colour": "yellow", "rings": 7, "moons": [{"name": "titan", "dark-side": false}, {"name": "rhea"}],
            "gases": {"helium": 3.25, "hydrogen": 96},
        },
    })
}

/// Returns the type that a client generates from the `.proto` file.
fn known(version: &str) -> DeclaredType {
    let field = |json: &str, number, value| MessageField {
        json: json.into(),
        number,
        value,
        required: false,
    };
    let message = |fields| MessageType {
        name: "any".into(),
        fields,
    };
    let moon = message(vec![
        field("name", 1, ValueType::String),
        field("dark-side", 3, ValueType::Bool),
    ]);
    let spec = message(vec![
        field("rings", 1, ValueType::Int32),
        field("colour", 2, ValueType::String),
        field(
            "moons",
            4,
            ValueType::List(Box::new(ValueType::Message(moon))),
        ),
        field("gases", 5, ValueType::Map(Box::new(ValueType::Double))),
    ]);
    let status = message(vec![field("visitors", 1, ValueType::Int64)]);
    let planet = message(vec![
        field("metadata", 1, ValueType::ObjectMeta),
        field("spec", 2, ValueType::Message(spec)),
        field("status", 3, ValueType::Message(status)),
    ]);
    let version = format!("sky.example.com/{version}");
    DeclaredType::new(&version, "Planet", "PlanetList", &planet).unwrap()
}

fn list_of(items: &DeclaredType) -> DeclaredType {
    // A list is an object with these fields.
    let raw = |json: &str, number, value| MessageField {
        json: json.into(),
        number,
        value,
        required: false,
    };
    let version = items.object().api_version();
    let list = MessageType {
        name: "PlanetList".into(),
        fields: vec![raw("metadata", 1, ValueType::ListMeta)],
    };
    DeclaredType::new(version, "PlanetList", "none", &list).unwrap()
}

fn encoded(object: &Value) -> Vec<u8> {
    let mut out = Vec::new();
    let ty = known("v1");
    let json = object.to_string();
    Transcoder::new()
        .object(ty.object(), json.as_bytes(), &mut out)
        .unwrap();
    out
}

async fn bytes_of(response: Response<Body>) -> Vec<u8> {
    response
        .into_body()
        .collect()
        .await
        .unwrap()
        .to_bytes()
        .into()
}

/// Sends a body in protobuf. Returns the response in protobuf.
async fn write(
    server: &ExtensionServer,
    method: &str,
    path: &str,
    body: Vec<u8>,
) -> (u16, Vec<u8>) {
    let request = Request::builder().method(method).uri(path);
    let request = request
        .header("content-type", PROTOBUF)
        .header("accept", PROTOBUF);
    let response = server.handle(request.body(Body::from(body)).unwrap()).await;
    assert_eq!(response.headers()["content-type"], PROTOBUF);
    (response.status().as_u16(), bytes_of(response).await)
}

async fn read(server: &ExtensionServer, path: &str) -> (u16, Vec<u8>) {
    let request = Request::get(path).header("accept", PROTOBUF);
    let response = server.handle(request.body(Body::empty()).unwrap()).await;
    (response.status().as_u16(), bytes_of(response).await)
}

fn status(bytes: &[u8]) -> Value {
    kubewright_protobuf::decode(bytes, ("v1", "Status"))
        .unwrap()
        .value
}

#[tokio::test]
async fn objects_are_the_same_in_both_forms() {
    let server = server(planets().protobuf());
    let (code, created) = write(&server, "POST", PLANETS, encoded(&saturn())).await;
    assert_eq!(code, 201);
    let path = format!("{PLANETS}/saturn");
    let (_, json) = get(&server, &path).await;
    assert_eq!(json["spec"], saturn()["spec"]);
    assert_eq!(known("v1").decode(&created).unwrap().value, json);
    let (_, bytes) = read(&server, &path).await;
    assert_eq!(known("v1").decode(&bytes).unwrap().value, json);
    // What was read can be written back, and is the same object.
    let (code, same) = write(&server, "PUT", &path, bytes).await;
    assert_eq!(code, 200);
    assert_eq!(known("v1").decode(&same).unwrap().value, json);
    let mut visited = json.clone();
    visited["status"] = json!({"visitors": -3});
    let (code, _) = write(&server, "PUT", &format!("{path}/status"), encoded(&visited)).await;
    assert_eq!(code, 200);
    assert_eq!(get(&server, &path).await.1["status"]["visitors"], -3);
    let (code, deleted) = write(&server, "DELETE", &path, Vec::new()).await;
    assert_eq!(
        (code, status(&deleted)["status"].clone()),
        (200, json!("Success"))
    );
}

#[tokio::test]
async fn schemas_apply_to_protobuf() {
    let server = server(planets().protobuf());
    let mut mars = saturn();
    mars["metadata"]["name"] = json!("mars");
    mars["spec"] = json!({"rings": 0});
    write(&server, "POST", PLANETS, encoded(&mars)).await;
    let (_, mars) = get(&server, &format!("{PLANETS}/mars")).await;
    assert_eq!(mars["spec"], json!({"colour": "grey", "rings": 0}));
    let mut bad = saturn();
    bad["spec"]["rings"] = json!(-1);
    let (code, rejected) = write(&server, "POST", PLANETS, encoded(&bad)).await;
    assert_eq!(code, 422);
    let message = status(&rejected)["message"].to_string();
    assert!(
        message.contains("spec.rings: Invalid value: -1"),
        "{message}"
    );
}

#[tokio::test]
async fn lists_and_watches_are_in_protobuf() {
    let server = server(planets().protobuf());
    for name in ["mars", "saturn"] {
        let mut planet = saturn();
        planet["metadata"]["name"] = json!(name);
        post(&server, PLANETS, &planet).await;
    }
    let (code, bytes) = read(&server, &format!("{PLANETS}?limit=1")).await;
    assert_eq!(code, 200);
    let list = list_of(&known("v1")).decode(&bytes).unwrap();
    assert!(
        !list.value["metadata"]["continue"]
            .as_str()
            .unwrap()
            .is_empty()
    );
    assert!(bytes.windows(4).any(|w| w == b"mars") && !bytes.windows(6).any(|w| w == b"saturn"));
    let (_, all) = read(&server, PLANETS).await;
    assert!(all.windows(6).any(|w| w == b"saturn"));

    let accept = format!("{PROTOBUF};stream=watch");
    let request = Request::get(format!("{PLANETS}?watch=true")).header("accept", &accept);
    let response = server.handle(request.body(Body::empty()).unwrap()).await;
    assert_eq!(response.headers()["content-type"], *accept);
    let mut body = response.into_body();
    let mut received = Vec::new();
    for name in ["mars", "saturn"] {
        let event = loop {
            if let Some((length, rest)) = received.split_first_chunk::<4>() {
                let length = u32::from_be_bytes(*length) as usize;
                if rest.len() >= length {
                    break received.drain(..4 + length).skip(4).collect::<Vec<u8>>();
                }
            }
            let frame = body.frame().await.unwrap().unwrap();
            received.extend_from_slice(&frame.into_data().unwrap());
        };
        // The type, then the object with its own magic bytes.
        assert_eq!(&event[..7], b"\x0a\x05ADDED");
        let start = event
            .windows(4)
            .position(|w| w == kubewright_protobuf::MAGIC)
            .unwrap();
        let object = known("v1").decode(&event[start..]).unwrap().value;
        let (_, json) = get(&server, &format!("{PLANETS}/{name}")).await;
        assert_eq!(object, json);
    }
}

#[tokio::test]
async fn bad_bodies_are_bad_requests() {
    let server = server(planets().protobuf());
    let envelope = |raw: &[u8]| {
        let head = b"k8s\0\x0a\x1c\x0a\x12sky.example.com/v1\x12\x06Planet\x12";
        [head.as_slice(), &[raw.len() as u8], raw].concat()
    };
    for (body, expected) in [
        (b"{}".to_vec(), "expected prefix [107 56 115 0]"),
        (b"k8s\0".to_vec(), "empty body"),
        (envelope(&[2 << 3, 1]), "wrong wireType = 0 for field spec"),
        (envelope(&[2 << 3 | 2, 99]), "unexpected EOF"),
        (
            kubewright_protobuf::encode(&json!({"apiVersion": "v1", "kind": "Pod"})).unwrap(),
            "no kind \"Pod\" is registered for version \"v1\"",
        ),
    ] {
        let (code, bytes) = write(&server, "POST", PLANETS, body).await;
        let message = status(&bytes)["message"].as_str().unwrap().to_owned();
        assert_eq!(code, 400, "{message}");
        assert!(message.contains(expected), "{message}");
    }
    // The fields of a newer client.
    let metadata = b"\x0a\x08\x0a\x06saturn";
    let newer = [
        metadata.as_slice(),
        b"\x12\x05\x08\x07\x7a\x01x",
        b"\xa2\x06\x00",
    ]
    .concat();
    let (code, _) = write(&server, "POST", PLANETS, envelope(&newer)).await;
    assert_eq!(code, 201);
    let (_, saturn) = get(&server, &format!("{PLANETS}/saturn")).await;
    assert_eq!(saturn["spec"], json!({"colour": "grey", "rings": 7}));
}

#[tokio::test]
async fn kinds_without_numbers_have_no_protobuf() {
    let server = server(planets());
    post(&server, PLANETS, &saturn()).await;
    let (code, _) = read(&server, &format!("{PLANETS}/saturn")).await;
    assert_eq!(code, 406);
    let request = Request::post(PLANETS).header("content-type", PROTOBUF);
    let response = server
        .handle(request.body(Body::from(encoded(&saturn()))).unwrap())
        .await;
    assert_eq!(response.status(), 415);
}

#[tokio::test]
async fn every_version_can_have_numbers() {
    let versions = || Versions::<Planet>::hub().same_as_hub(SameAsHub::new("v1beta1"));
    let beta = planets().versions(versions()).proto("v1beta1").unwrap();
    assert!(beta.contains("package sky.example.com.v1beta1;"), "{beta}");
    let kind = planets().versions(versions()).protobuf().proto_file(beta);
    let server = server(kind);
    post(&server, PLANETS, &saturn()).await;
    for version in ["v1", "v1beta1"] {
        let path = format!("{}/saturn", PLANETS.replace("v1", version));
        let (code, bytes) = read(&server, &path).await;
        assert_eq!(code, 200);
        let (_, json) = get(&server, &path).await;
        assert_eq!(known(version).decode(&bytes).unwrap().value, json);
    }
    let unknown = planets().proto_file("package sky.example.com.v7;");
    let error = ExtensionServer::builder()
        .kind(unknown)
        .build()
        .err()
        .unwrap();
    assert!(error.reason.contains("sky.example.com.v7"), "{error}");
}

#[tokio::test]
async fn computed_kinds_are_served_in_protobuf() {
    let empty = Kind::<Comet>::computed(Comets::default()).proto_file("");
    let file = empty.proto("v1").unwrap();
    let comets = Kind::<Comet>::computed(Comets::default()).proto_file(file);
    let server = ExtensionServer::builder().kind(comets).build().unwrap();
    post(&server, COMETS, &comet("halley", 76)).await;
    let (code, bytes) = read(&server, &format!("{COMETS}/halley")).await;
    assert_eq!(code, 200);
    assert!(bytes.starts_with(b"k8s\0") && bytes.windows(5).any(|w| w == b"white"));
    assert_eq!(read(&server, COMETS).await.0, 200);
    assert_eq!(delete(&server, &format!("{COMETS}/halley")).await.0, 200);
}

#[test]
fn numbers_are_recorded() {
    let file = planets().protobuf().proto("v1").unwrap();
    assert_eq!(file, include_str!("planet.v1.proto"));
    // A file that is generated again stays the same.
    assert_eq!(planets().proto_file(&file).proto("v1").unwrap(), file);
    // Without a record, comets have new numbers; those of removed fields stay reserved, and a field with another type has
    // another number.
    let comets = |file: &str| Kind::<Comet>::stored(Arc::new(MemoryStore::new())).proto_file(file);
    let first = comets("").proto("v1").unwrap();
    assert!(first.contains("optional int32 years = 3;"), "{first}");
    let recorded = first
        .replace(
            "optional int32 years = 3;",
            "optional string years = 3;\n  optional bool icy = 9;",
        )
        .replace("optional string colour = 1;", "optional string colour = 7;");
    let second = comets(&recorded).proto("v1").unwrap();
    assert!(second.contains("reserved 3, 9;"), "{second}");
    assert!(second.contains("optional string colour = 7;"), "{second}");
    assert!(second.contains("optional int32 years = 10;"), "{second}");
    assert_eq!(comets(&second).proto("v1").unwrap(), second);
}

#[test]
fn missing_and_contradictory_numbers_are_build_errors() {
    let reason = |builder: kubewright_extension_apiserver::ExtensionServerBuilder| {
        builder.build().err().expect("an error").reason
    };
    let comets = Kind::<Comet>::stored(Arc::new(MemoryStore::new())).protobuf();
    assert_eq!(
        reason(ExtensionServer::builder().kind(comets)),
        "the field spec.colour has no number in protobuf: add #[schema(protobuf = ...)] to it, or generate the .proto file again"
    );
    let with = |file: &str| reason(ExtensionServer::builder().kind(planets().proto_file(file)));
    assert_eq!(
        with("message PlanetSpec {\n  optional int32 rings = 8;\n}"),
        "the field spec.rings has the number 1 in the type and 8 in the .proto file"
    );
    assert_eq!(
        with("message PlanetSpec {\n  reserved 2;\n}"),
        "the number 2 of PlanetSpec is reserved"
    );
    assert_eq!(
        with("message PlanetSpec {"),
        "the message PlanetSpec of the .proto file has no end"
    );
    // The numbers are not part of the schema.
    let definition = planets().protobuf().definition().unwrap();
    assert!(!definition.to_string().contains("protobuf"));
}
