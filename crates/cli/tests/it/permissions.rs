//! The operator of `dev` runs as its own account, and `audit rbac` compares what it may do with what it did.
#![cfg(unix)]

use std::fs;

use serde_json::{Value, json};

use crate::{
    dev::{describe, developed, model, shows},
    generating::{MODEL, project, script},
    process::Process,
    projects::Place,
};

/// An operator that looks for a node, and then does nothing.
fn curious() -> Place {
    let tool = env!("CARGO_BIN_EXE_kubewright");
    let body = format!(
        "for word in \"$@\"; do test \"$before\" = --kubeconfig && own=$word; before=$word; done; \
         echo \"runs with $*\" >&2; {tool} why node/none --kubeconfig $own >&2; exec cat"
    );
    developed(&model(), &body)
}

fn rules(place: &Place, rules: &Value) {
    let mut described = model();
    described["rules"] = rules.clone();
    describe(place, &described);
}

#[test]
fn the_operator_of_dev_has_its_own_account_and_missing_rules_are_shown() {
    let place = curious();
    let mut dev = Process::start(place.command("dev"), None);
    let text = shows(&mut dev, "denied ");
    assert!(
        text.contains("applied   clusterrole/crew-operator-manager-role created"),
        "{text}"
    );
    assert!(
        text.contains("--leader-election-namespace crew-operator-system"),
        "{text}"
    );
    let rule = r#"denied    the operator may not get nodes "none"; add operator.rule("", &["nodes"], &["get"]); or to its role:"#;
    shows(&mut dev, rule);
    shows(
        &mut dev,
        "  - apiGroups: [\"\"]\n    resources: [\"nodes\"]\n    verbs: [\"get\"]\n",
    );
    // Its kubeconfig is the only secret, and ends with the cluster.
    let kubeconfig = place.path().join("target/kubewright/operator.kubeconfig");
    assert!(kubeconfig.exists());
    let (text, status) = dev.signal("INT");
    assert!(status.success(), "{text}");
    assert!(!kubeconfig.exists());

    let audit = place.call("audit rbac");
    assert_eq!(audit.status.code(), Some(1));
    let said = String::from_utf8(audit.stdout).unwrap();
    let expected = "\
STATE        RESOURCE   VERBS   FROM
missing      nodes      get
never used   pods       get     a rule of its own

the operator may not get nodes
add to the function that registers the operator:
    operator.rule(\"\", &[\"nodes\"], &[\"get\"]);
or to the rules of its role:
    - apiGroups: [\"\"]
      resources: [\"nodes\"]
      verbs: [\"get\"]
";
    assert_eq!(said, expected);
    let json = place.call("audit rbac -o json");
    assert_eq!(json.status.code(), Some(1));
    let json: Value = serde_json::from_slice(&json.stdout).unwrap();
    let expected = json!({
        "missing": [{"group": "", "resource": "nodes", "verbs": ["get"]}],
        "neverUsed": [{"group": "", "resource": "pods", "verbs": ["get"], "from": "a rule of its own"}],
        "rulesToAdd": [{"apiGroups": [""], "resources": ["nodes"], "verbs": ["get"]}],
    });
    assert_eq!(json, expected);

    rules(
        &place,
        &json!([{"apiGroups": [""], "resources": ["nodes"], "verbs": ["get"]}]),
    );
    let said = place.done("audit rbac");
    assert_eq!(said, "every permission was used, and none is missing\n");
}

#[test]
fn a_denied_object_is_missing_although_there_is_a_rule_for_another() {
    let mut described: Value = serde_json::from_str(MODEL).unwrap();
    described["rules"] = json!([
        {"apiGroups": [""], "resources": ["secrets"], "resourceNames": ["token"], "verbs": ["get"]},
    ]);
    let place = project(&described.to_string());
    let records = place.path().join("target/kubewright/permissions");
    fs::create_dir_all(&records).unwrap();
    let record = |allowed: bool, name: &str| {
        let record = json!({
            "user": "system:serviceaccount:test-system:test", "allowed": allowed, "resource": "secrets",
            "namespace": "default", "name": name, "verb": "get",
        });
        format!("{record}\n")
    };
    let lines = record(true, "") + &record(false, "key");
    fs::write(records.join("dev.jsonl"), lines).unwrap();
    let audit = place.call("audit rbac");
    assert_eq!(audit.status.code(), Some(1), "{audit:?}");
    let said = String::from_utf8(audit.stdout).unwrap();
    let expected = "\
STATE     RESOURCE        VERBS   FROM
missing   secrets \"key\"   get

the operator may not get secrets \"key\"
add to the function that registers the operator:
    operator.permit(PolicyRule::new(\"\", &[\"secrets\"], &[\"get\"]).resource_names(&[\"key\"]));
or to the rules of its role:
    - apiGroups: [\"\"]
      resources: [\"secrets\"]
      resourceNames: [\"key\"]
      verbs: [\"get\"]
";
    assert_eq!(said, expected);
}

#[test]
fn without_rbac_the_operator_of_dev_is_the_administrator() {
    let place = curious();
    let mut dev = Process::start(place.command("dev --authorization-mode AlwaysAllow"), None);
    let text = shows(&mut dev, "node/none not found");
    assert!(text.contains("target/kubewright/kubeconfig"), "{text}");
    assert!(!text.contains("manager-role"), "{text}");
    dev.signal("INT");
}

#[test]
fn an_audit_without_anything_to_compare_says_what_to_run() {
    let place = project(MODEL);
    let sentence = place.refused("audit rbac");
    assert!(
        sentence.contains("run `kubewright audit rbac --test`"),
        "{sentence}"
    );
    let records = place.path().join("target/kubewright/permissions");
    fs::create_dir_all(&records).unwrap();
    fs::write(records.join("dev.jsonl"), "hello\n").unwrap();
    let sentence = place.refused("audit rbac");
    assert!(
        sentence.contains("dev.jsonl is not a record of permissions"),
        "{sentence}"
    );
}

#[test]
fn an_audit_of_tests_covers_what_they_did_this_time() {
    let place = project(MODEL);
    let operator = place.path().join("target/operator").display().to_string();
    let message = format!(
        r#"{{"reason":"compiler-artifact","target":{{"name":"crew-operator"}},"executable":"{operator}"}}"#
    );
    let record = r#"{"user":"system:serviceaccount:test-system:test","allowed":true,"resource":"pods","namespace":"default","verb":"get"}"#;
    let cargo = script(
        &place,
        "cargo",
        &format!(
            "case \"$1\" in test) mkdir -p \"$KUBEWRIGHT_PERMISSIONS\"; \
             echo '{record}' > \"$KUBEWRIGHT_PERMISSIONS/1.jsonl\";; *) echo '{message}';; esac"
        ),
    );
    let place = place.with_cargo(cargo);
    let before = place.path().join("target/kubewright/permissions/tests");
    fs::create_dir_all(&before).unwrap();
    let outdated = record.replace("pods", "nodes");
    fs::write(before.join("0.jsonl"), outdated + "\n").unwrap();
    let audit = place.call("audit rbac");
    assert_eq!(audit.status.code(), Some(1), "{audit:?}");
    let said = place.done("audit rbac --test");
    assert_eq!(said, "every permission was used, and none is missing\n");
}
