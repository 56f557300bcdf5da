//! The options of each verb: parsed from the query (for deletes also from the body) and validated with the real texts.

use kubewright_machinery::{
    Status,
    field::{self, ErrorList, Path},
    fields::FieldSelector,
    gvk::GroupKind,
    labels::LabelSelector,
    status, validation,
};
use serde_json::Value;

use super::query::Query;
use crate::object::Object;

/// Options of a get.
#[derive(Clone, Debug, Default)]
pub struct GetOptions {
    /// As given: unset is the newest, `0` is any, a number is not older than that.
    pub resource_version: String,
}

/// How `resourceVersion` is meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Match {
    /// That very revision.
    Exact,
    /// That revision or any later one.
    NotOlderThan,
}

/// Options of a list or a watch.
#[derive(Clone, Debug, Default)]
pub struct ListOptions {
    /// Labels to select by.
    pub labels: LabelSelector,
    /// Fields to select by.
    pub fields: FieldSelector,
    /// As given.
    pub resource_version: String,
    /// How `resource_version` is meant, where said.
    pub resource_version_match: Option<Match>,
    /// At most this many items; 0 is no limit.
    pub limit: usize,
    /// Where the last chunk ended.
    pub continue_token: String,
    /// A watch, not a list.
    pub watch: bool,
    /// The watcher understands bookmarks.
    pub allow_bookmarks: bool,
    /// A watch that starts with the present state.
    pub send_initial_events: Option<bool>,
    /// When to end a watch.
    pub timeout_seconds: Option<u64>,
}

/// What to do about unknown and duplicate fields.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FieldValidation {
    /// Drop them.
    Ignore,
    /// Drop them and warn.
    #[default]
    Warn,
    /// Refuse the object.
    Strict,
}

/// Options of create, update and patch.
#[derive(Clone, Debug, Default)]
pub struct WriteOptions {
    /// Do everything but store.
    pub dry_run: bool,
    /// The name fields are managed under, or empty.
    pub field_manager: String,
    /// What to do about unknown and duplicate fields.
    pub field_validation: FieldValidation,
    /// Apply only: take over fields that others manage.
    pub force: bool,
}

/// What becomes of the dependents of a deleted object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Propagation {
    /// They go first, and the object waits for them.
    Foreground,
    /// They go afterwards.
    Background,
    /// They stay.
    Orphan,
}

/// Options of a delete.
#[derive(Clone, Debug, Default)]
pub struct DeleteOptions {
    /// How long the object may take to go.
    pub grace_period_seconds: Option<i64>,
    /// What becomes of the dependents.
    pub propagation: Option<Propagation>,
    /// The old way to say so.
    pub orphan_dependents: Option<bool>,
    /// The object must have this uid.
    pub uid: Option<String>,
    /// The object must be at this resourceVersion.
    pub resource_version: Option<String>,
    /// Do everything but delete.
    pub dry_run: bool,
}

impl GetOptions {
    /// From the query.
    pub fn parse(query: &Query) -> Self {
        Self {
            resource_version: query
                .first("resourceVersion")
                .unwrap_or_default()
                .to_owned(),
        }
    }
}

impl ListOptions {
    /// From the query. `watch` says whether the path or the query asks for a watch.
    pub fn parse(query: &Query, watch: bool) -> Result<Self, Status> {
        let text = |key: &str| query.first(key).unwrap_or_default().to_owned();
        let selector = text("labelSelector");
        let labels =
            LabelSelector::parse(&selector).map_err(|e| status::bad_request(e.to_string()))?;
        let fields = FieldSelector::parse(&text("fieldSelector"))
            .map_err(|e| status::bad_request(e.to_string()))?;
        let limit = query.integer("limit")?.unwrap_or(0).max(0) as usize;
        let timeout = query.integer("timeoutSeconds")?;
        let mut options = Self {
            labels,
            fields,
            resource_version: text("resourceVersion"),
            resource_version_match: None,
            limit,
            continue_token: text("continue"),
            watch,
            allow_bookmarks: query.flag("allowWatchBookmarks").unwrap_or(false),
            send_initial_events: query.flag("sendInitialEvents"),
            timeout_seconds: timeout.and_then(|t| u64::try_from(t).ok()),
        };
        let errors = options.validate(&text("resourceVersionMatch"));
        if errors.is_empty() {
            Ok(options)
        } else {
            Err(invalid("ListOptions", &errors))
        }
    }

    fn validate(&mut self, wanted: &str) -> ErrorList {
        let path = Path::new("resourceVersionMatch");
        let forbidden = |text: &str| field::forbidden(&path, text);
        let mut errors = ErrorList::new();
        let legacy = self.resource_version.is_empty() || self.resource_version == "0";
        // A watch from nowhere has always started with the present state.
        let from_nowhere =
            self.watch && self.send_initial_events.is_none() && wanted.is_empty() && legacy;
        let wanted = if from_nowhere { "NotOlderThan" } else { wanted };
        if from_nowhere {
            self.send_initial_events = Some(true);
        }
        self.resource_version_match = match wanted {
            "Exact" => Some(Match::Exact),
            "NotOlderThan" => Some(Match::NotOlderThan),
            _ => None,
        };
        if self.watch {
            if self.send_initial_events.is_some() && wanted != "NotOlderThan" {
                errors.push(forbidden(
                    "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan",
                ));
            }
            if !wanted.is_empty() {
                if self.send_initial_events.is_none() {
                    errors.push(forbidden(
                        "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided",
                    ));
                }
                if wanted != "NotOlderThan" {
                    errors.push(field::not_supported(&path, wanted, &["NotOlderThan"]));
                }
                if !self.continue_token.is_empty() {
                    errors.push(forbidden(
                        "resourceVersionMatch is forbidden when continue is provided",
                    ));
                }
            }
            return errors;
        }
        if !wanted.is_empty() {
            if self.resource_version.is_empty() {
                errors.push(forbidden(
                    "resourceVersionMatch is forbidden unless resourceVersion is provided",
                ));
            }
            if !self.continue_token.is_empty() {
                errors.push(forbidden(
                    "resourceVersionMatch is forbidden when continue is provided",
                ));
            }
            if self.resource_version_match.is_none() {
                errors.push(field::not_supported(
                    &path,
                    wanted,
                    &["Exact", "NotOlderThan", ""],
                ));
            }
            if wanted == "Exact" && self.resource_version == "0" {
                errors.push(forbidden(
                    "resourceVersionMatch \"exact\" is forbidden for resourceVersion \"0\"",
                ));
            }
        }
        if self.send_initial_events.is_some() {
            let path = Path::new("sendInitialEvents");
            errors.push(field::forbidden(
                &path,
                "sendInitialEvents is forbidden for list",
            ));
        }
        errors
    }

    /// Whether an object passes the selectors, as far as they name labels and metadata.
    pub fn selects(&self, object: &Object) -> bool {
        let summary = &object.summary;
        self.labels.matches(|key| summary.label(key))
            && self.fields.matches(|field| match field {
                "metadata.name" => Some((&*summary.name).into()),
                "metadata.namespace" => Some((&*summary.namespace).into()),
                _ => None,
            })
    }

    /// Whether a watch starts with the present state.
    pub fn starts_with_state(&self) -> bool {
        match self.send_initial_events {
            Some(wanted) => wanted,
            None => self.resource_version.is_empty() || self.resource_version == "0",
        }
    }
}

/// Which kind of options object a write has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WriteKind {
    /// A create.
    Create,
    /// An update.
    Update,
    /// A patch that is not an apply.
    Patch,
    /// A server-side apply.
    Apply,
}

impl WriteOptions {
    /// From the query.
    pub fn parse(query: &Query, kind: WriteKind) -> Result<Self, Status> {
        let manager = query.first("fieldManager").unwrap_or_default();
        let validation = query.first("fieldValidation").unwrap_or_default();
        let dry_run: Vec<&str> = query.all("dryRun").collect();
        let mut errors = ErrorList::new();
        match kind {
            WriteKind::Apply if manager.is_empty() => {
                errors.push(field::required(
                    &Path::new("fieldManager"),
                    "is required for apply patch",
                ));
            }
            WriteKind::Patch if query.first("force").is_some() => {
                errors.push(field::forbidden(
                    &Path::new("force"),
                    "may not be specified for non-apply patch",
                ));
            }
            _ => {}
        }
        let path = Path::new("fieldManager");
        errors.extend(validation::validate_field_manager(manager, &path));
        validate_dry_run(&dry_run, &mut errors);
        let field_validation = match validation {
            "Ignore" => FieldValidation::Ignore,
            "" | "Warn" => FieldValidation::Warn,
            "Strict" => FieldValidation::Strict,
            other => {
                let supported = ["", "Ignore", "Strict", "Warn"];
                errors.push(field::not_supported(
                    &Path::new("fieldValidation"),
                    other,
                    &supported,
                ));
                FieldValidation::Warn
            }
        };
        if !errors.is_empty() {
            let name = match kind {
                WriteKind::Create => "CreateOptions",
                WriteKind::Update => "UpdateOptions",
                WriteKind::Patch | WriteKind::Apply => "PatchOptions",
            };
            return Err(invalid(name, &errors));
        }
        Ok(Self {
            dry_run: !dry_run.is_empty(),
            field_manager: manager.to_owned(),
            field_validation,
            force: query.flag("force").unwrap_or(false),
        })
    }
}

impl DeleteOptions {
    /// From the query, for deletes without a body.
    pub fn parse(query: &Query) -> Result<Self, Status> {
        let policy = query.first("propagationPolicy");
        let dry_run: Vec<&str> = query.all("dryRun").collect();
        Self {
            grace_period_seconds: query.integer("gracePeriodSeconds")?,
            orphan_dependents: query.flag("orphanDependents"),
            ..Self::default()
        }
        .checked(policy, &dry_run)
    }

    /// From a decoded `DeleteOptions` body.
    pub fn from_value(value: &Value) -> Result<Self, Status> {
        let text = |v: &Value| v.as_str().map(str::to_owned);
        let preconditions = &value["preconditions"];
        let dry_run: Vec<&str> = value["dryRun"]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(Value::as_str)
            .collect();
        Self {
            grace_period_seconds: value["gracePeriodSeconds"].as_i64(),
            orphan_dependents: value["orphanDependents"].as_bool(),
            uid: text(&preconditions["uid"]),
            resource_version: text(&preconditions["resourceVersion"]),
            ..Self::default()
        }
        .checked(value["propagationPolicy"].as_str(), &dry_run)
    }

    fn checked(mut self, policy: Option<&str>, dry_run: &[&str]) -> Result<Self, Status> {
        let path = Path::new("propagationPolicy");
        let mut errors = ErrorList::new();
        if let (Some(_), Some(policy)) = (self.orphan_dependents, policy) {
            let text = "orphanDependents and deletionPropagation cannot be both set";
            errors.push(field::invalid_str(&path, policy, text));
        }
        self.propagation = match policy {
            None => None,
            Some("Foreground") => Some(Propagation::Foreground),
            Some("Background") => Some(Propagation::Background),
            Some("Orphan") => Some(Propagation::Orphan),
            Some(other) => {
                let supported = ["Foreground", "Background", "Orphan", "nil"];
                errors.push(field::not_supported(&path, other, &supported));
                None
            }
        };
        validate_dry_run(dry_run, &mut errors);
        self.dry_run = !dry_run.is_empty();
        if errors.is_empty() {
            Ok(self)
        } else {
            Err(invalid("DeleteOptions", &errors))
        }
    }
}

fn invalid(kind: &str, errors: &ErrorList) -> Status {
    status::invalid(&GroupKind::new("meta.k8s.io", kind), "", errors)
}

fn validate_dry_run(values: &[&str], errors: &mut ErrorList) {
    if values.iter().any(|v| *v != "All") {
        let path = Path::new("dryRun");
        let mut error = field::not_supported(&path, "", &["All"]);
        error.value = Some(Value::from(values.to_vec()).to_string());
        errors.push(error);
    }
}
