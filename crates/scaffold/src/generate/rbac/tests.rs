//! Merging of permissions. Equality with controller-gen is covered by the integration tests.

use super::merge::merged;
use kubewright_operator::PolicyRule;

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
