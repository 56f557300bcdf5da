//! The defaults of the schema are those of Rust.

use std::collections::BTreeMap;

use kube::CustomResource;
use kubewright::{CustomKind, Schema};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// Everything that can have a default.
#[kubewright::defaults]
#[derive(CustomResource, Schema, Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[kube(
    group = "crew.example.com",
    version = "v1",
    kind = "Berth",
    plural = "berths",
    namespaced,
    derive = "Default"
)]
#[serde(rename_all = "camelCase")]
pub(crate) struct BerthSpec {
    #[schema(default = 3, minimum = 1)]
    beds: u8,
    #[schema(default = -5)]
    level: i64,
    #[schema(default = 1)]
    width: f64,
    #[schema(default = true)]
    heated: bool,
    #[schema(default = "blue")]
    colour: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(default = "sea")]
    view: Option<String>,
    #[schema(default = ["a", "b"], list_type = "set")]
    decks: Vec<String>,
    #[schema(default = {"lamp": 2})]
    stores: BTreeMap<String, i32>,
    #[schema(default = "Upper")]
    bunk: Bunk,
    #[schema(default = {"width": 90})]
    #[serde(rename = "hatch")]
    door: Door,
    #[schema(default = 7)]
    r#type: Box<i32>,
    #[serde(default = "two")]
    #[schema(default)]
    hooks: i32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    name: Option<String>,
}

fn two() -> i32 {
    2
}

#[derive(Schema, Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) enum Bunk {
    Upper,
    #[default]
    Lower,
}

#[kubewright::defaults]
#[derive(Schema, Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Door {
    width: i32,
    #[schema(default = "wood")]
    made_of: String,
}

/// A generic type has defaults too.
#[kubewright::defaults]
#[derive(Schema, Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Pair<T> {
    #[schema(default = 4)]
    count: i32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    value: Option<T>,
}

#[test]
fn serde_default_and_the_server_give_an_absent_field_the_same_value() {
    let read: BerthSpec = serde_json::from_value(json!({})).unwrap();
    assert_eq!(read, BerthSpec::default());
    assert_eq!((read.beds, read.level, read.width), (3, -5, 1.0));
    assert_eq!(read.view.as_deref(), Some("sea"));
    assert_eq!(read.bunk, Bunk::Upper);
    assert_eq!(read.door.made_of, "wood");
    assert_eq!(read.hooks, 2);

    let object = json!({
        "apiVersion": "crew.example.com/v1", "kind": "Berth", "metadata": {"name": "a"}, "spec": {},
    });
    let stored: Value = Berth::validator().create(&object).unwrap();
    let spec: BerthSpec = serde_json::from_value(stored["spec"].clone()).unwrap();
    assert_eq!(spec, read);
    assert_eq!(Berth::default().spec, read);
}

#[test]
fn a_field_that_is_there_keeps_its_value() {
    let read: BerthSpec =
        serde_json::from_value(json!({"beds": 1, "view": "wall", "hatch": {"width": 1}})).unwrap();
    assert_eq!((read.beds, read.view.as_deref()), (1, Some("wall")));
    assert_eq!(
        read.door,
        Door {
            width: 1,
            made_of: "wood".into()
        }
    );
}

#[test]
fn generic_types_have_defaults() {
    let read: Pair<String> = serde_json::from_value(json!({})).unwrap();
    assert_eq!(read, Pair::default());
    assert_eq!(read.count, 4);
}

#[test]
fn positions_in_the_source_are_known_and_not_part_of_the_definition() {
    let sources = Berth::sources();
    let at = &sources["properties[spec].properties[beds].default"];
    let line = include_str!("defaults.rs")
        .lines()
        .position(|line| line.contains("default = 3"))
        .unwrap()
        + 1;
    assert!(
        at.ends_with(&format!("tests/it/defaults.rs:{line}:14")),
        "{at}"
    );
    assert!(sources.contains_key("properties[spec].properties[hatch].properties[made_of].default"));
    let manifest = Berth::manifest().unwrap().to_string();
    assert!(!manifest.contains("x-kubewright"), "{manifest}");
}
