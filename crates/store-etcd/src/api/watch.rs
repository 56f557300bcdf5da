//! Watches.

use super::{
    Header, KeyValue, Malformed, Message,
    wire::{Value, Writer},
};

/// A message of a watch.
#[derive(Debug, Default)]
pub(crate) struct WatchAnswer {
    pub(crate) header: Header,
    pub(crate) created: bool,
    pub(crate) canceled: bool,
    /// The compacted revision, if the watch started before it.
    pub(crate) compact_revision: u64,
    pub(crate) cancel_reason: String,
    /// Whether more events of the same revision follow.
    pub(crate) fragment: bool,
    pub(crate) events: Vec<Event>,
}

/// A change of a key.
#[derive(Debug, Default)]
pub(crate) struct Event {
    pub(crate) is_delete: bool,
    pub(crate) kv: KeyValue,
}

/// Returns the request to watch the keys from `key` to before `end`, from a revision on.
pub(crate) fn create_watch(key: &[u8], end: &[u8], start: u64) -> Vec<u8> {
    let create = Writer::default()
        .bytes(1, key)
        .bytes(2, end)
        .number(3, start as i64)
        // Report progress even without changes.
        .number(4, 1)
        // Split large responses.
        .number(8, 1)
        .finish();
    Writer::default().message(1, &create).finish()
}

/// Returns the request to report progress.
pub(crate) fn progress_request() -> Vec<u8> {
    Writer::default().message(3, &[]).finish()
}

impl Message for WatchAnswer {
    fn set(&mut self, field: u32, value: Value) -> Result<(), Malformed> {
        match field {
            1 => self.header = Header::read(value.bytes()?)?,
            3 => self.created = value.number()? != 0,
            4 => self.canceled = value.number()? != 0,
            5 => self.compact_revision = value.number()? as u64,
            6 => self.cancel_reason = value.text()?,
            7 => self.fragment = value.number()? != 0,
            11 => self.events.push(Event::read(value.bytes()?)?),
            _ => {}
        }
        Ok(())
    }
}

impl Message for Event {
    fn set(&mut self, field: u32, value: Value) -> Result<(), Malformed> {
        match field {
            1 => self.is_delete = value.number()? == 1,
            2 => self.kv = KeyValue::read(value.bytes()?)?,
            _ => {}
        }
        Ok(())
    }
}
