use super::*;

#[test]
fn the_text_can_be_pasted() {
    let advice = Advice::new(
        "system:serviceaccount:shop:web",
        [
            Permission::of_resource("update", "apps", "deployments", "scale", "a"),
            Permission::of_resource("patch", "apps", "deployments", "scale", "b"),
            Permission::of_resource("watch", "", "pods", "", ""),
            Permission::of_path("get", "/metrics"),
        ],
    );
    assert_eq!(
        advice.to_string(),
        r#"system:serviceaccount:shop:web may not get /metrics, watch pods, update deployments/scale.apps in the namespace "a", patch deployments/scale.apps in the namespace "b"
add to the function that registers the operator:
    operator.permit(PolicyRule::urls(&["/metrics"], &["get"]));
    operator.rule("", &["pods"], &["get", "list", "watch"]);
    operator.rule("apps", &["deployments/scale"], &["patch", "update"]);
or to the rules of its role:
    - nonResourceURLs: ["/metrics"]
      verbs: ["get"]
    - apiGroups: [""]
      resources: ["pods"]
      verbs: ["get", "list", "watch"]
    - apiGroups: ["apps"]
      resources: ["deployments/scale"]
      verbs: ["patch", "update"]"#
    );
}

#[test]
fn named_objects_are_a_restriction_to_choose() {
    let token = Permission::of_resource("get", "", "secrets", "", "shop").named("token");
    let create = Permission::of_resource("create", "", "pods", "", "shop").named("web");
    let advice = Advice::new("web", [token.clone(), create]);
    let text = advice.to_string();
    assert!(text.starts_with(
        r#"web may not create pods "web" in the namespace "shop", get secrets "token" in the namespace "shop""#
    ));
    assert!(
        text.contains(r#"operator.rule("", &["secrets"], &["get"]);"#),
        "{text}"
    );
    let hint = r#"if it needs no other secrets, add resourceNames: ["token"] to the rule"#;
    assert!(text.ends_with(hint), "{text}");
    let names = (0..=MAX_NAMES).map(|at| token.clone().named(format!("token-{at}")));
    assert!(
        !Advice::new("web", names)
            .to_string()
            .contains("resourceNames")
    );
}

#[test]
fn restricted_rules_grant_no_verb_that_was_not_needed_for_the_object() {
    let secret = |verb: &str, name: &str| {
        Permission::of_resource(verb, "", "secrets", "", "shop").named(name)
    };
    let denied = [
        secret("get", "a"),
        secret("get", "b"),
        secret("delete", "c"),
    ];
    let rules: Vec<String> = Advice::new("web", denied)
        .only_named()
        .rules()
        .iter()
        .map(ToString::to_string)
        .collect();
    let expected = [
        r#"{APIGroups:[""], Resources:["secrets"], ResourceNames:["c"], Verbs:["delete"]}"#,
        r#"{APIGroups:[""], Resources:["secrets"], ResourceNames:["a" "b"], Verbs:["get"]}"#,
    ];
    assert_eq!(rules, expected);
}

#[test]
fn who_may_not_grant_permissions_gets_them_or_may_grant_any() {
    let mut bind =
        Permission::of_resource("bind", "rbac.authorization.k8s.io", "clusterroles", "", "")
            .named("view");
    bind.alternative = vec![PolicyRule {
        verbs: vec!["get".into()],
        api_groups: vec!["".into()],
        resources: vec!["pods".into()],
        ..PolicyRule::default()
    }];
    assert_eq!(
        Advice::new("web", [bind]).to_string(),
        r#"web may not bind clusterroles.rbac.authorization.k8s.io "view"
add to the function that registers the operator:
    operator.rule("", &["pods"], &["get"]);
or to the rules of its role:
    - apiGroups: [""]
      resources: ["pods"]
      verbs: ["get"]
or, if it may grant what it does not have itself:
    operator.permit(PolicyRule::new("rbac.authorization.k8s.io", &["clusterroles"], &["bind"]).resource_names(&["view"]));"#
    );
}
