//! A position in the log, between two frames.

use kubewright_store::Revision;

use crate::format::{
    frame::{Frame, FrameHeader},
    segment::SegmentHeader,
};

/// The expected properties of the next frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    /// Its number.
    pub(crate) number: u64,
    /// The checksum of the frame before it.
    pub(crate) chain: u64,
    /// The last revision before it.
    pub(crate) revision: Revision,
}

impl Place {
    /// Returns the position before the first frame of a segment.
    pub(crate) fn before(segment: &SegmentHeader) -> Self {
        Self {
            number: segment.first_frame,
            chain: segment.chain,
            revision: Revision(segment.first_revision.0.saturating_sub(1)),
        }
    }

    /// Returns a description of the problem if a frame cannot follow.
    pub(crate) fn check(&self, frame: &Frame<'_>) -> Option<&'static str> {
        let FrameHeader {
            number,
            chain,
            first_revision,
            ..
        } = frame.header;
        if number != self.number {
            return Some("the frame before it is missing");
        }
        if chain != self.chain && !planted!(AcceptWrongChain) {
            return Some("it does not follow the frame before it");
        }
        if Some(first_revision.0) != self.revision.0.checked_add(1) {
            return Some("its revisions do not follow those before it");
        }
        None
    }

    /// Advances past a frame whose writes end at a revision.
    pub(crate) fn pass(&mut self, chain: u64, revision: Revision) {
        self.number += 1;
        self.chain = chain;
        self.revision = revision;
    }
}
