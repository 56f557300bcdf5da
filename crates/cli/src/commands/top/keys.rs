//! The worst keys: those that fail, and those whose last reconcile took longest.

use serde_json::{Value, json};

use crate::operator::endpoint::{ControllerStatus, KeyStatus};

/// The number of keys that are shown.
const SHOWN: usize = 20;

/// The longest part of a result that is shown, in characters.
const RESULT: usize = 60;

pub(super) const HEAD: [&str; 5] = ["CONTROLLER", "KEY", "LAST RESULT", "TOOK", "NEXT"];

/// Returns the worst keys of all controllers, worst first.
pub(super) fn worst(controllers: &[ControllerStatus]) -> Vec<(&str, &KeyStatus)> {
    let of = |controller: &'_ ControllerStatus| controller.keys.len();
    let mut keys = Vec::with_capacity(controllers.iter().map(of).sum());
    for controller in controllers {
        let named = controller
            .keys
            .iter()
            .map(|key| (controller.name.as_str(), key));
        keys.extend(named);
    }
    keys.sort_by(|(_, a), (_, b)| {
        let took = |key: &KeyStatus| key.duration_seconds.unwrap_or_default();
        let by_failure = b.failed().cmp(&a.failed());
        by_failure.then_with(|| took(b).total_cmp(&took(a)))
    });
    keys.truncate(SHOWN);
    keys
}

pub(super) fn cells((controller, key): &(&str, &KeyStatus)) -> Vec<String> {
    let result = key.last_result.as_deref().unwrap_or("-");
    let took = key.duration_seconds.map(|it| format!("{:.2} ms", it * 1e3));
    let next = match (key.running, &key.pending_trigger, key.due_in_seconds) {
        (true, ..) => "running".to_owned(),
        (_, _, Some(seconds)) => format!("in {seconds:.0} s"),
        (_, Some(_), None) => "queued".to_owned(),
        (_, None, None) => "-".to_owned(),
    };
    vec![
        (*controller).to_owned(),
        key.key.clone(),
        result.chars().take(RESULT).collect(),
        took.unwrap_or_else(|| "-".to_owned()),
        next,
    ]
}

pub(super) fn value((controller, key): &(&str, &KeyStatus)) -> Value {
    json!({
        "controller": controller,
        "key": key.key,
        "failing": key.failed(),
        "lastResult": key.last_result,
        "durationSeconds": key.duration_seconds,
        "running": key.running,
        "dueInSeconds": key.due_in_seconds,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(name: &str, result: &str, took: f64) -> KeyStatus {
        KeyStatus {
            key: name.into(),
            last_result: Some(result.into()),
            duration_seconds: Some(took),
            ..KeyStatus::default()
        }
    }

    #[test]
    fn failing_keys_are_first_then_slow_ones() {
        let controllers = [ControllerStatus {
            name: "captain".into(),
            keys: vec![
                key("a", "done", 0.1),
                key("b", "error: no room", 0.01),
                key("c", "done", 0.5),
            ],
            ..ControllerStatus::default()
        }];
        let worst = worst(&controllers);
        let names: Vec<&str> = worst.iter().map(|(_, key)| key.key.as_str()).collect();
        assert_eq!(names, ["b", "c", "a"]);
        let expected = ["captain", "b", "error: no room", "10.00 ms", "-"];
        assert_eq!(cells(&worst[0]), expected);
        assert_eq!(value(&worst[0])["failing"], true);
    }
}
