//! Pulls of images.

use std::{sync::Arc, time::Duration};

use jiff::{SignedDuration, Timestamp};

use super::{
    container::Now,
    plan::{ContainerPlan, Plan},
    start::later,
    state::{Outcome, PodState, Surroundings},
};
use crate::{behavior::Behavior, image::full_name};

/// The backoff after the first failed pull.
const PULL_BACKOFF: SignedDuration = SignedDuration::from_secs(10);

/// The longest backoff after a failed pull.
const LONGEST_PULL_BACKOFF: SignedDuration = SignedDuration::from_secs(300);

impl PodState {
    /// Pulls the image if needed. Returns whether the image is present.
    pub(super) fn pull(
        &mut self,
        plan: &Plan,
        i: usize,
        behavior: &Arc<Behavior>,
        around: &mut Surroundings<'_>,
        outcome: &mut Outcome,
    ) -> bool {
        let container = &plan.containers[i];
        let image = &container.raw.image;
        let state = &mut self.containers[i];
        let (pull, now) = (&mut state.pull, around.now);
        if pull.is_done {
            return true;
        }
        let name = full_name(image);
        let policy = container.raw.image_pull_policy.as_str();
        let is_present = around.present.contains_key(&name);
        if policy != "Always" && is_present {
            pull.is_done = true;
            let text = format!(
                "Container image \"{image}\" already present on machine and can be accessed by the pod"
            );
            outcome.events.push(container.event(false, "Pulled", text));
            return true;
        }
        if policy == "Never" {
            let text =
                format!("Container image \"{image}\" is not present with pull policy of Never");
            if !matches!(
                state.now,
                Now::Waiting {
                    reason: "ErrImageNeverPull",
                    ..
                }
            ) {
                let reason = "ErrImageNeverPull";
                outcome
                    .events
                    .push(container.event(true, reason, text.clone()));
                let failed = format!("Error: {reason}");
                outcome.events.push(container.event(true, "Failed", failed));
            }
            state.now = Now::Waiting {
                reason: "ErrImageNeverPull",
                message: text,
                until: None,
            };
            outcome.due_at(later(now, Duration::from_secs(10)));
            return false;
        }
        let began = *pull.began.get_or_insert_with(|| {
            let text = format!("Pulling image \"{image}\"");
            outcome.events.push(container.event(false, "Pulling", text));
            now
        });
        let done = later(began, behavior.pull_time);
        if done > now {
            outcome.due_at(done);
            return false;
        }
        let fails = behavior
            .pull_failures
            .is_none_or(|most| pull.failures < most);
        if let Some(error) = behavior.pull_error.as_ref().filter(|_| fails) {
            self.pull_failed(container, i, error, now, outcome);
            return false;
        }
        pull.is_done = true;
        let took = seconds(now.duration_since(began));
        let size = size_of(image);
        around.present.insert(name, size);
        let text = format!(
            "Successfully pulled image \"{image}\" in {took} ({took} including waiting). Image size: {size} bytes."
        );
        outcome.events.push(container.event(false, "Pulled", text));
        true
    }

    fn pull_failed(
        &mut self,
        container: &ContainerPlan,
        i: usize,
        error: &str,
        now: Timestamp,
        outcome: &mut Outcome,
    ) {
        let state = &mut self.containers[i];
        let image = &container.raw.image;
        let error = format!(
            "failed to pull and unpack image \"{}\": {error}",
            full_name(image)
        );
        let mut say = |warning, reason, text: String| {
            outcome.events.push(container.event(warning, reason, text));
        };
        // The failure is written first, and the backoff next.
        if !matches!(
            state.now,
            Now::Waiting {
                reason: "ErrImagePull",
                ..
            }
        ) {
            say(
                true,
                "Failed",
                format!("Failed to pull image \"{image}\": {error}"),
            );
            say(true, "Failed", "Error: ErrImagePull".to_owned());
            state.now = Now::Waiting {
                reason: "ErrImagePull",
                message: error,
                until: None,
            };
            outcome.again = true;
            return;
        }
        say(
            false,
            "BackOff",
            format!("Back-off pulling image \"{image}\""),
        );
        say(true, "Failed", "Error: ImagePullBackOff".to_owned());
        let wait = PULL_BACKOFF * (1 << state.pull.failures.min(5));
        let until = now
            .saturating_add(wait.min(LONGEST_PULL_BACKOFF))
            .unwrap_or(now);
        state.pull.failures += 1;
        state.pull.began = None;
        state.now = Now::Waiting {
            reason: "ImagePullBackOff",
            message: format!("Back-off pulling image \"{image}\": ErrImagePull: {error}"),
            until: Some(until),
        };
        outcome.due_at(until);
    }
}

fn seconds(time: SignedDuration) -> String {
    match time.as_millis() {
        0 => "0s".to_owned(),
        millis @ ..1000 => format!("{millis}ms"),
        millis => format!("{}s", millis as f64 / 1000.0),
    }
}

/// Returns a plausible size that is derived from the name.
fn size_of(image: &str) -> u64 {
    let digits = crate::image::hex(&[image]);
    let number = u64::from_str_radix(&digits[..8], 16).unwrap_or(0);
    10_000_000 + number % 90_000_000
}
