//! The fence: no write of a deposed leader leaves.

use std::{future::poll_fn, pin::pin, task::Poll, time::Duration};

use k8s_openapi::api::core::v1::ConfigMap;
use kube::{
    Api, Client,
    api::{DeleteParams, ListParams, Patch, PatchParams, PostParams},
};
use kubewright_controller::leader_election::{Fence, Outcome, is_not_leader};
use kubewright_testing::TestCluster;
use tokio::{sync::oneshot, time::advance};

use crate::link::{Candidate, elector, spec};

fn map(name: &str) -> ConfigMap {
    let mut map = ConfigMap::default();
    map.metadata.name = Some(name.into());
    map
}

fn maps(client: Client) -> Api<ConfigMap> {
    Api::default_namespaced(client)
}

/// The process is stopped: nothing of it runs while the clock goes on. Here its elector is simply not polled.
#[tokio::test(start_paused = true)]
async fn a_leader_that_was_paused_past_its_lease_writes_nothing_when_it_wakes() {
    let cluster = TestCluster::start().await;
    let elector = elector(cluster.client(), "a");
    let client = elector.fence().guard(cluster.client());
    let (tell, mut leading) = oneshot::channel();
    let mut paused = pin!(elector.run(std::future::pending(), async |token| {
        let _ = tell.send(token.clone());
        token.stopping().await;
    }));
    let token = tokio::select! {
        _ = &mut paused => panic!("ended"),
        token = &mut leading => token.unwrap(),
    };
    let of_term = token.guard(cluster.client());
    maps(client.clone())
        .create(&PostParams::default(), &map("before"))
        .await
        .unwrap();
    maps(of_term.clone())
        .create(&PostParams::default(), &map("before-too"))
        .await
        .unwrap();

    // Between the renew deadline and the end of the lease nobody else leads, and it writes nothing already.
    advance(Duration::from_secs(10)).await;
    let refused = maps(client.clone())
        .create(&PostParams::default(), &map("late"))
        .await;
    assert!(is_not_leader(&refused.unwrap_err()));

    let mut b = Candidate::start(self::elector(cluster.client(), "b"), Duration::ZERO);
    b.leads().await;
    for client in [&client, &of_term] {
        let maps = maps(client.clone());
        let params = PostParams::default();
        let refused = maps.create(&params, &map("late")).await.unwrap_err();
        assert!(is_not_leader(&refused), "{refused}");
        let patch = Patch::Merge(serde_json::json!({"data": {"a": "b"}}));
        let refused = maps.patch("before", &PatchParams::default(), &patch).await;
        assert!(is_not_leader(&refused.unwrap_err()));
        let refused = maps.delete("before", &DeleteParams::default()).await;
        assert!(is_not_leader(&refused.unwrap_err()));
        // Reads go on.
        assert_eq!(
            maps.list(&ListParams::default()).await.unwrap().items.len(),
            2
        );
    }

    // It wakes, learns that it is over, and leaves the lease to the other.
    assert_eq!(paused.await, Outcome::Lost);
    assert_eq!(spec(&cluster).await.holder_identity.as_deref(), Some("b"));
}

/// A pause in the middle of sending: between the decision to send and the sending itself.
#[tokio::test(start_paused = true)]
async fn a_write_that_was_begun_before_a_pause_does_not_leave_after_it() {
    let cluster = TestCluster::start().await;
    let mut a = Candidate::start(elector(cluster.client(), "a"), Duration::ZERO);
    let token = a.leads().await;
    let maps = maps(token.guard(cluster.client()));
    let (params, object) = (PostParams::default(), map("late"));
    let mut write = pin!(maps.create(&params, &object));
    // Queued, and no more: the connection's task has not run yet.
    poll_fn(|cx| {
        assert!(write.as_mut().poll(cx).is_pending());
        Poll::Ready(())
    })
    .await;
    a.task.abort();
    advance(Duration::from_secs(60)).await;
    assert!(is_not_leader(&write.await.unwrap_err()));
}

#[tokio::test(start_paused = true)]
async fn candidates_do_not_write_and_programs_without_election_do() {
    let cluster = TestCluster::start().await;
    let candidate = elector(cluster.client(), "a");
    let guarded = maps(candidate.fence().guard(cluster.client()));
    let refused = guarded.create(&PostParams::default(), &map("m")).await;
    let refused = refused.unwrap_err();
    assert!(is_not_leader(&refused));
    assert!(!is_not_leader(&guarded.get("m").await.unwrap_err()));
    let open = maps(Fence::open().guard(cluster.client()));
    open.create(&PostParams::default(), &map("m"))
        .await
        .unwrap();
    guarded.get("m").await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn wrapped_errors_are_recognized_as_not_the_leader() {
    let cluster = TestCluster::start().await;
    let candidate = elector(cluster.client(), "a");
    let client = candidate.fence().guard(cluster.client());
    let client = kubewright_client::ClientOptions::new().wrap(client);
    let refused = maps(client).create(&PostParams::default(), &map("m")).await;
    assert!(is_not_leader(&refused.unwrap_err()));
}
