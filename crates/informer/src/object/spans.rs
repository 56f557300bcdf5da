//! The position of an object's metadata in its JSON.
//!
//! Positions count from the first byte of the metadata object, after managedFields have been removed, so they are valid
//! wherever the metadata is kept.

use std::ops::Range;

use kubewright_client::stream::DecodeError;
use kubewright_client::stream::scan::ObjectReader;

/// A part of the metadata; empty if the object does not have it.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Span {
    at: u32,
    length: u32,
}

/// The parts that are read without decoding.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Spans {
    pub(crate) name: Span,
    pub(crate) namespace: Span,
    pub(crate) uid: Span,
    pub(crate) resource_version: Span,
    pub(crate) generation: Span,
    pub(crate) labels: Span,
    pub(crate) annotations: Span,
    pub(crate) owners: Span,
    pub(crate) finalizers: Span,
    pub(crate) deletion: Span,
}

/// The result of scanning an object's JSON.
#[derive(Clone, Debug, Default)]
pub(crate) struct Layout {
    /// The range of the metadata, managedFields included.
    pub(crate) metadata: Range<usize>,
    /// The managedFields with one of their commas, if they are to be removed.
    pub(crate) cut: Range<usize>,
    /// The kind, quotes included, if it precedes the metadata.
    pub(crate) kind: Option<Range<usize>>,
    pub(crate) has_api_version: bool,
    pub(crate) spans: Spans,
}

impl Span {
    /// Returns the bytes within the metadata object.
    pub(crate) fn of(self, metadata: &[u8]) -> &[u8] {
        let start = self.at as usize;
        metadata
            .get(start..start + self.length as usize)
            .unwrap_or_default()
    }

    /// Returns the bytes within the object as it arrived, before anything was removed.
    pub(crate) fn within<'a>(self, json: &'a [u8], layout: &Layout) -> &'a [u8] {
        let mut start = layout.metadata.start + self.at as usize;
        if !layout.cut.is_empty() && start >= layout.cut.start {
            start += layout.cut.len();
        }
        json.get(start..start + self.length as usize)
            .unwrap_or_default()
    }

    pub(crate) fn is_empty(self) -> bool {
        self.length == 0
    }
}

impl Layout {
    /// Scans the start of `bytes` up to the end of the metadata.
    pub(crate) fn read(bytes: &[u8], keep_managed_fields: bool) -> Result<Self, DecodeError> {
        let mut layout = Self::default();
        let mut object = ObjectReader::new(bytes, 0)?;
        while let Some(key) = object.next_key()? {
            match key {
                b"kind" => layout.kind = Some(object.skip()?),
                b"apiVersion" => {
                    object.skip()?;
                    layout.has_api_version = true;
                }
                b"metadata" => {
                    let start = object.position();
                    layout.read_metadata(bytes, start, keep_managed_fields)?;
                    return Ok(layout);
                }
                _ => {
                    object.skip()?;
                }
            }
        }
        Err(DecodeError::Malformed("an object without metadata"))
    }

    fn read_metadata(
        &mut self,
        bytes: &[u8],
        start: usize,
        keep_managed_fields: bool,
    ) -> Result<(), DecodeError> {
        let mut metadata = ObjectReader::new(bytes, start)?;
        let mut before = metadata.position();
        let first = before;
        let mut after_cut = false;
        while let Some(key) = metadata.next_key()? {
            let value = metadata.skip()?;
            let slot = match key {
                b"name" => Some(&mut self.spans.name),
                b"namespace" => Some(&mut self.spans.namespace),
                b"uid" => Some(&mut self.spans.uid),
                b"resourceVersion" => Some(&mut self.spans.resource_version),
                b"generation" => Some(&mut self.spans.generation),
                b"labels" => Some(&mut self.spans.labels),
                b"annotations" => Some(&mut self.spans.annotations),
                b"ownerReferences" => Some(&mut self.spans.owners),
                b"finalizers" => Some(&mut self.spans.finalizers),
                b"deletionTimestamp" => Some(&mut self.spans.deletion),
                b"managedFields" if !keep_managed_fields && self.cut.is_empty() => {
                    self.cut = before..value.end;
                    after_cut = before == first;
                    before = value.end;
                    continue;
                }
                _ => None,
            };
            if after_cut {
                // If the first field was removed, its comma goes with it.
                let comma = bytes[before..value.start]
                    .iter()
                    .position(|byte| *byte == b',');
                self.cut.end = before + comma.map_or(0, |at| at + 1);
                after_cut = false;
            }
            if let Some(slot) = slot {
                let shift = self.cut.len();
                let at = value.start - start - shift;
                *slot = Span {
                    at: u32::try_from(at).unwrap_or(0),
                    length: if &bytes[value.clone()] == b"null" {
                        0
                    } else {
                        u32::try_from(value.len()).unwrap_or(0)
                    },
                };
            }
            before = value.end;
        }
        self.metadata = start..metadata.position();
        Ok(())
    }
}
