//! Replacement of log files.

use jiff::SignedDuration;
use parking_lot::Mutex;

use super::*;
use crate::clock::Clock;

/// A folder that is removed at the end.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let name = format!("kubewright-log-file-{name}-{}", std::process::id());
        let path = std::env::temp_dir().join(name);
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    /// Returns the files with their contents, by name.
    fn files(&self) -> Vec<(String, String)> {
        let entries = fs::read_dir(&self.0).unwrap().map(Result::unwrap);
        let mut files: Vec<(String, String)> = entries
            .map(|entry| {
                let name = entry.file_name().into_string().unwrap();
                (name, fs::read_to_string(entry.path()).unwrap())
            })
            .collect();
        files.sort();
        files
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // The files are in the temporary directory, where nobody misses them.
        let _ = fs::remove_dir_all(&self.0);
    }
}

struct Manual(Mutex<Timestamp>);

impl Manual {
    fn new() -> Arc<Self> {
        Arc::new(Self(Mutex::new("2026-01-31T12:00:00Z".parse().unwrap())))
    }

    fn advance(&self, hours: i64) {
        *self.0.lock() += SignedDuration::from_hours(hours);
    }
}

impl Clock for Manual {
    fn now(&self) -> Timestamp {
        *self.0.lock()
    }
}

#[test]
fn a_large_file_is_replaced_between_lines() {
    let folder = Folder::new("replaced");
    let rotation = Rotation {
        max_bytes: 12,
        ..Rotation::default()
    };
    let path = folder.0.join("audit.log");
    let mut log = LogFile::open_at(path, rotation, Manual::new()).unwrap();
    // Pieces end anywhere, as those of a buffer.
    for piece in ["one\ntw", "o\nthree\nfo", "ur\nlonger than a file\n", "x\n"] {
        log.write_all(piece.as_bytes()).unwrap();
    }
    let files = folder.files();
    let contents: Vec<&str> = files.iter().map(|(_, text)| text.as_str()).collect();
    assert_eq!(
        contents,
        ["one\ntwo\n", "three\nfour\n", "longer than a file\n", "x\n"]
    );
    assert_eq!(files[0].0, "audit-2026-01-31T12-00-00.000.log");
    assert_eq!(files[3].0, "audit.log");
}

#[test]
fn replaced_files_are_removed_by_number_and_age() {
    let (folder, clock) = (Folder::new("removed"), Manual::new());
    let rotation = Rotation {
        max_bytes: 1,
        max_backups: 3,
        max_days: 2,
    };
    let path = folder.0.join("audit.log");
    fs::write(folder.0.join("audit-notes.log"), "kept").unwrap();
    let mut log = LogFile::open_at(path.clone(), rotation, clock.clone()).unwrap();
    for n in 0..6 {
        log.write_all(format!("{n}\n").as_bytes()).unwrap();
        clock.advance(1);
    }
    let texts = || -> Vec<String> {
        let files = folder.files().into_iter();
        files.map(|(_, text)| text.trim().to_owned()).collect()
    };
    assert_eq!(texts(), ["2", "3", "4", "kept", "5"]);
    drop(log);
    clock.advance(47);
    LogFile::open_at(path, rotation, clock).unwrap();
    assert_eq!(texts(), ["4", "kept", "5"]);
}
