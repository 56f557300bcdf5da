//! The next segment, filled with zeros in advance, so that a full disk is detected before a write is accepted.

use std::io;

use parking_lot::Mutex;

use crate::{
    disk::{Disk, How, write_all},
    format::SPARE,
};

/// The number of zeros per write.
const CHUNK: usize = 1 << 20;

/// The spare segment.
#[derive(Default)]
pub(crate) struct Spares {
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// The size of the spare segment, if it is ready.
    ready: Option<u64>,
    /// The error of the last attempt to create it.
    failure: Option<String>,
}

impl Spares {
    /// Prepares the spare segment unless it is ready.
    pub(crate) fn prepare(&self, disk: &dyn Disk, size: u64) -> io::Result<()> {
        let mut state = self.state.lock();
        state.prepare(disk, size)
    }

    /// Takes a segment of at least `size` bytes, which is created if it is not ready. Returns its size. The file is [`SPARE`]
    /// until the caller renames it.
    pub(crate) fn take(&self, disk: &dyn Disk, size: u64) -> io::Result<u64> {
        let mut state = self.state.lock();
        if state.ready.is_some_and(|ready| ready < size) {
            state.ready = None;
        }
        state.prepare(disk, size)?;
        Ok(state.ready.take().unwrap_or(size))
    }

    /// Returns whether the spare segment is ready.
    pub(crate) fn is_ready(&self) -> bool {
        self.state.lock().ready.is_some()
    }

    /// Returns the error of the last attempt to create the spare segment.
    pub(crate) fn failure(&self) -> Option<String> {
        self.state.lock().failure.clone()
    }

    /// Reuses an obsolete segment as the spare one, unless one is ready. Returns whether it was reused.
    pub(crate) fn recycle(&self, disk: &dyn Disk, name: &str) -> io::Result<bool> {
        let state = self.state.lock();
        if state.ready.is_some() || exists(disk) {
            return Ok(false);
        }
        disk.rename(name, SPARE)?;
        Ok(true)
    }
}

impl State {
    fn prepare(&mut self, disk: &dyn Disk, size: u64) -> io::Result<()> {
        if self.ready.is_some() {
            return Ok(());
        }
        let made = fill(disk, size);
        self.failure = made.as_ref().err().map(ToString::to_string);
        self.ready = Some(made?);
        Ok(())
    }
}

/// Fills the spare segment with zeros: an existing file that is large enough, or a new one.
fn fill(disk: &dyn Disk, size: u64) -> io::Result<u64> {
    if let Ok(file) = disk.open(SPARE, How::Write)
        && let Ok(len) = file.len()
        && len >= size
        && len <= 2 * size
    {
        zero(&*file, len)?;
        return Ok(len);
    }
    if disk.free_space().is_some_and(|free| free < size) {
        return Err(io::ErrorKind::StorageFull.into());
    }
    let file = disk.open(SPARE, How::Create)?;
    let filled = zero(&*file, size);
    if filled.is_err() {
        // Frees the space; the first error is reported.
        drop(file);
        let _ = disk.remove(SPARE);
    }
    filled.map(|()| size)
}

fn zero(file: &dyn crate::disk::DiskFile, len: u64) -> io::Result<()> {
    let zeros = vec![0; CHUNK.min(len as usize)];
    let mut at = 0;
    while at < len {
        let part = zeros.len().min((len - at) as usize);
        write_all(file, zeros.get(..part).unwrap_or_default(), at)?;
        at += part as u64;
    }
    file.sync()
}

fn exists(disk: &dyn Disk) -> bool {
    disk.open(SPARE, How::Read).is_ok()
}
