//! Copies data directories, even while they are in use.
//!
//! Checkpoints never change, and the log is append-only, so that a copy made while a server writes is consistent: at worst,
//! its last write is incomplete, as after a crash. If the server removes files during the copy, or the log grows while it is
//! read, the copy may be unusable and is repeated.

use std::{fs, io, path::Path};

use kubewright_store::Revision;

use super::{ATTEMPTS, DataFiles, Status};
use crate::{
    OpenError, checkpoint,
    format::checkpoint as format,
    format::{CHECKPOINTS, QUARANTINE, WAL, identity::STORE},
    log::list_segments,
};

/// Copies a data directory, which may be in use, to a new directory, and verifies the copy.
///
/// ```
/// # tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(async {
/// # let directory = std::env::temp_dir().join(format!("kubewright-backup-doc-{}", std::process::id()));
/// # let copy = directory.with_extension("copy");
/// use kubewright_store_durable::{DurableStore, Options, tools::backup};
///
/// let store = DurableStore::open(&directory, Options::default())?;
/// let status = backup(&directory, &copy)?;
/// assert_eq!(status.objects, 0);
/// # store.close();
/// # for path in [directory, copy] {
/// #     std::fs::remove_dir_all(path)?;
/// # }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// # })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
///
/// Fails if the new directory is not empty, or if the files cannot be copied or are damaged.
pub fn backup(from: &Path, to: &Path) -> Result<Status, OpenError> {
    let failed = |source| OpenError::Io {
        path: to.to_owned(),
        action: "write a copy".to_owned(),
        source,
    };
    super::rebuild::require_empty(to)?;
    let mut last = None;
    for _ in 0..ATTEMPTS {
        let files = DataFiles::of(from)?;
        clear(to).map_err(failed)?;
        match copy(&files, to) {
            Ok(()) => {}
            // The server has removed the file since it was listed.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                last = Some(failed(error));
                continue;
            }
            Err(error) => return Err(failed(error)),
        }
        match DataFiles::of(to).and_then(|copy| copy.status()) {
            Ok(status) => return Ok(status),
            Err(error) => last = Some(error),
        }
    }
    clear(to).map_err(failed)?;
    Err(last.unwrap_or_else(|| failed(io::ErrorKind::NotFound.into())))
}

/// Copies the newest checkpoint and the log after it. `STORE` is written last.
fn copy(files: &DataFiles, to: &Path) -> io::Result<()> {
    for folder in [WAL, CHECKPOINTS, QUARANTINE] {
        fs::create_dir_all(to.join(folder))?;
    }
    let trouble = |trouble: crate::error::Trouble| match trouble {
        crate::error::Trouble::Io { source, .. } => source,
        other => io::Error::other(other.to_string()),
    };
    // The log is listed first: data of segments that are removed later is in the checkpoint.
    let segments = list_segments(&*files.disk).map_err(trouble)?;
    let newest = checkpoint::list(&*files.disk).map_err(trouble)?;
    let base = newest.first().copied();
    let copy = |name: &str| -> io::Result<()> {
        fs::copy(files.path.join(name), to.join(name))?;
        fs::File::open(to.join(name))?.sync_all()
    };
    if let Some(base) = base {
        copy(&format::path(base))?;
    }
    let first_needed = Revision(base.map_or(0, |base| base.0 + 1));
    let begin = segments
        .iter()
        .rposition(|segment| segment.first_revision <= first_needed)
        .unwrap_or(0);
    for segment in segments.iter().skip(begin) {
        copy(&segment.path())?;
    }
    let keys = files.path.join("keys");
    if keys.is_dir() {
        fs::create_dir_all(to.join("keys"))?;
        for entry in fs::read_dir(keys)? {
            let name = entry?.file_name();
            copy(&format!("keys/{}", name.to_string_lossy()))?;
        }
    }
    copy(STORE)?;
    #[cfg(unix)]
    for folder in ["", WAL, CHECKPOINTS] {
        fs::File::open(to.join(folder))?.sync_all()?;
    }
    Ok(())
}

/// Removes the contents of a directory.
fn clear(to: &Path) -> io::Result<()> {
    if to.exists() {
        fs::remove_dir_all(to)?;
    }
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(to)
}
