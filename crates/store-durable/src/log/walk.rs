//! Visits the records of all segments.

use std::ops::ControlFlow;

use kubewright_store::Revision;

use super::{Scan, Segment, list_segments};
use crate::{disk::Disk, error::Trouble, format::record::Record};

/// Visits the records that use a revision, from a revision on, with the time of their frame in milliseconds, until the visitor
/// stops. At most the newest `segments` segments are read.
pub(crate) fn walk(
    disk: &dyn Disk,
    store: &[u8; 16],
    from: Revision,
    segments: usize,
    visit: &mut dyn FnMut(Revision, u64, Record) -> ControlFlow<()>,
) -> Result<(), Trouble> {
    let names = list_segments(disk)?;
    let begin = names.iter().rposition(|name| name.first_revision <= from);
    let begin = begin.unwrap_or(0).max(names.len().saturating_sub(segments));
    let mut names = names.iter().skip(begin).peekable();
    while let Some(name) = names.next() {
        let segment = Segment::read(disk, name, store)?;
        let next = match names.peek() {
            Some(next) => Some(Segment::read(disk, next, store)?),
            None => None,
        };
        let first = next.map(|next| next.header.first_frame);
        let mut scan = Scan::new(&segment, first);
        while let Ok(frame) = scan.next()? {
            let mut revision = frame.first;
            for record in frame.records {
                if matches!(record, Record::Compact(_)) {
                    continue;
                }
                if revision >= from && visit(revision, frame.time, record).is_break() {
                    return Ok(());
                }
                revision = Revision(revision.0 + 1);
            }
        }
    }
    Ok(())
}
