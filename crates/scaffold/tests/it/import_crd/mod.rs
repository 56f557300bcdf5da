//! Definitions of public projects, and one of our own with every construct: to Rust and back.
//!
//! `tests/it/generated` holds what an import made of them, so that it is compiled here. With `KUBEWRIGHT_UPDATE` set, these
//! tests write it anew.

mod comparison;
mod whole;

use std::{fs, path::PathBuf};

use kubewright::CustomKind;
use kubewright_scaffold::{ImportError, Module, import_crds, import_crds_together};
use kubewright_schema::yaml::parse_yaml;
use serde_json::json;

use super::generated::*;
use comparison::differences;

fn here() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests")
}

fn text(file: &str) -> String {
    fs::read_to_string(here().join("crds").join(file)).unwrap()
}

/// Imports a file and compares what comes out with what was kept, version by version.
fn kept(file: &str) -> Vec<Module> {
    let modules = import_crds(&text(file)).unwrap();
    for module in &modules {
        keep(
            &format!("{}_{}.rs", module.plural, module.version),
            &module.source,
        );
    }
    modules
}

/// Compares a source with what was kept.
#[track_caller]
fn keep(name: &str, source: &str) {
    let path = here().join("it/generated").join(name);
    if std::env::var_os("KUBEWRIGHT_UPDATE").is_some() {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, source).unwrap();
    }
    let kept = fs::read_to_string(&path).unwrap_or_default();
    assert!(kept == source, "{} is out of date", path.display());
}

/// The definition of the type is the one in the file: `comparison` has what may differ.
#[track_caller]
fn comes_back<K: CustomKind>(file: &str) {
    let text = text(file);
    let document = parse_yaml(text.as_bytes()).unwrap().node;
    let differences = differences(&document.into_value().unwrap(), &K::manifest().unwrap());
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}

#[test]
fn a_certificate_comes_back() {
    let modules = kept("certificates.yaml");
    assert_eq!(modules[0].notes, Vec::<String>::new());
    comes_back::<certificates_v1::Certificate>("certificates.yaml");
}

#[test]
fn both_versions_of_a_gateway_class_come_back() {
    let modules = kept("gatewayclasses.yaml");
    assert_eq!(modules.len(), 2);
    comes_back::<gatewayclasses_v1::GatewayClass>("gatewayclasses.yaml");
    comes_back::<gatewayclasses_v1beta1::GatewayClass>("gatewayclasses.yaml");
}

#[test]
fn a_reference_grant_comes_back() {
    kept("referencegrants.yaml");
    comes_back::<referencegrants_v1beta1::ReferenceGrant>("referencegrants.yaml");
}

#[test]
fn an_address_claim_comes_back() {
    kept("ipaddressclaims.yaml");
    comes_back::<ipaddressclaims_v1alpha1::IPAddressClaim>("ipaddressclaims.yaml");
}

#[test]
fn prometheus_rules_come_back() {
    kept("prometheusrules.yaml");
    comes_back::<prometheusrules_v1::PrometheusRule>("prometheusrules.yaml");
}

#[test]
fn task_results_without_a_spec_come_back() {
    kept("workflowtaskresults.yaml");
    comes_back::<workflowtaskresults_v1alpha1::WorkflowTaskResult>("workflowtaskresults.yaml");
}

#[test]
fn every_construct_comes_back() {
    let modules = kept("everything.yaml");
    assert_eq!(modules[0].notes, Vec::<String>::new());
    comes_back::<ships_v1::Ship>("everything.yaml");
    comes_back::<ships_v1alpha1::Ship>("everything.yaml");
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
fn equal_types_of_several_versions_are_shared() {
    let together = import_crds_together(&text("gatewayclasses.yaml"), |_, _| true).unwrap();
    keep("together/shared.rs", &together.shared);
    for module in &together.modules {
        let name = format!("{}_{}.rs", module.plural, module.version);
        keep(&format!("together/{name}"), &module.source);
        assert!(module.source.contains("super::shared::"), "{name}");
    }
    assert_eq!(together.shared.matches("pub struct Condition ").count(), 1);
    comes_back::<together::gatewayclasses_v1::GatewayClass>("gatewayclasses.yaml");
    comes_back::<together::gatewayclasses_v1beta1::GatewayClass>("gatewayclasses.yaml");
}

#[test]
fn one_version_alone_shares_nothing() {
    let together = import_crds_together(&text("gatewayclasses.yaml"), |_, version| version == "v1");
    let together = together.unwrap();
    assert_eq!(together.shared, "");
    assert_eq!(together.modules, kept("gatewayclasses.yaml")[..1]);
}

#[test]
fn an_object_whose_spec_is_optional_may_lack_it() {
    let object = json!({
        "apiVersion": "cert-manager.io/v1",
        "kind": "Certificate",
        "metadata": {"name": "a"},
    });
    let read: certificates_v1::Certificate = serde_json::from_value(object.clone()).unwrap();
    assert_eq!(read.spec.spec, None);
    assert_eq!(serde_json::to_value(&read).unwrap(), object);
    read.validate(None).unwrap();
}

#[test]
fn imported_types_validate_like_the_server() {
    let object = json!({
        "apiVersion": "fleet.example.com/v1", "kind": "Ship", "metadata": {"name": "argo"},
        "spec": {"port": "Iolcus", "rig": "Brig", "flag": null, "cargo": {"grain": {}, "wine": {}}},
    });
    let ship: ships_v1::Ship = serde_json::from_value(object).unwrap();
    let refused = ship.validate(None).unwrap_err().message;
    assert!(
        refused.contains("spec.port in body should match"),
        "{refused}"
    );
    assert!(
        refused.contains("must validate one and only one schema (oneOf)"),
        "{refused}"
    );
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
fn errors_of_imports_say_why() {
    let sentence = |text: &str| import_crds(text).unwrap_err().to_string();
    assert_eq!(
        sentence("kind: Pod\napiVersion: v1\nspec: {group: a, names: {kind: A, plural: as}}"),
        "this is a \"Pod\", not a CustomResourceDefinition; give a file with one"
    );
    assert_eq!(import_crds("").unwrap_err(), ImportError::Nothing);
    assert!(sentence("a: [").starts_with("this is not YAML"));
    assert!(
        sentence("kind: CustomResourceDefinition")
            .starts_with("this is not a CustomResourceDefinition: missing field `spec`")
    );
    let old =
        text("everything.yaml").replace("apiextensions.k8s.io/v1", "apiextensions.k8s.io/v1beta1");
    assert_eq!(
        import_crds(&old).unwrap_err(),
        ImportError::ApiVersion("apiextensions.k8s.io/v1beta1".into())
    );
    let bad = text("everything.yaml").replace("kind: Ship\n", "kind: \"Ship{}\"\n");
    assert_eq!(
        import_crds(&bad).unwrap_err(),
        ImportError::Name("Ship{}".into())
    );
}

#[test]
fn names_that_would_be_paths_or_keywords_are_rejected() {
    let good = text("everything.yaml");
    for plural in [
        "../src/bin/x",
        "/tmp/x",
        "a/b",
        "..",
        ".",
        "",
        "a\\b",
        "Ships",
        "a\0",
    ] {
        let bad = good.replace("plural: ships", &format!("plural: {plural:?}"));
        assert_ne!(bad, good);
        let error = import_crds(&bad).unwrap_err();
        assert_eq!(error, ImportError::Name(plural.into()));
    }
    for kind in ["Self", "Option", "String", "Vec"] {
        let bad = good.replace("kind: Ship\n", &format!("kind: {kind}\n"));
        assert_eq!(
            import_crds(&bad).unwrap_err(),
            ImportError::Name(kind.into())
        );
    }
}

#[test]
fn a_definition_as_json_may_escape_characters() {
    let json = r#"{"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "spec": {
        "group": "crew.example.com", "names": {"kind": "Ship", "plural": "ships"}, "versions": [{"name": "v1", "schema":
        {"openAPIV3Schema": {"type": "object", "description": "With a flag: \ud83d\udea9."}}}]}}"#;
    let modules = import_crds(json).unwrap();
    assert!(
        modules[0].source.contains("With a flag: \u{1f6a9}."),
        "{}",
        modules[0].source
    );
}

#[test]
fn a_definition_that_nests_too_deep_is_refused() {
    let deep = "{properties: {a: ".repeat(5000);
    assert!(matches!(import_crds(&deep), Err(ImportError::Yaml(_))));
}

#[test]
fn nothing_in_a_definition_becomes_code() {
    let evil = r#"
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
spec:
  group: x.example.com
  names: {kind: A, plural: as, singular: "a\")]fn evil(){}", shortNames: ["b\")]\nfn evil(){}"]}
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
    for (good, bad) in [
        ("group: x.example.com", r#"group: "x\nfn evil(){}""#),
        ("plural: as", r#"plural: "a\")]fn evil(){}""#),
        ("kind: A,", r#"kind: "A{} fn evil(){}","#),
        ("name: v1", r#"name: "v1\nfn evil(){}""#),
    ] {
        let error = import_crds(&evil.replace(good, bad)).unwrap_err();
        assert!(matches!(error, ImportError::Name(_)), "{error}");
    }
    let source = &import_crds(evil).unwrap()[0].source;
    for line in source.lines().filter(|line| line.contains("evil()")) {
        let line = line.trim_start();
        let quoted = line.contains('"') && line.replace("\\\"", "").matches('"').count() % 2 == 0;
        assert!(line.starts_with("//") || quoted, "{line}");
    }
}
