//! Compaction of etcd's history, coordinated with other API servers, including kube-apiserver, through a shared key.

use std::{sync::Arc, time::Duration};

use kubewright_store::Revision;
use tokio::time::{Instant, sleep};

use crate::{
    api::{Compare, Op, RangeAnswer, TxnAnswer, compaction_request, txn_request},
    feed::Command,
    grpc::{CallError, Channel},
    shared::Shared,
    write::TXN,
};

/// The key whose version counts compactions and whose value is the compacted revision.
pub(crate) const COMPACT_REV_KEY: &[u8] = b"compact_rev_key";

const COMPACT: &str = "/etcdserverpb.KV/Compact";
/// The time limit of a step.
const PATIENCE: Duration = Duration::from_secs(10);

/// One of the servers that take turns in compacting.
#[derive(Debug, Default)]
pub(crate) struct Compactor {
    /// The version of the key at the last turn.
    version: i64,
    /// The revision of etcd at that time.
    revision: Revision,
}

/// Compacts at each interval, until the task is aborted.
pub(crate) async fn run(shared: Arc<Shared>, interval: Duration) {
    let mut compactor = Compactor::default();
    loop {
        sleep(interval).await;
        match compactor.turn(&shared.channel).await {
            Ok(Some(floor)) => {
                // The feed ends only with the store.
                let _ = shared.commands.send(Command::ForgetStates(floor)).await;
            }
            Ok(None) => {}
            Err(error) => tracing::warn!(%error, "cannot compact etcd"),
        }
    }
}

/// Drops the history before a revision.
pub(crate) async fn compact(channel: &Channel, floor: Revision) -> Result<(), CallError> {
    let request = compaction_request(floor.0);
    // Retrying is safe, since compaction is idempotent.
    let compacted = channel.read::<RangeAnswer>(COMPACT, &request, PATIENCE);
    match compacted.await {
        Err(error) if error.is_compacted() => Ok(()),
        compacted => compacted.map(drop),
    }
}

impl Compactor {
    /// Compacts to the revision of the previous turn, unless another server has compacted since. Returns the compacted revision.
    pub(crate) async fn turn(&mut self, channel: &Channel) -> Result<Option<Revision>, CallError> {
        let floor = self.revision;
        let compare = Compare::Version(COMPACT_REV_KEY, self.version);
        let text = floor.0.to_string();
        let put = Op::Put {
            key: COMPACT_REV_KEY,
            value: text.as_bytes(),
            lease: 0,
        };
        let request = txn_request(&compare, &put, &Op::Get(COMPACT_REV_KEY));
        let deadline = Instant::now() + PATIENCE;
        let answer: TxnAnswer = channel.once(TXN, &request, deadline).await?;
        self.revision = Revision(answer.header.revision);
        if !answer.succeeded {
            let kv = answer
                .answers
                .into_iter()
                .flat_map(|answer| answer.kvs)
                .next();
            self.version = kv.as_ref().map_or(0, |kv| kv.version);
            return Ok(kv.and_then(|kv| revision(&kv.value)));
        }
        self.version += 1;
        if floor == Revision(0) {
            return Ok(None);
        }
        compact(channel, floor).await?;
        Ok(Some(floor))
    }
}

/// Parses the value of the key.
pub(crate) fn revision(value: &[u8]) -> Option<Revision> {
    let text = std::str::from_utf8(value).ok()?;
    text.parse().ok().map(Revision)
}
