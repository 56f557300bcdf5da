//! The file `LOCK`, which one process holds as long as it uses a directory. The kernel releases it, whatever ends the process.

use std::{
    fs::{File, OpenOptions, TryLockError},
    io::{self, Read, Seek, Write},
    path::Path,
    time::SystemTime,
};

use crate::OpenError;

/// The name of the file.
const LOCK: &str = "LOCK";

/// The longest text about the holder that is read.
const MAX_TEXT: u64 = 1024;

/// A locked directory.
pub(crate) struct DirectoryLock {
    _file: File,
}

impl DirectoryLock {
    /// Locks a directory and says by whom.
    pub(crate) fn acquire(directory: &Path, holder: &str) -> Result<Self, OpenError> {
        let failed = |source| OpenError::Io {
            path: directory.to_owned(),
            action: "lock the directory".to_owned(),
            source,
        };
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(false);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let mut file = options.open(directory.join(LOCK)).map_err(failed)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                return Err(OpenError::Locked {
                    path: directory.to_owned(),
                    holder: holder_of(&mut file),
                });
            }
            Err(TryLockError::Error(error)) => return Err(failed(error)),
        }
        describe(&mut file, holder).map_err(failed)?;
        Ok(Self { _file: file })
    }

    /// Fails if a process uses a directory, and changes nothing.
    pub(crate) fn check_free(directory: &Path) -> Result<(), OpenError> {
        // Whoever cannot open the file cannot know; a copy may have none.
        let Ok(mut file) = File::open(directory.join(LOCK)) else {
            return Ok(());
        };
        match file.try_lock_shared() {
            Err(TryLockError::WouldBlock) => Err(OpenError::Locked {
                path: directory.to_owned(),
                holder: holder_of(&mut file),
            }),
            _ => Ok(()),
        }
    }
}

fn describe(file: &mut File, holder: &str) -> io::Result<()> {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    let since = since.unwrap_or_default().as_secs();
    let at = match holder {
        "" => String::new(),
        holder => format!(" at {holder}"),
    };
    let pid = std::process::id();
    file.set_len(0)?;
    writeln!(file, "process {pid}{at}, since {since} s after 1970")
}

fn holder_of(file: &mut File) -> String {
    let mut text = String::new();
    let read = file
        .rewind()
        .and_then(|()| file.take(MAX_TEXT).read_to_string(&mut text));
    match (read, text.trim()) {
        (Err(_), _) | (_, "") => "another process".to_owned(),
        (_, text) => text.to_owned(),
    }
}
