//! Checks of the data directory before any of its files is touched.

use std::{fs, io, path::Path};

use crate::OpenError;

/// File systems whose locks and syncs are unreliable.
const NETWORK: [&str; 14] = [
    "9p",
    "afs",
    "ceph",
    "cifs",
    "fuse.glusterfs",
    "fuse.s3fs",
    "fuse.sshfs",
    "lustre",
    "ncpfs",
    "nfs",
    "nfs4",
    "smb3",
    "smbfs",
    "virtiofs",
];

/// Creates the directory if it is missing, and checks that it is usable.
pub(crate) fn prepare(path: &Path, allow_network: bool) -> Result<(), OpenError> {
    let failed = |action: &'static str| {
        move |source: io::Error| OpenError::Io {
            path: path.to_owned(),
            action: action.to_owned(),
            source,
        }
    };
    if !path.exists() {
        let mut builder = fs::DirBuilder::new();
        builder.recursive(true);
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        builder.create(path).map_err(failed("create files"))?;
        #[cfg(unix)]
        if let Some(parent) = path
            .parent()
            .filter(|parent| !parent.as_os_str().is_empty())
        {
            let synced = fs::File::open(parent).and_then(|parent| parent.sync_all());
            synced.map_err(failed("create files"))?;
        }
    }
    check_owner(path)?;
    if !allow_network && let Some(kind) = network_file_system(path) {
        return Err(OpenError::Network {
            path: path.to_owned(),
            kind,
        });
    }
    Ok(())
}

/// Checks that the directory belongs to the user of this process, since files of another user would lock out the owner.
fn check_owner(path: &Path) -> Result<(), OpenError> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt;
        let Ok(metadata) = fs::metadata(path) else {
            return Ok(());
        };
        let (owner, user) = (metadata.uid(), rustix::process::geteuid().as_raw());
        if owner != user {
            return Err(OpenError::Owner {
                path: path.to_owned(),
                owner,
                user,
            });
        }
    }
    #[cfg(not(unix))]
    let _ = path;
    Ok(())
}

/// Returns the type of the file system if it is a network file system.
fn network_file_system(path: &Path) -> Option<String> {
    let mounts = fs::read_to_string("/proc/self/mountinfo").ok()?;
    let path = path.canonicalize().ok()?;
    let kind = file_system_of(&mounts, &path)?;
    NETWORK.contains(&kind).then(|| kind.to_owned())
}

/// Returns the type of the file system that contains a path, from a Linux mount table.
fn file_system_of<'a>(mounts: &'a str, path: &Path) -> Option<&'a str> {
    let mut best: Option<(usize, &str)> = None;
    for line in mounts.lines() {
        let Some((fields, source)) = line.split_once(" - ") else {
            continue;
        };
        let Some(point) = fields.split(' ').nth(4) else {
            continue;
        };
        let point = point.replace("\\040", " ");
        let kind = source.split(' ').next().unwrap_or_default();
        // A later mount at the same path hides an earlier one.
        if path.starts_with(&point) && best.is_none_or(|(len, _)| point.len() >= len) {
            best = Some((point.len(), kind));
        }
    }
    best.map(|(_, kind)| kind)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_innermost_mount_counts() {
        let mounts = "\
22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw
30 22 0:40 / /mnt/team\\040share rw - nfs4 server:/x rw
31 30 8:2 / /mnt/team\\040share/local rw - xfs /dev/sdb rw
";
        let kind = |path: &str| file_system_of(mounts, Path::new(path));
        assert_eq!(kind("/var/lib/data"), Some("ext4"));
        assert_eq!(kind("/mnt/team share/data"), Some("nfs4"));
        assert_eq!(kind("/mnt/team share/local/data"), Some("xfs"));
        assert_eq!(kind("/mnt/team shares"), Some("ext4"));
        assert_eq!(file_system_of("", Path::new("/")), None);
    }
}
