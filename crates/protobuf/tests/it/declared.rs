//! Kinds that are declared at run time.

use kubewright_protobuf::{
    DeclareError, DeclaredType, EncodeError, ListType, MAGIC, MessageField, MessageType,
    Transcoder, ValueType,
};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::hostile::{envelope, field as block};

fn field(json: &str, number: u16, value: ValueType) -> MessageField {
    MessageField {
        json: json.into(),
        number,
        value,
        required: false,
    }
}

fn message(name: &str, fields: Vec<MessageField>) -> MessageType {
    MessageType {
        name: name.into(),
        fields,
    }
}

fn list(of: ValueType) -> ValueType {
    ValueType::List(Box::new(of))
}

fn map(of: ValueType) -> ValueType {
    ValueType::Map(Box::new(of))
}

fn planet() -> MessageType {
    let moon = message(
        "PlanetSpecMoons",
        vec![
            field("name", 1, ValueType::String),
            field("radius", 2, ValueType::Double),
        ],
    );
    let mut required = field("names", 9, list(ValueType::String));
    required.required = true;
    let spec = message(
        "PlanetSpec",
        vec![
            field("habitable", 1, ValueType::Bool),
            field("rings", 2, ValueType::Int32),
            field("distance", 3, ValueType::Int64),
            field("mass", 4, ValueType::Double),
            field("colour", 5, ValueType::String),
            field("port", 6, ValueType::IntOrString),
            field("moons", 7, list(ValueType::Message(moon))),
            field("gases", 8, map(ValueType::Double)),
            required,
            field("anything", 10, ValueType::Json),
            field("matrix", 11, list(list(ValueType::Int64))),
            field("years", 12, list(ValueType::Int32)),
        ],
    );
    message(
        "Planet",
        vec![
            field("metadata", 1, ValueType::ObjectMeta),
            field("spec", 2, ValueType::Message(spec)),
        ],
    )
}

const VERSION: &str = "sky.example.com/v1";

fn planets() -> DeclaredType {
    DeclaredType::new(VERSION, "Planet", "PlanetList", &planet()).unwrap()
}

fn encode(value: &Value) -> Result<Vec<u8>, EncodeError> {
    let mut out = Vec::new();
    Transcoder::new().object(planets().object(), value.to_string().as_bytes(), &mut out)?;
    Ok(out)
}

fn saturn() -> Value {
    json!({
        "apiVersion": VERSION, "kind": "Planet",
        "metadata": {
            "name": "saturn", "uid": "1", "resourceVersion": "7", "labels": {"rings": "yes"},
            "creationTimestamp": "2026-01-02T03:04:05Z",
        },
        "spec": {
            "habitable": false, "rings": -7, "distance": 1_434_000_000_000_i64, "mass": 95.2, "colour": "",
            "port": 5_000_000_000_i64, "moons": [{"name": "titan", "radius": 2574.5}, {}],
            "gases": {"helium": 3, "hydrogen": 96.5, "": 0.5}, "names": ["Cronus"],
            "anything": {"a": [1, null, {"b": 1.5}]}, "matrix": [[1, 2], []], "years": [0, 29],
        },
    })
}

#[test]
fn objects_come_back_as_they_were() {
    let bytes = encode(&saturn()).unwrap();
    let decoded = planets().decode(&bytes).unwrap();
    assert_eq!(decoded.value, saturn());
    assert!(bytes.len() < saturn().to_string().len());
    // Zero values and absent ones differ; required lists are empty.
    let empty =
        json!({"apiVersion": VERSION, "kind": "Planet", "metadata": {"name": "x"}, "spec": {}});
    let decoded = planets().decode(&encode(&empty).unwrap()).unwrap();
    assert_eq!(decoded.value["spec"], json!({"names": []}));
    let text =
        json!({"apiVersion": VERSION, "kind": "Planet", "spec": {"port": "http", "names": []}});
    let decoded = planets().decode(&encode(&text).unwrap()).unwrap();
    assert_eq!(decoded.value["spec"], text["spec"]);
}

#[test]
fn lists_hold_items() {
    let planets = planets();
    let (list, json) = (planets.list(), saturn().to_string());
    let mut transcoder = Transcoder::new();
    let length = list.item_len(&mut transcoder, json.as_bytes()).unwrap();
    let mut out = Vec::new();
    list.start(&json!({"resourceVersion": "9"}), 2 * length, &mut out)
        .unwrap();
    for _ in 0..2 {
        list.item(&mut transcoder, json.as_bytes(), &mut out)
            .unwrap();
    }
    out.extend(ListType::END);
    // An object of the kind of a list.
    let lists = planet().list("PlanetList");
    let lists = DeclaredType::new(VERSION, "PlanetList", "none", &lists).unwrap();
    let decoded = lists.decode(&out).unwrap().value;
    assert_eq!(decoded["metadata"]["resourceVersion"], "9");
    assert_eq!(decoded["items"][1]["spec"], saturn()["spec"]);
}

#[test]
fn values_of_other_types_are_errors() {
    for (path, value) in [
        ("rings", json!("seven")),
        ("moons", json!({})),
        ("gases", json!([])),
        ("habitable", json!(1)),
        ("port", json!([])),
    ] {
        let mut object = saturn();
        object["spec"][path] = value;
        let error = encode(&object).unwrap_err();
        assert!(
            matches!(error, EncodeError::Mismatch { field, .. } if field == path),
            "{path}: {error}"
        );
    }
}

#[test]
fn other_kinds_and_bad_bytes_are_errors() {
    let planets = planets();
    let error = |bytes: &[u8]| planets.decode(bytes).unwrap_err().to_string();
    assert!(error(b"{}").contains("expected prefix"));
    assert_eq!(error(&MAGIC), "empty body");
    let other = error(&envelope(VERSION, "Comet", &[]));
    assert!(
        other.starts_with("no kind \"Comet\" is registered for version \"sky.example.com/v1\""),
        "{other}"
    );
    let pod = error(&envelope("v1", "Pod", &[]));
    assert!(pod.starts_with("no kind \"Pod\""), "{pod}");
    // A number in the place of the spec, a length behind the end, and a group that never ends.
    assert_eq!(
        error(&envelope(VERSION, "Planet", &[2 << 3, 1])),
        "proto: wrong wireType = 0 for field spec"
    );
    assert_eq!(
        error(&envelope(VERSION, "Planet", &[2 << 3 | 2, 100])),
        "unexpected EOF"
    );
    assert!(!error(&envelope(VERSION, "Planet", &[9 << 3 | 3])).is_empty());
    let not_json = block(2, &block(10, &block(1, b"{")));
    assert!(error(&envelope(VERSION, "Planet", &not_json)).starts_with("json: "));
}

#[test]
fn unknown_fields_are_skipped() {
    let spec = [block(5, b"red"), block(15, b"of a newer server")].concat();
    let raw = [block(2, &spec), block(14, b"too")].concat();
    let decoded = planets().decode(&envelope("", "", &raw)).unwrap();
    assert_eq!((&*decoded.api_version, &*decoded.kind), (VERSION, "Planet"));
    assert_eq!(decoded.value["spec"], json!({"colour": "red", "names": []}));
}

#[test]
fn fields_have_different_names_and_numbers() {
    let error = |fields| {
        let message = message("Planet", fields);
        DeclaredType::new(VERSION, "Planet", "PlanetList", &message).unwrap_err()
    };
    let twice = error(vec![
        field("a", 1, ValueType::Bool),
        field("b", 1, ValueType::Bool),
    ]);
    assert!(matches!(twice, DeclareError::SameNumber { number: 1, .. }));
    let named = error(vec![
        field("a", 1, ValueType::Bool),
        field("a", 2, ValueType::Bool),
    ]);
    assert!(matches!(named, DeclareError::SameName { .. }));
    for number in [0, MessageType::HIGHEST_NUMBER + 1] {
        let nested = message("Inner", vec![field("a", number, ValueType::Bool)]);
        let nested = list(map(ValueType::Message(nested)));
        let error = error(vec![field("inner", 1, nested)]);
        assert!(matches!(error, DeclareError::Number { .. }), "{error}");
    }
}

proptest! {
    #[test]
    fn any_bytes_are_decoded_or_refused(raw in proptest::collection::vec(any::<u8>(), 0..200)) {
        let planets = planets();
        if let Ok(decoded) = planets.decode(&envelope(VERSION, "Planet", &raw)) {
            prop_assert_eq!(decoded.kind, "Planet");
        }
    }
}
