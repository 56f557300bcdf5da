//! Files that only their owner can read: they hold tokens and keys.

use std::{fs, io, io::Write, path::Path};

/// Writes a file with mode 0600, replacing its content if it exists.
pub(crate) fn write(path: &Path, text: &str) -> io::Result<()> {
    let mut options = fs::OpenOptions::new();
    options.write(true).create(true).truncate(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)?.write_all(text.as_bytes())
}
