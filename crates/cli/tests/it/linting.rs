//! `lint`, as CI calls it.
#![cfg(unix)]

use serde_json::{Value, json};

use crate::{
    generating::{MODEL, project, script},
    server::kubewright,
};

#[test]
fn a_project_is_checked_without_a_cluster() {
    let place = project(MODEL);
    place.done("generate");
    assert_eq!(place.done("lint"), "nothing to complain about\n");

    let mut described: Value = serde_json::from_str(MODEL).unwrap();
    described["rules"] = json!([{"apiGroups": [""], "resources": ["pods"], "verbs": ["*"]}]);
    described["webhooks"] = json!([{
        "type": "validating", "path": "/validate--v1-node",
        "webhook": {
            "name": "vnode-v1.kb.io", "failurePolicy": "Fail", "sideEffects": "None",
            "rules": [{"apiGroups": [""], "resources": ["nodes"], "operations": ["*"], "apiVersions": ["v1"]}],
        },
    }]);
    script(&place, "operator", &format!("cat <<'E'\n{described}\nE"));
    let output = place.call("lint");
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    let said = String::from_utf8(output.stdout).unwrap();
    for expected in [
        "warning  webhook      vnode-v1.kb.io stops nodes or the control plane while the operator is down: it reviews all nodes;",
        "warning  permissions  a rule allows every verb on pods; name the verbs that the operator needs\n",
        "warning  generated    the code generates something else than ",
    ] {
        assert!(said.contains(expected), "{said}");
    }
    let json = place.call("lint -o json");
    assert_eq!(json.status.code(), Some(1));
    let json: Value = serde_json::from_slice(&json.stdout).unwrap();
    assert_eq!(json["good"], false);
    assert_eq!(json["findings"][0]["verdict"], "warning");
}

#[test]
fn the_example_operator_is_a_project() {
    let example = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../examples/webapp_operator"
    );
    let mut list = kubewright();
    let output = list.arg("list").current_dir(example).output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{output:?}");
    assert!(
        said.contains("webapp") && said.contains("v1alpha1"),
        "{said}"
    );
}
