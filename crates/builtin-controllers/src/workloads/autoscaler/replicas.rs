//! The number of replicas that follows from values.

use std::{collections::BTreeMap, sync::Arc};

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::core::v1::Pod;

use super::{
    metrics::{Sample, Samples},
    pods::{Groups, phase_of, readiness},
};

/// The distances from their target within which values change nothing.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Tolerances {
    pub(super) up: f64,
    pub(super) down: f64,
}

impl Default for Tolerances {
    fn default() -> Self {
        Self { up: 0.1, down: 0.1 }
    }
}

impl Tolerances {
    fn covers(self, ratio: f64) -> bool {
        (1.0 - self.down..=1.0 + self.up).contains(&ratio)
    }
}

/// The target of a metric.
pub(super) enum Target<'a> {
    /// A share of what each pod requests, in percent.
    Utilization(i32, &'a BTreeMap<String, i64>),
    /// A value of each pod, in thousandths.
    Average(i64),
}

/// A number of replicas, and the values that it follows from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Answer {
    pub(super) replicas: i32,
    /// In percent of the requests.
    pub(super) utilization: Option<i32>,
    /// The average of the pods, in thousandths.
    pub(super) average: i64,
}

/// The pods of a target, of which there are `current` now.
pub(super) struct Scene<'a> {
    pub(super) current: i32,
    pub(super) pods: &'a [Arc<Pod>],
    pub(super) tolerances: Tolerances,
    pub(super) now: Timestamp,
}

impl Scene<'_> {
    /// Returns the number of replicas for values of pods.
    pub(super) fn for_pods(
        &self,
        mut samples: Samples,
        target: &Target<'_>,
        is_cpu: bool,
    ) -> Result<Answer, String> {
        if self.pods.is_empty() {
            return Err("no pods returned by selector while calculating replica count".to_owned());
        }
        let groups = Groups::of(self.pods, &samples, is_cpu, self.now);
        samples.retain(|name, _| !groups.ignored.contains(name) && !groups.unready.contains(name));
        if samples.is_empty() {
            return Err(
                "did not receive metrics for targeted pods (pods might be unready)".to_owned(),
            );
        }
        let (ratio, utilization, average) = target.ratio(&samples)?;
        let answer = |replicas| Answer {
            replicas,
            utilization,
            average,
        };
        let grows_with_unready = !groups.unready.is_empty() && ratio > 1.0;
        if !grows_with_unready && groups.missing.is_empty() {
            return Ok(answer(match self.tolerances.covers(ratio) {
                true => self.current,
                false => ceil(ratio * groups.ready as f64),
            }));
        }
        let assume = |value| Sample {
            value,
            at: self.now,
            window: SignedDuration::ZERO,
        };
        for name in &groups.missing {
            if ratio < 1.0 {
                samples.insert(name.clone(), assume(target.assumed(name)));
            } else if ratio > 1.0 {
                samples.insert(name.clone(), assume(0));
            }
        }
        if grows_with_unready {
            samples.extend(groups.unready.iter().map(|name| (name.clone(), assume(0))));
        }
        let (corrected, ..) = target.ratio(&samples)?;
        let turned = ratio < 1.0 && corrected > 1.0 || ratio > 1.0 && corrected < 1.0;
        if turned || self.tolerances.covers(corrected) {
            return Ok(answer(self.current));
        }
        let replicas = ceil(corrected * samples.len() as f64);
        let contradicts = corrected < 1.0 && replicas > self.current
            || corrected > 1.0 && replicas < self.current;
        Ok(answer(if contradicts { self.current } else { replicas }))
    }

    /// Returns the number of replicas for one value of all pods together, in thousandths.
    pub(super) fn for_value(&self, value: i64, target: i64) -> Result<i32, String> {
        let ratio = value as f64 / target as f64;
        if self.current == 0 {
            return Ok(ceil(ratio));
        }
        if self.tolerances.covers(ratio) {
            return Ok(self.current);
        }
        if self.pods.is_empty() {
            return Err(
                "unable to calculate ready pods: no pods returned by selector while calculating replica count"
                    .to_owned(),
            );
        }
        let is_ready =
            |pod: &&Arc<Pod>| phase_of(pod) == "Running" && readiness(pod).is_some_and(|r| r.0);
        let ready = self.pods.iter().filter(is_ready).count();
        Ok(ceil(ratio * ready as f64))
    }

    /// Returns the number of replicas for one value that all pods share, and the share of each, in thousandths.
    pub(super) fn for_share(&self, value: i64, target: i64, replicas: i32) -> (i32, i64) {
        let all = f64::from(replicas);
        let ratio = value as f64 / (target as f64 * all);
        let wanted = match self.tolerances.covers(ratio) {
            true => replicas,
            false => ceil(value as f64 / target as f64),
        };
        (wanted, (value as f64 / all).ceil() as i64)
    }
}

impl Target<'_> {
    /// Returns the ratio of the values to the target, with utilization and average.
    fn ratio(&self, samples: &Samples) -> Result<(f64, Option<i32>, i64), String> {
        let sum = |values: &mut dyn Iterator<Item = i64>| values.fold(0, i64::saturating_add);
        match self {
            Self::Average(target) => {
                let total = sum(&mut samples.values().map(|sample| sample.value));
                let average = total / count(samples.len());
                Ok((average as f64 / *target as f64, None, average))
            }
            Self::Utilization(target, requests) => {
                let known = || {
                    samples
                        .iter()
                        .filter(|(name, _)| requests.contains_key(*name))
                };
                let requested =
                    sum(&mut known().filter_map(|(name, _)| requests.get(name).copied()));
                if requested == 0 {
                    return Err("no metrics returned matched known pods".to_owned());
                }
                let total = sum(&mut known().map(|(_, sample)| sample.value));
                let percent = total.saturating_mul(100) / requested;
                let percent = i32::try_from(percent).unwrap_or(i32::MAX);
                let average = total / count(known().count());
                let ratio = f64::from(percent) / f64::from(*target);
                Ok((ratio, Some(percent), average))
            }
        }
    }

    /// Returns the value that is assumed of a pod without one, if there would be fewer pods.
    fn assumed(&self, pod: &str) -> i64 {
        match self {
            Self::Average(target) => *target,
            Self::Utilization(target, requests) => {
                let request = requests.get(pod).copied().unwrap_or(0);
                request.saturating_mul(i64::from((*target).max(100))) / 100
            }
        }
    }
}

fn count(length: usize) -> i64 {
    i64::try_from(length).unwrap_or(i64::MAX).max(1)
}

/// Rounds up, and saturates.
fn ceil(replicas: f64) -> i32 {
    replicas.ceil() as i32
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn now() -> Timestamp {
        "2026-01-01T01:00:00Z".parse().unwrap()
    }

    fn pod(name: &str, phase: &str) -> Arc<Pod> {
        Arc::new(
            serde_json::from_value(json!({
                "metadata": {"name": name},
                "status": {
                    "phase": phase, "startTime": "2026-01-01T00:00:00Z",
                    "conditions": [{"type": "Ready", "status": "True", "lastTransitionTime": "2026-01-01T00:00:10Z"}],
                },
            }))
            .unwrap(),
        )
    }

    fn samples(values: &[(&str, i64)]) -> Samples {
        let sample = |value| Sample {
            value,
            at: now(),
            window: SignedDuration::from_secs(60),
        };
        values
            .iter()
            .map(|(name, value)| ((*name).to_owned(), sample(*value)))
            .collect()
    }

    fn replicas(pods: &[Arc<Pod>], values: &[(&str, i64)], target: i32) -> i32 {
        let scene = Scene {
            current: pods.len() as i32,
            pods,
            tolerances: Tolerances::default(),
            now: now(),
        };
        let requests = pods
            .iter()
            .map(|pod| (pod.metadata.name.clone().unwrap(), 1000))
            .collect();
        let target = Target::Utilization(target, &requests);
        scene
            .for_pods(samples(values), &target, true)
            .unwrap()
            .replicas
    }

    #[test]
    fn replicas_are_in_proportion_to_utilization() {
        let pods = [pod("a", "Running"), pod("b", "Running")];
        assert_eq!(replicas(&pods, &[("a", 900), ("b", 700)], 40), 4);
        assert_eq!(replicas(&pods, &[("a", 100), ("b", 100)], 40), 1);
        // Within a tenth of the target nothing changes.
        assert_eq!(replicas(&pods, &[("a", 430), ("b", 430)], 40), 2);
    }

    #[test]
    fn what_is_not_known_of_pods_holds_changes_back() {
        let pods = [
            pod("a", "Running"),
            pod("b", "Running"),
            pod("c", "Pending"),
        ];
        // A pod that does not run yet counts as idle when there would be more.
        assert_eq!(replicas(&pods, &[("a", 900), ("b", 900)], 50), 4);
        assert_eq!(replicas(&pods[..2], &[("a", 2000)], 50), 4);
        // Without its value a pod counts as busy when there would be fewer.
        assert_eq!(replicas(&pods[..2], &[("a", 100)], 50), 2);
        let none = Scene {
            current: 1,
            pods: &pods[2..],
            tolerances: Tolerances::default(),
            now: now(),
        };
        let error = none
            .for_pods(samples(&[]), &Target::Average(1), true)
            .unwrap_err();
        assert_eq!(
            error,
            "did not receive metrics for targeted pods (pods might be unready)"
        );
    }

    #[test]
    fn a_value_of_all_pods_is_shared_by_those_that_are_ready() {
        let pods = [
            pod("a", "Running"),
            pod("b", "Running"),
            pod("c", "Pending"),
        ];
        let scene = Scene {
            current: 3,
            pods: &pods,
            tolerances: Tolerances::default(),
            now: now(),
        };
        assert_eq!(scene.for_value(30_000, 10_000), Ok(6));
        assert_eq!(scene.for_value(10_500, 10_000), Ok(3));
        assert_eq!(scene.for_share(45_000, 10_000, 3), (5, 15_000));
        let none = Scene {
            current: 0,
            ..scene
        };
        assert_eq!(none.for_value(25_000, 10_000), Ok(3));
    }
}
