//! [`WatchDecoder`]: the events of a watch, while they arrive.
//!
//! Events are lines of JSON; a line within one chunk becomes slices of it. Events without line breaks between them, or
//! with line breaks inside, are found by their brackets.

use bytes::{Bytes, BytesMut};

use super::scan::{Boundary, ObjectReader, skip_space};
use super::{DecodeError, MAX_OBJECT};

/// The type of a watch event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum EventType {
    /// The object is new to this watch.
    Added,
    /// The object has changed.
    Modified,
    /// The object was deleted; this is its last state.
    Deleted,
    /// Progress only: the object has a resource version and perhaps annotations.
    Bookmark,
    /// The watch is over; the object is a `Status`.
    Error,
}

/// One event of a watch.
///
/// ```
/// use kubewright_client::stream::{EventType, WatchDecoder, WatchFrame};
///
/// let line = br#"{"type":"BOOKMARK","object":{"metadata":{"resourceVersion":"9"}}}"#;
/// let mut decoder = WatchDecoder::default();
/// decoder.push(line.as_slice().into());
/// let WatchFrame { event, object } = decoder.next().unwrap().unwrap();
/// assert_eq!(event, EventType::Bookmark);
/// let object: serde_json::Value = serde_json::from_slice(&object).unwrap();
/// assert_eq!(object["metadata"]["resourceVersion"], "9");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WatchFrame {
    /// The type of the event.
    pub event: EventType,
    /// The object's JSON.
    pub object: Bytes,
}

/// Splits a watch into events. Feed it with [`push`](Self::push), and call [`next`](Self::next) until it returns
/// `None`.
///
/// ```
/// use kubewright_client::stream::{EventType, WatchDecoder};
///
/// let mut decoder = WatchDecoder::default();
/// decoder.push(b"{\"type\":\"ADDED\",\"object\":{\"a\":1}}\n".as_slice().into());
/// let frame = decoder.next().unwrap().unwrap();
/// assert_eq!((frame.event, &frame.object[..]), (EventType::Added, &b"{\"a\":1}"[..]));
/// ```
#[derive(Debug, Default)]
pub struct WatchDecoder {
    input: Bytes,
    pending: BytesMut,
    boundary: Boundary,
}

impl WatchDecoder {
    /// Adds a chunk. Everything pushed before must have been taken with [`next`](Self::next).
    pub fn push(&mut self, chunk: Bytes) {
        if self.input.is_empty() {
            self.input = chunk;
        } else {
            self.input = [&self.input[..], &chunk[..]].concat().into();
        }
    }

    /// Returns the next event that has arrived completely.
    ///
    /// # Errors
    ///
    /// Fails if the bytes are not a watch.
    #[allow(clippy::should_implement_trait)]
    pub fn next(&mut self) -> Result<Option<WatchFrame>, DecodeError> {
        if self.pending.is_empty() {
            let space = skip_space(&self.input, 0);
            let _ = self.input.split_to(space);
            match self.input.first() {
                None => return Ok(None),
                Some(b'{') => {}
                Some(_) => return Err(DecodeError::Malformed("an event was expected")),
            }
            if let Some(end) = memchr::memchr(b'\n', &self.input) {
                match frame(&self.input.slice(..end)) {
                    // A line break within an event, or none between two.
                    Err(DecodeError::Truncated(_)) => {}
                    Err(error) if error == TWO_EVENTS => {}
                    result => {
                        let _ = self.input.split_to(end + 1);
                        return result.map(Some);
                    }
                }
            }
        }
        let end = self.boundary.advance(&self.input);
        let piece = self.input.split_to(end.unwrap_or(self.input.len()));
        if self.pending.len() + piece.len() > MAX_OBJECT {
            return Err(DecodeError::TooLong);
        }
        if end.is_none() {
            self.pending.extend_from_slice(&piece);
            return Ok(None);
        }
        self.boundary = Boundary::default();
        if self.pending.is_empty() {
            return frame(&piece).map(Some);
        }
        self.pending.extend_from_slice(&piece);
        frame(&self.pending.split().freeze()).map(Some)
    }

    /// Reports whether the stream may end here, because no event has started.
    pub fn is_between_events(&self) -> bool {
        self.pending.is_empty() && skip_space(&self.input, 0) == self.input.len()
    }
}

const TWO_EVENTS: DecodeError = DecodeError::Malformed("something follows an event");

fn frame(bytes: &Bytes) -> Result<WatchFrame, DecodeError> {
    let mut reader = ObjectReader::new(bytes, 0)?;
    let (mut event, mut object) = (None, None);
    while let Some(key) = reader.next_key()? {
        let value = reader.skip()?;
        match key {
            b"type" => event = Some(event_type(&bytes[value])?),
            b"object" => object = Some(value),
            _ => {}
        }
    }
    if skip_space(bytes, reader.position()) != bytes.len() {
        return Err(TWO_EVENTS);
    }
    match (event, object) {
        (Some(event), Some(object)) => Ok(WatchFrame {
            event,
            object: bytes.slice(object),
        }),
        _ => Err(DecodeError::Malformed("an event without type or object")),
    }
}

fn event_type(value: &[u8]) -> Result<EventType, DecodeError> {
    match value {
        b"\"ADDED\"" => Ok(EventType::Added),
        b"\"MODIFIED\"" => Ok(EventType::Modified),
        b"\"DELETED\"" => Ok(EventType::Deleted),
        b"\"BOOKMARK\"" => Ok(EventType::Bookmark),
        b"\"ERROR\"" => Ok(EventType::Error),
        other => Err(DecodeError::Unexpected(format!(
            "event type {}",
            String::from_utf8_lossy(other.get(..64).unwrap_or(other))
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const EVENTS: &str = "{\"type\":\"ADDED\",\"object\":{\"a\":\"é}\"}}\n{\"object\":{\n \"b\":1},\n\"type\":\"DELETED\"}\n\n{\"type\":\"BOOKMARK\",\"object\":{}}{\"type\":\"ERROR\",\"object\":{},\"more\":[{}]}\n";

    fn decode(text: &str, size: usize) -> Result<Vec<WatchFrame>, DecodeError> {
        let mut decoder = WatchDecoder::default();
        let mut frames = Vec::new();
        for chunk in text.as_bytes().chunks(size) {
            decoder.push(Bytes::copy_from_slice(chunk));
            while let Some(frame) = decoder.next()? {
                frames.push(frame);
            }
        }
        assert!(decoder.is_between_events());
        Ok(frames)
    }

    #[test]
    fn chunks_may_be_cut_anywhere() {
        let whole = decode(EVENTS, 1).unwrap();
        let seen: Vec<_> = whole.iter().map(|f| (f.event, &f.object[..])).collect();
        assert_eq!(
            seen,
            [
                (EventType::Added, "{\"a\":\"é}\"}".as_bytes()),
                (EventType::Deleted, b"{\n \"b\":1}"),
                (EventType::Bookmark, b"{}"),
                (EventType::Error, b"{}"),
            ]
        );
        for size in 2..=EVENTS.len() {
            assert_eq!(decode(EVENTS, size), Ok(whole.clone()), "chunks of {size}");
        }
    }

    #[test]
    fn an_event_without_a_line_break_is_not_waited_for() {
        let mut decoder = WatchDecoder::default();
        decoder.push(Bytes::from_static(b"{\"type\":\"ADDED\",\"object\":{}}"));
        assert!(decoder.next().unwrap().is_some());
    }

    #[test]
    fn an_object_within_a_chunk_is_not_copied() {
        let chunk = Bytes::from_static(EVENTS.as_bytes());
        let mut decoder = WatchDecoder::default();
        decoder.push(chunk.clone());
        let frame = decoder.next().unwrap().unwrap();
        assert_eq!(frame.object.as_ptr(), chunk[25..].as_ptr());
    }

    #[test]
    fn corrupt_data_is_an_error() {
        for text in [
            "nonsense\n",
            "{\"type\":\"ADDED\"}\n",
            "{\"type\":\"X\",\"object\":{}}\n",
            "{\"type\"}\n",
        ] {
            let mut decoder = WatchDecoder::default();
            decoder.push(Bytes::copy_from_slice(text.as_bytes()));
            assert!(decoder.next().is_err(), "{text}");
        }
    }

    #[test]
    fn a_watch_cannot_end_within_an_event() {
        let mut decoder = WatchDecoder::default();
        decoder.push(Bytes::from_static(b"{\"type\":\"ADDED\","));
        assert_eq!(decoder.next(), Ok(None));
        assert!(!decoder.is_between_events());
    }
}
