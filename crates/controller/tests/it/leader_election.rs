//! Leader election: candidates, hand-over, loss, foreign records. Time is tokio's and paused: nothing sleeps.

use std::{
    sync::{
        Arc,
        atomic::{AtomicI64, Ordering},
    },
    time::Duration,
};

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::{
    api::{
        coordination::v1::{Lease, LeaseSpec},
        events::v1::Event,
    },
    apimachinery::pkg::apis::meta::v1::MicroTime,
};
use kube::{
    Api,
    api::{DeleteParams, Patch, PatchParams, PostParams},
};
use kubewright_apiserver::request::Verb;
use kubewright_controller::{
    events::EventBroadcaster,
    leader_election::{ElectionMetrics, LeaderElector, Leadership, Outcome},
};
use kubewright_machinery::{gvk::GroupResource, status};
use kubewright_metrics::Registry;
use kubewright_testing::{Fault, Match, TestCluster};
use tokio::time::{Instant, sleep, timeout};

use crate::link::{Candidate, config, elector, leases, link, spec};

const NO_TIME: Duration = Duration::ZERO;

fn unavailable() -> Fault {
    Fault::Refuse(Box::new(status::service_unavailable("down")))
}

/// A record as a Go program writes it.
fn foreign(holder: &str, seconds: i32) -> LeaseSpec {
    let long_ago: Timestamp = "2001-02-03T04:05:06.000007Z".parse().unwrap();
    LeaseSpec {
        holder_identity: Some(holder.to_owned()),
        lease_duration_seconds: Some(seconds),
        acquire_time: Some(MicroTime(long_ago)),
        renew_time: Some(MicroTime(long_ago)),
        lease_transitions: Some(4),
        ..LeaseSpec::default()
    }
}

async fn put(cluster: &TestCluster, spec: LeaseSpec) {
    let mut lease = Lease::default();
    lease.metadata.name = Some("shop".into());
    lease.spec = Some(spec);
    let api = leases(cluster);
    api.create(&PostParams::default(), &lease).await.unwrap();
}

async fn edit(cluster: &TestCluster, spec: &LeaseSpec) {
    let patch = Patch::Merge(serde_json::json!({ "spec": spec }));
    let api = leases(cluster);
    api.patch("shop", &PatchParams::default(), &patch)
        .await
        .unwrap();
}

#[tokio::test(start_paused = true)]
async fn the_first_candidate_leads_and_writes_the_record_of_client_go() {
    let cluster = TestCluster::start().await;
    let mut labelled = config("a");
    labelled.labels.insert("team".into(), "fruit".into());
    let elector = LeaderElector::new(cluster.client(), labelled).unwrap();
    let mut a = Candidate::start(elector, NO_TIME);
    a.leads().await;
    let lease = leases(&cluster).get("shop").await.unwrap();
    assert_eq!(lease.metadata.labels.unwrap()["team"], "fruit");
    let first = lease.spec.unwrap();
    assert_eq!(first.holder_identity.as_deref(), Some("a"));
    assert_eq!(first.lease_duration_seconds, Some(15));
    assert_eq!(first.lease_transitions, Some(0));
    assert_eq!(first.acquire_time, first.renew_time);
    sleep(Duration::from_secs(3)).await;
    let renewed = spec(&cluster).await;
    assert_eq!(renewed.acquire_time, first.acquire_time);
    assert_ne!(renewed.renew_time, first.renew_time);
    assert_eq!(a.stop().await, Outcome::Finished(()));
}

/// The Lease is watched, so a hand-over takes no time.
#[tokio::test(start_paused = true)]
async fn a_graceful_hand_over_takes_milliseconds() {
    let cluster = TestCluster::start().await;
    let mut a = Candidate::start(elector(cluster.client(), "a"), NO_TIME);
    a.leads().await;
    let mut b = Candidate::start(elector(cluster.client(), "b"), NO_TIME);
    sleep(Duration::from_secs(60)).await;
    assert!(b.leading.try_recv().is_err());

    let asked = Instant::now();
    assert_eq!(a.stop().await, Outcome::Finished(()));
    b.leads().await;
    assert!(
        asked.elapsed() < Duration::from_millis(100),
        "{:?}",
        asked.elapsed()
    );
    let taken = spec(&cluster).await;
    assert_eq!(taken.holder_identity.as_deref(), Some("b"));
    assert_eq!(taken.lease_transitions, Some(1));
}

#[tokio::test(start_paused = true)]
async fn a_released_record_is_empty_and_lasts_a_second() {
    let cluster = TestCluster::start().await;
    let mut a = Candidate::start(elector(cluster.client(), "a"), NO_TIME);
    a.leads().await;
    // Somebody is quicker once: it is tried again.
    cluster
        .faults()
        .inject(Fault::Conflict, Match::verb(Verb::Update), 1);
    a.stop().await;
    let free = spec(&cluster).await;
    assert_eq!(free.holder_identity.as_deref(), Some(""));
    assert_eq!(free.lease_duration_seconds, Some(1));
    assert_eq!(free.lease_transitions, Some(0));
}

#[tokio::test(start_paused = true)]
async fn the_lease_is_kept_until_the_work_has_ended() {
    let cluster = TestCluster::start().await;
    let wind_down = Duration::from_secs(40);
    let mut a = Candidate::start(elector(cluster.client(), "a"), wind_down);
    let token = a.leads().await;
    let mut b = Candidate::start(elector(cluster.client(), "b"), NO_TIME);
    let asked = Instant::now();
    let stopped = tokio::spawn(a.stop());
    sleep(Duration::from_secs(39)).await;
    assert!(token.is_stopping());
    assert!(token.fence().is_open(), "work that winds down may write");
    assert_eq!(spec(&cluster).await.holder_identity.as_deref(), Some("a"));
    b.leads().await;
    assert!(asked.elapsed() >= wind_down);
    assert!(!token.fence().is_open());
    assert_eq!(stopped.await.unwrap(), Outcome::Finished(()));
}

#[tokio::test(start_paused = true)]
async fn a_leader_that_cannot_renew_stops_before_another_leads() {
    let cluster = TestCluster::start().await;
    let (client, faults) = link(&cluster);
    let mut a = Candidate::start(elector(client, "a"), Duration::from_secs(3600));
    let token = a.leads().await;
    let began = Instant::now();
    let mut b = Candidate::start(elector(cluster.client(), "b"), NO_TIME);
    for verb in [Verb::Update, Verb::Get] {
        faults.inject(unavailable(), Match::verb(verb), usize::MAX);
    }
    token.stopping().await;
    assert_eq!(began.elapsed().as_secs(), 10, "the renew deadline");
    assert!(!token.fence().is_open());
    assert!(b.leading.try_recv().is_err());
    // The work takes an hour to end: it is dropped when the lease expires.
    assert_eq!(a.task.await.unwrap(), Outcome::Lost);
    assert_eq!(began.elapsed().as_secs(), 15);
    b.leads().await;
    let took = began.elapsed();
    assert!(
        took >= Duration::from_secs(15) && took < Duration::from_secs(16),
        "{took:?}"
    );
}

#[tokio::test(start_paused = true)]
async fn a_leader_survives_refusals_shorter_than_its_deadline() {
    let cluster = TestCluster::start().await;
    let (client, faults) = link(&cluster);
    let mut a = Candidate::start(elector(client, "a"), NO_TIME);
    let token = a.leads().await;
    for _ in 0..10 {
        faults.inject(unavailable(), Match::verb(Verb::Update), 3);
        faults.inject(unavailable(), Match::verb(Verb::Get), 3);
        sleep(Duration::from_secs(20)).await;
        assert!(token.fence().is_open());
    }
    assert_eq!(faults.pending(), 0);
    assert_eq!(spec(&cluster).await.lease_transitions, Some(0));
    assert_eq!(a.stop().await, Outcome::Finished(()));
}

/// Times in the record are never compared with a clock.
#[tokio::test(start_paused = true)]
async fn clocks_that_jump_do_not_change_the_leader() {
    let cluster = TestCluster::start().await;
    let (years, clock) = {
        let years = Arc::new(AtomicI64::new(0));
        let shared = years.clone();
        (years, move || {
            let offset = SignedDuration::from_hours(shared.load(Ordering::Relaxed) * 8766);
            Timestamp::now().checked_add(offset).unwrap()
        })
    };
    let mut a = Candidate::start(elector(cluster.client(), "a").wall_clock(clock), NO_TIME);
    a.leads().await;
    let eighties = || Timestamp::from_second(500_000_000).unwrap();
    let mut b = Candidate::start(elector(cluster.client(), "b").wall_clock(eighties), NO_TIME);
    for jump in [10, -10, 5, 0, -20] {
        years.store(jump, Ordering::Relaxed);
        sleep(Duration::from_secs(60)).await;
        assert!(b.leading.try_recv().is_err());
        assert_eq!(spec(&cluster).await.holder_identity.as_deref(), Some("a"));
    }
    // A leader whose clock stands still renews all the same.
    a.stop().await;
    b.leads().await;
    let mut c = Candidate::start(elector(cluster.client(), "c"), NO_TIME);
    sleep(Duration::from_secs(60)).await;
    assert!(c.leading.try_recv().is_err());
}

#[tokio::test(start_paused = true)]
async fn a_foreign_record_is_honoured_for_its_own_duration_from_when_it_was_seen() {
    for watch in [true, false] {
        let cluster = TestCluster::start().await;
        put(&cluster, foreign("go-host_6c8b", 40)).await;
        let began = Instant::now();
        let mut config = config("a");
        config.watch = watch;
        let elector = LeaderElector::new(cluster.client(), config).unwrap();
        let leadership = elector.leadership();
        let mut a = Candidate::start(elector, NO_TIME);
        sleep(Duration::from_secs(39)).await;
        assert!(a.leading.try_recv().is_err());
        let holder = Leadership {
            holder: "go-host_6c8b".into(),
            leading: false,
        };
        assert_eq!(*leadership.borrow(), holder);
        a.leads().await;
        assert_eq!(began.elapsed().as_secs(), 40);
        let taken = spec(&cluster).await;
        assert_eq!(taken.holder_identity.as_deref(), Some("a"));
        assert_eq!(taken.lease_duration_seconds, Some(15));
        assert_eq!(taken.lease_transitions, Some(5));
    }
}

#[tokio::test(start_paused = true)]
async fn every_change_of_a_foreign_record_restarts_the_time() {
    let cluster = TestCluster::start().await;
    put(&cluster, foreign("go", 15)).await;
    let mut a = Candidate::start(elector(cluster.client(), "a"), NO_TIME);
    for transitions in 5..15 {
        sleep(Duration::from_secs(14)).await;
        let mut renewed = foreign("go", 15);
        // Any change is one, even one that no holder makes.
        renewed.lease_transitions = Some(transitions);
        edit(&cluster, &renewed).await;
        assert!(a.leading.try_recv().is_err());
    }
    let seen = Instant::now();
    a.leads().await;
    assert_eq!(seen.elapsed().as_secs(), 15);
}

#[tokio::test(start_paused = true)]
async fn a_lease_that_a_go_holder_releases_is_taken_immediately() {
    let cluster = TestCluster::start().await;
    put(&cluster, foreign("go", 3600)).await;
    let mut a = Candidate::start(elector(cluster.client(), "a"), NO_TIME);
    sleep(Duration::from_secs(100)).await;
    let released = Instant::now();
    edit(&cluster, &foreign("", 1)).await;
    a.leads().await;
    assert!(released.elapsed() < Duration::from_millis(100));
}

#[tokio::test(start_paused = true)]
async fn where_the_lease_may_not_be_watched_it_is_polled() {
    let cluster = TestCluster::start().await;
    put(&cluster, foreign("go", 3600)).await;
    let (client, faults) = link(&cluster);
    let leases = GroupResource::new("coordination.k8s.io", "leases");
    let forbidden = status::forbidden(&leases, "shop", "no");
    let forbidden = Fault::Refuse(Box::new(forbidden));
    faults.inject(forbidden, Match::verb(Verb::Watch), usize::MAX);
    let mut a = Candidate::start(elector(client, "a"), NO_TIME);
    sleep(Duration::from_secs(100)).await;
    assert_eq!(faults.pending(), usize::MAX - 1, "asked once only");
    let released = Instant::now();
    edit(&cluster, &foreign("", 1)).await;
    a.leads().await;
    assert!(
        released.elapsed() < Duration::from_millis(4400),
        "one retry"
    );
}

#[tokio::test(start_paused = true)]
async fn a_leader_that_was_deposed_does_not_fight() {
    let cluster = TestCluster::start().await;
    let mut a = Candidate::start(elector(cluster.client(), "a"), NO_TIME);
    let token = a.leads().await;
    sleep(Duration::from_secs(5)).await;
    let deposed = Instant::now();
    edit(&cluster, &foreign("usurper", 15)).await;
    assert_eq!(a.task.await.unwrap(), Outcome::Lost);
    assert!(deposed.elapsed() < Duration::from_millis(100));
    assert!(!token.fence().is_open());
    assert_eq!(
        spec(&cluster).await.holder_identity.as_deref(),
        Some("usurper")
    );
}

#[tokio::test(start_paused = true)]
async fn a_lease_that_was_deleted_is_made_again() {
    let cluster = TestCluster::start().await;
    let mut a = Candidate::start(elector(cluster.client(), "a"), NO_TIME);
    let token = a.leads().await;
    leases(&cluster)
        .delete("shop", &DeleteParams::default())
        .await
        .unwrap();
    sleep(Duration::from_secs(3)).await;
    assert_eq!(spec(&cluster).await.holder_identity.as_deref(), Some("a"));
    assert!(token.fence().is_open());
}

#[tokio::test(start_paused = true)]
async fn a_candidate_that_never_led_leaves_the_record_alone() {
    let cluster = TestCluster::start().await;
    put(&cluster, foreign("go", 3600)).await;
    let before = leases(&cluster).get("shop").await.unwrap();
    let a = Candidate::start(elector(cluster.client(), "a"), NO_TIME);
    sleep(Duration::from_secs(30)).await;
    assert_eq!(a.stop().await, Outcome::NeverLed);
    assert_eq!(leases(&cluster).get("shop").await.unwrap(), before);
}

#[tokio::test(start_paused = true)]
async fn an_election_that_is_dropped_closes_its_fence() {
    let cluster = TestCluster::start().await;
    let mut a = Candidate::start(elector(cluster.client(), "a"), NO_TIME);
    let token = a.leads().await;
    assert!(token.fence().is_open());
    a.task.abort();
    assert!(a.task.await.unwrap_err().is_cancelled());
    assert!(!token.fence().is_open());
    assert!(token.is_stopping());
}

#[tokio::test(start_paused = true)]
async fn of_many_candidates_one_leads_at_a_time_and_each_gets_its_turn() {
    let cluster = TestCluster::start().await;
    let leaders = Arc::new(AtomicI64::new(0));
    let mut tasks = Vec::new();
    for n in 0..10 {
        let elector = elector(cluster.client(), &format!("c{n}"));
        let leaders = leaders.clone();
        let work = move |_| async move {
            assert_eq!(leaders.fetch_add(1, Ordering::SeqCst), 0);
            sleep(Duration::from_secs(7)).await;
            leaders.fetch_sub(1, Ordering::SeqCst);
        };
        tasks.push(tokio::spawn(elector.run(std::future::pending(), work)));
    }
    let all = async {
        for task in tasks {
            assert_eq!(task.await.unwrap(), Outcome::Finished(()));
        }
    };
    timeout(Duration::from_secs(75), all).await.unwrap();
    assert_eq!(spec(&cluster).await.lease_transitions, Some(9));
}

#[tokio::test(start_paused = true)]
async fn changes_of_leadership_are_events_and_metrics() {
    let cluster = TestCluster::start().await;
    let broadcaster = EventBroadcaster::new(cluster.client());
    let registry = Registry::new();
    let elector = elector(cluster.client(), "a")
        .recorder(broadcaster.recorder("shop"))
        .metrics(ElectionMetrics::register(&registry));
    let status = |on| format!("leader_election_master_status{{name=\"shop\"}} {on}\n");
    assert!(registry.encode().contains(&status(0)));
    let mut a = Candidate::start(elector, NO_TIME);
    a.leads().await;
    assert!(registry.encode().contains(&status(1)));
    a.stop().await;
    assert!(registry.encode().contains(&status(0)));

    broadcaster.run(std::future::ready(())).await;
    let events: Api<Event> = Api::default_namespaced(cluster.client());
    let events = events.list(&Default::default()).await.unwrap().items;
    assert_eq!(events.len(), 1, "{events:?}");
    let event = &events[0];
    assert_eq!(event.note.as_deref(), Some("a became leader"));
    assert_eq!(event.reason.as_deref(), Some("LeaderElection"));
    assert_eq!(
        event.series.as_ref().unwrap().count,
        2,
        "and stopped leading"
    );
    let about = event.regarding.as_ref().unwrap();
    assert_eq!(about.kind.as_deref(), Some("Lease"));
    assert!(about.uid.is_some());
}
