//! `delete`: immediate, graceful, or when the last finalizer is removed.

use jiff::{SignedDuration, Timestamp};
use kubewright_derive::boxed_async;
use kubewright_ledger::Change;
use kubewright_machinery::{PropagationPolicy, Status, gvk::GroupResource, status};
use kubewright_store::{Entry, WriteError};
use serde_json::{Value, json};

use super::{
    Generic,
    metadata::{bump_generation, finalizers, is_deleting, metadata_mut, text},
};
use crate::{
    admission::Attributes,
    clock::rfc3339,
    ledger::committed,
    registry::{
        Draft,
        traits::{Delete, Deleted},
    },
    request::{DeleteOptions, RequestContext},
};

const ORPHAN: &str = "orphan";
const FOREGROUND: &str = "foregroundDeletion";
const ATTEMPTS: usize = 1000;

/// The next step of a delete.
enum Plan {
    /// A grace period is running, and this request does not shorten it.
    AlreadyPending,
    /// Mark the object as being deleted, and remove it if nothing holds it.
    Mark { object: Value, then_remove: bool },
    /// Remove the object.
    Remove,
}

#[boxed_async]
impl Delete for Generic {
    async fn delete(
        &self,
        cx: &RequestContext,
        name: &str,
        options: &DeleteOptions,
    ) -> Result<Deleted, Status> {
        self.delete_with(cx, name, options, Admission::Run).await
    }

    fn returns_deleted_object(&self) -> bool {
        self.strategy.options().returns_deleted_object
    }
}

/// Returns a time some seconds later. Periods of more than 292 years wrap around, as they do in Go.
fn later(time: Timestamp, seconds: i64) -> Timestamp {
    let nanoseconds = seconds.wrapping_mul(1_000_000_000);
    let duration = SignedDuration::from_nanos(nanoseconds);
    time.checked_add(duration).unwrap_or(time)
}

/// Whether plugins review a deletion.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Admission {
    Run,
    Skip,
}

impl Generic {
    /// Deletes an object for a request that was admitted as something else, such as an eviction: plugins do not see the deletion.
    ///
    /// # Errors
    ///
    /// Fails as [`delete`](Delete::delete) does, except that no plugin rejects the request.
    pub async fn delete_admitted(
        &self,
        cx: &RequestContext,
        name: &str,
        options: &DeleteOptions,
    ) -> Result<Deleted, Status> {
        self.delete_with(cx, name, options, Admission::Skip).await
    }

    async fn delete_with(
        &self,
        cx: &RequestContext,
        name: &str,
        options: &DeleteOptions,
        admission: Admission,
    ) -> Result<Deleted, Status> {
        let key = self.checked_key(cx.namespace(), name)?;
        for _ in 0..ATTEMPTS {
            let found = self
                .store
                .get(&key)
                .await
                .map_err(|e| Self::read_failure(&e))?;
            let entry = found.ok_or_else(|| self.not_found(name))?;
            let attempt = self.delete_once(cx, name, options, admission, &entry);
            if let Some(deleted) = attempt.await? {
                return Ok(deleted);
            }
        }
        Err(status::conflict(
            &self.resource,
            name,
            super::update::MODIFIED,
        ))
    }

    /// Makes one attempt. Returns `None` after a conflict.
    async fn delete_once(
        &self,
        cx: &RequestContext,
        name: &str,
        options: &DeleteOptions,
        admission: Admission,
        entry: &Entry,
    ) -> Result<Option<Deleted>, Status> {
        let old = self.decode(entry).await?;
        self.check_preconditions(name, options, &old)?;
        if admission == Admission::Run {
            let attributes = Attributes::delete(name, &old, options);
            cx.admission.admit(cx, &attributes, None).await?;
        }
        match self.plan(&old, options) {
            Plan::AlreadyPending => Ok(Some(Deleted {
                object: self.object(entry).await?,
                gone: false,
            })),
            Plan::Remove => self.remove(cx, name, &old, entry, options.dry_run).await,
            Plan::Mark {
                object,
                then_remove,
            } => {
                let draft = Draft::from(self.normalize(object)?);
                if options.dry_run {
                    let object = self.unstored(&draft.value);
                    return Ok(Some(Deleted {
                        object,
                        gone: then_remove,
                    }));
                }
                let key = self.key(cx.namespace(), name);
                let marked = match self
                    .store
                    .update(key, entry.revision, self.encode(&draft).await?)
                    .await
                {
                    Ok(updated) => {
                        committed(&self.spec, Change::Updated, &updated.entry);
                        updated.entry
                    }
                    Err(WriteError::Conflict(_)) => return Ok(None),
                    Err(e) => return Err(Self::store_failure(&e)),
                };
                if then_remove {
                    return self.remove(cx, name, &draft.value, &marked, false).await;
                }
                Ok(Some(Deleted {
                    object: self.object(&marked).await?,
                    gone: false,
                }))
            }
        }
    }

    async fn remove(
        &self,
        cx: &RequestContext,
        name: &str,
        old: &Value,
        entry: &Entry,
        dry_run: bool,
    ) -> Result<Option<Deleted>, Status> {
        if dry_run {
            return Ok(Some(Deleted {
                object: self.object(entry).await?,
                gone: true,
            }));
        }
        match self
            .store
            .delete(self.key(cx.namespace(), name), entry.revision)
            .await
        {
            Ok(last) => {
                committed(&self.spec, Change::Deleted, &last);
                self.strategy.release(old);
                Ok(Some(Deleted {
                    object: self.object(&last).await?,
                    gone: true,
                }))
            }
            Err(WriteError::Conflict(_)) => Ok(None),
            Err(e) => Err(Self::store_failure(&e)),
        }
    }

    fn check_preconditions(
        &self,
        name: &str,
        options: &DeleteOptions,
        old: &Value,
    ) -> Result<(), Status> {
        // kube-apiserver names the kind here, and the resource everywhere else.
        let resource = GroupResource::new(&self.spec.kind.group, &self.spec.kind.kind);
        if let Some(expected) = options.uid.as_deref().filter(|u| *u != text(old, "uid")) {
            let actual = text(old, "uid");
            return Err(status::conflict(
                &resource,
                name,
                format!(
                    "the UID in the precondition ({expected}) does not match the UID in record ({actual}). The object might have been deleted and then recreated"
                ),
            ));
        }
        let actual = text(old, "resourceVersion");
        if let Some(expected) = options.resource_version.as_deref().filter(|r| *r != actual) {
            return Err(status::conflict(
                &resource,
                name,
                format!(
                    "the ResourceVersion in the precondition ({expected}) does not match the ResourceVersion in record ({actual}). The object might have been modified"
                ),
            ));
        }
        Ok(())
    }

    fn plan(&self, old: &Value, options: &DeleteOptions) -> Plan {
        let mut object = old.clone();
        let graceful = match self.begin_grace(&mut object, options) {
            Grace::Pending => return Plan::AlreadyPending,
            Grace::Started(seconds) => Some(seconds),
            Grace::None => None,
        };
        self.set_collection_finalizers(&mut object, options);
        let held = !finalizers(&object).is_empty();
        match graceful {
            Some(seconds) => Plan::Mark {
                object,
                then_remove: !held && seconds == 0,
            },
            None if held => {
                mark_as_deleting(&mut object, self.clock.now());
                Plan::Mark {
                    object,
                    then_remove: false,
                }
            }
            None => Plan::Remove,
        }
    }

    fn begin_grace(&self, object: &mut Value, options: &DeleteOptions) -> Grace {
        let requested = options
            .grace_period_seconds
            .map(|s| if s < 0 { 1 } else { s });
        let Some(period) = self.strategy.grace_period(object, requested) else {
            return Grace::None;
        };
        let now = self.clock.now();
        if is_deleting(object) {
            let current = object["metadata"]["deletionGracePeriodSeconds"]
                .as_i64()
                .unwrap_or(0);
            if current == 0 {
                return Grace::None;
            }
            let Some(requested) = requested.filter(|r| *r < current) else {
                return Grace::Pending;
            };
            let due: Option<Timestamp> = text(object, "deletionTimestamp").parse().ok();
            let due = later(later(due.unwrap_or(now), -current), requested);
            let (due, period) = if due < now {
                (now, requested.min(1))
            } else {
                (due, requested)
            };
            let metadata = metadata_mut(object);
            metadata.insert("deletionTimestamp".into(), json!(rfc3339(due)));
            metadata.insert("deletionGracePeriodSeconds".into(), json!(period));
            return Grace::Started(period);
        }
        bump_generation(object);
        let due = later(now, period);
        let metadata = metadata_mut(object);
        metadata.insert("deletionTimestamp".into(), json!(rfc3339(due)));
        metadata.insert("deletionGracePeriodSeconds".into(), json!(period));
        Grace::Started(period)
    }

    /// Sets the finalizers that tell the garbage collector what to do with dependents.
    fn set_collection_finalizers(&self, object: &mut Value, options: &DeleteOptions) {
        let policy = self.strategy.options().default_propagation;
        let current = finalizers(object);
        let wanted = wanted_finalizer(policy, options, &current);
        let kept = current
            .iter()
            .filter(|f| **f != ORPHAN && **f != FOREGROUND);
        let mut next: Vec<String> = kept.map(|f| (*f).to_owned()).collect();
        next.extend(wanted.map(str::to_owned));
        let mut before: Vec<&str> = current.clone();
        let mut after: Vec<&str> = next.iter().map(String::as_str).collect();
        before.sort_unstable();
        before.dedup();
        after.sort_unstable();
        after.dedup();
        if before == after {
            return;
        }
        metadata_mut(object).insert("finalizers".into(), json!(next));
    }
}

enum Grace {
    None,
    Started(i64),
    Pending,
}

fn wanted_finalizer(
    default: Option<PropagationPolicy>,
    options: &DeleteOptions,
    current: &[&str],
) -> Option<&'static str> {
    let default = default?;
    if let Some(orphan) = options.orphan_dependents {
        return orphan.then_some(ORPHAN);
    }
    match options.propagation {
        Some(PropagationPolicy::Orphan) => return Some(ORPHAN),
        Some(PropagationPolicy::Foreground) => return Some(FOREGROUND),
        Some(PropagationPolicy::Background) => return None,
        None => {}
    }
    let present = current.iter().find_map(|f| match *f {
        ORPHAN => Some(ORPHAN),
        FOREGROUND => Some(FOREGROUND),
        _ => None,
    });
    present.or((default == PropagationPolicy::Orphan).then_some(ORPHAN))
}

fn mark_as_deleting(object: &mut Value, now: Timestamp) {
    if !is_deleting(object) {
        bump_generation(object);
    }
    let due: Option<Timestamp> = text(object, "deletionTimestamp").parse().ok();
    let metadata = metadata_mut(object);
    if due.is_none_or(|due| due > now) {
        metadata.insert("deletionTimestamp".into(), json!(rfc3339(now)));
    }
    metadata.insert("deletionGracePeriodSeconds".into(), json!(0));
}
