//! [`LogFile`]: a file that is replaced when it has become large.

#[cfg(test)]
mod tests;

use std::{
    ffi::OsStr,
    fs::{self, File},
    io::{self, Write},
    path::{Path, PathBuf},
    sync::Arc,
};

use jiff::{Timestamp, civil::DateTime, tz::TimeZone};

use crate::clock::{SharedClock, SystemClock};

/// The time in the name of a replaced file, as in kube-apiserver.
const STAMP: &str = "%Y-%m-%dT%H-%M-%S%.3f";
const SECONDS_OF_DAY: i64 = 24 * 60 * 60;

/// When a [`LogFile`] is replaced, and how many of its predecessors are kept.
///
/// ```
/// use kubewright_apiserver::audit::Rotation;
///
/// let rotation = Rotation { max_bytes: 100 << 20, max_backups: 10, ..Rotation::default() };
/// # let _ = rotation;
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rotation {
    /// The size at which the file is replaced; 0 for no limit.
    pub max_bytes: u64,
    /// The number of replaced files that are kept; 0 for all.
    pub max_backups: usize,
    /// The number of days that replaced files are kept; 0 for no limit.
    pub max_days: u32,
}

/// A file of lines, to which new ones are appended. If it would become larger than allowed, it is renamed, as `audit.log` to
/// `audit-2026-01-31T12-00-00.000.log`, and a new one is begun. No line is split.
///
/// ```
/// use std::io::Write;
///
/// use kubewright_apiserver::audit::{LogFile, Rotation};
///
/// # let folder = std::env::temp_dir().join(format!("log-file-doc-{}", std::process::id()));
/// # std::fs::create_dir_all(&folder)?;
/// let rotation = Rotation { max_bytes: 10, ..Rotation::default() };
/// let mut log = LogFile::open(folder.join("audit.log"), rotation)?;
/// log.write_all(b"one line\n")?;
/// log.write_all(b"another one\n")?;
/// assert_eq!(std::fs::read_dir(&folder)?.count(), 2);
/// # drop(log);
/// # std::fs::remove_dir_all(&folder)?;
/// # Ok::<_, std::io::Error>(())
/// ```
pub struct LogFile {
    path: PathBuf,
    rotation: Rotation,
    clock: SharedClock,
    file: File,
    size: u64,
    /// Whether the last byte ended a line.
    at_start: bool,
}

impl LogFile {
    /// Opens a file for appending.
    ///
    /// # Errors
    ///
    /// Fails if the file cannot be opened or created.
    pub fn open(path: impl Into<PathBuf>, rotation: Rotation) -> io::Result<Self> {
        Self::open_at(path.into(), rotation, Arc::new(SystemClock))
    }

    fn open_at(path: PathBuf, rotation: Rotation, clock: SharedClock) -> io::Result<Self> {
        let file = append(&path)?;
        let size = file.metadata()?.len();
        let log = Self {
            path,
            rotation,
            clock,
            file,
            size,
            at_start: true,
        };
        log.remove_old();
        Ok(log)
    }

    /// Renames the file, and begins a new one.
    fn rotate(&mut self) -> io::Result<()> {
        fs::rename(&self.path, self.backup())?;
        self.file = append(&self.path)?;
        self.size = 0;
        self.remove_old();
        Ok(())
    }

    /// Returns a name for the file that nobody has.
    fn backup(&self) -> PathBuf {
        let mut time = self.clock.now();
        loop {
            let stamp = time.strftime(STAMP);
            let (stem, extension) = self.parts();
            let path = self
                .path
                .with_file_name(format!("{stem}-{stamp}{extension}"));
            if !path.exists() {
                return path;
            }
            time += jiff::SignedDuration::from_millis(1);
        }
    }

    /// Returns the name of the file without its extension, and the extension with its dot.
    fn parts(&self) -> (String, String) {
        let text = |part: &OsStr| part.to_string_lossy().into_owned();
        let extension = self.path.extension().map(text);
        let stem = self.path.file_stem().map(text);
        (
            stem.unwrap_or_default(),
            extension.map_or_else(String::new, |extension| format!(".{extension}")),
        )
    }

    /// Removes the replaced files that are too many or too old. A failure is logged.
    fn remove_old(&self) {
        let Rotation {
            max_backups,
            max_days,
            ..
        } = self.rotation;
        if max_backups == 0 && max_days == 0 {
            return;
        }
        let oldest = self.clock.now().as_second() - i64::from(max_days) * SECONDS_OF_DAY;
        let backups = match self.backups() {
            Ok(backups) => backups,
            Err(error) => {
                tracing::warn!(%error, "cannot list the audit logs");
                return;
            }
        };
        for (i, (time, path)) in backups.into_iter().enumerate() {
            let too_many = max_backups > 0 && i >= max_backups;
            let too_old = max_days > 0 && time.as_second() < oldest;
            if (too_many || too_old)
                && let Err(error) = fs::remove_file(&path)
            {
                tracing::warn!(%error, path = %path.display(), "cannot remove an old audit log");
            }
        }
    }

    /// Returns the replaced files with their times, the newest first.
    fn backups(&self) -> io::Result<Vec<(Timestamp, PathBuf)>> {
        let (stem, extension) = self.parts();
        let folder = match self.path.parent() {
            Some(folder) if folder != Path::new("") => folder,
            _ => Path::new("."),
        };
        let mut found = Vec::new();
        for entry in fs::read_dir(folder)? {
            let entry = entry?;
            let name = entry.file_name();
            let stamp = name.to_str().and_then(|name| {
                let rest = name.strip_prefix(&stem)?.strip_prefix('-')?;
                rest.strip_suffix(&extension)
            });
            let time = stamp.and_then(|stamp| DateTime::strptime(STAMP, stamp).ok());
            let time = time.and_then(|time| time.to_zoned(TimeZone::UTC).ok());
            if let Some(time) = time {
                found.push((time.timestamp(), entry.path()));
            }
        }
        found.sort_by_key(|(time, _)| std::cmp::Reverse(*time));
        Ok(found)
    }
}

impl Write for LogFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let max = self.rotation.max_bytes;
        let line = bytes.iter().position(|byte| *byte == b'\n');
        let line = line.map_or(bytes.len(), |end| end + 1);
        let fits = |length: usize| max == 0 || self.size.saturating_add(length as u64) <= max;
        let length = match fits(bytes.len()) {
            true => bytes.len(),
            // Line by line, so that each is whole in one of the files.
            false => {
                if self.at_start && self.size > 0 && !fits(line) {
                    self.rotate()?;
                }
                line
            }
        };
        let written = self.file.write(bytes.get(..length).unwrap_or(bytes))?;
        self.size = self.size.saturating_add(written as u64);
        if let Some(last) = written.checked_sub(1).and_then(|i| bytes.get(i)) {
            self.at_start = *last == b'\n';
        }
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

fn append(path: &Path) -> io::Result<File> {
    File::options().create(true).append(true).open(path)
}
