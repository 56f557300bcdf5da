//! Merging of permissions. Equality with controller-gen is covered by the integration tests.

use kubewright_operator::{Model, PolicyRule, SubresourceModel};
use serde_json::{Value, json};

use super::{super::naming::Naming, kind_roles, merge::merged};

fn rule(groups: &[&str], resources: &[&str], verbs: &[&str]) -> PolicyRule {
    let all = |list: &[&str]| list.iter().map(|&text| text.to_owned()).collect();
    PolicyRule {
        api_groups: all(groups),
        resources: all(resources),
        verbs: all(verbs),
        ..PolicyRule::default()
    }
}

#[test]
fn rules_that_groups_would_merge_onto_another_all_stay() {
    let rules = merged(&[
        rule(&["x"], &["a"], &["get"]),
        rule(&["y"], &["a"], &["get"]),
        rule(&["x", "y"], &["a"], &["delete"]),
    ]);
    assert_eq!(
        rules,
        [
            rule(&["x", "y"], &["a"], &["delete"]),
            rule(&["x", "y"], &["a"], &["get"])
        ]
    );
}

#[test]
fn the_order_of_rules_makes_no_difference() {
    let rules = [
        rule(&["x"], &["a", "b"], &["get"]),
        rule(&["core"], &["a"], &["list", "get"]),
        rule(&["x"], &["b"], &["list"]),
    ];
    let mut backwards = rules.clone();
    backwards.reverse();
    assert_eq!(merged(&rules), merged(&backwards));
    assert_eq!(merged(&rules)[0].api_groups, [""]);
}

#[test]
fn people_get_the_subresources_of_a_kind_by_what_they_do() {
    let mut model = Model::new("sky");
    model.aggregated.push(json!({
        "metadata": {"name": "comets.sky.example.com"},
        "spec": {"group": "sky.example.com", "names": {"kind": "Comet", "plural": "comets"}},
    }));
    let subresource = |name: &str, verbs: &[&str]| SubresourceModel {
        name: name.to_owned(),
        verbs: verbs.iter().map(|&verb| verb.to_owned()).collect(),
    };
    let own = vec![
        subresource("tail", &["get"]),
        subresource("radio", &["create", "get"]),
    ];
    model
        .subresources
        .insert("comets.sky.example.com".to_owned(), own);
    let roles = kind_roles(&model, &Naming::kustomize("sky", false));
    let rules = |who: &str| -> Vec<Value> {
        let role = roles
            .iter()
            .find(|(file, _)| *file == format!("comet_{who}_role.yaml"));
        role.unwrap().1["rules"].as_array().unwrap()[2..].to_vec()
    };
    let rule = |name: &str, verbs: &[&str]| json!({"apiGroups": ["sky.example.com"], "resources": [format!("comets/{name}")], "verbs": verbs});
    assert_eq!(
        rules("admin"),
        [rule("tail", &["*"]), rule("radio", &["*"])]
    );
    let editor = [rule("tail", &["get"]), rule("radio", &["create", "get"])];
    assert_eq!(rules("editor"), editor);
    assert_eq!(rules("viewer"), [rule("tail", &["get"])]);
}
