//! Deployments: ReplicaSets, revisions, scaling, conditions.

use std::time::Duration;

use k8s_openapi::api::apps::v1::{Deployment, ReplicaSet};
use kube::{
    ResourceExt,
    api::{DeleteParams, PropagationPolicy},
};
use kubewright_apiserver::request::Verb;
use kubewright_controller::wait::wait_for;
use kubewright_testing::{Fault, Match};
use serde_json::{Value, json};

use super::{conditions, deployment, template};
use crate::fixture::{Fixture, LONG};

/// The hash of the template of these tests, as Kubernetes 1.36 computes it.
const HASH: &str = "7887448d46";

const REVISION: &str = "deployment.kubernetes.io/revision";

#[tokio::test]
async fn a_replica_set_is_created_for_the_template() {
    let f = Fixture::workloads().await;
    let mut web = deployment(2, json!({"minReadySeconds": 3}));
    web["metadata"]["annotations"] = json!({"kubernetes.io/change-cause": "first"});
    let web = f.create(web).await;
    f.settled().await;
    let sets = f.set_list().await;
    assert_eq!(sets.len(), 1);
    let set = json!(sets[0]);
    assert_eq!(set["metadata"]["name"], format!("web-{HASH}"));
    let labels = json!({"app": "web", "pod-template-hash": HASH});
    assert_eq!(set["metadata"]["labels"], labels);
    assert_eq!(set["spec"]["selector"]["matchLabels"], labels);
    assert_eq!(set["spec"]["template"]["metadata"]["labels"], labels);
    assert_eq!(
        (&set["spec"]["replicas"], &set["spec"]["minReadySeconds"]),
        (&json!(2), &json!(3))
    );
    assert_eq!(
        set["metadata"]["annotations"],
        json!({
            REVISION: "1", "deployment.kubernetes.io/desired-replicas": "2",
            "deployment.kubernetes.io/max-replicas": "3", "kubernetes.io/change-cause": "first",
        })
    );
    assert_eq!(
        set["metadata"]["ownerReferences"][0]["uid"],
        json!(web.uid())
    );
    assert_eq!(
        set["metadata"]["managedFields"][0]["manager"],
        "kube-controller-manager"
    );
    assert_eq!(f.pod_list().await.len(), 2);

    let web = f.deployment("web").await;
    assert_eq!(web["metadata"]["annotations"][REVISION], "1");
    assert_eq!(
        conditions(&web),
        [
            ["Available", "False", "MinimumReplicasUnavailable"],
            ["Progressing", "True", "ReplicaSetUpdated"],
        ]
    );
    let status = &web["status"];
    assert_eq!(
        (&status["observedGeneration"], &status["replicas"]),
        (&json!(1), &json!(2))
    );
    assert_eq!(
        (&status["updatedReplicas"], &status["unavailableReplicas"]),
        (&json!(2), &json!(2))
    );
    let told = (
        "ScalingReplicaSet".to_owned(),
        format!("Scaled up replica set web-{HASH} from 0 to 2"),
    );
    assert_eq!(
        f.events("web").await.into_iter().collect::<Vec<_>>(),
        [(told, 1)]
    );
}

#[tokio::test]
async fn a_rollout_is_complete_when_all_pods_are_available() {
    let f = Fixture::workloads().await;
    f.create(deployment(3, json!({}))).await;
    f.run_to_the_end().await;
    let web = f.deployment("web").await;
    let mut status = web["status"].clone();
    status.as_object_mut().unwrap().remove("conditions");
    assert_eq!(
        status,
        json!({
            "observedGeneration": 1, "replicas": 3, "updatedReplicas": 3, "readyReplicas": 3,
            "availableReplicas": 3, "terminatingReplicas": 0,
        })
    );
    assert_eq!(
        conditions(&web),
        [
            ["Available", "True", "MinimumReplicasAvailable"],
            ["Progressing", "True", "NewReplicaSetAvailable"],
        ]
    );
    let messages = web["status"]["conditions"].as_array().unwrap();
    assert_eq!(
        messages[0]["message"],
        "Deployment has minimum availability."
    );
    let message = format!("ReplicaSet \"web-{HASH}\" has successfully progressed.");
    assert_eq!(messages[1]["message"], message);
}

#[tokio::test]
async fn scaling_keeps_the_revision_and_tells_of_it() {
    let f = Fixture::workloads().await;
    f.create(deployment(2, json!({}))).await;
    f.run_to_the_end().await;
    f.patch_deployment("web", json!({"spec": {"replicas": 4}}))
        .await;
    f.settled().await;
    assert_eq!(f.pod_list().await.len(), 4);
    let set = f.set_list().await.remove(0);
    assert_eq!(
        set.annotations()["deployment.kubernetes.io/desired-replicas"],
        "4"
    );
    assert_eq!(
        set.annotations()["deployment.kubernetes.io/max-replicas"],
        "5"
    );
    assert_eq!(set.annotations()[REVISION], "1");
    let told = (
        "ScalingReplicaSet".to_owned(),
        format!("Scaled up replica set web-{HASH} from 2 to 4"),
    );
    assert_eq!(f.events("web").await[&told], 1);
    f.patch_deployment("web", json!({"spec": {"replicas": 0}}))
        .await;
    f.settled().await;
    assert!(f.pod_list().await.is_empty());
}

#[tokio::test]
async fn a_paused_deployment_is_scaled_but_not_rolled_out() {
    let f = Fixture::workloads().await;
    f.create(deployment(2, json!({}))).await;
    f.run_to_the_end().await;
    f.patch_deployment("web", json!({"spec": {"paused": true}}))
        .await;
    f.settled().await;
    let web = f.deployment("web").await;
    assert_eq!(
        conditions(&web)[1],
        ["Progressing", "Unknown", "DeploymentPaused"]
    );
    let change = json!({"spec": {"replicas": 3, "template": template("nginx:2", json!({}))}});
    f.patch_deployment("web", change).await;
    f.settled().await;
    assert_eq!(f.set_list().await.len(), 1);
    assert_eq!(f.pod_list().await.len(), 3);
    f.patch_deployment("web", json!({"spec": {"paused": false}}))
        .await;
    f.run_to_the_end().await;
    assert_eq!(f.set_list().await.len(), 2);
    let web = f.deployment("web").await;
    assert_eq!(
        conditions(&web)[1],
        ["Progressing", "True", "NewReplicaSetAvailable"]
    );
}

#[tokio::test]
async fn returning_to_an_old_template_reuses_its_replica_set() {
    let f = Fixture::workloads().await;
    f.create(deployment(1, json!({}))).await;
    f.run_to_the_end().await;
    for image in ["nginx:2", "nginx"] {
        let change = json!({"spec": {"template": template(image, json!({}))}});
        f.patch_deployment("web", change).await;
        f.run_to_the_end().await;
    }
    let sets = f.set_list().await;
    assert_eq!(sets.len(), 2);
    let set = f.sets().get(&format!("web-{HASH}")).await.unwrap();
    assert_eq!(set.annotations()[REVISION], "3");
    assert_eq!(
        set.annotations()["deployment.kubernetes.io/revision-history"],
        "1"
    );
    assert_eq!(
        f.deployment("web").await["metadata"]["annotations"][REVISION],
        "3"
    );
}

#[tokio::test]
async fn an_annotation_asks_for_a_rollback() {
    let f = Fixture::workloads().await;
    f.create(deployment(1, json!({}))).await;
    f.run_to_the_end().await;
    f.patch_deployment(
        "web",
        json!({"spec": {"template": template("nginx:2", json!({}))}}),
    )
    .await;
    f.run_to_the_end().await;
    let ask = |revision: &str| json!({"metadata": {"annotations": {"deprecated.deployment.rollback.to": revision}}});
    f.patch_deployment("web", ask("1")).await;
    f.run_to_the_end().await;
    let web = f.deployment("web").await;
    assert_eq!(
        web["spec"]["template"]["spec"]["containers"][0]["image"],
        "nginx"
    );
    assert_eq!(
        web["spec"]["template"]["metadata"]["labels"],
        json!({"app": "web"})
    );
    assert_eq!(
        web["metadata"]["annotations"]["deprecated.deployment.rollback.to"],
        Value::Null
    );
    f.patch_deployment("web", ask("9")).await;
    f.settled().await;
    f.patch_deployment("web", ask("3")).await;
    f.settled().await;
    let events = f.events("web").await;
    let told = |reason: &str, message: &str| events.contains_key(&(reason.into(), message.into()));
    assert!(told(
        "DeploymentRollback",
        "Rolled back deployment \"web\" to revision 1"
    ));
    let missing = "Unable to find the revision to rollback to.";
    assert!(told("DeploymentRollbackRevisionNotFound", missing));
    let same = "The rollback revision contains the same template as current deployment \"web\"";
    assert!(told("DeploymentRollbackTemplateUnchanged", same));
}

#[tokio::test]
async fn old_replica_sets_beyond_the_limit_are_deleted() {
    let f = Fixture::workloads().await;
    f.create(deployment(1, json!({"revisionHistoryLimit": 1})))
        .await;
    f.run_to_the_end().await;
    for image in ["nginx:2", "nginx:3"] {
        f.patch_deployment(
            "web",
            json!({"spec": {"template": template(image, json!({}))}}),
        )
        .await;
        f.run_to_the_end().await;
    }
    let sets = f.set_list().await;
    let mut revisions: Vec<&str> = sets
        .iter()
        .map(|set| &*set.annotations()[REVISION])
        .collect();
    revisions.sort_unstable();
    assert_eq!(revisions, ["2", "3"]);
}

#[tokio::test]
async fn a_name_that_is_taken_leads_to_another_hash() {
    let f = Fixture::workloads().await;
    let mut taken = super::replica_set(&format!("web-{HASH}"), 0, template("other", json!({})));
    taken["metadata"]["labels"] = json!({"app": "stranger"});
    f.create(taken).await;
    f.create(deployment(1, json!({}))).await;
    f.settled().await;
    let web = f.deployment("web").await;
    assert_eq!(web["status"]["collisionCount"], 1);
    assert!(f.sets().get_opt("web-75467d87").await.unwrap().is_some());
}

#[tokio::test]
async fn changed_annotations_reach_the_new_replica_set() {
    let f = Fixture::workloads().await;
    f.create(deployment(1, json!({}))).await;
    f.settled().await;
    let change = json!({"metadata": {"annotations": {"kubernetes.io/change-cause": "why not"}}});
    f.patch_deployment("web", change).await;
    f.settled().await;
    let set = f.set_list().await.remove(0);
    assert_eq!(set.annotations()["kubernetes.io/change-cause"], "why not");
}

#[tokio::test(start_paused = true)]
async fn a_rollout_without_progress_times_out() {
    let f = Fixture::workloads().await;
    f.create(deployment(1, json!({"progressDeadlineSeconds": 60})))
        .await;
    f.settled().await;
    f.cluster.time().advance(Duration::from_secs(62)).await;
    f.settled().await;
    let web = f.deployment("web").await;
    assert_eq!(
        conditions(&web)[1],
        ["Progressing", "False", "ProgressDeadlineExceeded"]
    );
    let message = format!("ReplicaSet \"web-{HASH}\" has timed out progressing.");
    assert_eq!(web["status"]["conditions"][1]["message"], message);
    f.run_to_the_end().await;
    let web = f.deployment("web").await;
    assert_eq!(
        conditions(&web)[1],
        ["Progressing", "True", "NewReplicaSetAvailable"]
    );
}

#[tokio::test]
async fn without_a_deadline_nothing_is_told_of_progress() {
    let f = Fixture::workloads().await;
    f.create(deployment(1, json!({"progressDeadlineSeconds": i32::MAX})))
        .await;
    f.run_to_the_end().await;
    let web = f.deployment("web").await;
    assert_eq!(
        conditions(&web),
        [["Available", "True", "MinimumReplicasAvailable"]]
    );
}

#[tokio::test(start_paused = true)]
async fn a_replica_set_that_cannot_be_created_is_told_of() {
    let f = Fixture::workloads().await;
    let refused = Fault::refuse(403, "Forbidden", "not today");
    let creations = Match::kind::<ReplicaSet>().with_verb(Verb::Create);
    f.cluster.faults().inject(refused, creations, 3);
    f.create(deployment(1, json!({}))).await;
    let failed = |web: Option<&Deployment>| {
        web.is_some_and(|web| {
            conditions(&json!(web))
                .iter()
                .any(|c| c[2] == "ReplicaSetCreateError")
        })
    };
    let web = wait_for(&f.deployments(), "web", LONG, failed)
        .await
        .unwrap();
    let message = format!("Failed to create new replica set \"web-{HASH}\": not today");
    assert_eq!(json!(web)["status"]["conditions"][0]["message"], message);
    f.run_to_the_end().await;
    assert_eq!(
        f.events("web").await[&("ReplicaSetCreateError".to_owned(), message)],
        3
    );
    assert_eq!(f.pod_list().await.len(), 1);
}

#[tokio::test(start_paused = true)]
async fn the_failure_of_a_replica_set_is_that_of_the_deployment() {
    let f = Fixture::workloads().await;
    f.create(json!({
        "apiVersion": "v1", "kind": "ResourceQuota",
        "metadata": {"name": "none", "namespace": "default"}, "spec": {"hard": {"pods": "0"}},
    }))
    .await;
    f.create(deployment(1, json!({}))).await;
    let failed = |web: Option<&Deployment>| {
        web.is_some_and(|web| {
            conditions(&json!(web))
                .iter()
                .any(|c| c[0] == "ReplicaFailure")
        })
    };
    let web = wait_for(&f.deployments(), "web", LONG, failed)
        .await
        .unwrap();
    let failure = conditions(&json!(web)).pop().unwrap();
    assert_eq!(failure, ["ReplicaFailure", "True", "FailedCreate"]);
}

#[tokio::test]
async fn replica_sets_that_were_orphaned_are_adopted_again() {
    let f = Fixture::start("deployment,replicaset,garbagecollector").await;
    f.create(deployment(1, json!({}))).await;
    f.settled().await;
    let orphan = DeleteParams {
        propagation_policy: Some(PropagationPolicy::Orphan),
        ..DeleteParams::default()
    };
    f.deployments().delete("web", &orphan).await.unwrap();
    wait_for(&f.deployments(), "web", LONG, |web| web.is_none())
        .await
        .unwrap();
    f.settled().await;
    let set = f.set_list().await.remove(0);
    assert!(set.owner_references().is_empty());
    let again = f.create(deployment(1, json!({}))).await;
    f.settled().await;
    let sets = f.set_list().await;
    assert_eq!(sets.len(), 1);
    assert_eq!(sets[0].uid(), set.uid());
    assert_eq!(sets[0].owner_references()[0].uid, again.uid().unwrap());
    let web = f.deployment("web").await;
    let reasons: Vec<String> = conditions(&web)
        .into_iter()
        .map(|[_, _, reason]| reason)
        .collect();
    assert!(
        reasons.contains(&"ReplicaSetUpdated".to_owned())
            || reasons.contains(&"FoundNewReplicaSet".to_owned()),
        "{reasons:?}"
    );
}
