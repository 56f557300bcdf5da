//! Limits of the speed and the range of changes, with the history that they depend on.

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::autoscaling::v2::HorizontalPodAutoscalerBehavior as Behavior;

use super::rules;

/// The time for which the highest recommendation counts, without a behavior.
const DOWNSCALE_WINDOW: SignedDuration = SignedDuration::from_mins(5);

/// The least number of replicas that a target may grow to at once, without a behavior.
const SCALE_UP_MINIMUM: i32 = 4;

/// The past recommendations and changes of an autoscaler.
#[derive(Debug, Default)]
pub(super) struct History {
    recommendations: Vec<(Timestamp, i32)>,
    pub(super) ups: Vec<(Timestamp, i32)>,
    pub(super) downs: Vec<(Timestamp, i32)>,
}

/// The numbers that limits apply to.
#[derive(Clone, Copy)]
pub(super) struct Numbers {
    pub(super) current: i32,
    pub(super) desired: i32,
    pub(super) min: i32,
    pub(super) max: i32,
    pub(super) now: Timestamp,
}

/// A number of replicas within the limits, and what the conditions say about it: reason and message.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Limited {
    pub(super) replicas: i32,
    pub(super) able: (&'static str, &'static str),
    pub(super) is_limited: bool,
    pub(super) limit: (&'static str, &'static str),
}

/// The reason and message of a number that no limit changed.
const WITHIN: (&str, &str) = (
    "DesiredWithinRange",
    "the desired count is within the acceptable range",
);
const READY: (&str, &str) = ("ReadyForNewScale", "recommended size matches current size");
const DOWN_STABILIZED: (&str, &str) = (
    "ScaleDownStabilized",
    "recent recommendations were higher than current one, applying the highest recent recommendation",
);
const UP_STABILIZED: (&str, &str) = (
    "ScaleUpStabilized",
    "recent recommendations were lower than current one, applying the lowest recent recommendation",
);
const TOO_FAST: (&str, &str) = (
    "ScaleUpLimit",
    "the desired replica count is increasing faster than the maximum scale rate",
);
const TOO_FAST_DOWN: (&str, &str) = (
    "ScaleDownLimit",
    "the desired replica count is decreasing faster than the maximum scale rate",
);
const TOO_MANY: (&str, &str) = (
    "TooManyReplicas",
    "the desired replica count is more than the maximum replica count",
);
const TOO_FEW: (&str, &str) = (
    "TooFewReplicas",
    "the desired replica count is less than the minimum replica count",
);

impl History {
    /// Remembers the number that an autoscaler began with.
    pub(super) fn begin(&mut self, current: i32, now: Timestamp) {
        if self.recommendations.is_empty() {
            self.recommendations.push((now, current));
        }
    }

    /// Applies the limits of an autoscaler.
    pub(super) fn limit(&mut self, numbers: Numbers, behavior: Option<&Behavior>) -> Limited {
        let (stable, able) = match behavior {
            Some(behavior) => self.stabilize(numbers, behavior),
            None => self.stabilize_downscale(numbers),
        };
        let able = if stable == numbers.desired {
            READY
        } else {
            able
        };
        let stable = Numbers {
            desired: stable,
            ..numbers
        };
        let (replicas, limit) = match behavior {
            Some(behavior) => self.rate(stable, behavior),
            None => simple_rate(stable),
        };
        Limited {
            replicas,
            able,
            is_limited: replicas != stable.desired,
            limit,
        }
    }

    /// Remembers that a target was scaled. Only needed with a behavior.
    pub(super) fn scaled(
        &mut self,
        from: i32,
        to: i32,
        behavior: Option<&Behavior>,
        now: Timestamp,
    ) {
        let Some(behavior) = behavior else {
            return;
        };
        let (events, rules) = match to > from {
            true => (&mut self.ups, &behavior.scale_up),
            false => (&mut self.downs, &behavior.scale_down),
        };
        let period = rules::longest_period(rules.as_ref());
        events.retain(|(at, _)| now.duration_since(*at) <= period);
        events.push((now, from.abs_diff(to).try_into().unwrap_or(i32::MAX)));
    }

    /// Applies the highest recommendation of the last minutes.
    fn stabilize_downscale(&mut self, numbers: Numbers) -> (i32, (&'static str, &'static str)) {
        self.forget(numbers.now, DOWNSCALE_WINDOW);
        let recent = self
            .recommendations
            .iter()
            .map(|(_, recommended)| *recommended);
        let highest = recent.chain([numbers.desired]).max();
        self.recommendations.push((numbers.now, numbers.desired));
        (highest.unwrap_or(numbers.desired), DOWN_STABILIZED)
    }

    /// Applies the recommendations within the windows of a behavior.
    fn stabilize(
        &mut self,
        numbers: Numbers,
        behavior: &Behavior,
    ) -> (i32, (&'static str, &'static str)) {
        let up = rules::window(behavior.scale_up.as_ref(), SignedDuration::ZERO);
        let down = rules::window(behavior.scale_down.as_ref(), DOWNSCALE_WINDOW);
        let within = |window: SignedDuration| {
            let recent = self.recommendations.iter();
            recent
                .filter(move |(at, _)| numbers.now.duration_since(*at) < window)
                .map(|(_, n)| *n)
        };
        let lowest = within(up)
            .chain([numbers.desired])
            .min()
            .unwrap_or(numbers.desired);
        let highest = within(down)
            .chain([numbers.desired])
            .max()
            .unwrap_or(numbers.desired);
        let stable = numbers.current.max(lowest).min(highest);
        self.forget(numbers.now, up.max(down));
        self.recommendations.push((numbers.now, numbers.desired));
        let reason = match numbers.desired >= numbers.current {
            true => UP_STABILIZED,
            false => DOWN_STABILIZED,
        };
        (stable, reason)
    }

    fn forget(&mut self, now: Timestamp, window: SignedDuration) {
        self.recommendations
            .retain(|(at, _)| now.duration_since(*at) <= window);
    }

    /// Applies the policies of a behavior, and the bounds.
    fn rate(&self, numbers: Numbers, behavior: &Behavior) -> (i32, (&'static str, &'static str)) {
        let Numbers {
            current, desired, ..
        } = numbers;
        if desired > current {
            let limit = rules::most(self, current, behavior.scale_up.as_ref(), numbers.now);
            let limit = limit.max(current);
            let (most, reason) = match numbers.max > limit {
                true => (limit, TOO_FAST),
                false => (numbers.max, TOO_MANY),
            };
            if desired > most {
                return (most, reason);
            }
        } else if desired < current {
            let limit = rules::least(self, current, behavior.scale_down.as_ref(), numbers.now);
            let limit = limit.min(current);
            let (least, reason) = match numbers.min < limit {
                true => (limit, TOO_FAST_DOWN),
                false => (numbers.min, TOO_FEW),
            };
            if desired < least {
                return (least, reason);
            }
        }
        (desired, WITHIN)
    }
}

/// Applies the bounds, and the rate of autoscalers without a behavior: twice as many at once, or four.
fn simple_rate(numbers: Numbers) -> (i32, (&'static str, &'static str)) {
    let limit = numbers.current.saturating_mul(2).max(SCALE_UP_MINIMUM);
    let (most, reason) = match numbers.max > limit {
        true => (limit, TOO_FAST),
        false => (numbers.max, TOO_MANY),
    };
    if numbers.desired < numbers.min {
        (numbers.min, TOO_FEW)
    } else if numbers.desired > most {
        (most, reason)
    } else {
        (numbers.desired, WITHIN)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn numbers(current: i32, desired: i32, second: i64) -> Numbers {
        Numbers {
            current,
            desired,
            min: 1,
            max: 20,
            now: Timestamp::from_second(second).unwrap(),
        }
    }

    fn behavior(up: Value, down: Value) -> Behavior {
        serde_json::from_value(json!({"scaleUp": up, "scaleDown": down})).unwrap()
    }

    #[test]
    fn without_a_behavior_growth_doubles_and_shrinking_waits() {
        let mut history = History::default();
        history.begin(3, Timestamp::from_second(0).unwrap());
        let grown = history.limit(numbers(3, 19, 0), None);
        assert_eq!((grown.replicas, grown.limit.0), (6, "ScaleUpLimit"));
        let few = history.limit(numbers(6, 1, 60), None);
        assert_eq!(
            (few.able.0, few.limit.0),
            ("ScaleDownStabilized", "ScaleUpLimit")
        );
        let later = history.limit(numbers(6, 1, 301), None);
        assert_eq!((later.replicas, later.able.0), (1, "ReadyForNewScale"));
        assert_eq!(
            history.limit(numbers(15, 30, 700), None).limit.0,
            "TooManyReplicas"
        );
        assert_eq!(
            history.limit(numbers(2, 0, 2000), None).limit.0,
            "TooFewReplicas"
        );
    }

    #[test]
    fn policies_limit_the_rate_over_their_periods() {
        let rules = |policies: Value| json!({"stabilizationWindowSeconds": 0, "policies": policies, "selectPolicy": "Max"});
        let pods = |value: i32| json!([{"type": "Pods", "value": value, "periodSeconds": 60}]);
        let behavior = behavior(rules(pods(2)), rules(pods(1)));
        let mut history = History::default();
        let first = history.limit(numbers(4, 10, 0), Some(&behavior));
        assert_eq!((first.replicas, first.limit.0), (6, "ScaleUpLimit"));
        history.scaled(4, 6, Some(&behavior), Timestamp::from_second(0).unwrap());
        let soon = history.limit(numbers(6, 10, 15), Some(&behavior));
        assert_eq!(soon.replicas, 6);
        let later = history.limit(numbers(6, 10, 61), Some(&behavior));
        assert_eq!(later.replicas, 8);
        let down = history.limit(numbers(8, 2, 200), Some(&behavior));
        assert_eq!((down.replicas, down.limit.0), (7, "ScaleDownLimit"));
    }

    #[test]
    fn of_several_policies_one_is_selected() {
        let policies = json!([
            {"type": "Percent", "value": 50, "periodSeconds": 60},
            {"type": "Pods", "value": 4, "periodSeconds": 60},
        ]);
        let grow = |select: &str| {
            let up = json!({"stabilizationWindowSeconds": 0, "policies": policies, "selectPolicy": select});
            let behavior = behavior(up, json!({"selectPolicy": "Disabled"}));
            History::default()
                .limit(numbers(4, 20, 0), Some(&behavior))
                .replicas
        };
        assert_eq!([grow("Max"), grow("Min"), grow("Disabled")], [8, 6, 4]);
    }

    #[test]
    fn the_window_of_a_behavior_holds_recommendations() {
        let up = json!({"stabilizationWindowSeconds": 60, "selectPolicy": "Max", "policies": [{"type": "Percent", "value": 900, "periodSeconds": 15}]});
        let behavior = behavior(
            up,
            json!({"stabilizationWindowSeconds": 0, "selectPolicy": "Max", "policies": []}),
        );
        let mut history = History::default();
        history.begin(2, Timestamp::from_second(0).unwrap());
        let held = history.limit(numbers(2, 10, 30), Some(&behavior));
        assert_eq!((held.replicas, held.able.0), (2, "ScaleUpStabilized"));
        assert_eq!(
            history.limit(numbers(2, 10, 61), Some(&behavior)).replicas,
            10
        );
    }
}
