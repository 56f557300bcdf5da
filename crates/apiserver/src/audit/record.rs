//! [`Record`]: the event of a request while it is handled.

use std::{any::Any, sync::Arc};

use bytes::Bytes;
use http::{header, request::Parts};
use jiff::Timestamp;
use kubewright_machinery::{Status, status::Reason};
use parking_lot::Mutex;
use serde_json::Value;

use super::{
    Auditing, Event, ObjectReference, origin,
    policy::{Level, Outcome, Stage},
    text,
};
use crate::{
    auth::Attributes,
    request::{Query, RequestInfo, UserInfo},
};

/// The most of a `User-Agent` that is recorded.
const MAX_USER_AGENT: usize = 1024;

/// The most bytes of an answer that are kept while it is sent.
pub(crate) const MAX_RESPONSE: usize = 10 << 20;

/// The annotation of an event whose answer was larger.
const TRUNCATED: &str = "audit.k8s.io/truncated";

/// The event of a request, filled in while it is handled.
///
/// Nothing but annotations is recorded before [`Record::begin`], when the user is known and the policy has decided.
#[derive(Default)]
pub(crate) struct Record {
    auditing: Option<Arc<Auditing>>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    event: Event,
    outcome: Outcome,
    /// Whether the policy has decided.
    decided: bool,
    /// Whether the user could be authenticated.
    is_known: bool,
    /// Whether the answer begins an event of its own.
    starts: bool,
    /// Whether the last event has been recorded.
    over: bool,
}

impl Record {
    /// Creates the record of a request that has just arrived.
    pub(crate) fn new(auditing: Arc<Auditing>, audit_id: String) -> Self {
        let event = Event {
            audit_id,
            request_received: auditing.clock.now(),
            ..Event::default()
        };
        Self {
            auditing: Some(auditing),
            state: Mutex::new(State {
                event,
                ..State::default()
            }),
        }
    }

    /// Adds an annotation.
    ///
    /// # Errors
    ///
    /// Returns the value if there is another one with the key.
    pub(crate) fn annotate(&self, key: &str, value: impl FnOnce() -> String) -> Result<(), String> {
        let mut state = self.state.lock();
        if state.decided && state.outcome.level == Level::None {
            return Ok(());
        }
        let value = value();
        match state.event.annotations.get(key) {
            Some(known) if *known != value => Err(value),
            Some(_) => Ok(()),
            None => {
                state.event.annotations.insert(key.to_owned(), value);
                Ok(())
            }
        }
    }

    /// Reports whether events of this level, or of a higher one, are recorded.
    pub(crate) fn is_at(&self, level: Level) -> bool {
        let state = self.state.lock();
        state.decided && state.outcome.level >= level
    }

    /// Removes and returns all annotations.
    pub(crate) fn take_annotations(&self) -> Vec<(String, String)> {
        let mut state = self.state.lock();
        std::mem::take(&mut state.event.annotations)
            .into_iter()
            .collect()
    }

    /// Lets the policy decide about a request, and records that it was received. `user` is `None` if nobody could be
    /// authenticated.
    pub(crate) fn begin(
        &self,
        user: Option<&Arc<UserInfo>>,
        parts: &Parts,
        info: &RequestInfo,
        query: &Query,
    ) {
        let Some(auditing) = &self.auditing else {
            return;
        };
        let is_known = user.is_some();
        let user = user.cloned().unwrap_or_default();
        let attributes = Attributes::of_request(&user, info, query);
        let outcome = auditing.policy.decide(&attributes, is_known);
        auditing.metrics.decided(outcome.level);
        let mut state = self.state.lock();
        state.outcome = outcome;
        state.decided = true;
        state.is_known = is_known;
        if outcome.level == Level::None {
            return;
        }
        state.starts = !is_known || info.is_long_running();
        let event = &mut state.event;
        event.level = outcome.level;
        event.verb = attributes.verb.to_owned();
        event.request_uri = parts
            .uri
            .path_and_query()
            .map_or_else(|| "/".to_owned(), ToString::to_string);
        event.user_agent = user_agent(parts);
        event.source_ips = origin::source_ips(parts);
        event.object_ref = attributes.resource().map(|resource| ObjectReference {
            resource: resource.resource.to_owned(),
            namespace: resource.namespace.to_owned(),
            name: resource.name.to_owned(),
            api_group: resource.group.to_owned(),
            api_version: resource.version.to_owned(),
            subresource: resource.subresource.to_owned(),
            ..ObjectReference::default()
        });
        event.user = user;
        if is_known {
            event.stage_timestamp = event.request_received;
            self.send(&mut state, Stage::RequestReceived);
        }
    }

    /// Records the user that the request acts as, and the rule that allowed it: empty for the verb `impersonate`.
    pub(crate) fn impersonates(&self, user: &Arc<UserInfo>, constraint: &str) {
        let mut state = self.state.lock();
        state.event.impersonated_user = Some(user.clone());
        constraint.clone_into(&mut state.event.impersonation_constraint);
    }

    /// Records the object that was sent: the reference to it, and if the level asks for it, its JSON.
    pub(crate) fn request_object(&self, object: &Value, json: impl FnOnce() -> Option<Bytes>) {
        let level = self.level();
        if level < Level::Metadata {
            return;
        }
        let json = (level >= Level::Request).then(json).flatten();
        let mut state = self.state.lock();
        let json = json.map(|json| state.outcome.tidy(json));
        if let Some(reference) = &mut state.event.object_ref {
            let metadata = &object["metadata"];
            for (field, key) in [
                (&mut reference.namespace, "namespace"),
                (&mut reference.name, "name"),
                (&mut reference.uid, "uid"),
                (&mut reference.resource_version, "resourceVersion"),
            ] {
                if field.is_empty() {
                    metadata[key].as_str().unwrap_or_default().clone_into(field);
                }
            }
        }
        state.event.request_object = json;
    }

    /// Records a patch as it was sent, if it is JSON.
    pub(crate) fn request_patch(&self, patch: &Bytes) {
        if self.level() >= Level::Request {
            let json = text::compact(patch);
            self.state.lock().event.request_object = json;
        }
    }

    /// Returns whether answers are recorded.
    pub(crate) fn wants_response(&self) -> bool {
        self.level() >= Level::RequestResponse
    }

    /// Records the answer, if the level asks for it.
    pub(crate) fn response_object(&self, json: impl FnOnce() -> Bytes) {
        if self.wants_response() {
            let json = json();
            let mut state = self.state.lock();
            state.event.response_object = Some(state.outcome.tidy(json));
        }
    }

    /// Records that the answer was too large to be recorded.
    pub(crate) fn response_is_too_large(&self) {
        let mut state = self.state.lock();
        state
            .event
            .annotations
            .insert(TRUNCATED.to_owned(), "true".to_owned());
    }

    /// Records a [`Status`] as the answer.
    pub(crate) fn status(&self, status: &Status) {
        if self.level() >= Level::Metadata {
            self.response_object(|| status.to_json().into());
            self.state.lock().event.response_status = Some(status.clone());
        }
    }

    /// Records the code of the answer, which is sent now.
    pub(crate) fn respond(&self, code: u16) {
        let mut state = self.state.lock();
        if state.is_silent() {
            return;
        }
        let status = state.event.response_status.get_or_insert_with(code_only);
        status.code = code;
        if state.starts {
            state.event.stage_timestamp = self.now();
            self.send(&mut state, Stage::ResponseStarted);
        }
    }

    /// Records that the answer is complete.
    pub(crate) fn complete(&self) {
        let mut state = self.state.lock();
        if !state.is_silent() && !state.over && state.is_known {
            state.over = true;
            state.event.stage_timestamp = self.now();
            self.send(&mut state, Stage::ResponseComplete);
        }
    }

    /// Records that handling the request caused a panic.
    pub(crate) fn panicked(&self, cause: &(dyn Any + Send)) {
        let text = cause
            .downcast_ref::<&str>()
            .copied()
            .or_else(|| cause.downcast_ref::<String>().map(String::as_str))
            .unwrap_or("unknown cause");
        let mut state = self.state.lock();
        if state.is_silent() {
            return;
        }
        state.over = true;
        let message = format!("APIServer panic'd: {text}");
        let status = Status::failure(500, Reason::InternalError, message);
        state.event.response_status = Some(status);
        state.event.stage_timestamp = self.now();
        self.send(&mut state, Stage::Panic);
    }

    fn now(&self) -> Timestamp {
        let auditing = self.auditing.as_ref();
        auditing.map_or_else(Timestamp::now, |auditing| auditing.clock.now())
    }

    fn level(&self) -> Level {
        self.state.lock().outcome.level
    }

    fn send(&self, state: &mut State, stage: Stage) {
        state.event.stage = stage;
        if let Some(auditing) = &self.auditing
            && !state.outcome.omitted.contains(stage)
        {
            auditing.metrics.recorded();
            auditing.sink.record(Arc::new(state.event.clone()));
        }
    }
}

impl State {
    /// Returns whether no events are recorded, because of the policy or because it was not evaluated yet.
    fn is_silent(&self) -> bool {
        self.outcome.level == Level::None
    }
}

impl Outcome {
    fn tidy(self, json: Bytes) -> Bytes {
        match self.omits_managed_fields {
            true => text::without_managed_fields(&json),
            false => json,
        }
    }
}

/// Completes the record of an answer when its body is dropped.
pub(crate) struct Completion(pub(crate) Arc<Record>);

impl Drop for Completion {
    fn drop(&mut self) {
        self.0.complete();
    }
}

/// Returns a status with nothing in it, to which the code is added.
fn code_only() -> Status {
    let mut status = Status::failure(0, "", "");
    status.status = String::new();
    status
}

fn user_agent(parts: &Parts) -> String {
    let value = parts.headers.get(header::USER_AGENT);
    let bytes = value.map(|value| value.as_bytes()).unwrap_or_default();
    match bytes.get(..MAX_USER_AGENT) {
        Some(start) if bytes.len() > MAX_USER_AGENT => {
            String::from_utf8_lossy(start).into_owned() + "...TRUNCATED"
        }
        _ => String::from_utf8_lossy(bytes).into_owned(),
    }
}

#[cfg(test)]
mod tests {
    use http::{Method, Request};

    use super::*;
    use crate::{
        audit::{Policy, Ring},
        clock::SystemClock,
    };

    #[test]
    fn the_user_that_a_request_acts_as_is_recorded_after_the_request_was_received() {
        let ring = Ring::new(10);
        let policy = Policy::everything(Level::Metadata);
        let sink = Arc::new(ring.clone());
        let auditing = Auditing {
            policy,
            sink,
            clock: Arc::new(SystemClock),
            metrics: Arc::default(),
        };
        let record = Record::new(Arc::new(auditing), "id".into());
        let query = Query::parse(None);
        let info = RequestInfo::new(&Method::GET, "/api/v1/pods", &query);
        let (parts, ()) = Request::get("/api/v1/pods").body(()).unwrap().into_parts();
        let user = |name: &str| {
            Arc::new(UserInfo {
                name: name.into(),
                ..UserInfo::default()
            })
        };
        record.begin(Some(&user("admin")), &parts, &info, &query);
        record.impersonates(&user("zoe"), "impersonate:user-info");
        record.respond(200);
        record.complete();
        let lines: Vec<String> = ring.events().iter().map(|event| event.to_json()).collect();
        let impersonated = concat!(
            r#""user":{"username":"admin"},"impersonatedUser":{"username":"zoe"},"#,
            r#""authenticationMetadata":{"impersonationConstraint":"impersonate:user-info"}"#
        );
        let found: Vec<bool> = lines
            .iter()
            .map(|line| line.contains(impersonated))
            .collect();
        assert_eq!(found, [false, true], "{lines:?}");
    }
}
