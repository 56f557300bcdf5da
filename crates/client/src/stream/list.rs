//! [`ListDecoder`]: the items of a list, one by one, while it arrives.
//!
//! The fields of the list may come in any order; `metadata` may follow the items. A list is complete only once its
//! closing bracket has arrived: [`ListDecoder::finish`] rejects a truncated list.

use bytes::{Bytes, BytesMut};
use serde::Deserialize;

use super::scan::{Boundary, skip_space, text};
use super::{DecodeError, MAX_OBJECT};

/// The metadata of a list.
///
/// ```
/// use kubewright_client::stream::ListDecoder;
///
/// let page = br#"{"kind":"PodList","metadata":{"resourceVersion":"7","continue":"x","remainingItemCount":3},"items":[]}"#;
/// let mut decoder = ListDecoder::default();
/// decoder.push(page.as_slice().into());
/// assert!(decoder.next().unwrap().is_none());
/// let head = decoder.finish().unwrap();
/// assert_eq!((head.kind.as_str(), head.continue_token.as_str()), ("PodList", "x"));
/// assert_eq!(head.remaining, Some(3));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ListHead {
    /// The kind: `PodList`.
    pub kind: String,
    /// The API version: `v1`.
    pub api_version: String,
    /// The resource version.
    pub resource_version: String,
    /// The token of the next page; empty on the last page.
    pub continue_token: String,
    /// The number of items on later pages, if the server reports it.
    pub remaining: Option<i64>,
}

/// Splits a list into items. Feed it with [`push`](Self::push), and call [`next`](Self::next) until it returns `None`.
///
/// ```
/// use kubewright_client::stream::ListDecoder;
///
/// let mut decoder = ListDecoder::default();
/// decoder.push(br#"{"metadata":{"resourceVersion":"7"},"items":[{"a":1},{"a":"#.as_slice().into());
/// assert_eq!(decoder.next().unwrap().unwrap(), r#"{"a":1}"#);
/// assert!(decoder.next().unwrap().is_none());
/// decoder.push(b"2}]}".as_slice().into());
/// assert_eq!(decoder.next().unwrap().unwrap(), r#"{"a":2}"#);
/// assert!(decoder.next().unwrap().is_none());
/// assert_eq!(decoder.finish().unwrap().resource_version, "7");
/// ```
#[derive(Debug, Default)]
pub struct ListDecoder {
    input: Bytes,
    pending: BytesMut,
    boundary: Boundary,
    state: State,
    key: Vec<u8>,
    head: ListHead,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum State {
    #[default]
    Start,
    /// Before a field name, a comma or the closing bracket.
    Field,
    /// In or before a field name.
    Key,
    Colon,
    /// In or before the value of `key`.
    Value,
    /// Before the bracket that opens the items.
    Items,
    /// Before an item, a comma or the bracket that closes the items.
    Item,
    InItem,
    /// In a value that means "no items".
    NoItems,
    Done,
}

impl ListDecoder {
    /// Adds a chunk. Everything pushed before must have been taken with [`next`](Self::next).
    pub fn push(&mut self, chunk: Bytes) {
        if self.input.is_empty() {
            self.input = chunk;
        } else {
            self.input = [&self.input[..], &chunk[..]].concat().into();
        }
    }

    /// Returns the next item that has arrived completely.
    ///
    /// # Errors
    ///
    /// Fails if the bytes are not a list.
    #[allow(clippy::should_implement_trait)]
    pub fn next(&mut self) -> Result<Option<Bytes>, DecodeError> {
        loop {
            if matches!(
                self.state,
                State::Start
                    | State::Field
                    | State::Colon
                    | State::Items
                    | State::Item
                    | State::Done
            ) {
                let space = skip_space(&self.input, 0);
                let _ = self.input.split_to(space);
            }
            let Some(&byte) = self.input.first() else {
                return Ok(None);
            };
            match (self.state, byte) {
                (State::Start, b'{') => self.step(State::Field),
                (State::Field, b'}') => self.step(State::Done),
                (State::Field, b',') => self.step(State::Field),
                (State::Field, b'"') => self.state = State::Key,
                (State::Colon, b':') if self.key == b"items" => self.step(State::Items),
                (State::Colon, b':') => self.step(State::Value),
                (State::Items, b'[') => self.step(State::Item),
                (State::Items, _) => self.state = State::NoItems,
                (State::Item, b']') => self.step(State::Field),
                (State::Item, b',') => self.step(State::Item),
                (State::Item, b'{') => self.state = State::InItem,
                (State::Key, _) => {
                    let Some(key) = self.take()? else {
                        return Ok(None);
                    };
                    self.key = key.get(1..key.len() - 1).unwrap_or_default().to_vec();
                    self.state = State::Colon;
                }
                (State::Value, _) => {
                    let Some(value) = self.take()? else {
                        return Ok(None);
                    };
                    self.field(&value)?;
                    self.state = State::Field;
                }
                (State::NoItems, _) => match self.take()? {
                    Some(value) if &value[..] == b"null" => self.state = State::Field,
                    Some(_) => return Err(DecodeError::Malformed("items is not an array")),
                    None => return Ok(None),
                },
                (State::InItem, _) => {
                    let Some(item) = self.take()? else {
                        return Ok(None);
                    };
                    self.state = State::Item;
                    return Ok(Some(item));
                }
                _ => return Err(DecodeError::Malformed("a list was expected")),
            }
        }
    }

    /// Returns the metadata of the list.
    ///
    /// # Errors
    ///
    /// Fails if the list is truncated.
    pub fn finish(self) -> Result<ListHead, DecodeError> {
        match self.state {
            State::Done => Ok(self.head),
            _ => Err(DecodeError::Truncated("list")),
        }
    }

    /// Returns the metadata that has arrived so far.
    pub fn head(&self) -> &ListHead {
        &self.head
    }

    fn step(&mut self, state: State) {
        let _ = self.input.split_to(1);
        self.state = state;
    }

    /// Returns the value that starts or continues here, if it is complete.
    fn take(&mut self) -> Result<Option<Bytes>, DecodeError> {
        let end = self.boundary.advance(&self.input);
        let length = end.unwrap_or(self.input.len());
        let piece = self.input.split_to(length);
        if self.pending.len() + piece.len() > MAX_OBJECT {
            return Err(DecodeError::TooLong);
        }
        if end.is_none() {
            self.pending.extend_from_slice(&piece);
            return Ok(None);
        }
        self.boundary = Boundary::default();
        if self.pending.is_empty() {
            let space = skip_space(&piece, 0);
            return Ok(Some(piece.slice(space..)));
        }
        self.pending.extend_from_slice(&piece);
        let whole = self.pending.split().freeze();
        let space = skip_space(&whole, 0);
        Ok(Some(whole.slice(space..)))
    }

    fn field(&mut self, value: &[u8]) -> Result<(), DecodeError> {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Metadata {
            resource_version: Option<String>,
            #[serde(rename = "continue")]
            continue_token: Option<String>,
            remaining_item_count: Option<i64>,
        }
        match &self.key[..] {
            b"kind" => self.head.kind = text(value).unwrap_or_default().into_owned(),
            b"apiVersion" => self.head.api_version = text(value).unwrap_or_default().into_owned(),
            b"metadata" => {
                let metadata: Metadata = serde_json::from_slice(value)
                    .map_err(|_| DecodeError::Malformed("the list's metadata"))?;
                self.head.resource_version = metadata.resource_version.unwrap_or_default();
                self.head.continue_token = metadata.continue_token.unwrap_or_default();
                self.head.remaining = metadata.remaining_item_count;
            }
            _ => {}
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIST: &str = r#"{"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"12","continue":"x=","remainingItemCount":3},"items":[{"a":"}é\"]"}, {"b":[{},{}]},{}],"extra":12}
"#;

    fn decode(text: &str, size: usize) -> Result<(Vec<Bytes>, ListHead), DecodeError> {
        let mut decoder = ListDecoder::default();
        let mut items = Vec::new();
        for chunk in text.as_bytes().chunks(size) {
            decoder.push(Bytes::copy_from_slice(chunk));
            while let Some(item) = decoder.next()? {
                items.push(item);
            }
        }
        Ok((items, decoder.finish()?))
    }

    #[test]
    fn chunks_may_be_cut_anywhere() {
        let whole = decode(LIST, LIST.len()).unwrap();
        assert_eq!(whole.0, [r#"{"a":"}é\"]"}"#, r#"{"b":[{},{}]}"#, "{}"]);
        assert_eq!(whole.1.continue_token, "x=");
        assert_eq!(whole.1.remaining, Some(3));
        for size in 1..LIST.len() {
            assert_eq!(decode(LIST, size), Ok(whole.clone()), "chunks of {size}");
        }
    }

    #[test]
    fn a_truncated_list_is_an_error() {
        let text = LIST.trim_end();
        for length in 0..text.len() {
            let (head, _) = text.as_bytes().split_at(length);
            let mut decoder = ListDecoder::default();
            decoder.push(Bytes::copy_from_slice(head));
            while let Ok(Some(_)) = decoder.next() {}
            assert_eq!(
                decoder.finish(),
                Err(DecodeError::Truncated("list")),
                "{length}"
            );
        }
    }

    #[test]
    fn items_may_be_null_and_metadata_may_come_last() {
        let (items, head) =
            decode(r#"{"items":null,"metadata":{"resourceVersion":"9"}}"#, 7).unwrap();
        assert!(items.is_empty());
        assert_eq!(head.resource_version, "9");
    }

    #[test]
    fn an_item_within_a_chunk_is_not_copied() {
        let chunk = Bytes::from_static(LIST.as_bytes());
        let mut decoder = ListDecoder::default();
        decoder.push(chunk.clone());
        let item = decoder.next().unwrap().unwrap();
        let at = LIST.find(r#"{"a""#).unwrap();
        assert_eq!(item.as_ptr(), chunk[at..].as_ptr());
    }

    #[test]
    fn bodies_that_are_not_lists_are_errors() {
        for text in [
            "[]",
            "12",
            r#"{"items":{}}"#,
            r#"{"items":[1]}"#,
            r#"{"metadata":7}"#,
        ] {
            assert!(decode(text, 64).is_err(), "{text}");
        }
    }
}
