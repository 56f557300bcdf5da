//! `update` and `patch`: read, change, prepare, validate, admit, encode, compare-and-swap; again after a conflict.

use kubewright_derive::boxed_async;
use kubewright_ledger::Change as Committed;
use kubewright_machinery::{
    Status,
    field::{self, Path},
    go,
    gvk::GroupKind,
    status::{self, Reason},
};
use kubewright_store::{Entry, Revision, WriteError};
use serde_json::Value;

use super::{
    Generic,
    create::Origin,
    metadata::{finalizers, is_deleting, keep_generation, keep_system_fields, metadata_mut, text},
};
use crate::{
    admission::Attributes,
    ledger::note,
    object::Object,
    registry::{
        Draft, Fingerprint,
        traits::{Change, Update, Updated},
    },
    request::{RequestContext, WriteOptions},
};

/// The message of an optimistic-lock conflict. Clients look for it.
pub(super) const MODIFIED: &str =
    "the object has been modified; please apply your changes to the latest version and try again";

/// Maximum attempts after conflicts. kube-apiserver has no bound but its deadline; this one is far beyond what fair scheduling
/// can reach.
const ATTEMPTS: usize = 1000;

enum Outcome {
    Done(Updated),
    Retry,
}

#[boxed_async]
impl Update for Generic {
    async fn update(
        &self,
        cx: &RequestContext,
        name: &str,
        change: &dyn Change,
        options: &WriteOptions,
    ) -> Result<Updated, Status> {
        let key = self.checked_key(cx.namespace(), name)?;
        let mut found = self
            .store
            .get(&key)
            .await
            .map_err(|e| Self::read_failure(&e))?;
        for _ in 0..ATTEMPTS {
            let outcome = match &found {
                Some(entry) => self.update_once(cx, name, change, options, entry).await?,
                None => self.create_by_update(cx, name, change, options).await?,
            };
            match outcome {
                Outcome::Done(updated) => return Ok(updated),
                Outcome::Retry => {
                    found = self
                        .store
                        .get(&key)
                        .await
                        .map_err(|e| Self::read_failure(&e))?;
                }
            }
        }
        Err(status::conflict(&self.resource, name, MODIFIED))
    }

    async fn unchanged_by(
        &self,
        cx: &RequestContext,
        name: &str,
        change: Fingerprint,
    ) -> Option<Object> {
        self.find_no_op(cx, name, change).await
    }
}

impl Generic {
    async fn create_by_update(
        &self,
        cx: &RequestContext,
        name: &str,
        change: &dyn Change,
        options: &WriteOptions,
    ) -> Result<Outcome, Status> {
        if !self.strategy.options().allow_create_on_update && !change.may_create() {
            return Err(self.not_found(name));
        }
        let mut draft = change.apply(cx, None).await?;
        // A resourceVersion on an object that does not exist is ignored.
        metadata_mut(&mut draft.value).remove("resourceVersion");
        let prune = change.leaves_unknown();
        let created = self.create_new(cx, draft, options, Origin::Update, prune);
        match created.await {
            Ok(object) => Ok(Outcome::Done(Updated {
                object,
                created: true,
            })),
            Err(e) if e.reason == Reason::AlreadyExists => Ok(Outcome::Retry),
            Err(e) => Err(e),
        }
    }

    async fn update_once(
        &self,
        cx: &RequestContext,
        name: &str,
        change: &dyn Change,
        options: &WriteOptions,
        entry: &Entry,
    ) -> Result<Outcome, Status> {
        let old = self.decode(entry).await?;
        self.check_uid(cx, name, change.expected_uid(), &old)?;
        let mut draft = change.apply(cx, Some(&old)).await?;
        let (object, strategy, dry_run) = (&mut draft.value, &self.strategy, options.dry_run);
        strategy.authorize(cx, object, Some(&old)).await?;
        self.check_revision(name, object, entry.revision)?;
        let reservation = strategy.reserve(cx, object, Some(&old), dry_run).await?;
        self.check_namespace(cx, object)?;
        keep_generation(object, &old);
        strategy.prepare_for_update(object, &old);
        keep_system_fields(object, &old);
        self.reject_invalid(object, &self.validate_update(cx, object, &old).await?)?;
        let access = strategy.validate_access(cx, object, Some(&old)).await;
        self.reject_invalid(object, &access)?;
        cx.warnings
            .extend(strategy.warnings_on_update(object, &old));
        strategy.canonicalize(object);
        let reviewed = (change.reviewed(object)?, change.reviewed(&old)?);
        let (new, before): (&Value, &Value) = (
            reviewed.0.as_ref().unwrap_or(object),
            reviewed.1.as_ref().unwrap_or(&old),
        );
        let attributes = Attributes::update(text(object, "name"), before, options);
        cx.admission.validate(cx, &attributes, Some(new)).await?;
        if change.leaves_unknown() {
            strategy.prune(object);
        }
        draft.value = self.normalize(draft.value)?;
        keep_untouched_times(&mut draft.value, &old);
        if should_delete(&draft.value, &old)
            && self
                .strategy
                .should_delete_during_update(&draft.value, &old)
        {
            return self.delete_emptied(cx, name, draft, entry, options).await;
        }
        if options.dry_run {
            metadata_mut(&mut draft.value).insert(
                "resourceVersion".into(),
                entry.revision.0.to_string().into(),
            );
            return Ok(Outcome::Done(Updated {
                object: self.as_if_stored(draft).await?,
                created: false,
            }));
        }
        let key = self.key(cx.namespace(), name);
        match self
            .store
            .update(key, entry.revision, self.encode(&draft).await?)
            .await
        {
            Ok(updated) => {
                if let Some(reservation) = reservation {
                    reservation.keep();
                }
                match updated.changed {
                    true => note::committed(&self.spec, Committed::Updated, &updated.entry),
                    false => note::unchanged(),
                }
                if !updated.changed && cx.warnings.is_empty() {
                    self.remember_no_op(entry, change);
                }
                let object = self.object(&updated.entry).await?;
                Ok(Outcome::Done(Updated {
                    object,
                    created: false,
                }))
            }
            Err(WriteError::Conflict(_)) => Ok(Outcome::Retry),
            Err(e) => Err(Self::store_failure(&e)),
        }
    }

    /// Removes an object that is being deleted and whose last finalizer is gone.
    async fn delete_emptied(
        &self,
        cx: &RequestContext,
        name: &str,
        draft: Draft,
        entry: &Entry,
        options: &WriteOptions,
    ) -> Result<Outcome, Status> {
        let mut object = draft.into_value();
        if !options.dry_run {
            let key = self.key(cx.namespace(), name);
            match self.store.delete(key, entry.revision).await {
                Ok(last) => {
                    note::committed(&self.spec, Committed::Deleted, &last);
                    self.strategy.release(&object);
                }
                Err(WriteError::Conflict(Some(_))) => return Ok(Outcome::Retry),
                Err(WriteError::Conflict(None)) => {}
                Err(e) => return Err(Self::store_failure(&e)),
            }
        }
        metadata_mut(&mut object).insert(
            "resourceVersion".into(),
            entry.revision.0.to_string().into(),
        );
        Ok(Outcome::Done(Updated {
            object: self.unstored(&object),
            created: false,
        }))
    }

    fn check_uid(
        &self,
        cx: &RequestContext,
        name: &str,
        expected: Option<&str>,
        old: &Value,
    ) -> Result<(), Status> {
        let actual = text(old, "uid");
        match expected {
            Some(expected) if expected != actual => {
                let path = self.key(cx.namespace(), name).path;
                let plural = &self.resource.resource;
                Err(status::conflict(
                    &self.resource,
                    name,
                    format!(
                        "StorageError: invalid object, Code: 4, Key: /registry/{plural}/{path}, ResourceVersion: 0, AdditionalErrorMsg: Precondition failed: UID in precondition: {expected}, UID in object meta: {actual}"
                    ),
                ))
            }
            _ => Ok(()),
        }
    }

    fn check_revision(
        &self,
        name: &str,
        object: &mut Value,
        current: Revision,
    ) -> Result<(), Status> {
        let given = text(object, "resourceVersion");
        if given.is_empty() || given == "0" {
            if self.strategy.options().allow_unconditional_update {
                let current = current.0.to_string();
                metadata_mut(object).insert("resourceVersion".into(), current.into());
                return Ok(());
            }
            let path = Path::new("metadata").child("resourceVersion");
            let error = field::invalid_raw(&path, "0", "must be specified for an update");
            let kind = GroupKind::new(&self.resource.group, &self.resource.resource);
            return Err(status::invalid(&kind, name, &[error]));
        }
        match given.parse::<u64>() {
            Ok(given) if given == current.0 => Ok(()),
            Ok(_) => Err(status::conflict(&self.resource, name, MODIFIED)),
            Err(_) => Err(status::unknown(format!(
                "strconv.ParseUint: parsing {}: invalid syntax",
                go::quote(given)
            ))),
        }
    }
}

/// Restores the times of managed fields if the write changes nothing else, which makes it a no-op.
fn keep_untouched_times(object: &mut Value, old: &Value) {
    let new = object["metadata"]["managedFields"].as_array();
    let before = old["metadata"]["managedFields"].as_array();
    let (Some(new), Some(before)) = (new, before) else {
        return;
    };
    if new == before || new.len() != before.len() {
        return;
    }
    let but_time = |(a, b): (&Value, &Value)| same_but(a, b, &["time"]);
    if !new.iter().zip(before).all(but_time) || !same_but(object, old, &["metadata"]) {
        return;
    }
    let rest = ["managedFields", "resourceVersion"];
    if same_but(&object["metadata"], &old["metadata"], &rest) {
        let before = before.clone();
        metadata_mut(object).insert("managedFields".into(), before.into());
    }
}

/// Returns whether two maps are equal except for these entries.
fn same_but(a: &Value, b: &Value, but: &[&str]) -> bool {
    let (Value::Object(a), Value::Object(b)) = (a, b) else {
        return a == b;
    };
    let rest = |(key, _): &(&String, &Value)| !but.contains(&key.as_str());
    a.iter().filter(rest).eq(b.iter().filter(rest))
}

/// Returns whether the update leaves an object that is being deleted without finalizers and grace period.
fn should_delete(object: &Value, old: &Value) -> bool {
    finalizers(object).is_empty()
        && is_deleting(old)
        && old["metadata"]["deletionGracePeriodSeconds"]
            .as_i64()
            .unwrap_or(0)
            == 0
}
