//! The table of client-go's `TestEventCorrelator`, and its neighbours.

use std::sync::Arc;

use k8s_openapi::api::core::v1::ObjectReference;

use super::*;
use crate::events::recorder::{EventDraft, EventType, Reporter};

fn about(reason: &str, note: &str, second: i64) -> Occurrence {
    Occurrence {
        draft: EventDraft {
            regarding: ObjectReference {
                kind: Some("Pod".into()),
                namespace: Some("shop".into()),
                name: Some("p".into()),
                ..ObjectReference::default()
            },
            related: None,
            type_: EventType::Warning,
            reason: reason.into(),
            action: None,
            note: note.into(),
            annotations: Default::default(),
        },
        reporter: Arc::new(Reporter {
            controller: "test".into(),
            instance: "test-host".into(),
            host: None,
        }),
        at: Timestamp::from_second(second).unwrap(),
        pending: None,
    }
}

fn correlator(limit: Option<SpamLimit>) -> Correlator {
    Correlator::new(Aggregation::default(), limit, 4096)
}

fn created(correlated: Correlated) -> Event {
    match correlated {
        Correlated::Create(event) => *event,
        other => panic!("{other:?}"),
    }
}

fn patched(correlated: Correlated) -> Event {
    match correlated {
        Correlated::Patch(event) => *event,
        other => panic!("{other:?}"),
    }
}

#[tokio::test(start_paused = true)]
async fn the_first_event_is_created_beside_its_object() {
    let event = created(correlator(None).correlate(&about("Failed", "a", 16), Instant::now()));
    // The last four digits tell events of one instant apart.
    let name = event.metadata.name.unwrap();
    assert!(name.starts_with("p.3b9ac") && name.len() == 11, "{name}");
    assert_eq!(event.metadata.namespace.as_deref(), Some("shop"));
    assert_eq!(event.count, Some(1));
    assert_eq!(event.first_timestamp, event.last_timestamp);
    assert_eq!(event.source.unwrap().component.as_deref(), Some("test"));
}

#[tokio::test(start_paused = true)]
async fn the_same_event_counts_up_beyond_the_limit_of_different_ones() {
    let mut correlator = correlator(None);
    let now = Instant::now();
    let first = created(correlator.correlate(&about("Failed", "a", 0), now));
    for count in 2..=30 {
        let again = patched(correlator.correlate(&about("Failed", "a", count.into()), now));
        assert_eq!(again.count, Some(count));
        assert_eq!(again.metadata.name, first.metadata.name);
        assert_eq!(again.first_timestamp, first.first_timestamp);
        assert_ne!(again.last_timestamp, first.last_timestamp);
    }
}

#[tokio::test(start_paused = true)]
async fn a_source_has_a_budget_for_each_object_for_all_reasons() {
    let mut correlator = correlator(Some(SpamLimit::default()));
    let now = Instant::now();
    for n in 0..25 {
        let reason = format!("Reason{n}");
        created(correlator.correlate(&about(&reason, "a", n), now));
    }
    let more = about("Another", "a", 30);
    assert_eq!(correlator.correlate(&more, now), Correlated::Throttled);
    // Of another type it is another budget, and so it is after five minutes.
    let mut normal = about("Another", "a", 31);
    normal.draft.type_ = EventType::Normal;
    created(correlator.correlate(&normal, now));
    let later = now + Duration::from_secs(300);
    patched(correlator.correlate(&more, later));
    assert_eq!(correlator.correlate(&more, later), Correlated::Throttled);
}

#[tokio::test(start_paused = true)]
async fn ten_different_messages_become_one_event() {
    let mut correlator = correlator(None);
    let now = Instant::now();
    for n in 0..9 {
        created(correlator.correlate(&about("Failed", &format!("m{n}"), n), now));
    }
    let combined = created(correlator.correlate(&about("Failed", "m9", 9), now));
    assert_eq!(
        combined.message.as_deref(),
        Some("(combined from similar events): m9")
    );
    let again = patched(correlator.correlate(&about("Failed", "m99", 99), now));
    assert_eq!(again.metadata.name, combined.metadata.name);
    assert_eq!(again.count, Some(2));
    assert_eq!(
        again.message.as_deref(),
        Some("(combined from similar events): m99")
    );
    // Another reason is another group.
    let other = created(correlator.correlate(&about("Pulled", "m9", 9), now));
    assert_eq!(other.message.as_deref(), Some("m9"));
}

#[tokio::test(start_paused = true)]
async fn a_group_that_was_quiet_for_ten_minutes_starts_over() {
    let mut correlator = correlator(None);
    let now = Instant::now();
    for n in 0..9 {
        created(correlator.correlate(&about("Failed", &format!("m{n}"), n), now));
    }
    let later = now + Duration::from_secs(601);
    let event = created(correlator.correlate(&about("Failed", "m9", 700), later));
    assert_eq!(event.message.as_deref(), Some("m9"));
}

#[tokio::test(start_paused = true)]
async fn events_of_different_containers_do_not_merge() {
    let mut correlator = correlator(None);
    let now = Instant::now();
    let mut first = about("Failed", "a", 0);
    first.draft.regarding.field_path = Some("spec.containers{a}".into());
    let mut second = about("Failed", "a", 0);
    second.draft.regarding.field_path = Some("spec.containers{b}".into());
    created(correlator.correlate(&first, now));
    created(correlator.correlate(&second, now));
    patched(correlator.correlate(&first, now));
}
