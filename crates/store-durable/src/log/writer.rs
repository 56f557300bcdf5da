//! Writes the log: one frame at a time, each durable before the next one is written.

use std::{io, sync::Arc};

use kubewright_store::Revision;

use super::{Place, Spares};
use crate::{
    disk::{Disk, DiskFile, How, write_all},
    format::{
        PAGE, SPARE, WAL,
        frame::{self, END, FrameHeader, seal_frame},
        padded,
        segment::SegmentHeader,
    },
};

/// The end of the log, open for writing.
pub(crate) struct LogWriter {
    disk: Arc<dyn Disk>,
    spares: Arc<Spares>,
    header: SegmentHeader,
    file: Box<dyn DiskFile>,
    /// The position of the next frame.
    position: u64,
    pub(crate) place: Place,
    /// The number of the last durable frame.
    durable_up_to: u64,
    /// The largest size of a new segment.
    max_segment: u64,
    /// Whether the last frame is a seal.
    pub(crate) sealed: bool,
}

/// A frame that was not appended to the log.
#[derive(Debug)]
pub(crate) enum AppendError {
    /// There is no space for it. Nothing was written.
    NoSpace(io::Error),
    /// It may or may not be on disk. Nothing may be written after it.
    Failed(io::Error),
}

/// The contents of a new frame.
pub(crate) struct NewFrame {
    /// Space for the header, followed by the records.
    pub(crate) bytes: Vec<u8>,
    pub(crate) records: u32,
    pub(crate) flags: u32,
    /// The revision of the last write, or the previous revision if there are no writes.
    pub(crate) last_revision: Revision,
    pub(crate) time: u64,
}

impl LogWriter {
    /// Continues a segment at a position.
    pub(crate) fn resume(
        disk: Arc<dyn Disk>,
        spares: Arc<Spares>,
        header: SegmentHeader,
        position: u64,
        place: Place,
        max_segment: u64,
    ) -> io::Result<Self> {
        let file = disk.open(&header.name().path(), How::Write)?;
        Ok(Self {
            disk,
            spares,
            header,
            file,
            position,
            durable_up_to: place.number.saturating_sub(1),
            place,
            max_segment,
            sealed: false,
        })
    }

    /// Starts a new segment: the first of a store, or one after an incomplete frame.
    pub(crate) fn begin(
        disk: Arc<dyn Disk>,
        spares: Arc<Spares>,
        store: [u8; 16],
        sequence: u64,
        size: u64,
        place: Place,
        max_segment: u64,
    ) -> io::Result<Self> {
        let size = spares.take(&*disk, size)?;
        let header = new_segment(store, sequence, size, place);
        let file = install(&*disk, &header)?;
        Ok(Self {
            disk,
            spares,
            header,
            file,
            position: PAGE as u64,
            durable_up_to: place.number.saturating_sub(1),
            place,
            max_segment,
            sealed: false,
        })
    }

    /// Writes a frame, which is durable after [`sync`](Self::sync).
    pub(crate) fn append(&mut self, mut new: NewFrame) -> Result<(), AppendError> {
        let len = padded(new.bytes.len()) as u64;
        if self.position + len + PAGE as u64 > self.header.size {
            self.rotate(len, new.time)?;
        }
        let mut header = self.frame(new.records, new.flags, new.time);
        let chain = seal_frame(&mut new.bytes, &mut header, self.header.salt);
        write_all(&*self.file, &new.bytes, self.position).map_err(AppendError::Failed)?;
        self.position += len;
        self.place.pass(chain, new.last_revision);
        self.sealed = new.flags & frame::SEAL != 0;
        Ok(())
    }

    /// Makes all written frames durable.
    pub(crate) fn sync(&mut self) -> io::Result<()> {
        self.file.sync()?;
        self.durable_up_to = self.place.number - 1;
        Ok(())
    }

    /// Returns whether all written frames are durable.
    pub(crate) fn is_synced(&self) -> bool {
        self.durable_up_to + 1 == self.place.number
    }

    /// Returns whether at least half of the current segment is free.
    pub(crate) fn has_reserve(&self) -> bool {
        self.header.size - self.position.min(self.header.size) >= self.header.size / 2
    }

    /// Returns the size of the next segment.
    pub(crate) fn next_size(&self) -> u64 {
        (2 * self.header.size).min(self.max_segment)
    }

    /// Returns the number of the current segment.
    pub(crate) fn sequence(&self) -> u64 {
        self.header.sequence
    }

    /// Continues in a new segment. Once that is durable, the old one is terminated by an end frame, so that a missing segment
    /// is detected.
    fn rotate(&mut self, needed: u64, time: u64) -> Result<(), AppendError> {
        let room = needed + 2 * PAGE as u64;
        let size = self.next_size().max(room.next_multiple_of(PAGE as u64));
        let size = self.spares.take(&*self.disk, size);
        let size = size.map_err(AppendError::NoSpace)?;
        let mut end = vec![0; frame::HEADER];
        let mut header = self.frame(0, END, time);
        let chain = seal_frame(&mut end, &mut header, self.header.salt);
        let mut place = self.place;
        place.pass(chain, place.revision);
        let next = new_segment(self.header.store, self.header.sequence + 1, size, place);
        let failed = AppendError::Failed;
        let file = install(&*self.disk, &next).map_err(failed)?;
        write_all(&*self.file, &end, self.position).map_err(failed)?;
        self.file.sync().map_err(failed)?;
        self.durable_up_to = place.number - 1;
        self.place = place;
        self.header = next;
        self.file = file;
        self.position = PAGE as u64;
        Ok(())
    }

    fn frame(&self, records: u32, flags: u32, time: u64) -> FrameHeader {
        FrameHeader {
            payload_len: 0,
            payload_sum: 0,
            records,
            flags,
            number: self.place.number,
            first_revision: Revision(self.place.revision.0 + 1),
            chain: self.place.chain,
            durable_up_to: self.durable_up_to,
            time,
        }
    }
}

fn new_segment(store: [u8; 16], sequence: u64, size: u64, place: Place) -> SegmentHeader {
    SegmentHeader {
        store,
        sequence,
        first_revision: Revision(place.revision.0 + 1),
        salt: rand::random(),
        size,
        first_frame: place.number,
        chain: place.chain,
    }
}

/// Writes the header of the spare segment and renames it.
fn install(disk: &dyn Disk, header: &SegmentHeader) -> io::Result<Box<dyn DiskFile>> {
    let file = disk.open(SPARE, How::Write)?;
    write_all(&*file, &header.encode(), 0)?;
    file.sync()?;
    disk.rename(SPARE, &header.name().path())?;
    if !planted!(NoFolderSync) {
        disk.sync_folder(WAL)?;
    }
    Ok(file)
}
