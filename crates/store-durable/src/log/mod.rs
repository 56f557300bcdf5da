//! The write-ahead log: reading and writing of segments.

mod place;
mod reader;
mod spare;
mod walk;
mod writer;

pub(crate) use place::Place;
pub(crate) use reader::{Scan, Segment, Stop, has_frames, list_segments, newest_time};
pub(crate) use spare::Spares;
pub(crate) use walk::walk;
pub(crate) use writer::{AppendError, LogWriter, NewFrame};
