//! The query of an endpoint, and the state at a revision.

use std::{collections::HashMap, sync::Arc};

use jiff::Timestamp;
use kubewright_ledger::{Entry, Ledger, ObjectRef, PageQuery, Revision, Run, Values};
use kubewright_machinery::{Status, gvk::GroupResource, status};

use crate::{
    registry::{History, Registry},
    request::Query,
};

/// A request to an endpoint.
pub(super) struct Asked<'a> {
    pub(super) ledger: &'a Ledger,
    pub(super) registry: &'a Registry,
    pub(super) query: &'a Query,
    pub(super) now: Timestamp,
}

/// An object and its past.
pub(super) struct Target {
    pub(super) object: ObjectRef,
    pub(super) history: Arc<dyn History>,
    pub(super) values: Values,
}

/// The moment that an answer is about: now, or when a revision was the newest.
#[derive(Clone, Copy)]
pub(super) struct Moment {
    pub(super) revision: Option<u64>,
    pub(super) time: Timestamp,
}

impl Asked<'_> {
    pub(super) fn text(&self, name: &str) -> &str {
        self.query.first(name).unwrap_or_default()
    }

    pub(super) fn number(&self, name: &str) -> Result<Option<u64>, Status> {
        let text = self.text(name);
        if text.is_empty() {
            return Ok(None);
        }
        let parsed = text.parse().map(Some);
        parsed.map_err(|_| status::bad_request(format!("{name}: {text:?} is not a number")))
    }

    /// Returns a parameter that is `true` or `false`.
    pub(super) fn choice(&self, name: &str) -> Result<Option<bool>, Status> {
        match self.text(name) {
            "" => Ok(None),
            "true" => Ok(Some(true)),
            "false" => Ok(Some(false)),
            other => Err(status::bad_request(format!(
                "{name}: {other:?} is neither true nor false"
            ))),
        }
    }

    pub(super) fn page(&self) -> Result<PageQuery, Status> {
        let limit = self.number("limit")?;
        Ok(PageQuery {
            after: self.number("after")?,
            limit: limit.map(|limit| usize::try_from(limit).unwrap_or(usize::MAX)),
        })
    }

    /// Returns the moment that the parameter `at` names.
    pub(super) fn moment(&self) -> Result<Moment, Status> {
        let Some(revision) = self.number("at")? else {
            return Ok(Moment {
                revision: None,
                time: self.now,
            });
        };
        let entries = self.ledger.entries();
        let is_before = |entry: &Entry| {
            let mut commits = entry.commits();
            commits.any(|commit| commit.revision <= revision)
        };
        let last = entries.iter().rev().find(|(_, entry)| is_before(entry));
        Ok(Moment {
            revision: Some(revision),
            time: last.map_or(Timestamp::MIN, |(_, entry)| entry.time),
        })
    }

    /// Returns the name of the object that the parameters name, if they name one.
    pub(super) fn object(&self) -> Option<ObjectRef> {
        let text = |name: &str| self.text(name).to_owned();
        let object = ObjectRef {
            group: text("group"),
            resource: text("resource"),
            namespace: text("namespace"),
            name: text("name"),
        };
        (!object.resource.is_empty() && !object.name.is_empty()).then_some(object)
    }

    /// Finds the resource of the object that the parameters name.
    pub(super) fn target(&self) -> Result<Target, Status> {
        let object = self
            .object()
            .ok_or_else(|| status::bad_request("the parameters resource and name are required"))?;
        let history = self.history(&object, self.text("version"))?;
        Ok(Target {
            values: Values::of(&object.group, &object.resource),
            history,
            object,
        })
    }

    /// Finds the resource of an object; `None` if it is not served.
    pub(super) fn target_of(&self, object: &ObjectRef) -> Option<Target> {
        Some(Target {
            history: self.history(object, "").ok()?,
            values: Values::of(&object.group, &object.resource),
            object: object.clone(),
        })
    }

    /// Returns the past of the objects of a resource.
    fn history(&self, object: &ObjectRef, version: &str) -> Result<Arc<dyn History>, Status> {
        let groups = self.registry.groups().iter();
        let versions = groups
            .filter(|group| group.name == object.group)
            .flat_map(|group| &group.versions);
        let mut resources = versions
            .filter(|(name, _)| version.is_empty() || name == version)
            .flat_map(|(_, resources)| resources)
            .filter(|resource| resource.spec().plural == object.resource);
        let found = resources.find_map(|resource| resource.handlers().history.clone());
        found.ok_or_else(status::resource_not_found)
    }
}

impl Target {
    /// Returns the known changes up to a moment with their writers, and whether the first one is the creation.
    pub(super) async fn revisions(
        &self,
        ledger: &Ledger,
        moment: Moment,
    ) -> Result<(Vec<Revision>, bool), Status> {
        let ObjectRef {
            namespace, name, ..
        } = &self.object;
        let past = self.history.history(namespace, name, moment.revision);
        let past = past.await?;
        let writers = writers(ledger, &self.object);
        let runs = ledger.runs();
        // Clients learn from the first answer that runs can be named; the runs themselves name all their writes.
        let run_of: HashMap<u64, &str> = runs
            .iter()
            .flat_map(|run| run.writes().map(move |request| (run, request)))
            .filter(|(_, request)| request.object == self.object)
            .filter_map(|(run, request)| Some((request.revision?, run.id.as_str())))
            .collect();
        let described = past.versions.iter().map(|version| {
            let writer = writers.get(&version.revision);
            let writer = writer.map(|(number, entry)| (*number, &**entry));
            let described = Revision::of(version, writer, self.values);
            let run = described.run.clone();
            let run = run.or_else(|| Some((*run_of.get(&described.revision)?).to_owned()));
            Revision { run, ..described }
        });
        Ok((described.collect(), past.complete))
    }

    /// Returns the object at a moment, masked, and the revision of its last write then.
    pub(super) async fn at(&self, moment: Moment) -> Result<(u64, serde_json::Value), Status> {
        let ObjectRef {
            namespace, name, ..
        } = &self.object;
        let found = self.history.object_at(namespace, name, moment.revision);
        let (revision, mut object) = found.await?.ok_or_else(|| self.not_found())?;
        self.values.apply(&mut object);
        Ok((revision, object))
    }

    pub(super) fn not_found(&self) -> Status {
        let resource = GroupResource::new(&self.object.group, &self.object.resource);
        status::not_found(&resource, &self.object.name)
    }
}

impl Moment {
    /// Reports whether a request had happened.
    pub(super) fn has_entry(&self, entry: &Entry) -> bool {
        match self.revision {
            None => true,
            Some(revision) => match entry.commits().next() {
                Some(commit) => commit.revision <= revision,
                None => entry.time <= self.time,
            },
        }
    }

    /// Reports whether a run had started.
    pub(super) fn has_run(&self, run: &Run) -> bool {
        self.revision.is_none() || run.start <= self.time
    }
}

/// Returns the requests that wrote the revisions of an object.
fn writers(ledger: &Ledger, object: &ObjectRef) -> HashMap<u64, (u64, Arc<Entry>)> {
    let mut writers = HashMap::new();
    for (number, entry) in ledger.entries() {
        for commit in entry.commits() {
            if commit.is_about(object) {
                writers.insert(commit.revision, (number, entry.clone()));
            }
        }
    }
    writers
}
