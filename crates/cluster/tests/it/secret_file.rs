//! Files that only their owner can read.

use std::{
    fs, io,
    os::unix::fs::{PermissionsExt, symlink},
    path::{Path, PathBuf},
};

use kubewright_cluster::write_secret_file;

struct Directory(PathBuf);

impl Directory {
    fn new() -> Self {
        let name = format!("kubewright-cluster-{:016x}", rand::random::<u64>());
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        fs::create_dir(&path).unwrap();
        Self(path)
    }

    fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(&self.0).unwrap();
        let mut names: Vec<_> = entries
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn mode(path: &Path) -> u32 {
    fs::symlink_metadata(path).unwrap().permissions().mode() & 0o777
}

#[test]
fn an_existing_file_does_not_keep_its_mode() {
    let directory = Directory::new();
    let path = directory.0.join("config");
    fs::write(&path, "old").unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
    let reader = fs::File::open(&path).unwrap();
    write_secret_file(&path, "new").unwrap();
    assert_eq!(mode(&path), 0o600);
    assert_eq!(fs::read_to_string(&path).unwrap(), "new");
    let before = io::read_to_string(reader).unwrap();
    assert_eq!(before, "old", "a file that was open before shows nothing");
}

#[test]
fn symbolic_links_are_replaced_and_not_followed() {
    let directory = Directory::new();
    let (target, path) = (directory.0.join("target"), directory.0.join("config"));
    fs::write(&target, "untouched").unwrap();
    symlink(&target, &path).unwrap();
    write_secret_file(&path, "new").unwrap();
    assert!(fs::symlink_metadata(&path).unwrap().is_file());
    assert_eq!(fs::read_to_string(&target).unwrap(), "untouched");
    assert_eq!(directory.names(), ["config", "target"]);
}

#[test]
fn a_failed_write_leaves_nothing() {
    let directory = Directory::new();
    let path = directory.0.join("config");
    fs::create_dir(&path).unwrap();
    assert!(write_secret_file(&path, "new").is_err());
    assert!(write_secret_file(Path::new("/"), "new").is_err());
    assert!(write_secret_file(&directory.0.join("missing/config"), "new").is_err());
    assert_eq!(directory.names(), ["config"]);
    let error = write_secret_file(Path::new("/dev/null"), "new").unwrap_err();
    assert_eq!(error.to_string(), "not a regular file");
}
