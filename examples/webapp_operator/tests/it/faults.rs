//! Faults between the operator and the server.

use k8s_openapi::api::{apps::v1::Deployment, core::v1::ConfigMap};
use kubewright::testing::{Fault, Match, Verb};
use webapp_operator::api::v1::WebApp;

use crate::*;

#[tokio::test(start_paused = true)]
async fn errors_and_conflicts_delay_an_app_and_do_not_stop_it() {
    let (cluster, _) = start().await;
    let status = Match::kind::<WebApp>().subresource("status");
    let faults = cluster.faults();
    faults.inject(Fault::Conflict, status, 3);
    let apply = Match::kind::<Deployment>().with_verb(Verb::Patch);
    faults.inject(
        Fault::refuse(500, "InternalError", "try again"),
        apply.clone(),
        2,
    );
    faults.inject(Fault::TooManyRequests { retry_after: 1 }, apply, 1);
    run(&cluster, &app("shop")).await;
    assert_eq!(faults.pending(), 0);
    assert_eq!(
        ready_condition(&cluster, "shop").await.reason,
        "Progressing"
    );
}

#[tokio::test(start_paused = true)]
async fn an_outage_is_survived() {
    let (cluster, _) = start().await;
    run(&cluster, &app("shop")).await;
    cluster.faults().go_down();
    cluster
        .time()
        .advance(std::time::Duration::from_secs(30))
        .await;
    cluster.faults().come_back();
    run(&cluster, &app("blog")).await;
    assert!(api::<Deployment>(&cluster).get("blog").await.is_ok());
}

#[tokio::test(start_paused = true)]
async fn objects_of_other_owners_are_not_taken_over() {
    let (cluster, _) = start().await;
    let mut other = app("other");
    other.spec.host = None;
    run(&cluster, &other).await;
    // Another app controls the ConfigMap whose name the new one needs.
    let owner = api::<WebApp>(&cluster).get("other").await.unwrap();
    let mut map = ConfigMap::default();
    map.metadata.name = Some("shop".to_owned());
    let reference = kube::Resource::controller_owner_ref(&owner, &()).unwrap();
    map.metadata.owner_references = Some(vec![reference]);
    create(&cluster, &map).await;
    create(&cluster, &app("shop")).await;
    let limit = std::time::Duration::from_secs(5);
    let unsettled = cluster.settled_within(limit).await.unwrap_err().to_string();
    assert!(
        unsettled.contains("webapp: 1 to be tried again"),
        "{unsettled}"
    );
}
