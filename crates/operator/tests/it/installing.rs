//! Installation of an operator on a test cluster: definitions, roles and error messages.

use k8s_openapi::api::{
    core::v1::{ConfigMap, Secret, ServiceAccount},
    rbac::v1::{ClusterRole, ClusterRoleBinding, Role, RoleBinding},
};
use kube::{Api, CustomResource};
use kubewright::Schema;
use kubewright_controller::{Action, Context, Controller, Request, Result};
use kubewright_operator::{Operator, PolicyRule};
use kubewright_testing::{Fault, Match, TestCluster, Verb, World, perturb};
use serde::{Deserialize, Serialize};

/// The desired state of a Stall.
#[derive(CustomResource, Schema, Clone, Debug, Default, Serialize, Deserialize)]
#[kube(group = "example.com", version = "v1", kind = "Stall", namespaced)]
struct StallSpec {}

async fn reconcile(_: Context, _: Request) -> Result<Action> {
    Ok(Action::done())
}

fn operator() -> Operator {
    Operator::new("market", |operator| {
        let token = PolicyRule::new("", &["secrets"], &["get"]);
        operator
            .api::<Stall>()
            .controller(Controller::for_::<Stall>().owns::<ConfigMap>(), reconcile)
            .permit(token.resource_names(&["token"]).namespace("vault"));
    })
}

#[tokio::test]
async fn installing_applies_the_roles() {
    let cluster = operator().start_test().await.unwrap();
    let client = cluster.client();
    let roles: Api<ClusterRole> = Api::all(client.clone());
    let rules = roles.get("market-manager-role").await.unwrap().rules;
    let resources = |rule: &k8s_openapi::api::rbac::v1::PolicyRule| rule.resources.clone();
    let allowed: Vec<String> = rules
        .iter()
        .flatten()
        .filter_map(resources)
        .flatten()
        .collect();
    assert!(
        ["stalls", "stalls/status", "configmaps", "events"]
            .iter()
            .all(|wanted| allowed.contains(&(*wanted).to_owned())),
        "{allowed:?}"
    );
    assert!(!allowed.contains(&"secrets".to_owned()));
    let accounts: Api<ServiceAccount> = Api::namespaced(client.clone(), "market-system");
    assert!(accounts.get("market-controller-manager").await.is_ok());
    let bindings: Api<ClusterRoleBinding> = Api::all(client.clone());
    let binding = bindings.get("market-manager-rolebinding").await.unwrap();
    assert_eq!(binding.role_ref.name, "market-manager-role");
    let subject = &binding.subjects.unwrap()[0];
    assert_eq!(subject.name, "market-controller-manager");
    // A rule for one namespace becomes a role in it.
    let roles: Api<Role> = Api::namespaced(client.clone(), "vault");
    let rules = roles.get("market-manager-role").await.unwrap().rules;
    assert_eq!(
        rules.unwrap()[0].resource_names.as_deref(),
        Some(&["token".to_owned()][..])
    );
    let bindings: Api<RoleBinding> = Api::namespaced(client, "vault");
    assert!(bindings.get("market-manager-rolebinding").await.is_ok());
    cluster.stop().await.unwrap();
}

#[tokio::test]
async fn installation_errors_are_sentences() {
    let cluster = TestCluster::start().await;
    let refused = Fault::refuse(403, "Forbidden", "definitions are forbidden");
    cluster.faults().inject(
        refused,
        Match::verb(Verb::Patch).resource("customresourcedefinitions"),
        1,
    );
    let error = operator().start_on(cluster).await.err().unwrap();
    let sentence = "cannot install stalls.example.com: definitions are forbidden";
    assert_eq!(error.to_string(), sentence);
    // `unwrap` prints the same sentence.
    assert_eq!(format!("{error:?}"), sentence);

    let cluster = TestCluster::start().await;
    let refused = Fault::refuse(403, "Forbidden", "roles are forbidden");
    cluster
        .faults()
        .inject(refused, Match::kind::<ClusterRole>(), 1);
    let error = operator().install_on(&cluster).await.unwrap_err();
    assert_eq!(
        format!("{error:?}"),
        "cannot apply the roles: roles are forbidden"
    );
}

#[test]
fn installation_errors_of_perturbed_operators_are_sentences() {
    let unfinished = || {
        Operator::new("market", |operator| {
            operator
                .api::<Stall>()
                .controller(Controller::for_::<Stall>().owns::<Secret>(), reconcile)
                .permit(PolicyRule::new("", &["secrets"], &[]));
        })
    };
    let report = perturb(unfinished, |_: World| async {}).explore();
    let reason = &report.failures[0].reason;
    assert!(
        reason.starts_with("cannot install the program: cannot apply the roles: "),
        "{reason}"
    );
    assert!(!reason.contains("Status {"), "{reason}");
}
