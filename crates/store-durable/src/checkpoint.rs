//! Checkpoints on disk: written to temporary files, read back for verification, and then renamed.

use std::{io, ops::ControlFlow, time::Duration};

use kubewright_store::{Revision, engine::Contents};

use crate::{
    clock::Now,
    disk::{Disk, DiskFile, How, read_full, write_all},
    error::Trouble,
    format::{
        CHECKPOINTS,
        checkpoint::{
            self, BLOCK_HEADER, CheckpointHeader, CheckpointObject, Decoder, Encoder, FOOTER,
            HEADER,
        },
    },
};

/// The number of bytes after which an unfinished checkpoint is synced, so that syncs of the log are not delayed by many dirty
/// pages.
const SYNC_EVERY: u64 = 8 << 20;

/// The size of the write buffer.
const WRITE_EVERY: usize = 1 << 20;

/// A checkpoint that was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Written {
    pub(crate) revision: Revision,
    /// The size before compression.
    pub(crate) raw_bytes: u64,
}

/// Returns the revisions of the checkpoints, newest first.
pub(crate) fn list(disk: &dyn Disk) -> Result<Vec<Revision>, Trouble> {
    let names = disk.list(CHECKPOINTS);
    let names = names.map_err(Trouble::io("list the checkpoints"))?;
    let parsed = names.iter().filter_map(|name| checkpoint::parse_name(name));
    let mut revisions: Vec<Revision> = parsed.collect();
    revisions.sort_unstable_by(|a, b| b.cmp(a));
    Ok(revisions)
}

/// Writes a checkpoint. `rest` is called after each part with the time that the disk took, to yield to other writers; its error
/// aborts the checkpoint.
pub(crate) fn write(
    disk: &dyn Disk,
    store: &[u8; 16],
    contents: &Contents,
    now: &Now,
    rest: &dyn Fn(Duration) -> io::Result<()>,
) -> Result<Written, Trouble> {
    let revision = contents.revision();
    let temporary = format!("{CHECKPOINTS}/{:020}.tmp", revision.0);
    let written = write_to(disk, &temporary, store, contents, now, rest);
    let failed = Trouble::io("write a checkpoint");
    let raw_bytes = match written {
        Ok(raw_bytes) => raw_bytes,
        Err(error) => {
            // Frees the space; the first error is reported.
            let _ = disk.remove(&temporary);
            return Err(failed(error));
        }
    };
    if !planted!(DeleteTooEarly) {
        load(disk, &temporary, store, |_| {})?;
    }
    disk.rename(&temporary, &checkpoint::path(revision))
        .and_then(|()| match planted!(DeleteTooEarly) {
            true => Ok(()),
            false => disk.sync_folder(CHECKPOINTS),
        })
        .map_err(failed)?;
    Ok(Written {
        revision,
        raw_bytes,
    })
}

fn write_to(
    disk: &dyn Disk,
    name: &str,
    store: &[u8; 16],
    contents: &Contents,
    now: &Now,
    rest: &dyn Fn(Duration) -> io::Result<()>,
) -> io::Result<u64> {
    let mut sink = Sink {
        file: disk.open(name, How::Create)?,
        position: 0,
        synced: 0,
        rest,
    };
    let header = CheckpointHeader {
        store: *store,
        revision: contents.revision(),
        floor: contents.floor(),
        time: now.wall,
    };
    let mut buffer = Vec::with_capacity(2 * WRITE_EVERY);
    let mut encoder = Encoder::begin(&header, &mut buffer);
    let mut failure = None;
    contents.for_each(|collection, stored| {
        let deadline = stored.lifetime.map_or(0, |(_, at)| now.wall_of(at));
        encoder.add(collection, &stored, deadline, &mut buffer);
        if buffer.len() < WRITE_EVERY {
            return ControlFlow::Continue(());
        }
        let written = sink.write(&mut buffer);
        match written {
            Ok(()) => ControlFlow::Continue(()),
            Err(error) => {
                failure = Some(error);
                ControlFlow::Break(())
            }
        }
    });
    if let Some(error) = failure {
        return Err(error);
    }
    let raw_bytes = encoder.finish(&mut buffer);
    sink.write(&mut buffer)?;
    if !planted!(DeleteTooEarly) {
        sink.file.sync()?;
    }
    Ok(raw_bytes)
}

/// A file that is written sequentially.
struct Sink<'a> {
    file: Box<dyn DiskFile>,
    position: u64,
    synced: u64,
    rest: &'a dyn Fn(Duration) -> io::Result<()>,
}

impl Sink<'_> {
    fn write(&mut self, buffer: &mut Vec<u8>) -> io::Result<()> {
        let began = std::time::Instant::now();
        write_all(&*self.file, buffer, self.position)?;
        self.position += buffer.len() as u64;
        buffer.clear();
        if self.position - self.synced >= SYNC_EVERY {
            self.file.sync()?;
            self.synced = self.position;
            (self.rest)(began.elapsed())?;
        }
        Ok(())
    }
}

/// Reads the header of a checkpoint.
pub(crate) fn read_header(
    disk: &dyn Disk,
    name: &str,
    store: &[u8; 16],
) -> Result<CheckpointHeader, Trouble> {
    let file = disk.open(name, How::Read);
    let file = file.map_err(Trouble::io(format!("read {name}")))?;
    header_of(&*file, name, store)
}

/// Reads and verifies a checkpoint, and visits its objects.
pub(crate) fn load(
    disk: &dyn Disk,
    name: &str,
    store: &[u8; 16],
    mut visit: impl FnMut(CheckpointObject),
) -> Result<CheckpointHeader, Trouble> {
    let failed = |source| Trouble::Io {
        action: format!("read {name}"),
        source,
    };
    let file = disk.open(name, How::Read).map_err(failed)?;
    let header = header_of(&*file, name, store)?;
    let mut decoder = Decoder::new(&header);
    let mut position = HEADER as u64;
    let mut buffer = Vec::new();
    loop {
        let mut head = [0; BLOCK_HEADER];
        let damage = |problem: String| Trouble::damage(name, Some(position), problem, None);
        let cut = || damage("it is truncated".to_owned());
        if read_full(&*file, &mut head, position).map_err(failed)? != BLOCK_HEADER {
            return Err(cut());
        }
        let Some(block) = decoder.block_header(&head).map_err(damage)? else {
            let mut foot = [0; FOOTER + 1];
            let at = position + BLOCK_HEADER as u64;
            let read = read_full(&*file, &mut foot, at).map_err(failed)?;
            if read != FOOTER {
                return Err(damage("it has bytes after its end".to_owned()));
            }
            decoder.footer(&foot[..FOOTER]).map_err(damage)?;
            return Ok(header);
        };
        buffer.resize(block.stored, 0);
        let at = position + BLOCK_HEADER as u64;
        if read_full(&*file, &mut buffer, at).map_err(failed)? != block.stored {
            return Err(cut());
        }
        let objects = block.read(&buffer, &mut visit).map_err(damage)?;
        decoder.count(objects);
        position = at + block.stored as u64;
    }
}

/// Visits the readable objects of a checkpoint that may be damaged. Returns the number of unreadable blocks.
pub(crate) fn load_readable(
    disk: &dyn Disk,
    name: &str,
    store: &[u8; 16],
    mut visit: impl FnMut(CheckpointObject),
) -> Result<(CheckpointHeader, u64), Trouble> {
    let failed = |source| Trouble::Io {
        action: format!("read {name}"),
        source,
    };
    let file = disk.open(name, How::Read).map_err(failed)?;
    let header = header_of(&*file, name, store)?;
    let mut decoder = Decoder::new(&header);
    let mut position = HEADER as u64;
    let mut lost = 0;
    loop {
        let mut head = [0; BLOCK_HEADER];
        let read = read_full(&*file, &mut head, position).map_err(failed)?;
        let block = match decoder.block_header(&head) {
            Ok(Some(block)) if read == BLOCK_HEADER => block,
            Ok(None) if read == BLOCK_HEADER => return Ok((header, lost)),
            // Without its length, the next block cannot be located.
            _ => return Ok((header, lost + 1)),
        };
        let mut buffer = vec![0; block.stored];
        let at = position + BLOCK_HEADER as u64;
        let read = read_full(&*file, &mut buffer, at).map_err(failed)?;
        buffer.truncate(read);
        if block.read(&buffer, &mut visit).is_err() {
            lost += 1;
        }
        position = at + block.stored as u64;
    }
}

fn header_of(
    file: &dyn DiskFile,
    name: &str,
    store: &[u8; 16],
) -> Result<CheckpointHeader, Trouble> {
    let mut bytes = [0; HEADER];
    let read = read_full(file, &mut bytes, 0);
    let read = read.map_err(Trouble::io(format!("read {name}")))?;
    let damage = |problem: String| Trouble::damage(name, None, problem, None);
    let header = CheckpointHeader::decode(&bytes[..read]).map_err(damage)?;
    match header.store == *store {
        true => Ok(header),
        false => Err(damage("it belongs to another store".to_owned())),
    }
}
