//! Permissions for impersonation.

use http::Request;
use kubewright_derive::boxed_async;

use super::*;
use crate::auth::{Decision, ResourceAttributes};

/// Allows the listed permissions, as `verb resource name`, and records every check.
#[derive(Default)]
struct Permissions {
    allowed: Vec<&'static str>,
    asked: Mutex<Vec<String>>,
    decided: Mutex<Vec<String>>,
    error: Option<&'static str>,
}

#[boxed_async]
impl Authorizer for Permissions {
    async fn authorize(&self, attributes: &Attributes<'_>) -> Decision {
        let asked = shown(attributes);
        let allowed = self.allowed.contains(&asked.as_str());
        self.asked.lock().push(asked);
        match (allowed, self.error) {
            (true, _) => Decision::allow(),
            (false, None) => Decision::no_opinion("no rule"),
            (false, Some(error)) => Decision::no_opinion("no rule").with_error(error),
        }
    }

    fn decided(&self, attributes: &Attributes<'_>, decision: &Decision) {
        let verdict = if decision.is_allow() {
            "may"
        } else {
            "may not"
        };
        let text = format!("{} {verdict} {}", attributes.user.name, shown(attributes));
        self.decided.lock().push(text);
    }
}

fn shown(attributes: &Attributes<'_>) -> String {
    let target = *attributes.resource().expect("a resource");
    let resource = target.with_subresource().into_owned();
    match target.name {
        "" => format!("{} {resource}", attributes.verb),
        name => format!("{} {resource} {name}", attributes.verb),
    }
}

impl Permissions {
    fn of(allowed: &[&'static str]) -> Self {
        Self {
            allowed: allowed.to_vec(),
            ..Self::default()
        }
    }

    fn asked(&self) -> Vec<String> {
        std::mem::take(&mut *self.asked.lock())
    }
}

fn user(name: &str) -> UserInfo {
    UserInfo {
        name: name.into(),
        ..UserInfo::default()
    }
}

/// Asks to list pods as the user in the headers, `name: value` each.
async fn act(
    impersonation: &Impersonation,
    permissions: &Permissions,
    requestor: UserInfo,
    headers: &[&str],
) -> Result<Impersonated, String> {
    let mut builder = Request::get("/");
    for header in headers {
        let (name, value) = header.split_once(": ").expect("a name and a value");
        builder = builder.header(name, value);
    }
    let (mut parts, ()) = builder.body(()).unwrap().into_parts();
    let requestor = Arc::new(requestor);
    let pods = ResourceAttributes {
        resource: "pods",
        ..ResourceAttributes::default()
    };
    let attributes = Attributes::of_resource(&requestor, "list", pods);
    let taken = impersonation
        .take(permissions, &mut parts, &requestor, &attributes)
        .await;
    let impersonated = taken.map_err(|status| status.message)?.expect("a user");
    assert!(parts.headers.is_empty());
    assert_eq!(parts.extensions.get(), Some(&impersonated));
    assert_eq!(impersonated.requestor, requestor);
    Ok(impersonated)
}

async fn refusal(permissions: &Permissions, headers: &[&str]) -> String {
    let acted = act(&Impersonation::new(), permissions, user("ali"), headers).await;
    acted.expect_err("a refusal")
}

#[tokio::test]
async fn the_verb_impersonate_allows_each_part_of_a_user() {
    let permissions = Permissions::of(&[
        "impersonate users bob",
        "impersonate uids 1",
        "impersonate groups dev",
        "impersonate groups system:masters",
        "impersonate userextras/scopes a",
    ]);
    let headers = [
        "impersonate-user: bob",
        "impersonate-uid: 1",
        "impersonate-group: dev",
        "impersonate-group: system:masters",
        "impersonate-extra-scopes: a",
    ];
    let impersonation = Impersonation::new();
    let bob = act(&impersonation, &permissions, user("ali"), &headers).await;
    let bob = bob.expect("a user");
    assert_eq!(bob.constraint, "");
    assert_eq!(
        bob.user.groups,
        ["dev", "system:masters", "system:authenticated"]
    );
    assert_eq!(bob.user.extra, [("scopes".into(), vec!["a".into()])]);
    for (i, part) in ["users", "uids", "groups", "groups", "userextras/scopes"]
        .iter()
        .enumerate()
    {
        let mut fewer = Permissions::of(&permissions.allowed);
        fewer.allowed.remove(i);
        let error = act(&impersonation, &fewer, user("ali"), &headers).await;
        let error = error.expect_err("one permission less");
        let missing = format!("User \"ali\" cannot impersonate resource \"{part}\"");
        assert!(error.contains(&missing), "{error}");
    }
}

#[tokio::test]
async fn the_constrained_verbs_take_one_for_the_request_and_one_for_the_user() {
    let on = "impersonate-on:user-info:list pods";
    let bob = "impersonate:user-info users bob";
    let as_bob = ["impersonate-user: bob"];
    let permissions = Permissions::of(&[on, bob]);
    let acted = act(&Impersonation::new(), &permissions, user("ali"), &as_bob).await;
    assert_eq!(acted.expect("a user").constraint, "impersonate:user-info");
    assert_eq!(permissions.asked(), [on, bob]);

    let error = refusal(&Permissions::of(&[bob]), &as_bob).await;
    assert!(error.contains("cannot impersonate-on:user-info:list resource \"pods\""));
    let error = refusal(&Permissions::of(&[on]), &as_bob).await;
    assert!(error.contains(
        "cannot impersonate:user-info resource \"users\" in API group \"authentication.k8s.io\""
    ));
}

#[tokio::test]
async fn constrained_permissions_do_not_allow_masters_or_odd_groups() {
    let permissions = Permissions::of(&[
        "impersonate-on:user-info:list pods",
        "impersonate:user-info users bob",
        "impersonate:user-info groups *",
        "impersonate:user-info groups system:masters",
        "impersonate:user-info userextras/* *",
    ]);
    let cases = [
        (
            "impersonate-group: system:masters",
            "impersonating the system:masters group is not allowed",
        ),
        (
            "impersonate-group: ",
            "impersonating the empty string group is not allowed",
        ),
        (
            "impersonate-extra-: x",
            "impersonating the empty string key in extra is not allowed",
        ),
        (
            "impersonate-extra-scopes: x",
            "impersonating an invalid key in extra is not allowed: extra.key: Invalid value: \"scopes\": must be a domain-prefixed path (such as \"acme.io/foo\")",
        ),
        (
            "impersonate-extra-a.io%2f%41: x",
            "impersonating a non-lowercase key in extra is not allowed: \"a.io/A\"",
        ),
        (
            "impersonate-extra-a.io%2fb: ",
            "impersonating the empty string value in extra is not allowed",
        ),
    ];
    for (header, reason) in cases {
        let error = refusal(&permissions, &["impersonate-user: bob", header]).await;
        assert!(error.ends_with(&format!(": {reason}")), "{error}");
    }
}

#[tokio::test]
async fn many_groups_and_attributes_are_asked_about_at_once() {
    let base = [
        "impersonate-on:user-info:list pods",
        "impersonate:user-info users bob",
    ];
    let permissions = Permissions::of(
        &[
            &base[..],
            &[
                "impersonate:user-info groups *",
                "impersonate:user-info userextras/* *",
            ],
        ]
        .concat(),
    );
    let mut headers = vec!["impersonate-user: bob"];
    headers.extend(["impersonate-group: g"; 4]);
    headers.extend(["impersonate-extra-a.io%2fb: x"; 4]);
    let acted = act(&Impersonation::new(), &permissions, user("ali"), &headers).await;
    assert_eq!(acted.expect("a user").user.groups.len(), 5);
    assert_eq!(permissions.asked().len(), 4);
    // Three are few: the wildcard is not asked about.
    let error = refusal(&permissions, &headers[..4]).await;
    assert!(error.starts_with("groups.authentication.k8s.io \"g\""));
}

#[tokio::test]
async fn groups_follow_from_names() {
    let all = Permissions::of(&[
        "impersonate-on:arbitrary-node:list pods",
        "impersonate:arbitrary-node nodes n1",
        "impersonate-on:serviceaccount:list pods",
        "impersonate:serviceaccount serviceaccounts web",
        "impersonate-on:user-info:list pods",
        "impersonate:user-info users system:anonymous",
        "impersonate:user-info users bob",
        "impersonate:user-info groups system:unauthenticated",
    ]);
    let cases = [
        (
            &["system:node:n1"][..],
            &["system:nodes", "system:authenticated"][..],
        ),
        (
            &["system:serviceaccount:shop:web"],
            &[
                "system:serviceaccounts",
                "system:serviceaccounts:shop",
                "system:authenticated",
            ],
        ),
        (&["system:anonymous"], &["system:unauthenticated"]),
        (
            &["bob", "system:unauthenticated"],
            &["system:unauthenticated"],
        ),
    ];
    for (wanted, groups) in cases {
        let mut headers = vec![format!("impersonate-user: {}", wanted[0])];
        headers.extend(
            wanted[1..]
                .iter()
                .map(|g| format!("impersonate-group: {g}")),
        );
        let headers: Vec<&str> = headers.iter().map(String::as_str).collect();
        let acted = act(&Impersonation::new(), &all, user("ali"), &headers).await;
        assert_eq!(acted.expect("a user").user.groups, groups);
    }
}

#[tokio::test]
async fn a_service_account_acts_as_the_node_of_its_pod_only() {
    let mut agent = user("system:serviceaccount:kube-system:agent");
    let node = |names: &[&str]| {
        let names = names.iter().map(|name| (*name).to_owned()).collect();
        vec![("authentication.kubernetes.io/node-name".to_owned(), names)]
    };
    agent.extra = node(&["n1"]);
    let permissions = Permissions::of(&[
        "impersonate-on:associated-node:list pods",
        "impersonate:associated-node nodes *",
    ]);
    let impersonation = Impersonation::new();
    let n1 = ["impersonate-user: system:node:n1"];
    let acted = act(&impersonation, &permissions, agent.clone(), &n1).await;
    let acted = acted.expect("the node of the pod");
    assert_eq!(acted.constraint, "impersonate:associated-node");
    assert_eq!(acted.user.groups, ["system:nodes", "system:authenticated"]);

    let n2 = ["impersonate-user: system:node:n2"];
    let error = act(&impersonation, &permissions, agent.clone(), &n2).await;
    assert!(error.is_err_and(|e| e.contains("impersonate-on:arbitrary-node:list")));
    let in_group = [n1[0], "impersonate-group: g"];
    let error = act(&impersonation, &permissions, agent.clone(), &in_group).await;
    assert!(error.is_err_and(|e| e.contains("cannot impersonate resource \"users\"")));
    for extra in [node(&["n1", "n1"]), Vec::new()] {
        agent.extra = extra;
        let acted = act(&impersonation, &permissions, agent.clone(), &n1).await;
        assert!(acted.is_err());
    }
    agent.extra = node(&["n1"]);
    agent.name = "ali".into();
    let acted = act(&impersonation, &permissions, agent, &n1).await;
    assert!(acted.is_err(), "a user is on no node");
}

#[tokio::test]
async fn the_mode_that_succeeded_is_tried_first() {
    let permissions =
        Permissions::of(&["impersonate users bob", "impersonate users system:node:n1"]);
    let impersonation = Impersonation::new();
    let act = |name: &'static str| {
        let headers = [name];
        let (impersonation, permissions) = (&impersonation, &permissions);
        async move { act(impersonation, permissions, user("ali"), &headers).await }
    };
    let error = act("impersonate-user: eve").await.expect_err("a refusal");
    assert!(error.contains("cannot impersonate-on:user-info:list"));
    act("impersonate-user: bob").await.expect("a user");
    permissions.asked();
    act("impersonate-user: bob").await.expect("a user");
    assert_eq!(permissions.asked(), ["impersonate users bob"]);
    let error = act("impersonate-user: eve").await.expect_err("a refusal");
    assert!(error.contains("cannot impersonate resource \"users\""));
    let node = act("impersonate-user: system:node:n1").await;
    assert_eq!(node.expect("a user").user.groups, ["system:authenticated"]);
}

#[tokio::test]
async fn an_error_of_the_authorizer_is_part_of_the_refusal() {
    let permissions = Permissions {
        error: Some("no answer"),
        ..Permissions::default()
    };
    let error = refusal(&permissions, &["impersonate-user: bob"]).await;
    assert!(error.ends_with(": no answer: no rule"), "{error}");
}

#[tokio::test]
async fn only_the_permissions_that_decided_are_observed() {
    let observed = async |allowed: &[&'static str]| {
        let permissions = Permissions::of(allowed);
        let headers = ["impersonate-user: bob", "impersonate-group: dev"];
        let _ = act(&Impersonation::new(), &permissions, user("ali"), &headers).await;
        permissions.decided.into_inner()
    };
    // The constrained mode, which is tried first, has no say in the end.
    let legacy = observed(&["impersonate users bob", "impersonate groups dev"]).await;
    let expected = [
        "ali may impersonate users bob",
        "ali may impersonate groups dev",
    ];
    assert_eq!(legacy, expected);
    // The refusal is that of the first mode.
    let refused = observed(&["impersonate-on:user-info:list pods"]).await;
    assert_eq!(refused, ["ali may not impersonate:user-info users bob"]);
}
