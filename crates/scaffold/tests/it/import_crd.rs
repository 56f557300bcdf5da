//! Definitions of public projects, and one of our own with every construct: to Rust and back.
//!
//! `tests/it/generated` holds what an import made of them, so that it is compiled here. With `KUBEWRIGHT_UPDATE` set, these
//! tests write it anew.

use std::{fs, path::PathBuf};

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::CustomResourceExt;
use kubewright_scaffold::import_crd::{ImportError, Module, import};
use kubewright_schema::yaml::parse_yaml;
use serde_json::{Value, json};

use super::generated::*;

fn here() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests")
}

fn text(file: &str) -> String {
    fs::read_to_string(here().join("crds").join(file)).unwrap()
}

/// Imports a file and compares what comes out with what was kept, version by version.
fn kept(file: &str) -> Vec<Module> {
    let modules = import(&text(file)).unwrap();
    for module in &modules {
        let name = format!("{}_{}.rs", module.plural, module.version);
        let path = here().join("it/generated").join(name);
        if std::env::var_os("KUBEWRIGHT_UPDATE").is_some() {
            fs::write(&path, &module.source).unwrap();
        }
        let kept = fs::read_to_string(&path).unwrap_or_default();
        assert!(kept == module.source, "{} is out of date", path.display());
    }
    modules
}

/// A version of the definition in a file, without what the derived root decides.
fn wanted(file: &str, version: &str) -> Value {
    let document = parse_yaml(text(file).as_bytes()).unwrap().node;
    let document = document.into_value().unwrap();
    normal(document, version)
}

fn back(definition: CustomResourceDefinition, version: &str) -> Value {
    normal(serde_json::to_value(definition).unwrap(), version)
}

/// What is compared: names, scope, and the version with its schema. Left out is what the derived root decides.
fn normal(document: Value, version: &str) -> Value {
    let mut spec = document["spec"].clone();
    let versions = spec["versions"].as_array().unwrap();
    let mut one = versions
        .iter()
        .find(|one| one["name"] == version)
        .unwrap()
        .clone();
    spec["versions"] = Value::Null;
    spec.as_object_mut()
        .unwrap()
        .retain(|_, value| !value.is_null());
    let names = spec["names"].as_object_mut().unwrap();
    names.remove("listKind");
    for list in ["shortNames", "categories"] {
        names.entry(list).or_insert(json!([]));
    }
    for list in ["additionalPrinterColumns", "selectableFields"] {
        one.as_object_mut()
            .unwrap()
            .entry(list)
            .or_insert(json!([]));
    }
    let subresources = one.as_object_mut().unwrap().entry("subresources");
    subresources.or_insert(json!({}));
    let root = one["schema"]["openAPIV3Schema"].as_object_mut().unwrap();
    root.remove("required");
    root.remove("title");
    let made_up = |text: &Value| {
        text.as_str()
            .is_some_and(|text| text.starts_with("Auto-generated"))
    };
    if root.get("description").is_some_and(made_up) {
        root.remove("description");
    }
    let properties = root.get_mut("properties").unwrap().as_object_mut().unwrap();
    for name in ["apiVersion", "kind", "metadata"] {
        properties.remove(name);
    }
    if let Some(status) = properties.get_mut("status") {
        status.as_object_mut().unwrap().remove("nullable");
    }
    plain(&mut one["schema"]["openAPIV3Schema"]);
    spec["version"] = one;
    spec
}

/// Lists whose order means nothing are sorted, whole floats are integers, and the branches that int-or-string implies are gone.
fn plain(schema: &mut Value) {
    match schema {
        Value::Object(map) => {
            if map.get("x-kubernetes-int-or-string") == Some(&json!(true)) {
                map.remove("anyOf");
            }
            if let Some(Value::Array(required)) = map.get_mut("required") {
                required.sort_by_key(|name| name.to_string());
            }
            map.values_mut().for_each(plain);
        }
        Value::Array(items) => items.iter_mut().for_each(plain),
        Value::Number(number) => {
            if let Some(float) = number
                .as_f64()
                .filter(|f| f.fract() == 0.0 && f.abs() < 1e15)
            {
                *schema = json!(float as i64);
            }
        }
        _ => {}
    }
}

/// Fails with the places that differ.
#[track_caller]
fn assert_same(wanted: &Value, got: &Value) {
    let mut differences = Vec::new();
    differ("", wanted, got, &mut differences);
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}

fn differ(path: &str, wanted: &Value, got: &Value, out: &mut Vec<String>) {
    match (wanted, got) {
        (Value::Object(a), Value::Object(b)) => {
            for key in a.keys().chain(b.keys().filter(|key| !a.contains_key(*key))) {
                let (a, b) = (a.get(key), b.get(key));
                let path = format!("{path}.{key}");
                differ(
                    &path,
                    a.unwrap_or(&Value::Null),
                    b.unwrap_or(&Value::Null),
                    out,
                );
            }
        }
        _ if wanted == got => {}
        _ => out.push(format!("{path}: wanted {wanted}, got {got}")),
    }
}

#[test]
fn a_certificate_comes_back() {
    let modules = kept("certificates.yaml");
    assert_eq!(modules[0].notes, Vec::<String>::new());
    let got = back(certificates_v1::Certificate::crd(), "v1");
    assert_same(&wanted("certificates.yaml", "v1"), &got);
}

#[test]
fn both_versions_of_a_gateway_class_come_back() {
    let modules = kept("gatewayclasses.yaml");
    assert_eq!(modules.len(), 2);
    let got = back(gatewayclasses_v1::GatewayClass::crd(), "v1");
    assert_same(&wanted("gatewayclasses.yaml", "v1"), &got);
    let got = back(gatewayclasses_v1beta1::GatewayClass::crd(), "v1beta1");
    assert_same(&wanted("gatewayclasses.yaml", "v1beta1"), &got);
}

#[test]
fn a_reference_grant_comes_back() {
    kept("referencegrants.yaml");
    let got = back(referencegrants_v1beta1::ReferenceGrant::crd(), "v1beta1");
    assert_same(&wanted("referencegrants.yaml", "v1beta1"), &got);
}

#[test]
fn an_address_claim_comes_back() {
    kept("ipaddressclaims.yaml");
    let got = back(ipaddressclaims_v1alpha1::IPAddressClaim::crd(), "v1alpha1");
    assert_same(&wanted("ipaddressclaims.yaml", "v1alpha1"), &got);
}

#[test]
fn prometheus_rules_come_back() {
    kept("prometheusrules.yaml");
    let got = back(prometheusrules_v1::PrometheusRule::crd(), "v1");
    assert_same(&wanted("prometheusrules.yaml", "v1"), &got);
}

#[test]
fn task_results_without_a_spec_come_back() {
    kept("workflowtaskresults.yaml");
    let got = workflowtaskresults_v1alpha1::WorkflowTaskResult::crd();
    let got = back(got, "v1alpha1");
    assert_same(&wanted("workflowtaskresults.yaml", "v1alpha1"), &got);
}

#[test]
fn every_construct_comes_back() {
    let modules = kept("everything.yaml");
    assert_eq!(modules[0].notes, Vec::<String>::new());
    let got = back(ships_v1::Ship::crd(), "v1");
    assert_same(&wanted("everything.yaml", "v1"), &got);
    let got = back(ships_v1alpha1::Ship::crd(), "v1alpha1");
    assert_same(&wanted("everything.yaml", "v1alpha1"), &got);
}

#[test]
fn equal_objects_are_one_type() {
    let source = &kept("everything.yaml")[0].source;
    assert_eq!(source.matches("pub town:").count(), 1);
    assert_eq!(source.matches("pub enum Rig ").count(), 1);
    assert!(source.contains("pub observed: Option<Rig>,"));
    assert!(source.contains("pub home: Option<Owner>,"));
}

#[test]
fn the_types_read_and_write_objects() {
    let object = json!({
        "apiVersion": "fleet.example.com/v1",
        "kind": "Ship",
        "metadata": {"name": "argo"},
        "spec": {
            "port": "iolcus",
            "rig": "full-rigged",
            "flag": null,
            "load": "5%",
            "podCIDRs": ["10.0.0.0/8"],
            "ca.crt": "pem",
            "type": "galley",
            "log": {"keeper": "orpheus", "pages": 12},
            "sailors": [{"name": "heracles", "watch": "port", "home": {"countryISO": "GR"}}],
        },
    });
    let ship: ships_v1::Ship = serde_json::from_value(object.clone()).unwrap();
    assert_eq!(ship.spec.rig, ships_v1::Rig::FullRigged);
    assert_eq!(ship.spec.log.as_ref().unwrap().rest["pages"], 12);
    assert_eq!(serde_json::to_value(&ship).unwrap(), object);
}

#[test]
fn what_cannot_be_imported_says_why() {
    let sentence = |text: &str| import(text).unwrap_err().to_string();
    assert_eq!(
        sentence("kind: Pod\napiVersion: v1\nspec: {group: a, names: {kind: A, plural: as}}"),
        "this is a \"Pod\", not a CustomResourceDefinition; give a file with one"
    );
    assert_eq!(import("").unwrap_err(), ImportError::Nothing);
    assert!(sentence("a: [").starts_with("this is not YAML"));
    assert!(
        sentence("kind: CustomResourceDefinition")
            .starts_with("this is not a CustomResourceDefinition: missing field `spec`")
    );
    let old =
        text("everything.yaml").replace("apiextensions.k8s.io/v1", "apiextensions.k8s.io/v1beta1");
    assert_eq!(
        import(&old).unwrap_err(),
        ImportError::ApiVersion("apiextensions.k8s.io/v1beta1".into())
    );
    let bad = text("everything.yaml").replace("kind: Ship\n", "kind: \"Ship{}\"\n");
    assert_eq!(
        import(&bad).unwrap_err(),
        ImportError::Name("Ship{}".into())
    );
}

#[test]
fn a_definition_that_nests_too_deep_is_refused() {
    let deep = "{properties: {a: ".repeat(5000);
    assert!(matches!(import(&deep), Err(ImportError::Yaml(_))));
}

#[test]
fn nothing_in_a_definition_becomes_code() {
    let evil = r#"
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
spec:
  group: "x\"]fn evil(){}"
  names: {kind: A, plural: "a\")]fn evil(){}"}
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        description: "d\")]\nfn evil(){}"
        properties:
          spec:
            type: object
            description: "*/ fn evil(){}\nfn evil(){}\r\nfn evil(){}"
            properties:
              "a: u8, } fn evil(){} //": {type: string, pattern: "\"]fn evil(){}"}
              e: {type: string, enum: ["A, } fn evil(){}", "b\")]fn evil(){}"]}
"#;
    let source = &import(evil).unwrap()[0].source;
    for line in source.lines().filter(|line| line.contains("evil()")) {
        let line = line.trim_start();
        let quoted = line.contains('"') && line.replace("\\\"", "").matches('"').count() % 2 == 0;
        assert!(line.starts_with("//") || quoted, "{line}");
    }
}
