//! Warnings about the pods of a namespace that would not be admitted any more.

use std::{
    collections::{BTreeMap, HashSet},
    time::{Duration, Instant},
};

use kubewright_apiserver::request::RequestContext;
use kubewright_machinery::{Status, go, json::Read, time::parse_duration};
use kubewright_store::Entry;
use serde_json::Value;

use super::{
    PodSecurity,
    checks::{self, Pod},
    policy::Standard,
};
use crate::admission::stored;

/// The number of pods that are checked at most.
const MOST: usize = 3000;
/// The time that checking may take.
const LONGEST: Duration = Duration::from_secs(1);
/// The number of pods after which other tasks have their turn.
const TURN: usize = 50;

/// The pods with the same violations.
struct Pods {
    /// The first name in alphabetical order.
    first: String,
    count: usize,
}

impl PodSecurity {
    /// Returns warnings about the pods of a namespace that violate a standard.
    pub(super) async fn warn_about_existing(
        &self,
        cx: &RequestContext,
        namespace: &str,
        standard: Standard,
    ) -> Vec<String> {
        let deadline = Instant::now() + time(cx);
        let Ok(entries) = self.prioritized(namespace).await else {
            let failed = "failed to list pods while checking new PodSecurity enforce level";
            return vec![failed.to_owned()];
        };
        let (total, mut checked) = (entries.len(), 0);
        let mut found = BTreeMap::<String, Pods>::new();
        for entry in entries.iter().take(MOST) {
            checked += 1;
            if let Ok(pod) = stored::decode::<Value>(entry) {
                note(&mut found, &pod, standard);
            }
            if Instant::now() >= deadline {
                break;
            }
            if checked % TURN == 0 {
                tokio::task::yield_now().await;
            }
        }
        let mut warnings = Vec::new();
        if checked < total {
            warnings.push(format!(
                "new PodSecurity enforce level only checked against the first {checked} of {total} existing pods"
            ));
        }
        if !found.is_empty() {
            warnings.push(format!(
                "existing pods in namespace {} violate the new PodSecurity enforce level \"{standard}\"",
                go::quote(namespace)
            ));
        }
        let mut lines: Vec<String> = found
            .into_iter()
            .map(|(reasons, pods)| format!("{}: {reasons}", pods.describe()))
            .collect();
        lines.sort_unstable();
        warnings.extend(lines);
        warnings
    }

    /// Returns the pods of a namespace, one of each controller first. Pods of exempt runtime classes are left out.
    async fn prioritized(&self, namespace: &str) -> Result<Vec<Entry>, Status> {
        let prefix = format!("{namespace}/");
        let entries = self.store.entries("pods", prefix).await?;
        let (mut first, mut others) = (Vec::new(), Vec::new());
        let mut controllers = HashSet::new();
        for (i, entry) in entries.into_iter().enumerate() {
            if i % TURN == 0 {
                tokio::task::yield_now().await;
            }
            let pod: Facts = stored::decode(&entry)?;
            let runtime_class = pod.spec.runtime_class_name;
            if runtime_class.is_some_and(|class| self.configuration.is_exempt_class(&class)) {
                continue;
            }
            let mut owners = pod.metadata.owner_references.into_iter();
            let controller = owners.find(|owner| owner.controller);
            let is_first = controller.is_none_or(|owner| controllers.insert(owner.uid));
            match is_first {
                true => first.push(entry),
                false => others.push(entry),
            }
        }
        first.append(&mut others);
        Ok(first)
    }
}

impl Pods {
    fn describe(&self) -> String {
        let Self { first, count } = self;
        match count {
            1 => first.clone(),
            2 => format!("{first} (and 1 other pod)"),
            _ => format!("{first} (and {} other pods)", count - 1),
        }
    }
}

/// Adds a pod to those with the same violations.
fn note(found: &mut BTreeMap<String, Pods>, pod: &Value, standard: Standard) {
    let view = Pod {
        metadata: &pod["metadata"],
        spec: &pod["spec"],
    };
    let violations = checks::evaluate(standard, &view);
    if violations.is_empty() {
        return;
    }
    let name = pod["metadata"]["name"].text();
    let pods = found.entry(violations.reasons()).or_insert_with(|| Pods {
        first: name.to_owned(),
        count: 0,
    });
    pods.count += 1;
    if name < pods.first.as_str() {
        name.clone_into(&mut pods.first);
    }
}

/// Returns the time for checking: at most half of what the client gives the request.
fn time(cx: &RequestContext) -> Duration {
    let asked = cx.query.first("timeout").unwrap_or_default();
    let nanoseconds = parse_duration(asked).ok();
    let nanoseconds = nanoseconds.and_then(|n| u64::try_from(n).ok());
    let asked = nanoseconds.filter(|n| *n > 0).map(Duration::from_nanos);
    asked.map_or(LONGEST, |asked| LONGEST.min(asked / 2))
}

/// The fields that decide about the order of a pod.
#[derive(serde::Deserialize)]
struct Facts {
    metadata: Metadata,
    #[serde(default)]
    spec: Spec,
}

#[derive(serde::Deserialize)]
#[serde(rename_all = "camelCase")]
struct Metadata {
    #[serde(default)]
    owner_references: Vec<Owner>,
}

#[derive(serde::Deserialize)]
struct Owner {
    uid: String,
    #[serde(default)]
    controller: bool,
}

#[derive(Default, serde::Deserialize)]
#[serde(rename_all = "camelCase")]
struct Spec {
    #[serde(default)]
    runtime_class_name: Option<String>,
}
