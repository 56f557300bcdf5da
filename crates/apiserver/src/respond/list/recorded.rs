//! The copy of a list for its audit event.

use std::sync::Arc;

use kubewright_machinery::Status;

use super::encoding::{Compact, Encoding};
use crate::{
    audit::record::{MAX_RESPONSE, Record},
    object::Object,
};

/// An encoding that also writes the list as compact JSON, and records it when it is complete. A list that is too large is
/// not recorded.
pub(super) struct Recorded {
    sent: Box<dyn Encoding>,
    copy: Compact,
    json: Vec<u8>,
    record: Arc<Record>,
}

impl Recorded {
    pub(super) fn new(sent: Box<dyn Encoding>, copy: Compact, record: Arc<Record>) -> Self {
        Self {
            sent,
            copy,
            json: Vec::new(),
            record,
        }
    }

    fn is_too_large(&self) -> bool {
        self.json.len() > MAX_RESPONSE
    }
}

impl Encoding for Recorded {
    fn head(&mut self, out: &mut Vec<u8>) -> Result<(), Status> {
        self.copy.head(&mut self.json)?;
        self.sent.head(out)
    }

    fn item(&mut self, object: &Object, out: &mut Vec<u8>) -> Result<(), Status> {
        if !self.is_too_large() {
            self.copy.item(object, &mut self.json)?;
        }
        self.sent.item(object, out)
    }

    fn tail(&mut self, out: &mut Vec<u8>) -> Result<(), Status> {
        match self.is_too_large() {
            true => self.record.response_is_too_large(),
            false => {
                self.copy.tail(&mut self.json)?;
                let json = std::mem::take(&mut self.json).into();
                self.record.response_object(|| json);
            }
        }
        self.sent.tail(out)
    }
}
