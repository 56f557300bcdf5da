//! The operations of a file system that the store needs.
//!
//! Names are relative to the data directory and use `/`. All calls block. Tests have a second implementation, which simulates
//! power failures.

use std::io;

mod real;
#[cfg(test)]
pub(crate) mod sim;

pub(crate) use real::RealDisk;

/// A folder of files.
pub(crate) trait Disk: Send + Sync {
    /// Opens a file.
    fn open(&self, name: &str, how: How) -> io::Result<Box<dyn DiskFile>>;
    /// Renames a file over another.
    fn rename(&self, from: &str, to: &str) -> io::Result<()>;
    /// Removes a file.
    fn remove(&self, name: &str) -> io::Result<()>;
    /// Returns the names of the files of a folder, in order.
    fn list(&self, folder: &str) -> io::Result<Vec<String>>;
    /// Creates a folder unless it exists.
    fn create_folder(&self, folder: &str) -> io::Result<()>;
    /// Makes the creation, renaming and removal of names in a folder durable. The empty name is the data directory.
    fn sync_folder(&self, folder: &str) -> io::Result<()>;
    /// Returns the free space in bytes, if it is known.
    fn free_space(&self) -> Option<u64>;
}

/// An open file.
pub(crate) trait DiskFile: Send + Sync {
    /// Returns its length.
    fn len(&self) -> io::Result<u64>;
    /// Reads at an offset. May return fewer bytes than requested; returns 0 at the end.
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize>;
    /// Writes at an offset. May write fewer bytes than given.
    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<usize>;
    /// Makes written bytes and the length durable.
    fn sync(&self) -> io::Result<()>;
}

/// The way a file is opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum How {
    /// An existing file, to read.
    Read,
    /// An existing file for reading.
    Write,
    /// A new file, which replaces an existing one.
    Create,
}

/// Writes all bytes at an offset.
pub(crate) fn write_all(file: &dyn DiskFile, mut bytes: &[u8], mut offset: u64) -> io::Result<()> {
    while !bytes.is_empty() {
        match file.write_at(bytes, offset) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(n) => {
                bytes = bytes.get(n..).unwrap_or_default();
                offset += n as u64;
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Reads until the buffer is full or the file ends.
pub(crate) fn read_full(file: &dyn DiskFile, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
    let mut read = 0;
    while let Some(rest) = buffer.get_mut(read..)
        && !rest.is_empty()
    {
        match file.read_at(rest, offset + read as u64) {
            Ok(0) => break,
            Ok(n) => read += n,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(read)
}

/// Reads a file of at most `limit` bytes. Longer ones are an error.
pub(crate) fn read_file(disk: &dyn Disk, name: &str, limit: u64) -> io::Result<Vec<u8>> {
    let file = disk.open(name, How::Read)?;
    let len = file.len()?;
    if len > limit {
        let text = format!("the file has {len} bytes, more than {limit}");
        return Err(io::Error::new(io::ErrorKind::InvalidData, text));
    }
    let mut bytes = vec![0; len as usize];
    let read = read_full(&*file, &mut bytes, 0)?;
    bytes.truncate(read);
    Ok(bytes)
}

/// Replaces a file atomically: its name refers to either the old or the new contents.
pub(crate) fn replace_file(
    disk: &dyn Disk,
    folder: &str,
    name: &str,
    bytes: &[u8],
) -> io::Result<()> {
    let temporary = format!("{name}.tmp");
    let file = disk.open(&temporary, How::Create)?;
    write_all(&*file, bytes, 0)?;
    file.sync()?;
    disk.rename(&temporary, name)?;
    disk.sync_folder(folder)
}
