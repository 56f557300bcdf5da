//! [`Note`]: the entry of a request while it is handled.
//!
//! The note of the current request is local to its task, so that any code that commits a revision can add it.

use std::{
    cell::Cell,
    sync::Arc,
    time::{Duration, Instant},
};

use http::{HeaderMap, HeaderName, HeaderValue, header};
use jiff::Timestamp;
use kubewright_ledger::{AuditId, Caller, Change, Commit, Entry, KindId, Rejection, RequestKind};
use kubewright_machinery::Status;
use kubewright_store::Entry as Stored;
use parking_lot::Mutex;

use super::{REVEAL_HEADER, RUN_HEADER, Recorder};
use crate::{
    registry::ResourceSpec,
    request::{Query, RequestInfo, UserInfo, Verb},
};

/// The most of a header that is recorded.
const MAX_HEADER: usize = 256;

/// The most of a message that is recorded.
const MAX_MESSAGE: usize = 2048;

/// The headers that are noted.
const RUN: HeaderName = HeaderName::from_static(RUN_HEADER);
const TRACE_PARENT: HeaderName = HeaderName::from_static("traceparent");
const REVEAL: HeaderName = HeaderName::from_static(REVEAL_HEADER);

tokio::task_local! {
    static CURRENT: Arc<Note>;
}

/// The entry of a request while it is handled. It is recorded when it is dropped, so that a commit is recorded even if the
/// client has gone away.
pub(crate) struct Note {
    recorder: Recorder,
    info: Arc<RequestInfo>,
    query: Arc<Query>,
    apply: bool,
    user_agent: Option<HeaderValue>,
    run: Option<HeaderValue>,
    traceparent: Option<HeaderValue>,
    is_revealing: bool,
    audit_id: AuditId,
    time: Timestamp,
    began: Instant,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    user: Option<Arc<UserInfo>>,
    code: u16,
    took: Option<Duration>,
    unchanged: bool,
    commit: Option<Committed>,
    /// Further commits, which few requests have.
    more: Vec<Committed>,
    refusal: Option<Box<Rejection>>,
}

/// A revision that the request has committed.
struct Committed {
    revision: u64,
    change: Change,
    /// The resource, if it is not that of the request.
    kind: Option<KindId>,
    key: Arc<str>,
}

impl Note {
    /// Begins the entry of a request that arrived at a moment.
    pub(crate) fn new(
        recorder: Recorder,
        info: Arc<RequestInfo>,
        query: Arc<Query>,
        headers: &HeaderMap,
        audit_id: &HeaderValue,
        apply: bool,
        began: Instant,
    ) -> Arc<Self> {
        let get = |name: HeaderName| headers.get(name).cloned();
        Arc::new(Self {
            time: recorder.clock.now(),
            recorder,
            info,
            query,
            apply,
            user_agent: get(header::USER_AGENT),
            run: get(RUN),
            traceparent: get(TRACE_PARENT),
            is_revealing: headers.contains_key(REVEAL),
            audit_id: cut(audit_id.to_str().unwrap_or_default(), MAX_HEADER).into(),
            began,
            state: Mutex::default(),
        })
    }

    /// Runs a future whose commits are noted.
    pub(crate) async fn within<F: Future>(self: Arc<Self>, handled: F) -> F::Output {
        CURRENT.scope(self, handled).await
    }

    /// Notes the answer, and how long it took.
    pub(crate) fn respond(&self, code: u16, took: Duration) {
        let mut state = self.state.lock();
        (state.code, state.took) = (code, Some(took));
    }

    /// Notes the failure that is the answer.
    pub(crate) fn refused(&self, status: &Status) {
        let message = cut(&status.message, MAX_MESSAGE);
        let refusal = Rejection {
            reason: status.reason.as_str().into(),
            message: message.into(),
        };
        self.state.lock().refusal = Some(Box::new(refusal));
    }

    fn entry(&mut self) -> Entry {
        let (info, ledger) = (&self.info, &self.recorder.ledger);
        let state = self.state.get_mut();
        let agent = text(&self.user_agent, 1024);
        let manager = match self.query.first("fieldManager") {
            Some(manager) if !manager.is_empty() => cut(manager, MAX_HEADER),
            _ => agent.split('/').next().unwrap_or_default(),
        };
        let caller = ledger.caller(Caller {
            user: state.user.as_ref().map_or("", |user| &user.name),
            user_agent: agent,
            field_manager: manager,
        });
        let kind = ledger.kind(RequestKind {
            verb: match self.apply {
                true => "apply",
                false => info.verb_text(),
            },
            group: &info.group,
            resource: &info.resource,
            subresource: &info.subresource,
        });
        let commit = |committed: Committed| Commit {
            revision: committed.revision,
            change: committed.change,
            kind: committed.kind.unwrap_or_else(|| kind.clone()),
            key: committed.key,
        };
        let more = std::mem::take(&mut state.more);
        let more: Box<[Commit]> = more.into_iter().map(commit).collect();
        let commit = state.commit.take().map(commit);
        let key = match &commit {
            Some(commit) => commit.key.clone(),
            None => key_of(info),
        };
        let boxed = |value: &Option<HeaderValue>| {
            let text = text(value, MAX_HEADER);
            (!text.is_empty()).then(|| Box::from(text))
        };
        let took = state.took.unwrap_or_else(|| self.began.elapsed());
        let mut entry = Entry::new(caller, kind, key, self.time);
        entry.micros = u32::try_from(took.as_micros()).unwrap_or(u32::MAX);
        entry.audit_id = std::mem::take(&mut self.audit_id);
        entry.code = state.code;
        entry.dry_run = self.query.first("dryRun").is_some_and(|it| !it.is_empty());
        entry.unchanged = state.unchanged && commit.is_none();
        entry.run = boxed(&self.run);
        entry.traceparent = boxed(&self.traceparent);
        entry.commit = commit;
        entry.more = more;
        // A successful deletion is answered with a `Status`, too.
        let refusal = state.refusal.take().unwrap_or_default();
        entry.refusal = (state.code >= 400).then_some(refusal);
        entry
    }
}

impl Drop for Note {
    fn drop(&mut self) {
        let state = self.state.get_mut();
        let code = state.code;
        let verb = self.info.verb;
        let is_recorded = verb.is_write() || verb == Verb::Get && self.is_revealing;
        if self.info.is_resource && is_recorded && (code != 0 || state.commit.is_some()) {
            let entry = self.entry();
            self.recorder.ledger.record(entry);
        } else if matches!(code, 401 | 403 | 429) || code >= 500 {
            let entry = self.entry();
            self.recorder.ledger.refuse(entry);
        }
    }
}

/// Notes a revision that the current request has committed. Without a ledger, or outside a request, nothing happens.
///
/// The generic registry notes its commits. Code that writes to the store itself calls this:
///
/// ```
/// use kubewright_apiserver::{ledger::committed, registry::ResourceSpec};
/// use kubewright_ledger::Change;
/// use kubewright_machinery::gvk::GroupVersionKind;
/// use kubewright_store::{Key, MemoryStore, Payload, Store};
///
/// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
/// let comets = ResourceSpec::new(GroupVersionKind::new("sky.example.com", "v1", "Comet"), "comets");
/// let store = MemoryStore::new();
/// let entry = store.create(Key::new("sky.example.com/comets", "halley"), Payload::plain("{}")).await.unwrap();
/// committed(&comets, Change::Created, &entry);
/// # });
/// ```
pub fn committed(spec: &ResourceSpec, change: Change, entry: &Stored) {
    with(|note| {
        let (group, resource) = (&*spec.group_version.group, &*spec.plural);
        // Most requests write the resource that they name. Comparing two empty texts is slow: see the lookup of kinds.
        let is_core = group.is_empty() && note.info.group.is_empty();
        let is_named = note.info.resource == resource && (is_core || note.info.group == group);
        let kind = (!is_named).then(|| {
            note.recorder.ledger.kind(RequestKind {
                verb: "",
                group,
                resource,
                subresource: "",
            })
        });
        let committed = Committed {
            revision: entry.revision.0,
            change,
            kind,
            key: entry.path.clone(),
        };
        let mut state = note.state.lock();
        match state.commit {
            None => state.commit = Some(committed),
            Some(_) => state.more.push(committed),
        }
    });
}

/// Notes that the object of the current request already was as asked.
pub(crate) fn unchanged() {
    with(|note| note.state.lock().unchanged = true);
}

/// Notes the user of the current request.
pub(crate) fn user(user: &Arc<UserInfo>) {
    with(|note| note.state.lock().user = Some(user.clone()));
}

/// Notes the failure that answers the current request.
pub(crate) fn refused(status: &Status) {
    with(|note| note.refused(status));
}

fn with(change: impl FnOnce(&Note)) {
    let change = Cell::new(Some(change));
    // An error says that there is no note.
    let _ = CURRENT.try_with(|note| {
        if let Some(change) = change.take() {
            change(note);
        }
    });
}

fn key_of(info: &RequestInfo) -> Arc<str> {
    match (info.is_resource, info.namespace.as_str()) {
        (false, _) => info.path.as_str().into(),
        (true, _) if info.resource == "namespaces" => info.name.as_str().into(),
        (true, "") => info.name.as_str().into(),
        (true, namespace) => format!("{namespace}/{}", info.name).into(),
    }
}

fn text(value: &Option<HeaderValue>, most: usize) -> &str {
    let text = value.as_ref().and_then(|value| value.to_str().ok());
    cut(text.unwrap_or_default(), most)
}

/// Cuts a text at the boundary of a character.
fn cut(text: &str, most: usize) -> &str {
    text.get(..most.min(text.len())).unwrap_or_else(|| {
        let end = (0..most).rev().find(|at| text.is_char_boundary(*at));
        &text[..end.unwrap_or_default()]
    })
}
