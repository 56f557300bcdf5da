//! The file `LOCK`, which a process locks while it uses a directory. The kernel releases the lock when the process ends.

use std::{
    fs::{File, OpenOptions, TryLockError},
    io::{self, Read, Seek, Write},
    path::Path,
    time::SystemTime,
};

use crate::OpenError;

/// The name of the file.
const LOCK: &str = "LOCK";

/// The size limit of the description of the holder.
const MAX_TEXT: u64 = 1024;

/// A locked directory.
pub(crate) struct DirectoryLock {
    _file: File,
}

impl DirectoryLock {
    /// Locks a directory and records the holder.
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

    /// Fails if a process uses a directory. Changes nothing.
    pub(crate) fn check_free(directory: &Path) -> Result<(), OpenError> {
        // Without access to the file, the lock cannot be checked. A copy may lack the file.
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
    let since = seconds();
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
        (_, text) => with_age(text, seconds()),
    }
}

/// Replaces the start of the lock in the text by its age.
fn with_age(text: &str, now: u64) -> String {
    let parts = text.rsplit_once(", since ");
    let since = parts.and_then(|(_, since)| since.split(' ').next()?.parse::<u64>().ok());
    match (parts, since) {
        (Some((who, _)), Some(since)) => format!("{who}, for {} s", now.saturating_sub(since)),
        _ => text.to_owned(),
    }
}

/// Returns the seconds since 1970.
fn seconds() -> u64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    since.unwrap_or_default().as_secs()
}

#[cfg(test)]
mod tests {
    use super::with_age;

    #[test]
    fn errors_name_the_holder_and_the_age_of_its_lock() {
        let text = "process 7 at 127.0.0.1:6443, since 100 s after 1970";
        assert_eq!(with_age(text, 142), "process 7 at 127.0.0.1:6443, for 42 s");
        assert_eq!(with_age("something else", 142), "something else");
    }
}
