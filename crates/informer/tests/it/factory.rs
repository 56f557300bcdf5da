//! Factories: who shares what, what starts when, and why something is not synced.

use std::time::Duration;

use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use kube::core::ApiResource;
use kubewright_informer::SubscribeOptions;
use kubewright_informer::{Event, Scope, SharedInformerFactory};
use kubewright_machinery::{Status, status};

use crate::cut::Place;
use crate::embedded::{Strike, Wire, cluster};

const LONG: Duration = Duration::from_secs(60);

/// Returns the report of a factory whose config maps have a fault and whose secrets have none.
async fn report_of(strike: Strike) -> (String, usize) {
    let (cluster, _) = cluster().await;
    let wire = Wire::to(cluster.service(), 1);
    wire.strike_lists(std::iter::repeat_n(strike.clone(), 200));
    wire.strike_watches(std::iter::repeat_n(strike, 200));
    let factory = SharedInformerFactory::new(wire.client());
    let _maps = factory.informer::<ConfigMap>();
    let _secrets = factory.informer::<Secret>();
    factory.start();
    let report = factory.wait_for_sync(LONG).await;
    assert!(!report.is_synced());
    assert_eq!(report.not_synced.len(), 1);
    (report.to_string(), report.synced.len())
}

fn refused(code: u16, reason: &str, message: &str) -> Status {
    let mut refusal = status::internal("");
    refusal.code = code;
    refusal.reason = reason.into();
    message.clone_into(&mut refusal.message);
    refusal
}

// Client-go says which types are not synced; here there is the reason too.
#[tokio::test(start_paused = true)]
async fn a_missing_permission_says_so() {
    let message = "configmaps is forbidden: User \"u\" cannot list resource \"configmaps\"";
    let forbidden = refused(403, "Forbidden", message);
    let (report, synced) = report_of(Strike::Refuse(forbidden)).await;
    assert!(
        report.starts_with("configmaps not synced: ") && report.contains(message),
        "{report}"
    );
    assert_eq!(synced, 1);
}

#[tokio::test(start_paused = true)]
async fn a_missing_resource_says_so() {
    let gone = refused(
        404,
        "NotFound",
        "the server could not find the requested resource",
    );
    let (report, _) = report_of(Strike::Refuse(gone)).await;
    assert!(
        report.contains("could not find the requested resource"),
        "{report}"
    );
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_cannot_be_decoded_says_so() {
    let (report, _) = report_of(Strike::Cut(Place::Byte(300), false)).await;
    assert_eq!(
        report,
        "configmaps not synced: the stream ended in the middle of a list"
    );
    let (report, _) = report_of(Strike::NoConnection).await;
    assert!(report.contains("refused"), "{report}");
}

// Each time a watch list breaks off before the list fails. The reason must not depend on which of the two was last.
#[tokio::test(start_paused = true)]
async fn the_reason_of_a_list_outlives_that_of_a_watch_list() {
    let (cluster, _) = cluster().await;
    let wire = Wire::to(cluster.service(), 1);
    let strike = Strike::Cut(Place::Byte(300), false);
    wire.strike_lists(std::iter::repeat_n(strike.clone(), 200));
    wire.strike_watches(std::iter::repeat_n(strike, 200));
    let factory = SharedInformerFactory::new(wire.client());
    let maps = factory.informer::<ConfigMap>();
    factory.start();
    tokio::time::sleep(Duration::from_secs(10)).await;
    for second in 10..400 {
        let reason = maps.wait_for_sync(Duration::from_secs(1)).await;
        assert_eq!(
            reason.unwrap_err().to_string(),
            "configmaps not synced: the stream ended in the middle of a list",
            "after {second} s"
        );
    }
}

// An informer that was not started is not waited for.
#[tokio::test(start_paused = true)]
async fn only_what_was_started_is_waited_for() {
    let (cluster, _) = cluster().await;
    let factory = SharedInformerFactory::new(cluster.client());
    let maps = factory.informer::<ConfigMap>();
    let report = factory.wait_for_sync(LONG).await;
    assert!(report.is_synced() && report.synced.is_empty());
    let reason = maps.wait_for_sync(Duration::from_secs(1)).await;
    assert_eq!(
        reason.unwrap_err().to_string(),
        "configmaps not synced: the informer does not run"
    );
}

#[tokio::test(start_paused = true)]
async fn starting_twice_is_harmless_and_those_who_come_later_start_at_once() {
    let (cluster, maps) = cluster().await;
    let factory = SharedInformerFactory::new(cluster.client());
    let first = factory.informer::<ConfigMap>();
    // Before the first list there is nothing, and no error.
    assert!(first.lister().is_empty());
    factory.start();
    factory.start();
    let later = factory.informer::<Secret>();
    later.wait_for_sync(LONG).await.unwrap();
    let report = factory.wait_for_sync(LONG).await;
    assert_eq!(report.synced.len(), 2, "{report}");
    // kube-root-ca.crt and the like are not the tests' business.
    assert!(first.lister().len() >= maps.model().await.len());
    assert_eq!(first.metrics().watches, 1);
    factory.shutdown().await;
    factory.start();
    assert!(factory.informer::<ConfigMap>().is_stopped());
}

// As long as somebody uses it, whoever asked first may go.
#[tokio::test(start_paused = true)]
async fn the_last_user_of_any_kind_ends_the_watch() {
    let (cluster, maps) = cluster().await;
    let wire = Wire::to(cluster.service(), 1);
    let factory = SharedInformerFactory::new(wire.client());
    let resource = ApiResource::erase::<ConfigMap>(&());
    factory.start();
    let typed = factory.informer::<ConfigMap>();
    let dynamic = factory.dynamic(&resource);
    let metadata = factory.metadata(&resource).lister();
    let mut events = dynamic.subscribe(SubscribeOptions::default());
    let handler = typed.add_handler(|_: Event<ConfigMap>| {});
    typed.wait_for_sync(LONG).await.unwrap();
    assert_eq!((factory.len(), typed.metrics().watches), (1, 1));
    drop((typed, dynamic));
    assert!(!metadata.is_empty());
    assert_eq!(factory.len(), 1);
    drop(metadata);
    // A reader is a user, and is still notified.
    maps.create("more").await;
    while events.next().await.unwrap().key().name() != "more" {}
    drop(events);
    assert_eq!(factory.len(), 1);
    handler.shut_down().await;
    assert_eq!(factory.len(), 0);
    assert!(factory.is_empty());
    // Whoever asks now gets another, with another watch.
    let again = factory.informer::<ConfigMap>();
    again.wait_for_sync(LONG).await.unwrap();
    assert_eq!(again.metrics().watches, 1);
}

// Another scope is another cache.
#[tokio::test(start_paused = true)]
async fn scopes_are_distinguished() {
    let (cluster, _) = cluster().await;
    let factory = SharedInformerFactory::builder(cluster.client())
        .fields("metadata.name!=m1")
        .build();
    let all = factory.informer::<ConfigMap>();
    let same = factory.informer_in::<ConfigMap>(Scope::default());
    let labelled = factory.informer_in::<ConfigMap>(Scope::default().labels("a=b"));
    let one = factory.informer_in::<ConfigMap>(Scope::namespaces(["default"]));
    let two = factory.informer_in::<ConfigMap>(Scope::namespaces(["kube-system", "default"]));
    let turned = factory.informer_in::<ConfigMap>(Scope::namespaces(["default", "kube-system"]));
    assert_eq!(factory.len(), 4);
    factory.start();
    assert!(factory.wait_for_sync(LONG).await.is_synced());
    assert_eq!(all.lister().len(), same.lister().len());
    assert_eq!(two.lister().len(), turned.lister().len());
    assert_eq!(labelled.lister().len(), 0);
    // The index by namespace is always there.
    let in_default = two.indexer().by_index("namespace", "default").unwrap();
    assert_eq!(in_default.len(), one.lister().len());
    assert!(one.lister().cached(&"default/m1".parse_key()).is_none());
    assert!(one.lister().cached(&"default/m2".parse_key()).is_some());
    assert_eq!(two.metrics().watches, 2);
}

trait ParseKey {
    fn parse_key(&self) -> kubewright_informer::Key;
}

impl ParseKey for str {
    fn parse_key(&self) -> kubewright_informer::Key {
        kubewright_informer::Key::parse(self).unwrap()
    }
}

// Client-go's names where it has one.
#[tokio::test(start_paused = true)]
async fn metrics_have_names() {
    let (cluster, _) = cluster().await;
    let factory = SharedInformerFactory::new(cluster.client());
    let maps = factory.informer::<ConfigMap>();
    let options = SubscribeOptions::default().name("printer");
    let handler = maps.add_handler_with(options, |_: Event<ConfigMap>| {});
    factory.start();
    handler.synced().await;
    let metrics = factory.metrics();
    assert_eq!(metrics.len(), 1);
    let text = metrics[0].to_string();
    for name in [
        "informer_queued_items{resource=\"configmaps\"} 0",
        "informer_store_resource_version{resource=\"configmaps\"} ",
        "informer_store_items{resource=\"configmaps\"} ",
        "informer_store_bytes{resource=\"configmaps\"} ",
        "informer_lists_total{resource=\"configmaps\"} 0",
        "informer_watches_total{resource=\"configmaps\"} 1",
        "informer_relists_total{resource=\"configmaps\",cause=\"initial\"} 1",
        "informer_relists_total{resource=\"configmaps\",cause=\"backwards\"} 0",
        "informer_handler_depth{resource=\"configmaps\",handler=\"printer\"} 0",
    ] {
        assert!(text.contains(name), "{name}\n{text}");
    }
    assert!(metrics[0].quiet_millis.is_some());
}
