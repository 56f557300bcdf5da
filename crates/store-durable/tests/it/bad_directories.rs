//! Directories that are rejected: the error is one sentence, and their contents are unchanged.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    time::{Duration, SystemTime},
};

use kubewright_store::Store;
use kubewright_store_durable::{Clock, DurableStore, OpenError, Options};

use crate::{Folder, key, object};

/// Returns every file in a directory with its contents.
fn files(path: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(path).unwrap().flatten() {
        match entry.path() {
            path if path.is_dir() => found.extend(files(&path)),
            // The lock file is excluded, since the holder is written to it.
            path if path.ends_with("LOCK") => {}
            path => {
                found.insert(path.clone(), fs::read(&path).unwrap());
            }
        }
    }
    found
}

/// Opens a directory, which must be rejected and unchanged.
fn refused(path: &Path) -> OpenError {
    let before = files(path);
    let error = DurableStore::open(path, Options::default()).err();
    assert_eq!(files(path), before, "something was changed");
    let error = error.expect("an error");
    assert_eq!(error.to_string().lines().count(), 1, "{error}");
    error
}

async fn filled(path: &Path, objects: usize) {
    let options = Options {
        segment_bytes: 16 << 10,
        ..Options::default()
    };
    let store = DurableStore::open(path, options).unwrap();
    for n in 0..objects {
        let created = store.create(key(&n.to_string()), object("something"));
        created.await.unwrap();
    }
    store.close();
}

fn segments(path: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(path.join("wal")).unwrap().flatten();
    let mut found: Vec<PathBuf> = entries
        .map(|entry| entry.path())
        .filter(|path| path.extension().is_some_and(|end| end == "wal"))
        .collect();
    found.sort();
    found
}

#[tokio::test]
async fn newer_formats_are_rejected() {
    let folder = Folder::new();
    let path = folder.path("data");
    filled(&path, 1).await;
    let text = fs::read_to_string(path.join("STORE")).unwrap();
    fs::write(path.join("STORE"), text.replace("=1", "=7")).unwrap();
    assert!(matches!(refused(&path), OpenError::Newer { format: 7, .. }));
}

#[tokio::test]
async fn directories_of_other_programs_are_rejected() {
    let folder = Folder::new();
    let path = folder.path("postgres");
    fs::create_dir(&path).unwrap();
    fs::write(path.join("PG_VERSION"), "17\n").unwrap();
    let error = refused(&path).to_string();
    assert!(error.contains("it contains PG_VERSION; choose"), "{error}");
    assert!(!path.join("LOCK").exists());
}

#[tokio::test]
async fn a_missing_store_file_is_rejected() {
    let folder = Folder::new();
    let path = folder.path("data");
    filled(&path, 1).await;
    fs::remove_file(path.join("STORE")).unwrap();
    let error = refused(&path).to_string();
    assert!(error.contains("STORE is damaged: it is missing"), "{error}");
}

#[tokio::test]
async fn missing_truncated_swapped_or_foreign_segments_are_rejected() {
    let folder = Folder::new();
    let (path, other) = (folder.path("data"), folder.path("other"));
    filled(&path, 8).await;
    filled(&other, 8).await;
    let names = segments(&path);
    assert!(names.len() >= 4, "{names:?}");
    let whole: Vec<Vec<u8>> = names.iter().map(|name| fs::read(name).unwrap()).collect();
    let restore = || {
        for (name, bytes) in names.iter().zip(&whole) {
            fs::write(name, bytes).unwrap();
        }
    };
    for (at, name) in names.iter().enumerate() {
        fs::remove_file(name).unwrap();
        let error = refused(&path).to_string();
        assert!(
            error.contains("missing") || error.contains("no checkpoint"),
            "{error}"
        );
        restore();
        fs::write(name, &whole[at][..whole[at].len() / 2]).unwrap();
        let error = refused(&path).to_string();
        assert!(error.contains("bytes instead of"), "{error}");
        restore();
    }
    fs::write(&names[1], &whole[2]).unwrap();
    let error = refused(&path).to_string();
    assert!(error.contains("which do not match its name"), "{error}");
    restore();
    fs::write(&names[1], fs::read(&segments(&other)[1]).unwrap()).unwrap();
    let error = refused(&path).to_string();
    assert!(error.contains("it belongs to another store"), "{error}");
    assert!(error.contains("kubewright store salvage"), "{error}");
    restore();
    let store = DurableStore::open(&path, Options::default()).unwrap();
    assert_eq!(store.current().await.unwrap().0, 8);
}

#[tokio::test]
async fn errors_name_the_process_that_uses_the_directory() {
    let folder = Folder::new();
    let path = folder.path("data");
    let options = Options {
        holder: "127.0.0.1:6443".to_owned(),
        ..Options::default()
    };
    let store = DurableStore::open(&path, options).unwrap();
    let error = DurableStore::open(&path, Options::default()).err().unwrap();
    let text = error.to_string();
    let holder = format!("process {} at 127.0.0.1:6443", std::process::id());
    assert!(text.contains(&holder), "{text}");
    drop(store);
    DurableStore::open(&path, Options::default()).unwrap();
}

#[cfg(target_os = "linux")]
#[test]
fn errors_of_read_only_file_systems_are_one_sentence() {
    let error = DurableStore::open("/proc/kubewright", Options::default())
        .err()
        .unwrap();
    let text = error.to_string();
    assert!(
        text.starts_with("cannot create files in /proc/kubewright: "),
        "{text}"
    );
}

#[cfg(target_os = "linux")]
#[test]
fn directories_of_other_users_are_rejected() {
    use std::os::unix::fs::MetadataExt;
    let user = fs::metadata("/proc/self").unwrap().uid();
    let folder = Folder::new();
    let path = folder.path("data");
    fs::create_dir(&path).unwrap();
    if std::os::unix::fs::chown(&path, Some(user + 1), None).is_err() {
        eprintln!("skipped: only root can give a directory to somebody else");
        return;
    }
    let OpenError::Owner { owner, .. } = refused(&path) else {
        panic!("another error");
    };
    assert_eq!(owner, user + 1);
}

#[tokio::test]
async fn a_clock_set_back_by_a_year_does_not_delay_expiry() {
    let folder = Folder::new();
    let path = folder.path("data");
    let hour = Duration::from_secs(3600);
    let mut payload = object("something");
    payload.ttl = Some(hour);
    let store = DurableStore::open(&path, Options::default()).unwrap();
    store.create(key("mortal"), payload).await.unwrap();
    store.close();
    drop(store);
    let year = Duration::from_secs(365 * 24 * 3600);
    let options = Options {
        clock: Clock::new(move || SystemTime::now() - year),
        ..Options::default()
    };
    let store = DurableStore::open(&path, options).unwrap();
    let warnings = &store.open_report().warnings;
    assert!(
        warnings[0].contains("s behind the last write"),
        "{warnings:?}"
    );
    assert!(store.get(&key("mortal")).await.unwrap().is_some());
    let expires = store.fork().next_expiry().unwrap();
    let left = expires.saturating_duration_since(tokio::time::Instant::now());
    assert!(
        left <= hour && left > hour - Duration::from_secs(120),
        "{left:?}"
    );
}
