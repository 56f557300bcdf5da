//! Files that only their owner can read, since they contain tokens or keys.

use std::{
    fs, io,
    io::Write,
    path::{Path, PathBuf},
};

/// Writes a file with mode 0600, and replaces any file of that name.
///
/// The contents are written to a new file in the same directory, which is then renamed. Therefore, nobody can read them through
/// an existing file with a wider mode, a symbolic link of that name is replaced rather than followed, and a failed write leaves
/// the old file unchanged and no other file behind.
///
/// ```
/// # let directory = std::env::temp_dir().join(format!("kubewright-secret-{}", std::process::id()));
/// # std::fs::create_dir_all(&directory).unwrap();
/// use kubewright_cluster::write_secret_file;
///
/// let path = directory.join("token");
/// write_secret_file(&path, "s3cret").unwrap();
/// assert_eq!(std::fs::read(&path).unwrap(), b"s3cret");
/// # std::fs::remove_dir_all(&directory).unwrap();
/// ```
///
/// # Errors
///
/// Fails if the path names a directory, a device or another special file, or if its directory cannot be written to.
pub fn write_secret_file(path: &Path, contents: impl AsRef<[u8]>) -> io::Result<()> {
    // The rename would replace a device by a regular file.
    if let Ok(existing) = fs::symlink_metadata(path)
        && !existing.is_file()
        && !existing.is_symlink()
    {
        return Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            "not a regular file",
        ));
    }
    let beside = beside(path)?;
    let written = write_new(&beside, contents.as_ref()).and_then(|()| fs::rename(&beside, path));
    if written.is_err() {
        // The first error is reported.
        let _ = fs::remove_file(&beside);
    }
    written
}

/// Returns an unused name in the same directory.
fn beside(path: &Path) -> io::Result<PathBuf> {
    let Some(name) = path.file_name() else {
        return Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            "the path has no file name",
        ));
    };
    let mut hidden = std::ffi::OsString::from(".");
    hidden.push(name);
    hidden.push(format!(".{:016x}", rand::random::<u64>()));
    Ok(path.with_file_name(hidden))
}

/// Writes a file that must not exist, not even as a symbolic link.
fn write_new(path: &Path, contents: &[u8]) -> io::Result<()> {
    let mut options = fs::OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)?.write_all(contents)
}
