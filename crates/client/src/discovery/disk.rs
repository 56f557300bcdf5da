//! [`DiskCache`]: discovery that outlives the process.
//!
//! The files are kubectl's: `servergroups.json`, and `<group>/<version>/serverresources.json`. A file is valid while it
//! is younger than the time to live; after [`invalidate`](Discovery::invalidate) only files that this cache wrote are.
//! Files are written under another name and then renamed, so that no reader sees half of one. Undecodable, empty and failed
//! contents count as absent, and a disk that cannot be written to costs nothing but the cache.

use std::{
    collections::HashSet,
    fs, io,
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, SystemTime},
};

use async_trait::async_trait;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{APIGroup, APIGroupList, APIResourceList};
use kubewright_machinery::{gvk::GroupVersion, validation::names::is_path_segment_name};
use parking_lot::Mutex;
use serde::{Serialize, de::DeserializeOwned};

use super::{Discovered, Discovery, by_parts};
use crate::error::Result;

/// The maximum size of a file.
const MAX_FILE: u64 = 64 << 20;

/// Caches the results of another [`Discovery`] in files.
///
/// ```
/// # tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap().block_on(async {
/// # let cluster = kubewright_testing::TestCluster::start().await;
/// # let client = cluster.client();
/// # let dir = std::env::temp_dir().join(format!("kubewright-disk-doc-{}", std::process::id()));
/// use std::time::Duration;
/// use kubewright_client::{DiscoveryClient, DiskCache, MemoryCache};
///
/// let live = MemoryCache::new(DiscoveryClient::new(client));
/// let discovery = DiskCache::new(live, &dir, Duration::from_secs(6 * 60 * 60));
/// assert!(discovery.discover().await.unwrap().failures.is_empty());
/// assert!(dir.join("servergroups.json").exists());
/// # std::fs::remove_dir_all(dir).unwrap();
/// # });
/// ```
pub struct DiskCache<D> {
    source: D,
    files: Arc<Files>,
}

struct Files {
    dir: PathBuf,
    ttl: Duration,
    state: Mutex<State>,
    written: AtomicU64,
}

#[derive(Default)]
struct State {
    ours: HashSet<PathBuf>,
    /// True if files of other processes were used.
    stale: bool,
    /// True if files of other processes are no longer valid.
    invalidated: bool,
}

impl<D: Discovery> DiskCache<D> {
    /// Caches the results of `source` in `dir` for `ttl`.
    pub fn new(source: D, dir: impl Into<PathBuf>, ttl: Duration) -> Self {
        Self {
            source,
            files: Arc::new(Files {
                dir: dir.into(),
                ttl,
                state: Mutex::default(),
                written: AtomicU64::new(0),
            }),
        }
    }

    /// Returns the discovery that this cache asks.
    pub fn source(&self) -> &D {
        &self.source
    }

    /// Returns the directory that kubectl uses for a server, below its cache directory: `10.0.0.1_6443` for
    /// `https://10.0.0.1:6443`.
    pub fn directory_for(parent: &Path, server: &str) -> PathBuf {
        let host = server.strip_prefix("https://").unwrap_or(server);
        let host = host.strip_prefix("http://").unwrap_or(host);
        let safe = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '/' | '-' | '(' | ')');
        let host: String = host
            .chars()
            .map(|c| if safe(c) { c } else { '_' })
            .collect();
        let parts = host
            .split('/')
            .filter(|part| !matches!(*part, "" | "." | ".."));
        parts.fold(parent.to_owned(), |path, part| path.join(part))
    }

    async fn read<T: DeserializeOwned + Send + 'static>(&self, name: Option<PathBuf>) -> Option<T> {
        let (files, name) = (self.files.clone(), name?);
        let read = tokio::task::spawn_blocking(move || files.read(&name)).await;
        read.ok().flatten()
    }

    async fn write<T: Serialize + Send + 'static>(&self, name: Option<PathBuf>, content: T) {
        let Some(name) = name else { return };
        let files = self.files.clone();
        let path = name.clone();
        let written = tokio::task::spawn_blocking(move || files.write(&name, &content)).await;
        if let Ok(Err(error)) = written {
            tracing::debug!(?path, %error, "cannot write discovery to the cache");
        }
    }
}

#[async_trait]
impl<D: Discovery> Discovery for DiskCache<D> {
    async fn groups(&self) -> Result<Vec<APIGroup>> {
        let name = Some(PathBuf::from("servergroups.json"));
        if let Some(list) = self.read::<APIGroupList>(name.clone()).await {
            return Ok(list.groups);
        }
        let groups = self.source.groups().await?;
        if !groups.is_empty() {
            let list = APIGroupList {
                groups: groups.clone(),
            };
            self.write(name, list).await;
        }
        Ok(groups)
    }

    async fn resources(&self, version: &GroupVersion) -> Result<APIResourceList> {
        let name = file_of(version);
        if let Some(list) = self.read::<APIResourceList>(name.clone()).await {
            return Ok(list);
        }
        let list = self.source.resources(version).await?;
        if !list.resources.is_empty() {
            self.write(name, list.clone()).await;
        }
        Ok(list)
    }

    async fn discover(&self) -> Result<Discovered> {
        let name = Some(PathBuf::from("servergroups.json"));
        if let Some(list) = self.read::<APIGroupList>(name.clone()).await {
            return Ok(by_parts(self, list.groups).await);
        }
        let found = self.source.discover().await?;
        for list in found
            .resources
            .iter()
            .filter(|list| !list.resources.is_empty())
        {
            let version = GroupVersion::parse(&list.group_version);
            let name = version.as_ref().and_then(file_of);
            self.write(name, list.clone()).await;
        }
        // Groups that failed are not in the list of groups: caching it would hide them.
        if found.failures.is_empty() && !found.groups.is_empty() {
            let list = APIGroupList {
                groups: found.groups.clone(),
            };
            self.write(name, list).await;
        }
        Ok(found)
    }

    fn is_fresh(&self) -> bool {
        !self.files.state.lock().stale
    }

    async fn invalidate(&self) {
        {
            let mut state = self.files.state.lock();
            state.ours.clear();
            state.stale = false;
            state.invalidated = true;
        }
        self.source.invalidate().await;
    }
}

impl Files {
    fn read<T: DeserializeOwned>(&self, name: &Path) -> Option<T> {
        let path = self.dir.join(name);
        let ours = {
            let state = self.state.lock();
            let ours = state.ours.contains(&path);
            if state.invalidated && !ours {
                return None;
            }
            ours
        };
        let meta = fs::metadata(&path).ok()?;
        let until = meta.modified().ok()?.checked_add(self.ttl)?;
        if SystemTime::now() > until || meta.len() > MAX_FILE {
            return None;
        }
        let content = serde_json::from_slice(&fs::read(&path).ok()?).ok()?;
        self.state.lock().stale |= !ours;
        Some(content)
    }

    fn write<T: Serialize>(&self, name: &Path, content: &T) -> io::Result<()> {
        let path = self.dir.join(name);
        let parent = path.parent().unwrap_or(&self.dir);
        make_dir(parent)?;
        let n = self.written.fetch_add(1, Ordering::Relaxed);
        let beside = path.with_extension(format!("json.{}.{n}", std::process::id()));
        let done = fs::write(&beside, serde_json::to_vec(content)?)
            .and_then(|()| set_mode(&beside))
            .and_then(|()| fs::rename(&beside, &path));
        match done {
            Ok(()) => {
                self.state.lock().ours.insert(path);
                Ok(())
            }
            Err(error) => {
                // The file may not exist.
                let _ = fs::remove_file(&beside);
                Err(error)
            }
        }
    }
}

/// Returns the file of a version's resources; none for names that are not valid directory names.
fn file_of(version: &GroupVersion) -> Option<PathBuf> {
    let mut path = PathBuf::new();
    for part in [&version.group, &version.version] {
        if part.is_empty() {
            continue;
        }
        if !is_path_segment_name(part).is_empty() || part.contains(['\\', ':']) {
            return None;
        }
        path.push(part);
    }
    path.push("serverresources.json");
    Some(path)
}

#[cfg(unix)]
fn make_dir(dir: &Path) -> io::Result<()> {
    use std::os::unix::fs::DirBuilderExt;
    fs::DirBuilder::new()
        .recursive(true)
        .mode(0o750)
        .create(dir)
}

#[cfg(not(unix))]
fn make_dir(dir: &Path) -> io::Result<()> {
    fs::create_dir_all(dir)
}

#[cfg(unix)]
fn set_mode(file: &Path) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    fs::set_permissions(file, fs::Permissions::from_mode(0o660))
}

#[cfg(not(unix))]
fn set_mode(_: &Path) -> io::Result<()> {
    Ok(())
}
