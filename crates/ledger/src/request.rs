//! A recorded request: [`Entry`] in memory, [`Request`] as JSON.

use std::{
    hash::{Hash, Hasher},
    sync::Arc,
};

use hashbrown::Equivalent;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::{audit_id::AuditId, moment, run::ObjectRef};

/// The user and the program that made a request.
///
/// ```
/// use kubewright_ledger::{Caller, Ledger};
///
/// let caller = Caller { user: "alice", user_agent: "kubectl/v1.36.4", field_manager: "kubectl" };
/// let ledger = Ledger::new();
/// // Entries of the same caller share one copy of its names.
/// let _id = ledger.caller(caller);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Caller<'a> {
    /// The name of the user.
    pub user: &'a str,
    /// The `User-Agent`.
    pub user_agent: &'a str,
    /// The field manager.
    pub field_manager: &'a str,
}

/// The verb and the resource of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct RequestKind<'a> {
    /// The verb.
    pub verb: &'a str,
    /// The group.
    pub group: &'a str,
    /// The plural name.
    pub resource: &'a str,
    /// The subresource, or empty.
    pub subresource: &'a str,
}

/// A shared caller: see [`Ledger::caller`](crate::Ledger::caller).
#[derive(Clone, Debug)]
pub struct CallerId(pub(crate) Arc<OwnedCaller>);

/// A shared kind of request: see [`Ledger::kind`](crate::Ledger::kind).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KindId(pub(crate) Arc<OwnedKind>);

#[derive(Debug, PartialEq, Eq)]
pub(crate) struct OwnedCaller {
    user: Box<str>,
    user_agent: Box<str>,
    field_manager: Box<str>,
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) struct OwnedKind {
    verb: Box<str>,
    group: Box<str>,
    resource: Box<str>,
    subresource: Box<str>,
}

/// The kind of a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Change {
    /// The object was created.
    Created,
    /// The object was updated.
    Updated,
    /// The object was deleted.
    Deleted,
}

/// A revision that a request committed.
///
/// ```
/// use kubewright_ledger::{Caller, Change, Commit, Entry, Ledger, RequestKind};
///
/// let ledger = Ledger::new();
/// let caller = ledger.caller(Caller { user: "alice", user_agent: "", field_manager: "kubectl" });
/// let kind = RequestKind { verb: "create", group: "", resource: "pods", subresource: "" };
/// let key = "default/web".into();
/// let mut entry = Entry::new(caller, ledger.kind(kind), key, jiff::Timestamp::UNIX_EPOCH);
/// let pods = ledger.kind(RequestKind { verb: "", ..kind });
/// entry.add(Commit { revision: 7, change: Change::Created, kind: pods, key: "default/web".into() });
/// ledger.record(entry);
///
/// let (_, writer) = ledger.writer(7).expect("the request that committed the revision");
/// assert_eq!(writer.caller().user, "alice");
/// assert_eq!(writer.kind().verb, "create");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Commit {
    /// The revision.
    pub revision: u64,
    /// The kind of the change.
    pub change: Change,
    /// The resource of the object, as a kind of request. Its verb and subresource do not matter.
    pub kind: KindId,
    /// Its key: `namespace/name`, or `name`.
    pub key: Arc<str>,
}

/// The reason why a request was denied.
///
/// ```
/// use kubewright_ledger::{Caller, Entry, Ledger, PageQuery, Rejection, RequestKind};
///
/// let message = r#"pods "web" is forbidden: User "bob" cannot get resource "pods" in API group "" in the namespace "default""#;
/// let ledger = Ledger::new();
/// let caller = ledger.caller(Caller { user: "bob", user_agent: "", field_manager: "" });
/// let kind = ledger.kind(RequestKind { verb: "get", group: "", resource: "pods", subresource: "" });
/// ledger.refuse(Entry {
///     code: 403,
///     refusal: Some(Box::new(Rejection { reason: "Forbidden".into(), message: message.into() })),
///     ..Entry::new(caller, kind, "default/web".into(), jiff::Timestamp::UNIX_EPOCH)
/// });
/// let denials = ledger.denials(&PageQuery::default(), |_| true);
/// let rule = denials.items[0].rule.as_ref().expect("the rule that would have allowed it");
/// assert_eq!(rule.rules[0].resources, ["pods"]);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rejection {
    /// The reason of the `Status`.
    pub reason: Box<str>,
    /// The message.
    pub message: Box<str>,
}

/// A request in memory. Repeated strings are shared.
#[derive(Clone, Debug)]
pub struct Entry {
    /// The time of arrival.
    pub time: Timestamp,
    /// The duration in microseconds.
    pub micros: u32,
    /// The caller.
    pub caller: CallerId,
    /// The verb and the resource.
    pub kind: KindId,
    /// The key of the object.
    pub key: Arc<str>,
    /// The audit id.
    pub audit_id: AuditId,
    /// The status code of the response; 0 if the client disconnected.
    pub code: u16,
    /// Whether the request was a dry run.
    pub dry_run: bool,
    /// Whether the request changed nothing.
    pub unchanged: bool,
    /// The run that made it.
    pub run: Option<Box<str>>,
    /// The `traceparent` header.
    pub traceparent: Option<Box<str>>,
    /// The first revision that it committed.
    pub commit: Option<Commit>,
    /// Further revisions.
    pub more: Box<[Commit]>,
    /// The reason why it was denied.
    pub refusal: Option<Box<Rejection>>,
}

/// A request, in its JSON form.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Request {
    /// The number in its list.
    pub number: u64,
    /// The time of arrival.
    #[serde(with = "moment")]
    pub time: Timestamp,
    /// The duration.
    pub duration_seconds: f64,
    /// The verb; `apply` for a server-side apply.
    pub verb: String,
    /// The object. A created object may have no name yet.
    #[serde(flatten)]
    pub object: ObjectRef,
    /// The subresource, or empty.
    #[serde(default)]
    pub subresource: String,
    /// The user.
    pub user: String,
    /// The `User-Agent`.
    #[serde(default)]
    pub user_agent: String,
    /// The field manager.
    #[serde(default)]
    pub field_manager: String,
    /// Whether the request was a dry run.
    #[serde(default)]
    pub dry_run: bool,
    /// The audit id.
    #[serde(default, rename = "auditID")]
    pub audit_id: String,
    /// The status code of the response; 0 if the client disconnected.
    pub code: u16,
    /// The run that made it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<String>,
    /// The run that probably made it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub guessed_run: Option<String>,
    /// The `traceparent` header.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub traceparent: Option<String>,
    /// Whether the request changed nothing.
    #[serde(default)]
    pub unchanged: bool,
    /// The revisions that it committed.
    pub commits: Vec<CommitItem>,
}

/// A revision that a request committed, in its JSON form.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommitItem {
    /// The revision.
    pub revision: u64,
    /// The kind of the change.
    pub change: Change,
    /// The object.
    #[serde(flatten)]
    pub object: ObjectRef,
}

impl Entry {
    /// Creates an entry for an object.
    pub fn new(caller: CallerId, kind: KindId, key: Arc<str>, time: Timestamp) -> Self {
        Self {
            time,
            micros: 0,
            caller,
            kind,
            key,
            audit_id: AuditId::default(),
            code: 200,
            dry_run: false,
            unchanged: false,
            run: None,
            traceparent: None,
            commit: None,
            more: Box::default(),
            refusal: None,
        }
    }

    /// Adds a committed revision.
    pub fn add(&mut self, commit: Commit) {
        match self.commit {
            None => self.commit = Some(commit),
            Some(_) => {
                let more = std::mem::take(&mut self.more);
                self.more = more.into_iter().chain([commit]).collect();
            }
        }
    }

    /// Returns the committed revisions.
    pub fn commits(&self) -> impl Iterator<Item = &Commit> {
        self.commit.iter().chain(self.more.iter())
    }

    /// Returns the caller.
    pub fn caller(&self) -> Caller<'_> {
        self.caller.0.view()
    }

    /// Returns the verb and the resource.
    pub fn kind(&self) -> RequestKind<'_> {
        self.kind.0.view()
    }

    /// Reports whether the request names or changed an object.
    pub fn is_about(&self, object: &ObjectRef) -> bool {
        let kind = self.kind();
        let named = kind.group == object.group
            && kind.resource == object.resource
            && is_key(&self.key, object);
        named || self.commits().any(|commit| commit.is_about(object))
    }

    /// Returns the size in bytes, without the key, which the store shares.
    pub fn size(&self) -> usize {
        // Includes the number and the pointer in the ring, and the reference counts of the shared value.
        const RING: usize = 32;
        let text = |text: &Option<Box<str>>| text.as_ref().map_or(0, |text| text.len() + 16);
        let refusal = self.refusal.as_ref().map_or(0, |refusal| {
            size_of::<Rejection>() + refusal.reason.len() + refusal.message.len() + 48
        });
        size_of::<Self>()
            + RING
            + self.audit_id.heap_size()
            + text(&self.run)
            + text(&self.traceparent)
            + self.more.len() * size_of::<Commit>()
            + refusal
    }

    /// Returns the JSON form of the entry.
    pub fn to_request(&self, number: u64) -> Request {
        let (caller, kind) = (self.caller(), self.kind());
        let owned = |text: &Option<Box<str>>| text.as_deref().map(str::to_owned);
        Request {
            number,
            time: self.time,
            duration_seconds: f64::from(self.micros) / 1e6,
            verb: kind.verb.to_owned(),
            object: ObjectRef::new(kind.group, kind.resource, &self.key),
            subresource: kind.subresource.to_owned(),
            user: caller.user.to_owned(),
            user_agent: caller.user_agent.to_owned(),
            field_manager: caller.field_manager.to_owned(),
            dry_run: self.dry_run,
            audit_id: self.audit_id.to_string(),
            code: self.code,
            run: owned(&self.run),
            guessed_run: None,
            traceparent: owned(&self.traceparent),
            unchanged: self.unchanged,
            commits: self.commits().map(Commit::to_item).collect(),
        }
    }
}

impl Commit {
    /// Reports whether the request changed an object.
    pub fn is_about(&self, object: &ObjectRef) -> bool {
        let kind = self.kind.0.view();
        kind.group == object.group && kind.resource == object.resource && is_key(&self.key, object)
    }

    /// Returns the object.
    pub fn object(&self) -> ObjectRef {
        let kind = self.kind.0.view();
        ObjectRef::new(kind.group, kind.resource, &self.key)
    }

    fn to_item(&self) -> CommitItem {
        CommitItem {
            revision: self.revision,
            change: self.change,
            object: self.object(),
        }
    }
}

/// Reports whether a key equals that of an object, without building it.
fn is_key(key: &str, object: &ObjectRef) -> bool {
    let (namespace, name) = key.split_once('/').unwrap_or(("", key));
    namespace == object.namespace && name == object.name
}

impl OwnedCaller {
    fn view(&self) -> Caller<'_> {
        Caller {
            user: &self.user,
            user_agent: &self.user_agent,
            field_manager: &self.field_manager,
        }
    }
}

impl OwnedKind {
    fn view(&self) -> RequestKind<'_> {
        RequestKind {
            verb: &self.verb,
            group: &self.group,
            resource: &self.resource,
            subresource: &self.subresource,
        }
    }
}

impl From<Caller<'_>> for OwnedCaller {
    fn from(caller: Caller<'_>) -> Self {
        Self {
            user: caller.user.into(),
            user_agent: caller.user_agent.into(),
            field_manager: caller.field_manager.into(),
        }
    }
}

impl From<RequestKind<'_>> for OwnedKind {
    fn from(kind: RequestKind<'_>) -> Self {
        Self {
            verb: kind.verb.into(),
            group: kind.group.into(),
            resource: kind.resource.into(),
            subresource: kind.subresource.into(),
        }
    }
}

// Owned values must hash like their borrowed forms, which are used for lookups.
impl Hash for OwnedCaller {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.view().hash(state);
    }
}

impl Hash for OwnedKind {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.view().hash(state);
    }
}

impl Equivalent<Arc<OwnedCaller>> for Caller<'_> {
    fn equivalent(&self, key: &Arc<OwnedCaller>) -> bool {
        is_same(self.user, &key.user)
            && is_same(self.user_agent, &key.user_agent)
            && is_same(self.field_manager, &key.field_manager)
    }
}

impl Equivalent<Arc<OwnedKind>> for RequestKind<'_> {
    fn equivalent(&self, key: &Arc<OwnedKind>) -> bool {
        is_same(self.verb, &key.verb)
            && is_same(self.group, &key.group)
            && is_same(self.resource, &key.resource)
            && is_same(self.subresource, &key.subresource)
    }
}

/// Compares two texts. Empty ones are frequent, and comparing them by their bytes is slow: their address is not that of any memory,
/// and a masked load from there takes 80 ns on processors with AVX-512.
fn is_same(a: &str, b: &str) -> bool {
    a.len() == b.len() && (a.is_empty() || a == b)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Ledger;

    /// The memory that a write of a controller may take.
    const BUDGET: usize = 300;

    #[test]
    fn a_write_of_a_controller_takes_at_most_300_bytes() {
        let ledger = Ledger::new();
        let caller = ledger.caller(Caller {
            user: "system:serviceaccount:crew-system:crew-controller-manager",
            user_agent: "crew/0.1.0",
            field_manager: "captain",
        });
        let kind = |verb| RequestKind {
            verb,
            group: "apps",
            resource: "deployments",
            subresource: "",
        };
        let key: Arc<str> = "default/web-7d4b9c".into();
        let verb = ledger.kind(kind("update"));
        let mut entry = Entry::new(caller, verb, key.clone(), Timestamp::UNIX_EPOCH);
        entry.audit_id = "0d1c9d0e-6a0b-4a0e-a4f8-9f7e0a52f7a0".into();
        entry.run = Some("crew-5f3a12/captain/123456".into());
        entry.add(Commit {
            revision: 1_000_000,
            change: Change::Updated,
            kind: ledger.kind(kind("")),
            key: key.clone(),
        });
        // The key is shared by the entry and its commit.
        let size = entry.size() + key.len() + 2 * size_of::<usize>();
        assert!(size <= BUDGET, "{size} bytes");
    }
}
