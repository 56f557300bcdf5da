//! Shows the reviews that the operator's webhooks answer.

use std::time::Duration;

use tokio::sync::watch;

use super::{event::DevEvent, screen::Screen};
use crate::operator::endpoint::{self, ReviewStatus, Reviews};

/// The polling interval.
const EVERY: Duration = Duration::from_millis(200);

/// Shows reviews while it is polled. The address changes with the operator.
pub(super) async fn reviews(address: watch::Receiver<Option<String>>, screen: Screen) {
    let mut seen = 0;
    let mut of = None;
    loop {
        tokio::time::sleep(EVERY).await;
        let now = address.borrow().clone();
        if now != of {
            seen = 0;
            of.clone_from(&now);
        }
        let Some(now) = now else {
            continue;
        };
        // There is no answer while the operator restarts.
        if let Ok(reviews) = endpoint::reviews(&now).await {
            for event in news(&reviews, &mut seen) {
                screen.show(event);
            }
        }
    }
}

/// Returns the reviews since the last poll, and the number of those left out.
fn news(reviews: &Reviews, seen: &mut u64) -> Vec<DevEvent> {
    let new: Vec<&ReviewStatus> = reviews
        .recent
        .iter()
        .filter(|it| it.number > *seen)
        .collect();
    let all = reviews.reviews.saturating_sub(*seen);
    let missed = all.saturating_sub(new.len() as u64);
    *seen = reviews.reviews;
    let mut events = Vec::new();
    if missed > 0 {
        events.push(DevEvent::MissedReviews { count: missed });
    }
    events.extend(new.into_iter().map(event));
    events
}

fn event(review: &ReviewStatus) -> DevEvent {
    DevEvent::Review {
        kind: review.kind.to_lowercase(),
        object: object(review),
        operation: review.operation.clone(),
        webhook: review.path.clone(),
        verdict: verdict(review),
        allowed: review.allowed,
        seconds: review.duration_seconds,
    }
}

/// Formats an object: `default/ahab/status`.
fn object(review: &ReviewStatus) -> String {
    if let Some((count, version)) = &review.converted {
        return format!("{count} to {version}");
    }
    let name = match review.name.as_str() {
        "" => "(unnamed)",
        name => name,
    };
    let parts = [&*review.namespace, name, &*review.subresource];
    let parts: Vec<&str> = parts.into_iter().filter(|part| !part.is_empty()).collect();
    parts.join("/")
}

/// Formats a verdict: `allowed, 1 change`, `denied: sinks`.
fn verdict(review: &ReviewStatus) -> String {
    let rejected = |word: &str| match review.message.as_str() {
        "" => word.to_owned(),
        message => format!("{word}: {message}"),
    };
    let mut text = match (review.converted.is_some(), review.allowed) {
        (true, true) => "converted".to_owned(),
        (true, false) => rejected("failed"),
        (false, true) => "allowed".to_owned(),
        (false, false) => rejected("denied"),
    };
    for (count, one) in [(review.changes, "change"), (review.warnings, "warning")] {
        match count {
            0 => {}
            1 => text.push_str(&format!(", 1 {one}")),
            count => text.push_str(&format!(", {count} {one}s")),
        }
    }
    if review.dry_run {
        text.push_str(", dry run");
    }
    text
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::terminal::style::Style;

    fn told(reviews: Value, seen: &mut u64) -> Vec<String> {
        let reviews: Reviews = serde_json::from_value(reviews).unwrap();
        let events = news(&reviews, seen);
        events
            .iter()
            .map(|event| event.line(Style::Plain))
            .collect()
    }

    #[test]
    fn a_review_is_shown_with_its_verdict_and_duration() {
        let denied = json!({
            "number": 1, "path": "/validate-crew-example-com-v1-captain", "operation": "CREATE", "kind": "Captain",
            "namespace": "default", "name": "smith", "allowed": false, "message": "sinks", "durationSeconds": 0.0003,
        });
        let changed = json!({
            "number": 2, "path": "/mutate-crew-example-com-v1-captain", "operation": "UPDATE", "kind": "Captain",
            "namespace": "default", "name": "ahab", "subresource": "status", "allowed": true, "changes": 2, "dryRun": true,
            "durationSeconds": 0.001,
        });
        let converted = json!({
            "number": 3, "path": "/convert", "operation": "CONVERT", "kind": "Captain", "allowed": true,
            "converted": [3, "crew.example.com/v2"], "durationSeconds": 0.002,
        });
        let mut seen = 0;
        let all = json!({"reviews": 3, "recent": [denied, changed, converted]});
        assert_eq!(
            told(all.clone(), &mut seen),
            [
                "review    captain default/smith    CREATE  /validate-crew-example-com-v1-captain -> denied: sinks, took 0.3 ms",
                "review    captain default/ahab/status UPDATE  /mutate-crew-example-com-v1-captain -> allowed, 2 changes, dry run, took 1.0 ms",
                "review    captain 3 to crew.example.com/v2 CONVERT /convert -> converted, took 2.0 ms",
            ]
        );
        assert_eq!(told(all, &mut seen).len(), 0);
    }

    #[test]
    fn missed_reviews_are_counted() {
        let review = json!({"number": 200, "operation": "CREATE", "kind": "Captain", "name": "a", "allowed": true});
        let mut seen = 1;
        let lines = told(json!({"reviews": 200, "recent": [review]}), &mut seen);
        assert_eq!(lines[0], "review    198 more");
        assert_eq!(lines.len(), 2);
    }
}
