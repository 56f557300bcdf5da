//! Lists in protobuf.
//!
//! The envelope of a list begins with the length of everything in it, so the lengths of all items are added up before the
//! first byte is sent. Each object keeps its length once it is computed ([`Summary`](crate::Summary)), so that this takes a
//! walk over the objects and not two encodings.

use futures_util::StreamExt;
use kubewright_machinery::{Status, status};
use kubewright_protobuf::{DeclaredType, EncodeError, ListType, Transcoder};

use super::{
    encoding::Encoding,
    form::{Form, Head},
};
use crate::{object::Object, registry::Items};

/// A list in protobuf.
pub(super) struct Protobuf {
    head: Head,
    list: ListType,
    form: Form,
    transcoder: Transcoder,
    /// The length of all items.
    length: usize,
}

impl Protobuf {
    /// Adds up the lengths of all items. `declared` is the form of custom objects.
    pub(super) async fn new(
        head: Head,
        form: Form,
        declared: Option<&DeclaredType>,
        items: &Items,
    ) -> Result<Self, Status> {
        let list = match (&form, declared) {
            (Form::Objects { .. }, Some(declared)) => declared.list().clone(),
            _ => ListType::of(&head.api_version, &head.kind).map_err(failure)?,
        };
        let mut this = Self {
            head,
            list,
            form,
            transcoder: Transcoder::new(),
            length: 0,
        };
        match items {
            Items::All(objects) => this.measure(objects)?,
            Items::Pages(pages) => {
                let mut pages = pages.read();
                while let Some(page) = pages.next().await {
                    this.measure(&page?)?;
                    tokio::task::yield_now().await;
                }
            }
        }
        Ok(this)
    }

    fn measure(&mut self, objects: &[Object]) -> Result<(), Status> {
        for object in objects {
            let lengths = &object.summary.lengths;
            let length = match self.form {
                Form::Partial(_) => &lengths.metadata,
                _ => &lengths.object,
            };
            let (list, transcoder) = (&self.list, &mut self.transcoder);
            let compute = || list.item_len(transcoder, &object.bytes).map_err(failure);
            self.length += length.get_or(compute)?;
        }
        Ok(())
    }
}

impl Encoding for Protobuf {
    fn head(&mut self, out: &mut Vec<u8>) -> Result<(), Status> {
        self.list
            .start(&self.head.metadata, self.length, out)
            .map_err(failure)
    }

    fn item(&mut self, object: &Object, out: &mut Vec<u8>) -> Result<(), Status> {
        self.list
            .item(&mut self.transcoder, &object.bytes, out)
            .map_err(failure)
    }

    fn tail(&mut self, out: &mut Vec<u8>) -> Result<(), Status> {
        out.extend_from_slice(&ListType::END);
        Ok(())
    }
}

fn failure(error: EncodeError) -> Status {
    status::internal(error)
}
