//! The sizes of ReplicaSets when the Deployment is scaled: in proportion to their sizes.

use std::cmp::Reverse;

use kubewright_controller::Result;

use super::{
    revisions::{DESIRED_REPLICAS, MAX_REPLICAS, number},
    rollout::{Force, Rollout, scale_set},
};
use crate::workloads::objects::{Current, Deployment, ReplicaSet};

impl Rollout<'_> {
    /// Reports whether the Deployment was scaled since its ReplicaSets were.
    pub(super) fn is_scaled(&self) -> bool {
        let wanted = self.deployment.replicas();
        self.sets()
            .filter(|set| set.replicas() > 0)
            .any(|set| number(set, DESIRED_REPLICAS).is_some_and(|desired| desired != wanted))
    }

    /// Scales the ReplicaSets to the size of the Deployment. A single one gets all; if the new one has all, the others go;
    /// during a rolling update each gets a share.
    pub(super) async fn scale(&mut self) -> Result<()> {
        let wanted = self.deployment.replicas();
        // The newest first.
        self.old.reverse();
        let scaled = self.scale_all(wanted).await;
        self.old.reverse();
        scaled
    }

    async fn scale_all(&mut self, wanted: i32) -> Result<()> {
        let Self {
            context,
            deployment,
            old,
            new,
            ..
        } = self;
        let is_saturated = new
            .as_ref()
            .is_some_and(|set| is_saturated(deployment, &set.object));
        let has_new = new.is_some();
        let is_active = |set: &&mut Current<ReplicaSet>| set.object.replicas() > 0;
        let mut active: Vec<_> = old.iter_mut().chain(&mut *new).filter(is_active).collect();
        match active.as_mut_slice() {
            [] => {
                let latest = if has_new {
                    new.as_mut()
                } else {
                    old.first_mut()
                };
                if let Some(set) = latest {
                    scale_set(context, deployment, set, wanted, Force::No).await?;
                }
                return Ok(());
            }
            [only] => {
                scale_set(context, deployment, only, wanted, Force::No).await?;
                return Ok(());
            }
            _ => {}
        }
        if is_saturated {
            for set in old.iter_mut().filter(is_active) {
                scale_set(context, deployment, set, 0, Force::No).await?;
            }
            return Ok(());
        }
        if deployment.is_rolling() {
            for (size, set) in shares(deployment, active) {
                scale_set(context, deployment, set, size, Force::Yes).await?;
            }
        }
        Ok(())
    }
}

/// Reports whether the new ReplicaSet is all that is needed.
fn is_saturated(deployment: &Deployment, set: &ReplicaSet) -> bool {
    let wanted = deployment.replicas();
    set.replicas() == wanted
        && number(set, DESIRED_REPLICAS) == Some(wanted)
        && set.status.available_replicas == wanted
}

/// Returns the new sizes of active ReplicaSets, largest first; of equal ones the newer when there is more to share, else the
/// older. The first gets what rounding leaves.
fn shares<'a>(
    deployment: &Deployment,
    mut active: Vec<&'a mut Current<ReplicaSet>>,
) -> Vec<(i32, &'a mut Current<ReplicaSet>)> {
    let wanted = deployment.replicas();
    let allowed = match wanted {
        0 => 0,
        wanted => wanted + deployment.max_surge(),
    };
    let current: i32 = active.iter().map(|set| set.object.replicas()).sum();
    let to_add = allowed - current;
    let age = |set: &Current<ReplicaSet>| {
        let metadata = &set.object.metadata;
        let created = metadata.creation_timestamp.as_ref().map(|at| at.0);
        (created, metadata.name.clone())
    };
    match to_add {
        0 => {}
        1.. => active.sort_by_key(|set| Reverse((set.object.replicas(), age(set)))),
        _ => active.sort_by_key(|set| (Reverse(set.object.replicas()), age(set))),
    }
    let mut added = 0;
    let mut sizes = Vec::with_capacity(active.len());
    for set in &active {
        let share = share(deployment, &set.object, to_add, added);
        added += share;
        sizes.push(set.object.replicas() + share);
    }
    if let Some(first) = sizes.first_mut() {
        *first = (*first + to_add - added).max(0);
    }
    sizes.into_iter().zip(active).collect()
}

/// Returns the change of a ReplicaSet's size, limited to the remaining replicas.
fn share(deployment: &Deployment, set: &ReplicaSet, to_add: i32, added: i32) -> i32 {
    let left = to_add - added;
    if set.replicas() == 0 || to_add == 0 || left == 0 {
        return 0;
    }
    let fraction = fraction(deployment, set);
    match to_add > 0 {
        true => fraction.min(left),
        false => fraction.max(left),
    }
}

fn fraction(deployment: &Deployment, set: &ReplicaSet) -> i32 {
    if deployment.replicas() == 0 {
        return -set.replicas();
    }
    let before = number(set, MAX_REPLICAS).filter(|before| *before != 0);
    let before = before.unwrap_or(deployment.status.replicas);
    if before == 0 {
        return 0;
    }
    let after = i64::from(deployment.replicas() + deployment.max_surge());
    let product = i64::from(set.replicas()) * after;
    let before = i64::from(before);
    // Rounded half away from zero; neither is negative.
    let size = (2 * product + before) / (2 * before);
    i32::try_from(size).unwrap_or(i32::MAX) - set.replicas()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn set(name: &str, size: i32, created: u32, most: i32) -> Current<ReplicaSet> {
        let object = serde_json::from_value(json!({
            "metadata": {
                "name": name, "creationTimestamp": format!("2026-01-01T00:00:{created:02}Z"),
                "annotations": {MAX_REPLICAS: most.to_string()},
            },
            "spec": {"replicas": size},
        }))
        .unwrap();
        Current {
            object,
            body: Value::Null,
        }
    }

    fn sizes(replicas: i32, surge: i32, mut sets: Vec<Current<ReplicaSet>>) -> Vec<(String, i32)> {
        let deployment: Deployment = serde_json::from_value(json!({"spec": {
            "replicas": replicas,
            "strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": surge, "maxUnavailable": 1}},
        }}))
        .unwrap();
        let shares = shares(&deployment, sets.iter_mut().collect());
        let named = |(size, set): (i32, &mut Current<ReplicaSet>)| {
            (set.object.metadata.name.clone().unwrap(), size)
        };
        shares.into_iter().map(named).collect()
    }

    fn named(sizes: &[(&str, i32)]) -> Vec<(String, i32)> {
        let own = |(name, size): &(&str, i32)| ((*name).to_owned(), *size);
        sizes.iter().map(own).collect()
    }

    #[test]
    fn more_replicas_are_shared_in_proportion() {
        // 10 + 3 pods before, 30 + 3 after.
        let sets = vec![set("new", 5, 2, 13), set("old", 8, 1, 13)];
        assert_eq!(sizes(30, 3, sets), named(&[("old", 20), ("new", 13)]));
    }

    #[test]
    fn fewer_replicas_are_shared_in_proportion() {
        let sets = vec![set("new", 13, 2, 33), set("old", 20, 1, 33)];
        assert_eq!(sizes(10, 3, sets), named(&[("old", 8), ("new", 5)]));
        let sets = vec![set("new", 13, 2, 33), set("old", 20, 1, 33)];
        assert_eq!(sizes(0, 3, sets), named(&[("old", 0), ("new", 0)]));
    }

    #[test]
    fn of_equal_ones_the_newer_grows_first_and_the_older_shrinks_first() {
        let pair = || vec![set("a-old", 5, 1, 10), set("b-new", 5, 2, 10)];
        assert_eq!(sizes(11, 0, pair()), named(&[("b-new", 6), ("a-old", 5)]));
        assert_eq!(sizes(9, 0, pair()), named(&[("a-old", 4), ("b-new", 5)]));
    }
}
