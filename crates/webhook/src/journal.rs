//! [`Journal`]: the most recent reviews.

use std::{collections::VecDeque, sync::Arc, time::Duration};

use jiff::Timestamp;
use kubewright_controller::Clock;
use parking_lot::{Mutex, RwLock};
use serde::Serialize;
use serde_json::{Value, json};

use crate::{
    admission::Admission,
    conversion::Converted,
    review::{AdmissionResponse, Operation},
};

/// The number of reviews that are kept.
const KEPT: usize = 100;

/// The maximum length of a message, in characters.
const MAX_MESSAGE: usize = 512;

/// The most recent reviews.
pub(crate) struct Journal {
    clock: RwLock<Clock>,
    state: Mutex<State>,
}

impl Default for Journal {
    fn default() -> Self {
        Self {
            clock: RwLock::new(Arc::new(Timestamp::now)),
            state: Mutex::default(),
        }
    }
}

#[derive(Default)]
struct State {
    count: u64,
    recent: VecDeque<Entry>,
}

/// A review that was handled.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Entry {
    number: u64,
    path: Box<str>,
    operation: &'static str,
    kind: String,
    /// Empty for cluster-scoped objects.
    #[serde(skip_serializing_if = "String::is_empty")]
    namespace: String,
    /// Empty for objects whose name is still to be generated, and for conversions.
    #[serde(skip_serializing_if = "String::is_empty")]
    name: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    subresource: String,
    dry_run: bool,
    allowed: bool,
    /// The reason of a rejection.
    #[serde(skip_serializing_if = "String::is_empty")]
    message: String,
    /// The number of changes that a defaulter made.
    changes: usize,
    warnings: usize,
    /// The number of objects that were converted, and their version.
    #[serde(skip_serializing_if = "Option::is_none")]
    converted: Option<(usize, String)>,
    end: Timestamp,
    duration_seconds: f64,
}

impl Journal {
    /// Adds an admission review.
    pub(crate) fn admitted(
        &self,
        path: &str,
        ctx: &Admission<'_>,
        response: &AdmissionResponse,
        took: Duration,
    ) {
        let text = |text: Option<&str>| text.unwrap_or_default().to_owned();
        let status = response.status();
        self.add(Entry {
            operation: ctx.operation().as_str(),
            kind: ctx.kind().kind.clone(),
            namespace: text(ctx.namespace()),
            name: text(ctx.name()),
            subresource: text(ctx.subresource()),
            dry_run: ctx.is_dry_run(),
            allowed: response.is_allowed(),
            message: status.map_or_else(String::new, |status| shortened(&status.message)),
            changes: response.patch().len(),
            warnings: response.warnings().len(),
            ..Entry::new(path, took, self.now())
        });
    }

    /// Adds a conversion review.
    pub(crate) fn converted(&self, path: &str, converted: &Converted, took: Duration) {
        self.add(Entry {
            operation: "CONVERT",
            kind: converted.kind.clone(),
            allowed: converted.failure.is_none(),
            message: converted
                .failure
                .as_deref()
                .map_or_else(String::new, shortened),
            converted: Some((converted.objects, converted.desired.clone())),
            ..Entry::new(path, took, self.now())
        });
    }

    /// Replaces the clock (default: the machine's).
    pub(crate) fn set_clock(&self, clock: Clock) {
        *self.clock.write() = clock;
    }

    fn now(&self) -> Timestamp {
        let clock = self.clock.read().clone();
        clock()
    }

    /// Returns the number of reviews and the most recent ones.
    pub(crate) fn to_json(&self) -> Value {
        let state = self.state.lock();
        json!({"reviews": state.count, "recent": state.recent})
    }

    fn add(&self, mut entry: Entry) {
        let mut state = self.state.lock();
        state.count += 1;
        entry.number = state.count;
        if state.recent.len() == KEPT {
            state.recent.pop_front();
        }
        state.recent.push_back(entry);
    }
}

impl Entry {
    fn new(path: &str, took: Duration, end: Timestamp) -> Self {
        Self {
            number: 0,
            path: path.into(),
            operation: Operation::Other.as_str(),
            kind: String::new(),
            namespace: String::new(),
            name: String::new(),
            subresource: String::new(),
            dry_run: false,
            allowed: true,
            message: String::new(),
            changes: 0,
            warnings: 0,
            converted: None,
            end,
            duration_seconds: took.as_secs_f64(),
        }
    }
}

fn shortened(text: &str) -> String {
    text.chars().take(MAX_MESSAGE).collect()
}
