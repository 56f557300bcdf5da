//! Discovery that outlives the process.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::atomic::{AtomicU32, Ordering},
    time::{Duration, SystemTime},
};

use kubewright_client::{
    DiscoveryClient,
    discovery::{DiskCache, MemoryCache},
};
use kubewright_machinery::gvk::GroupVersion;

use crate::front::{Front, reply};

const HOUR: Duration = Duration::from_secs(3600);

/// A directory that is gone when the test is over.
struct Dir(PathBuf);

impl Dir {
    fn new() -> Self {
        static DIRS: AtomicU32 = AtomicU32::new(0);
        let n = DIRS.fetch_add(1, Ordering::Relaxed);
        let name = format!("kubewright-disk-cache-{}-{n}", std::process::id());
        Self(std::env::temp_dir().join(name))
    }

    fn files(&self) -> Vec<PathBuf> {
        fn walk(dir: &Path, files: &mut Vec<PathBuf>) {
            for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
                let path = entry.path();
                if path.is_dir() {
                    walk(&path, files)
                } else {
                    files.push(path)
                }
            }
        }
        let mut files = Vec::new();
        walk(&self.0, &mut files);
        files
    }

    fn make_older(&self, by: Duration) {
        for file in self.files() {
            let file = fs::File::options().write(true).open(file).unwrap();
            file.set_modified(SystemTime::now() - by).unwrap();
        }
    }
}

impl Drop for Dir {
    fn drop(&mut self) {
        // It may never have been made.
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn cache(front: &Front, dir: &Dir) -> DiskCache<MemoryCache<DiscoveryClient>> {
    let live = MemoryCache::new(DiscoveryClient::new(front.client()));
    DiskCache::new(live, &dir.0, HOUR)
}

#[tokio::test]
async fn another_process_needs_no_server() {
    let (front, dir) = (Front::start().await, Dir::new());
    let first = cache(&front, &dir);
    let found = first.discover().await.unwrap();
    assert!(first.is_fresh());
    assert_eq!(front.seen().len(), 2);

    let second = cache(&front, &dir);
    let again = second.discover().await.unwrap();
    assert_eq!(front.seen(), [""; 0]);
    assert_eq!(
        (again.groups, again.resources),
        (found.groups, found.resources)
    );
    // What it knows is what others wrote.
    assert!(!second.is_fresh() && first.is_fresh());
    assert!(
        !second
            .resources(&GroupVersion::new("apps", "v1"))
            .await
            .unwrap()
            .resources
            .is_empty()
    );
    assert_eq!(front.seen(), [""; 0]);
}

#[tokio::test]
async fn files_grow_old() {
    let (front, dir) = (Front::start().await, Dir::new());
    cache(&front, &dir).discover().await.unwrap();
    front.seen();
    dir.make_older(HOUR - Duration::from_secs(60));
    cache(&front, &dir).groups().await.unwrap();
    assert_eq!(front.seen(), [""; 0]);
    dir.make_older(HOUR + Duration::from_secs(1));
    cache(&front, &dir).groups().await.unwrap();
    assert_eq!(front.seen().len(), 2);
}

#[tokio::test]
async fn after_invalidation_only_own_files_count() {
    let (front, dir) = (Front::start().await, Dir::new());
    cache(&front, &dir).discover().await.unwrap();
    front.seen();
    let cache = cache(&front, &dir);
    cache.groups().await.unwrap();
    assert!(!cache.is_fresh());
    cache.invalidate().await;
    assert!(cache.is_fresh());
    cache.groups().await.unwrap();
    assert_eq!(front.seen().len(), 2);
    cache.groups().await.unwrap();
    assert_eq!(front.seen(), [""; 0]);
    assert!(cache.is_fresh());
}

#[tokio::test]
async fn files_and_directories_are_for_owner_and_group() {
    let (front, dir) = (Front::start().await, Dir::new());
    cache(&front, &dir).discover().await.unwrap();
    let files = dir.files();
    assert!(files.contains(&dir.0.join("servergroups.json")));
    assert!(files.contains(&dir.0.join("v1/serverresources.json")));
    assert!(files.contains(&dir.0.join("apps/v1/serverresources.json")));
    // Nothing half written is left.
    assert!(
        files
            .iter()
            .all(|file| file.extension().is_some_and(|e| e == "json")),
        "{files:?}"
    );
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode(&dir.0.join("servergroups.json")), 0o660);
        // The user's mask may take from the directory's.
        assert_eq!(mode(&dir.0.join("apps/v1")) & !0o750, 0);
    }
}

#[tokio::test]
async fn nonsense_in_a_file_is_as_if_it_were_not_there() {
    let (front, dir) = (Front::start().await, Dir::new());
    cache(&front, &dir).discover().await.unwrap();
    front.seen();
    for nonsense in ["", "{", "[]", "{\"kind\":\"Pod\",\"apiVersion\":\"v1\"}"] {
        fs::write(dir.0.join("servergroups.json"), nonsense).unwrap();
        assert!(
            !cache(&front, &dir).groups().await.unwrap().is_empty(),
            "{nonsense}"
        );
        assert_eq!(front.seen().len(), 2, "{nonsense}");
    }
}

#[tokio::test]
async fn failures_are_not_kept() {
    let (front, dir) = (Front::start().await, Dir::new());
    front.answer(|request| (request.uri().path() == "/apis/apps/v1").then(|| reply(503, "later")));
    let legacy = || {
        let live = DiscoveryClient::new(front.client()).legacy_only();
        DiskCache::new(MemoryCache::new(live), &dir.0, HOUR)
    };
    let found = legacy().discover().await.unwrap();
    assert_eq!(found.failures.len(), 1);
    assert!(!dir.0.join("apps/v1/serverresources.json").exists());
    // The next process sees the failure too, and then that it is over.
    assert_eq!(legacy().discover().await.unwrap().failures.len(), 1);
    front.honest();
    assert!(legacy().discover().await.unwrap().failures.is_empty());
    front.seen();
    assert!(legacy().discover().await.unwrap().failures.is_empty());
    assert_eq!(front.seen(), [""; 0]);
}

#[tokio::test]
async fn a_disk_that_cannot_be_written_to_costs_the_cache_only() {
    let (front, dir) = (Front::start().await, Dir::new());
    fs::write(&dir.0, "a file where the directory should be").unwrap();
    assert!(
        cache(&front, &dir)
            .discover()
            .await
            .unwrap()
            .failures
            .is_empty()
    );
    fs::remove_file(&dir.0).unwrap();
}

#[test]
fn a_server_has_the_directory_that_kubectl_gives_it() {
    let dir = |server| DiskCache::<DiscoveryClient>::directory_for(Path::new("/cache"), server);
    assert_eq!(
        dir("https://10.0.0.1:6443"),
        Path::new("/cache/10.0.0.1_6443")
    );
    assert_eq!(
        dir("http://host/some/path?x"),
        Path::new("/cache/host/some/path_x")
    );
    assert_eq!(dir("https://a/../../b"), Path::new("/cache/a/b"));
}
