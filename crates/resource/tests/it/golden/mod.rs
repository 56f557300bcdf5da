//! The definitions of Rust types are those that controller-gen writes for the same Go types.
//!
//! The YAML in `tests/golden` was written by controller-gen v0.21.0 from the Go sources beside it:
//! `controller-gen crd:allowDangerousTypes=true paths=./... output:crd:dir=..`. Compared as values, without
//! controller-gen's own annotation and without what it says of `apiVersion` and `kind` (the server has its own words for
//! them).

pub(crate) mod kinds;
mod markers;

use kubewright::{CustomKind, SameAsHub, Versions};
use serde_json::Value;

use kinds::{
    choices::Choices,
    defaults::Defaults,
    lists::Lists,
    merges::Merges,
    names::Names,
    numbers::Numbers,
    objects::Objects,
    officers::{v1, v1beta1},
    places::Places,
    rules::Rules,
    texts::Texts,
};

#[track_caller]
fn assert_golden(mut manifest: Value, golden: &str) {
    let mut golden: Value = serde_saphyr::from_str(golden).expect("YAML");
    golden["metadata"]["annotations"]
        .as_object_mut()
        .expect("annotations")
        .remove("controller-gen.kubebuilder.io/version");
    if golden["metadata"]["annotations"] == serde_json::json!({}) {
        golden["metadata"]
            .as_object_mut()
            .expect("metadata")
            .remove("annotations");
    }
    for version in golden["spec"]["versions"].as_array_mut().expect("versions") {
        let properties = &mut version["schema"]["openAPIV3Schema"]["properties"];
        for field in ["apiVersion", "kind"] {
            properties[field]
                .as_object_mut()
                .expect("an object")
                .remove("description");
        }
    }
    whole(&mut golden);
    whole(&mut manifest);
    assert!(
        manifest == golden,
        "differs from controller-gen's:\n{}",
        differences(&manifest, &golden, "").join("\n")
    );
}

/// `1.0` and `1` are the same number.
fn whole(value: &mut Value) {
    match value {
        Value::Object(fields) => fields.values_mut().for_each(whole),
        Value::Array(items) => items.iter_mut().for_each(whole),
        Value::Number(n) => {
            if let Some(n) = n.as_f64() {
                *value = n.into();
            }
        }
        _ => {}
    }
}

fn differences(ours: &Value, theirs: &Value, path: &str) -> Vec<String> {
    match (ours, theirs) {
        (Value::Object(a), Value::Object(b)) => {
            let mut keys: Vec<&String> = a.keys().chain(b.keys()).collect();
            keys.sort();
            keys.dedup();
            let null = Value::Null;
            let of = |key: &String| {
                let (a, b) = (a.get(key).unwrap_or(&null), b.get(key).unwrap_or(&null));
                differences(a, b, &format!("{path}.{key}"))
            };
            keys.into_iter().flat_map(of).collect()
        }
        (Value::Array(a), Value::Array(b)) if a.len() == b.len() => {
            let pairs = a.iter().zip(b).enumerate();
            pairs
                .flat_map(|(i, (a, b))| differences(a, b, &format!("{path}[{i}]")))
                .collect()
        }
        (a, b) if a == b => Vec::new(),
        (a, b) => vec![format!("{path}: ours {a}, theirs {b}")],
    }
}

macro_rules! goldens {
    ($($test:ident: $kind:ty, $file:literal;)+) => {$(
        #[test]
        fn $test() {
            let golden = include_str!(concat!("../../golden/golden.example.com_", $file, ".yaml"));
            assert_golden(<$kind>::manifest().unwrap(), golden);
        }
    )+};
}

goldens! {
    bounds_of_numbers: Numbers, "numbers";
    lengths_patterns_and_formats_of_texts: Texts, "texts";
    list_types_and_map_types: Lists, "lists";
    defaults_and_presence: Defaults, "defaults";
    rules_and_immutability: Rules, "rules";
    one_of_several: Choices, "choices";
    embedded_and_open_objects: Objects, "objects";
    names_columns_and_subresources: Names, "caps";
    marks_on_types_and_on_what_is_in_lists: Places, "places";
    merging_on_types_and_presence: Merges, "merges";
}

#[test]
fn several_versions() {
    let versions = Versions::<v1::Officer>::hub()
        .spoke::<v1beta1::Officer>()
        .same_as_hub(SameAsHub::new("v1alpha1").unserved());
    let golden = include_str!("../../golden/golden.example.com_officers.yaml");
    assert_golden(versions.manifest().expect("they agree"), golden);
}

#[test]
fn a_definition_has_the_type_of_kube() {
    let typed = Names::custom_resource_definition().unwrap();
    assert_eq!(
        typed.metadata.name.as_deref(),
        Some("caps.golden.example.com")
    );
    let mut value = serde_json::to_value(&typed).expect("JSON");
    let mut manifest = Names::manifest().unwrap();
    whole(&mut value);
    whole(&mut manifest);
    assert_eq!(value, manifest);
}
