//! The options of each verb, parsed from the query or a body, and validated with the messages of kube-apiserver.

use kubewright_machinery::{
    PropagationPolicy, Status,
    field::{self, ErrorList, Path},
    fields::FieldSelector,
    gvk::GroupKind,
    labels::LabelSelector,
    status, validation,
};
use serde_json::Value;

use super::query::Query;
use crate::object::Object;

/// The options of a get.
///
/// ```
/// use kubewright_apiserver::request::{GetOptions, Query};
///
/// let options = GetOptions::parse(&Query::parse(Some("resourceVersion=0")));
/// assert_eq!(options.resource_version, "0");
/// ```
#[derive(Clone, Debug, Default)]
pub struct GetOptions {
    /// The resourceVersion as given: unset is the newest, `0` is any, a number is a minimum.
    pub resource_version: String,
}

/// The meaning of `resourceVersion` in a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Match {
    /// Exactly that revision.
    Exact,
    /// That revision or any later one.
    NotOlderThan,
}

/// The options of a list or a watch.
///
/// ```
/// use kubewright_apiserver::request::{ListOptions, Query};
///
/// let options = ListOptions::of_list(&Query::parse(Some("labelSelector=app%3Dweb&limit=500"))).unwrap();
/// assert_eq!(options.limit, 500);
/// assert!(options.labels.matches(|key| (key == "app").then_some("web")));
/// ```
#[derive(Clone, Debug, Default)]
pub struct ListOptions {
    /// The label selector.
    pub labels: LabelSelector,
    /// The field selector.
    pub fields: FieldSelector,
    /// The resourceVersion as given.
    pub resource_version: String,
    /// The meaning of `resource_version`, if it is given.
    pub resource_version_match: Option<Match>,
    /// The maximum number of items; 0 means no limit.
    pub limit: usize,
    /// The continue token of the previous chunk.
    pub continue_token: String,
    /// Whether it is a watch, not a list.
    pub watch: bool,
    /// Whether the watcher understands bookmarks.
    pub allow_bookmarks: bool,
    /// Whether a watch starts with the current state.
    pub send_initial_events: Option<bool>,
    /// The timeout of a watch.
    pub timeout_seconds: Option<u64>,
}

/// The treatment of unknown and duplicate fields.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum FieldValidation {
    /// Ignore them.
    Ignore,
    /// Ignore them, with a warning.
    #[default]
    Warn,
    /// Reject the object.
    Strict,
}

/// The options of a create, an update or a patch.
///
/// ```
/// use kubewright_apiserver::request::{FieldValidation, Query, WriteKind, WriteOptions};
///
/// let query = Query::parse(Some("dryRun=All&fieldValidation=Strict"));
/// let options = WriteOptions::parse(&query, WriteKind::Create).unwrap();
/// assert!(options.dry_run);
/// assert_eq!(options.field_validation, FieldValidation::Strict);
///
/// // An apply needs a field manager.
/// assert!(WriteOptions::parse(&query, WriteKind::Apply).is_err());
/// ```
#[derive(Clone, Debug, Default)]
pub struct WriteOptions {
    /// Whether to skip only the write to the store.
    pub dry_run: bool,
    /// The field manager, or empty.
    pub field_manager: String,
    /// The treatment of unknown and duplicate fields.
    pub field_validation: FieldValidation,
    /// Whether an apply takes over fields that others own.
    pub force: bool,
}

/// The options of a delete.
///
/// ```
/// use kubewright_apiserver::request::{DeleteOptions, Query};
/// use kubewright_machinery::PropagationPolicy;
/// use serde_json::json;
///
/// let query = Query::parse(Some("gracePeriodSeconds=0&propagationPolicy=Orphan"));
/// let options = DeleteOptions::parse(&query).unwrap();
/// assert_eq!(options.grace_period_seconds, Some(0));
/// assert_eq!(options.propagation, Some(PropagationPolicy::Orphan));
///
/// let options = DeleteOptions::from_value(&json!({"preconditions": {"uid": "1234"}})).unwrap();
/// assert_eq!(options.uid.as_deref(), Some("1234"));
/// ```
#[derive(Clone, Debug, Default)]
pub struct DeleteOptions {
    /// The grace period.
    pub grace_period_seconds: Option<i64>,
    /// The propagation policy.
    pub propagation: Option<PropagationPolicy>,
    /// The deprecated form of the propagation policy.
    pub orphan_dependents: Option<bool>,
    /// The uid that the object must have.
    pub uid: Option<String>,
    /// The resourceVersion that the object must have.
    pub resource_version: Option<String>,
    /// Whether to skip only the delete itself.
    pub dry_run: bool,
}

impl GetOptions {
    /// Parses the query.
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
    /// Parses the query of a list.
    ///
    /// # Errors
    ///
    /// Fails with 400 or 422 if an option is invalid.
    pub fn of_list(query: &Query) -> Result<Self, Status> {
        Self::parse(query, false)
    }

    /// Parses the query of a watch.
    ///
    /// # Errors
    ///
    /// Fails with 400 or 422 if an option is invalid.
    pub fn of_watch(query: &Query) -> Result<Self, Status> {
        Self::parse(query, true)
    }

    fn parse(query: &Query, watch: bool) -> Result<Self, Status> {
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
        // A watch without a resourceVersion starts with the current state.
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

    /// Returns whether an object matches the selectors, as far as they name labels and metadata.
    pub fn selects(&self, object: &Object) -> bool {
        let summary = &object.summary;
        self.labels.matches(|key| summary.label(key))
            && self.fields.matches(|field| match field {
                "metadata.name" => Some((&*summary.name).into()),
                "metadata.namespace" => Some((&*summary.namespace).into()),
                _ => None,
            })
    }

    /// Returns whether a watch starts with the current state.
    pub fn starts_with_state(&self) -> bool {
        match self.send_initial_events {
            Some(wanted) => wanted,
            None => self.resource_version.is_empty() || self.resource_version == "0",
        }
    }
}

/// The options object of a write.
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
    /// Parses the query.
    ///
    /// # Errors
    ///
    /// Fails with 400 or 422 if an option is invalid.
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
    /// Parses the query of a delete without a body.
    ///
    /// # Errors
    ///
    /// Fails with 400 or 422 if an option is invalid.
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

    /// Reads a decoded `DeleteOptions` body.
    ///
    /// # Errors
    ///
    /// Fails with 422 if an option is invalid.
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
        self.propagation = policy.and_then(PropagationPolicy::parse);
        if let (Some(other), None) = (policy, self.propagation) {
            let supported = ["Foreground", "Background", "Orphan", "nil"];
            errors.push(field::not_supported(&path, other, &supported));
        }
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
