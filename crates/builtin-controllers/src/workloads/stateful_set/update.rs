//! Creation, deletion and replacement of the pods of a StatefulSet, in order.

use jiff::Timestamp;
use kubewright_controller::Result;

use super::{
    control::Control,
    identity::{identity_matches, storage_matches},
    replica::Replica,
    revisions::Revisions,
};
use crate::workloads::{
    history,
    objects::{StatefulSet, StatefulSetStatus},
    pods::slow_start,
};

/// The maximum number of pods in a batch.
const BATCH: usize = 500;

/// Whether the update continues with the next pod.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Step {
    On,
    Stop,
}

/// The pods of a pass.
pub(super) struct Update<'a> {
    pub(super) control: Control<'a>,
    pub(super) revisions: &'a Revisions,
    pub(super) now: Timestamp,
    /// The pods within the ordinals of the set, in order; missing ones are to be created.
    pub(super) replicas: Vec<Replica>,
    /// The pods beyond, highest first.
    pub(super) condemned: Vec<Replica>,
}

impl<'a> Update<'a> {
    /// Assigns pods to ordinals.
    pub(super) fn new(
        control: Control<'a>,
        revisions: &'a Revisions,
        now: Timestamp,
        pods: Vec<Replica>,
    ) -> Self {
        let set = control.set;
        let ordinals = set.ordinals();
        let (mut present, mut condemned): (Vec<_>, Vec<_>) = pods
            .into_iter()
            .partition(|replica| ordinals.contains(&replica.ordinal));
        condemned.sort_by_key(|replica| std::cmp::Reverse(replica.ordinal));
        for ordinal in ordinals {
            if !present.iter().any(|replica| replica.ordinal == ordinal) {
                present.push(missing(set, revisions, ordinal));
            }
        }
        present.sort_by_key(|replica| replica.ordinal);
        Self {
            control,
            revisions,
            now,
            replicas: present,
            condemned,
        }
    }

    /// Returns the counts of the status.
    pub(super) fn count(&self, status: &mut StatefulSetStatus) {
        let wait = self.control.set.spec.min_ready_seconds;
        let pods = || self.replicas.iter().chain(&self.condemned);
        let count = |matches: &dyn Fn(&Replica) -> bool| {
            let count = pods().filter(|replica| matches(replica)).count();
            i32::try_from(count).unwrap_or(i32::MAX)
        };
        let of = |name: Option<&String>| {
            count(&|replica: &Replica| {
                replica.exists()
                    && !replica.is_terminating()
                    && name.is_some_and(|name| replica.revision() == name)
            })
        };
        status.replicas = count(&Replica::exists);
        status.ready_replicas = count(&Replica::is_running_and_ready);
        status.available_replicas = count(&|replica: &Replica| {
            replica.is_running_and_ready() && replica.pod.is_available(wait, self.now)
        });
        status.current_replicas = of(self.revisions.current.metadata.name.as_ref());
        status.updated_replicas = of(self.revisions.update.metadata.name.as_ref());
    }

    /// Takes the steps that are possible now, and updates the counts of the status.
    pub(super) async fn run(&self, status: &mut StatefulSetStatus) -> Result<()> {
        let set = self.control.set;
        if set.metadata.deletion_timestamp.is_some() {
            return Ok(());
        }
        if self.walk().await? == Step::Stop || set.spec.update_strategy.r#type == "OnDelete" {
            return Ok(());
        }
        self.replace_one(status).await
    }

    /// Creates missing pods and deletes surplus ones: in order until one is not available, or all at once.
    async fn walk(&self) -> Result<Step> {
        let is_ordered = self.control.set.is_ordered();
        if !is_ordered {
            let all = slow_start(self.replicas.len(), BATCH, |i| async move {
                self.process(&self.replicas[i]).await.map(drop)
            });
            if let (_, Some(error)) = all.await {
                return Err(error);
            }
            for replica in &self.condemned {
                self.control.fix_owners(replica).await?;
            }
            let all = slow_start(self.condemned.len(), BATCH, |i| async move {
                self.condemn(&self.condemned[i], None).await.map(drop)
            });
            let (_, failure) = all.await;
            return failure.map_or(Ok(Step::On), Err);
        }
        for replica in &self.replicas {
            if self.process(replica).await? == Step::Stop {
                return Ok(Step::Stop);
            }
        }
        for replica in &self.condemned {
            self.control.fix_owners(replica).await?;
        }
        let wait = self.control.set.spec.min_ready_seconds;
        let mut pods = self.replicas.iter().chain(self.condemned.iter().rev());
        let unhealthy = pods.find(|replica| replica.is_unavailable(wait, self.now));
        let unhealthy = unhealthy.map(|replica| replica.ordinal);
        for replica in &self.condemned {
            if self.condemn(replica, unhealthy).await? == Step::Stop {
                return Ok(Step::Stop);
            }
        }
        Ok(Step::On)
    }

    /// Brings one pod into being, or into its right form.
    async fn process(&self, replica: &Replica) -> Result<Step> {
        let (control, set) = (&self.control, self.control.set);
        let is_ordered = set.is_ordered();
        if replica.pod.is_terminal() {
            if !replica.is_terminating() {
                control.delete(&replica.pod).await?;
            }
            return Ok(Step::Stop);
        }
        if !replica.exists() {
            if control.has_stale_claim(replica).await? {
                return Ok(Step::Stop);
            }
            control.create(replica).await?;
            return Ok(Step::Stop);
        }
        if replica.pod.status.phase == "Pending" {
            control.create_claims(replica).await?;
            control.set_owners(replica.ordinal, &replica.pod).await?;
        }
        let is_healthy = !replica.is_terminating()
            && replica.is_running_and_ready()
            && replica
                .pod
                .is_available(set.spec.min_ready_seconds, self.now);
        if is_ordered && !is_healthy {
            return Ok(Step::Stop);
        }
        let is_right = identity_matches(set, &replica.pod)
            && storage_matches(set, &replica.pod)
            && control
                .owners_are_right(replica.ordinal, &replica.pod)
                .await?;
        if !is_right {
            control.correct(replica).await?;
        }
        Ok(Step::On)
    }

    /// Deletes a surplus pod. In order, one waits for the one above to be gone, and nothing is deleted while a lower pod is
    /// not available, unless the pod itself is the first that is not.
    async fn condemn(&self, replica: &Replica, unhealthy: Option<i32>) -> Result<Step> {
        let set = self.control.set;
        let is_ordered = set.is_ordered();
        if replica.is_terminating() {
            return Ok(if is_ordered { Step::Stop } else { Step::On });
        }
        let is_healthy = replica.is_running_and_ready()
            && replica
                .pod
                .is_available(set.spec.min_ready_seconds, self.now);
        if is_ordered && !is_healthy && unhealthy != Some(replica.ordinal) {
            return Ok(Step::Stop);
        }
        self.control.delete(&replica.pod).await?;
        Ok(Step::Stop)
    }

    /// Deletes the highest pod of another revision, once all above it are available.
    async fn replace_one(&self, status: &mut StatefulSetStatus) -> Result<()> {
        let set = self.control.set;
        let partition = set.spec.update_strategy.rolling_update.as_ref();
        let partition = partition.map_or(0, |rolling| rolling.partition);
        let update = self.revisions.update.metadata.name.as_deref();
        let skipped = usize::try_from(partition).unwrap_or(0);
        for replica in self.replicas.iter().skip(skipped).rev() {
            if Some(replica.revision()) != update && !replica.is_terminating() {
                self.control.delete(&replica.pod).await?;
                status.current_replicas -= 1;
                return Ok(());
            }
            if replica.is_unavailable(set.spec.min_ready_seconds, self.now) {
                return Ok(());
            }
        }
        Ok(())
    }
}

/// Returns a pod to create: of the current revision below the partition, else of the new one.
fn missing(set: &StatefulSet, revisions: &Revisions, ordinal: i32) -> Replica {
    let strategy = &set.spec.update_strategy;
    let kept = match &strategy.rolling_update {
        Some(rolling) => rolling.partition,
        None if strategy.r#type == "RollingUpdate" => set.status.current_replicas,
        None => 0,
    };
    let revision = match ordinal < set.spec.ordinals.start.saturating_add(kept) {
        true => &revisions.current,
        false => &revisions.update,
    };
    let name = revision.metadata.name.as_deref().unwrap_or_default();
    Replica::missing(set, ordinal, history::template_of(revision), name)
}
