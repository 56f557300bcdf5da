//! Reads segments, and distinguishes the end of the log from damage.
//!
//! At most one frame is not durable at a power failure, so that only the last one can be incomplete (in the mode `process`:
//! all frames after the last sync). Therefore, an incomplete frame is the end of the log if no complete frame after it states
//! that it was durable. Otherwise, the log is damaged.

use kubewright_store::Revision;

use super::Place;
use crate::{
    disk::{Disk, How, read_full},
    error::Trouble,
    format::{
        PAGE, WAL,
        cursor::Cursor,
        frame::{END, Frame, is_zero, read_frame},
        record::{self, Record},
        segment::{MAX_SEGMENT, SegmentHeader, SegmentName},
    },
};

/// A segment in memory.
pub(crate) struct Segment {
    pub(crate) header: SegmentHeader,
    pub(crate) path: String,
    pub(crate) bytes: Vec<u8>,
}

/// The reason why a segment has no more frames.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Stop {
    /// The log continues in the next segment.
    End,
    /// The next segment begins with the next frame, regardless of the rest of this one.
    Next,
    /// The rest is zeros.
    Clean,
    /// The rest contains an incomplete frame, up to this position.
    Torn(usize),
}

/// An iteration over the frames of a segment.
pub(crate) struct Scan<'a> {
    segment: &'a Segment,
    /// The number of the first frame of the next segment.
    next: Option<u64>,
    pub(crate) position: usize,
    pub(crate) place: Place,
}

/// Returns the segments in order.
pub(crate) fn list_segments(disk: &dyn Disk) -> Result<Vec<SegmentName>, Trouble> {
    let names = disk.list(WAL).map_err(Trouble::io("list the log"))?;
    let mut segments: Vec<SegmentName> = names
        .iter()
        .filter_map(|name| SegmentName::parse(name))
        .collect();
    segments.sort_unstable();
    Ok(segments)
}

/// Returns the time of the newest frame of a segment in milliseconds, without any other validation.
pub(crate) fn newest_time(segment: &Segment) -> u64 {
    segment
        .whole_frames_from(PAGE)
        .map(|frame| frame.header.time)
        .max()
        .unwrap_or(0)
}

/// Returns whether a segment has a complete frame.
pub(crate) fn has_frames(segment: &Segment) -> bool {
    segment.whole_frames_from(PAGE).next().is_some()
}

impl Segment {
    /// Reads a segment of a store.
    pub(crate) fn read(
        disk: &dyn Disk,
        name: &SegmentName,
        store: &[u8; 16],
    ) -> Result<Self, Trouble> {
        let path = name.path();
        let damage = |problem: String| Trouble::damage(path.clone(), None, problem, None);
        let failed = |source| Trouble::Io {
            action: format!("read {path}"),
            source,
        };
        let file = disk.open(&path, How::Read).map_err(failed)?;
        let len = file.len().map_err(failed)?;
        let mut page = vec![0; PAGE];
        let read = read_full(&*file, &mut page, 0).map_err(failed)?;
        page.truncate(read);
        let header = SegmentHeader::decode(&page).map_err(damage)?;
        if header.store != *store {
            return Err(damage("it belongs to another store".to_owned()));
        }
        if header.name() != *name {
            let (sequence, revision) = (header.sequence, header.first_revision.0);
            return Err(damage(format!(
                "its header has sequence {sequence} and revision {revision}, which do not match its name"
            )));
        }
        if header.size != len || len > MAX_SEGMENT {
            return Err(damage(format!(
                "it has {len} bytes instead of {}",
                header.size
            )));
        }
        let mut bytes = vec![0; len as usize];
        if read_full(&*file, &mut bytes, 0).map_err(failed)? as u64 != len {
            return Err(damage("it became shorter while it was read".to_owned()));
        }
        Ok(Self {
            header,
            path,
            bytes,
        })
    }

    /// Returns the complete frames at all later pages, in any order.
    fn whole_frames_from(&self, position: usize) -> impl Iterator<Item = Frame<'_>> {
        let pages = (position..self.bytes.len()).step_by(PAGE);
        pages.filter_map(|at| self.frame_at(at))
    }

    fn frame_at(&self, position: usize) -> Option<Frame<'_>> {
        read_frame(self.bytes.get(position..)?, self.header.salt)
    }
}

impl<'a> Scan<'a> {
    /// Starts at the first frame. `next` is the number of the first frame of the next segment, if there is one.
    pub(crate) fn new(segment: &'a Segment, next: Option<u64>) -> Self {
        Self {
            segment,
            next,
            position: PAGE,
            place: Place::before(&segment.header),
        }
    }

    /// Returns the records of the next frame with their first revision, or the reason why there is none.
    pub(crate) fn next(&mut self) -> Result<Result<ReadFrame, Stop>, Trouble> {
        if self.next == Some(self.place.number) {
            return Ok(Err(Stop::Next));
        }
        let Some(frame) = self.segment.frame_at(self.position) else {
            return self.end().map(Err);
        };
        if let Some(problem) = self.place.check(&frame) {
            return Err(self.damage(problem));
        }
        let mut records = Vec::new();
        let mut cursor = Cursor::new(frame.payload);
        let mut last = self.place.revision;
        for _ in 0..frame.header.records {
            let Some(record) = record::decode(&mut cursor) else {
                return Err(self.damage("it has an invalid record"));
            };
            if record.takes_revision() {
                last = Revision(last.0 + 1);
            }
            records.push(record);
        }
        if !cursor.is_empty() {
            return Err(self.damage("it has bytes after its records"));
        }
        let first = frame.header.first_revision;
        self.place.pass(frame.chain, last);
        self.position += frame.len;
        Ok(match frame.header.flags & END {
            0 => Ok(ReadFrame {
                first,
                records,
                time: frame.header.time,
            }),
            _ => Err(Stop::End),
        })
    }

    /// Advances to the next complete frame after damage. Returns whether there is one.
    pub(crate) fn skip_damage(&mut self) -> bool {
        let mut pages = (self.position + PAGE..self.segment.bytes.len()).step_by(PAGE);
        let found = pages.find_map(|at| Some((at, self.segment.frame_at(at)?)));
        let Some((position, frame)) = found else {
            return false;
        };
        self.position = position;
        self.place = Place {
            number: frame.header.number,
            chain: frame.header.chain,
            revision: Revision(frame.header.first_revision.0.saturating_sub(1)),
        };
        true
    }

    /// Classifies the first incomplete frame.
    fn end(&self) -> Result<Stop, Trouble> {
        let rest = self.segment.bytes.get(self.position..).unwrap_or_default();
        if is_zero(rest) {
            return Ok(Stop::Clean);
        }
        let number = self.place.number;
        let mut later = self.segment.whole_frames_from(self.position + PAGE);
        let was_durable =
            |frame: Frame<'_>| frame.header.number > number && frame.header.durable_up_to >= number;
        if later.any(was_durable) {
            return Err(self.damage("a frame is incomplete, and there are frames after it"));
        }
        let used = rest.iter().rposition(|byte| *byte != 0).unwrap_or(0) + 1;
        Ok(Stop::Torn(self.position + used))
    }

    /// Returns damage at the current position.
    pub(crate) fn damage(&self, problem: &str) -> Trouble {
        let offset = Some(self.position as u64);
        let intact = Some(self.place.revision);
        Trouble::damage(self.segment.path.clone(), offset, problem, intact)
    }
}

/// A decoded frame.
pub(crate) struct ReadFrame {
    /// The revision of the first record that uses one.
    pub(crate) first: Revision,
    pub(crate) records: Vec<Record>,
    /// The wall-clock time in milliseconds.
    pub(crate) time: u64,
}
