//! Tests of the crate from outside.

mod arbitrary;
mod fixtures;
mod golden;
mod hostile;
mod messages;
mod round_trip;
mod transcode;
