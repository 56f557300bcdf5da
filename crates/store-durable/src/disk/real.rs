//! A directory of the file system.

use std::{
    fs::{self, File, OpenOptions},
    io,
    path::{Path, PathBuf},
};

use super::{Disk, DiskFile, How};

/// A directory of the file system.
pub(crate) struct RealDisk {
    root: PathBuf,
}

impl RealDisk {
    pub(crate) fn new(root: &Path) -> Self {
        Self {
            root: root.to_owned(),
        }
    }

    fn path(&self, name: &str) -> PathBuf {
        match name {
            "" => self.root.clone(),
            name => self.root.join(name),
        }
    }
}

impl Disk for RealDisk {
    fn open(&self, name: &str, how: How) -> io::Result<Box<dyn DiskFile>> {
        let mut options = OpenOptions::new();
        options.read(true);
        match how {
            How::Read => {}
            How::Write => {
                options.write(true);
            }
            How::Create => {
                options.write(true).create(true).truncate(true);
                #[cfg(unix)]
                std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
            }
        }
        Ok(Box::new(options.open(self.path(name))?))
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        fs::rename(self.path(from), self.path(to))
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        fs::remove_file(self.path(name))
    }

    fn list(&self, folder: &str) -> io::Result<Vec<String>> {
        let mut names = Vec::new();
        for entry in fs::read_dir(self.path(folder))? {
            // Files of a store have UTF-8 names. Others must be reported rather than skipped.
            names.push(entry?.file_name().to_string_lossy().into_owned());
        }
        names.sort_unstable();
        Ok(names)
    }

    fn create_folder(&self, folder: &str) -> io::Result<()> {
        let mut builder = fs::DirBuilder::new();
        builder.recursive(true);
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        builder.create(self.path(folder))
    }

    fn sync_folder(&self, folder: &str) -> io::Result<()> {
        // Windows does not support this, and does not need it.
        #[cfg(unix)]
        File::open(self.path(folder))?.sync_all()?;
        #[cfg(not(unix))]
        let _ = folder;
        Ok(())
    }

    fn free_space(&self) -> Option<u64> {
        #[cfg(unix)]
        {
            let space = rustix::fs::statvfs(&self.root).ok()?;
            Some(space.f_bavail.saturating_mul(space.f_frsize))
        }
        #[cfg(not(unix))]
        None
    }
}

impl DiskFile for File {
    fn len(&self) -> io::Result<u64> {
        Ok(self.metadata()?.len())
    }

    #[cfg(unix)]
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        std::os::unix::fs::FileExt::read_at(self, buffer, offset)
    }

    #[cfg(unix)]
    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<usize> {
        std::os::unix::fs::FileExt::write_at(self, bytes, offset)
    }

    #[cfg(windows)]
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        std::os::windows::fs::FileExt::seek_read(self, buffer, offset)
    }

    #[cfg(windows)]
    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<usize> {
        std::os::windows::fs::FileExt::seek_write(self, bytes, offset)
    }

    fn sync(&self) -> io::Result<()> {
        self.sync_data()
    }
}
