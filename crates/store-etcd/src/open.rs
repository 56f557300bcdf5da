//! Opens a store: checks the members, reads all objects, and starts the feed.

use std::{
    sync::{Arc, atomic::AtomicU64},
    time::Duration,
};

use kubewright_store::{MemoryStore, Revision, engine::Staged, layout::Layout};
use parking_lot::Mutex;
use tokio::{
    sync::{Notify, mpsc, watch},
    time::timeout,
};

use crate::{
    Occupants, OpenError, Options,
    api::{
        KeyValue, MemberStatus, RangeAnswer, RangeRequest, WatchAnswer, after_prefix, create_watch,
    },
    compaction::{COMPACT_REV_KEY, revision},
    feed::{Feed, WATCH},
    grpc::{CallError, Channel, Code, Credentials, Endpoint, Tls},
    load::{Loaded, RANGE, load},
    own_writes::OwnWrites,
    quorum::newest_revision,
    shared::{Names, Shared},
};

/// The time limit of a response.
const PATIENCE: Duration = Duration::from_secs(5);
/// The number of revisions before the newest whose changes are read, if etcd still has them, so that watches can resume after a
/// restart.
const HISTORY: u64 = 20_000;
/// The oldest version whose members may hide their status from users who are not administrators.
const FIRST_WITH_PRIVATE_STATUS: &str = "3.6.0";
/// The number of registrations of other programs that are looked at.
const OCCUPANTS: i64 = 100;
/// The capacity of the feed's command queue.
const COMMANDS: usize = 16;

/// The parts of an opened store.
pub(crate) struct Opened {
    pub(crate) shared: Arc<Shared>,
    pub(crate) feed: Feed,
}

/// Returns a channel to the usable members.
pub(crate) async fn connect(options: &Options) -> Result<Channel, OpenError> {
    let has_slash = options.prefix.ends_with('/');
    if !options.prefix.starts_with('/') || has_slash {
        return Err(OpenError::Prefix(options.prefix.clone()));
    }
    if options.tls.certificate.is_some() != options.tls.key.is_some() {
        return Err(OpenError::HalfCertificate);
    }
    let tls = Tls::read(&options.tls)?;
    let mut endpoints = Vec::new();
    for url in &options.endpoints {
        let endpoint = Endpoint::parse(url, &tls);
        let endpoint = endpoint.ok_or_else(|| OpenError::Endpoint(url.clone()))?;
        if endpoint.is_https() && options.tls.ca.is_none() {
            return Err(OpenError::NoAuthority(url.clone()));
        }
        endpoints.push(endpoint);
    }
    if endpoints.is_empty() {
        return Err(OpenError::NoEndpoint);
    }
    let credentials = options
        .user
        .as_ref()
        .map(|(username, password)| Credentials {
            username: username.clone(),
            password: password.clone(),
        });
    check(&endpoints, credentials.as_ref(), &options.prefix).await?;
    Ok(Channel::new(endpoints.into(), credentials))
}

/// Checks every member that responds.
async fn check(
    endpoints: &[Endpoint],
    credentials: Option<&Credentials>,
    prefix: &str,
) -> Result<(), OpenError> {
    let mut first: Option<(String, u64)> = None;
    let mut errors = Vec::new();
    for endpoint in endpoints {
        let channel = Channel::new(Arc::new([endpoint.clone()]), credentials.cloned());
        let status = channel
            .read::<MemberStatus>("/etcdserverpb.Maintenance/Status", &[], PATIENCE)
            .await;
        let status = match status {
            Err(error) if error.code == Code::PERMISSION_DENIED => {
                status_for_readers(&channel, prefix).await
            }
            status => status,
        };
        let status = match status {
            Ok(status) => status,
            Err(error) if error.is_transient() => {
                errors.push(error.message);
                continue;
            }
            Err(error) => return Err(OpenError::of(error)),
        };
        let name = endpoint.to_string();
        if !reports_progress(&status.version) {
            return Err(OpenError::Version {
                endpoint: name,
                version: status.version,
            });
        }
        if let Some(alarm) = status.errors.into_iter().find(|e| e.contains("alarm")) {
            return Err(OpenError::Alarm {
                endpoint: name,
                alarm,
            });
        }
        match &first {
            Some((other, cluster)) if *cluster != status.header.cluster => {
                return Err(OpenError::Clusters(other.clone(), name));
            }
            Some(_) => {}
            None => first = Some((name, status.header.cluster)),
        }
    }
    match first {
        Some(_) => Ok(()),
        None => Err(OpenError::Unreachable(errors.join("; "))),
    }
}

/// Returns the status of a member as far as a user who may only read the prefix can determine it.
async fn status_for_readers(channel: &Channel, prefix: &str) -> Result<MemberStatus, CallError> {
    let key = format!("{prefix}/health");
    let request = RangeRequest {
        key: key.as_bytes(),
        limit: 1,
        keys_only: true,
        ..RangeRequest::default()
    };
    let answer: RangeAnswer = channel.read(RANGE, &request.encode(), PATIENCE).await?;
    Ok(MemberStatus {
        header: answer.header,
        version: FIRST_WITH_PRIVATE_STATUS.to_owned(),
        // An alarm is detected at the first write.
        errors: Vec::new(),
    })
}

/// Returns whether watches of an etcd version report progress only after all earlier changes.
fn reports_progress(version: &str) -> bool {
    let mut numbers = version.split(['.', '-', '+']).map(str::parse::<u64>);
    let mut next = || numbers.next().and_then(Result::ok).unwrap_or_default();
    match (next(), next(), next()) {
        (3, 4, patch) => patch >= 31,
        (3, 5, patch) => patch >= 13,
        (3, minor, _) => minor > 5,
        (major, ..) => major > 3,
    }
}

/// Opens a store.
pub(crate) async fn open(options: &Options, layout: Arc<dyn Layout>) -> Result<Opened, OpenError> {
    let channel = connect(options).await?;
    let names = Names::new(&options.prefix, layout);
    if let Some(occupants) = &options.occupants {
        refuse_occupied(&channel, &names, occupants).await?;
    }
    let loaded = load_with_history(&channel, &names).await;
    let loaded = loaded.map_err(OpenError::of)?;
    let published = MemoryStore::with_limits(Revision(0), options.limits.clone());
    let mut staged = Staged::of(&published);
    let (commands, receiver) = mpsc::channel(COMMANDS);
    let feed_channel = channel.another();
    let shared = Arc::new(Shared {
        published,
        applied: watch::Sender::new(loaded.revision),
        progress_wanted: Notify::new(),
        stalled: Notify::new(),
        channel,
        names,
        own: OwnWrites::default(),
        commands,
        unreadable: AtomicU64::new(0),
        inconsistencies: AtomicU64::new(0),
        broken: Mutex::new(None),
    });
    loaded.report(&shared);
    tracing::info!(
        objects = loaded.objects.len(),
        unreadable = loaded.unreadable.len(),
        others = loaded.others,
        revision = loaded.revision.0,
        "loaded objects from etcd"
    );
    staged.replace(loaded.revision, loaded.objects);
    let feed = Feed::new(Arc::clone(&shared), feed_channel, staged, receiver);
    Ok(Opened { shared, feed })
}

async fn refuse_occupied(
    channel: &Channel,
    names: &Names,
    occupants: &Occupants,
) -> Result<(), OpenError> {
    let prefix = format!("{}{}/", names.prefix(), occupants.name);
    let request = RangeRequest {
        key: prefix.as_bytes(),
        end: &after_prefix(prefix.as_bytes()),
        limit: OCCUPANTS,
        ..RangeRequest::default()
    };
    let request = request.encode();
    let found = channel.read::<RangeAnswer>(RANGE, &request, PATIENCE);
    let found = found.await.map_err(OpenError::of)?;
    let is_foreign = |kv: &&KeyValue| {
        let entry = names.key(&kv.key).map(|key| names.entry(&key, kv));
        // What cannot be decoded was not written by servers like this one.
        !matches!(entry, Some(Ok(entry)) if !(occupants.is_foreign)(&entry.bytes))
    };
    match found.kvs.iter().find(is_foreign) {
        None => Ok(()),
        Some(kv) => Err(OpenError::Occupied {
            key: String::from_utf8_lossy(&kv.key).into_owned(),
        }),
    }
}

/// Reads the objects at an earlier revision, if it is still available.
async fn load_with_history(channel: &Channel, names: &Names) -> Result<Loaded, CallError> {
    let newest = newest_revision(channel, names).await?;
    let request = RangeRequest {
        key: COMPACT_REV_KEY,
        ..RangeRequest::default()
    };
    let request = request.encode();
    let marker = channel.read::<RangeAnswer>(RANGE, &request, PATIENCE);
    // A user who may not read the key gets less history.
    let marker = marker.await.ok().and_then(|answer| {
        let kv = answer.kvs.into_iter().next()?;
        revision(&kv.value)
    });
    let start = newest.0.saturating_sub(HISTORY).max(1);
    let start = Revision(start.max(marker.map_or(1, |marker| marker.0)));
    match load(channel, names, Some(start)).await {
        Err(error) if error.is_compacted() => {}
        loaded => return loaded,
    }
    if let Some(oldest) = oldest_revision(channel, start).await
        && let Ok(loaded) = load(channel, names, Some(oldest)).await
    {
        return Ok(loaded);
    }
    load(channel, names, None).await
}

/// Returns the oldest revision, which etcd reports only to watches that start before it.
async fn oldest_revision(channel: &Channel, compacted: Revision) -> Option<Revision> {
    let request = create_watch(COMPACT_REV_KEY, b"", compacted.0);
    let mut stream = channel.stream(WATCH, &request).await.ok()?;
    let told = async {
        loop {
            let answer: WatchAnswer = stream.next().await.ok()?;
            if answer.canceled {
                return (answer.compact_revision > 0).then_some(Revision(answer.compact_revision));
            }
        }
    };
    timeout(PATIENCE, told).await.ok()?
}

#[cfg(test)]
mod tests {
    use super::reports_progress;

    #[test]
    fn versions_that_report_progress_too_early_are_known() {
        for good in ["3.4.31", "3.5.13", "3.6.0", "3.7.0-rc.0", "4.0.0"] {
            assert!(reports_progress(good), "{good}");
        }
        for bad in ["3.4.23", "3.5.12", "3.5.1-foo", "3.3.27", "2.3.8", ""] {
            assert!(!reports_progress(bad), "{bad}");
        }
    }
}
