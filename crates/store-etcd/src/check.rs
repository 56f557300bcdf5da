//! Compares memory with etcd from time to time, as kube-apiserver compares its caches: an object that memory lacks or has in
//! another revision would be served to every client. If there is one, all objects are read again.

use std::{
    collections::HashMap, ops::ControlFlow, sync::Arc, sync::atomic::Ordering, time::Duration,
};

use bytes::Bytes;
use kubewright_store::{Key, Revision};
use tokio::time::sleep;

use crate::{
    api::{RangeAnswer, RangeRequest, after_prefix},
    feed::Command,
    grpc::CallError,
    load::RANGE,
    shared::Shared,
};

/// The number of keys in a page.
const PAGE: i64 = 5000;
/// The time limit of a page.
const PATIENCE: Duration = Duration::from_secs(20);

/// Compares at each interval, until the task is aborted.
pub(crate) async fn run(shared: Arc<Shared>, interval: Duration) {
    loop {
        sleep(interval).await;
        match check(&shared).await {
            Ok(None) => {}
            Ok(Some(name)) => {
                shared.inconsistencies.fetch_add(1, Ordering::Relaxed);
                tracing::error!(
                    name,
                    "memory differs from etcd at the same revision; reading everything again"
                );
                // The feed ends only with the store.
                let _ = shared.commands.send(Command::Reload).await;
            }
            Err(error) => tracing::debug!(%error, "memory could not be compared with etcd"),
        }
    }
}

/// Returns the name of an object that differs between memory and etcd at the same revision.
async fn check(shared: &Arc<Shared>) -> Result<Option<String>, CallError> {
    let contents = shared.published.contents();
    let mut there = revisions(shared, contents.revision()).await?;
    let compared = Arc::clone(shared);
    let compare = move || {
        let mut differs = None;
        contents.for_each(|collection, stored| {
            let key = Key {
                collection: Arc::clone(collection),
                path: stored.path,
            };
            let name = compared.names.name(&key).unwrap_or_default();
            if there.remove(&name) == Some(stored.revision.0) {
                return ControlFlow::Continue(());
            }
            differs = Some(name);
            ControlFlow::Break(())
        });
        (differs, there, contents.revision())
    };
    // Only a shutdown cancels it.
    let Ok((differs, rest, revision)) = tokio::task::spawn_blocking(compare).await else {
        return Ok(None);
    };
    let text = |name: &Bytes| String::from_utf8_lossy(name).into_owned();
    if let Some(name) = differs {
        return Ok(Some(text(&name)));
    }
    for name in rest.keys() {
        // Memory lacks only values that cannot be decoded.
        if is_readable(shared, name, revision).await? {
            return Ok(Some(text(name)));
        }
    }
    Ok(None)
}

/// Returns the revisions of all objects by name.
async fn revisions(shared: &Shared, at: Revision) -> Result<HashMap<Bytes, u64>, CallError> {
    let prefix = shared.names.prefix().as_bytes();
    let end = after_prefix(prefix);
    let mut key = prefix.to_vec();
    let mut revisions = HashMap::new();
    loop {
        let request = RangeRequest {
            key: &key,
            end: &end,
            limit: PAGE,
            revision: at.0,
            keys_only: true,
            ..RangeRequest::default()
        };
        let request = request.encode();
        let page: RangeAnswer = shared.channel.read(RANGE, &request, PATIENCE).await?;
        let objects = page.kvs.iter();
        let objects = objects.filter(|kv| shared.names.key(&kv.key).is_some());
        revisions.extend(objects.map(|kv| (kv.key.clone(), kv.mod_revision)));
        let Some(last) = page.kvs.last().filter(|_| page.more) else {
            return Ok(revisions);
        };
        key = last.key.to_vec();
        key.push(0);
    }
}

async fn is_readable(shared: &Shared, name: &Bytes, at: Revision) -> Result<bool, CallError> {
    let request = RangeRequest {
        key: name,
        revision: at.0,
        ..RangeRequest::default()
    };
    let request = request.encode();
    let answer: RangeAnswer = shared.channel.read(RANGE, &request, PATIENCE).await?;
    let key = shared.names.key(name);
    let read = key
        .zip(answer.kvs.first())
        .map(|(key, kv)| shared.names.entry(&key, kv));
    Ok(read.is_some_and(|read| read.is_ok()))
}
