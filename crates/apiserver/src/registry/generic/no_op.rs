//! Changes that are known to leave an object as it is, because they did so before.

use kubewright_store::Entry;
use serde_json::Value;

use super::Generic;
use crate::{
    admission::Attributes,
    ledger::note,
    object::Object,
    registry::{Fingerprint, traits::Change},
    request::{RequestContext, WriteOptions},
};

impl Generic {
    /// Returns the object if the last change that left it as it is was this one, and the plugins admit it.
    pub(super) async fn find_no_op(
        &self,
        cx: &RequestContext,
        name: &str,
        change: Fingerprint,
    ) -> Option<Object> {
        // The served form of a converted object does not depend on the stored one alone.
        if self.converter.is_some() {
            return None;
        }
        let key = self.checked_key(cx.namespace(), name).ok()?;
        let entry = self.store.get(&key).await.ok()??;
        let object = Object::remembered(&entry, &self.spec.selectable)?;
        if !object.summary.no_op.is(change) {
            return None;
        }
        let options = WriteOptions::default();
        let attributes = Attributes {
            old: None,
            ..Attributes::update(name, &Value::Null, &options)
        };
        let admitted = cx.admission.admits_unread(cx, &attributes).await;
        if admitted {
            note::unchanged();
        }
        admitted.then_some(object)
    }

    /// Remembers that a change left a stored object as it is.
    pub(super) fn remember_no_op(&self, entry: &Entry, change: &dyn Change) {
        if let Some(fingerprint) = change.fingerprint()
            && let Some(object) = Object::remembered(entry, &self.spec.selectable)
        {
            object.summary.no_op.remember(fingerprint);
        }
    }
}
