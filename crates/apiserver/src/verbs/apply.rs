//! Server-side apply.

use std::sync::Arc;

use bytes::Bytes;
use http::Response;
use kubewright_derive::boxed_async;
use kubewright_machinery::{Status, status};
use kubewright_schema::{Node, Problem, decode_untyped, normalize_typed, yaml::parse_yaml};
use serde_json::Value;

use super::{Target, update, write};
use crate::{
    body::Body,
    registry::{Change, Draft, Fingerprint, Shape, Update, Updated},
    request::{
        RequestContext, WriteOptions,
        options::{FieldValidation, WriteKind},
    },
    respond::Accepted,
};

pub(super) async fn run(
    cx: RequestContext,
    target: Target,
    accepted: &Accepted,
    body: &Bytes,
    handler: Arc<dyn Update>,
) -> Result<Response<Body>, Status> {
    let options = WriteOptions::parse(&cx.query, WriteKind::Apply)?;
    let fingerprint = fingerprint(&cx, &options, body);
    if let Some(fingerprint) = fingerprint {
        let name = &cx.info.name;
        if let Some(object) = handler.unchanged_by(&cx, name, fingerprint).await {
            let updated = Updated {
                object,
                created: false,
            };
            return Ok(update::respond(&cx, accepted, &target, &updated));
        }
    }
    let (patch, problem) = parse(body)?;
    let change = Applied {
        patch,
        problem,
        fingerprint,
        target: &target,
        options: &options,
    };
    let updated = handler
        .update(&cx, &cx.info.name, &change, &options)
        .await?;
    Ok(update::respond(&cx, accepted, &target, &updated))
}

/// Returns the fingerprint of an apply; `None` for a dry run.
fn fingerprint(cx: &RequestContext, options: &WriteOptions, body: &Bytes) -> Option<Fingerprint> {
    let WriteOptions {
        dry_run,
        field_manager,
        field_validation,
        force,
    } = options;
    let info = &cx.info;
    let endpoint = (&info.group, &info.version, &info.subresource);
    let change = (endpoint, field_manager, field_validation, force, body);
    (!dry_run).then(|| Fingerprint::of(&change))
}

/// Parses the configuration, and returns the problem if it has duplicate keys.
fn parse(body: &Bytes) -> Result<(Value, Option<Problem>), Status> {
    let bad = |e: &dyn std::fmt::Display| status::bad_request(format!("error decoding YAML: {e}"));
    let yaml = parse_yaml(body).map_err(|e| bad(&format!("error converting YAML to JSON: {e}")))?;
    if !matches!(yaml.node, Node::Object(_) | Node::Null) {
        let found = yaml.node.kind();
        return Err(bad(&format!(
            "error unmarshaling JSON: while decoding JSON: json: cannot unmarshal {found} into Go value of type map[string]interface {{}}"
        )));
    }
    let (value, _) = decode_untyped(yaml.node).map_err(|e| bad(&e))?;
    Ok((value, yaml.problem))
}

/// Applies a configuration to the stored object.
struct Applied<'a> {
    patch: Value,
    problem: Option<Problem>,
    fingerprint: Option<Fingerprint>,
    target: &'a Target,
    options: &'a WriteOptions,
}

#[boxed_async]
impl Change for Applied<'_> {
    fn may_create(&self) -> bool {
        self.target.subresource().is_none()
    }

    fn leaves_unknown(&self) -> bool {
        self.target.custom().is_some()
    }

    fn fingerprint(&self) -> Option<Fingerprint> {
        self.fingerprint
    }

    async fn apply(&self, cx: &RequestContext, old: Option<&Value>) -> Result<Draft, Status> {
        let manager = self
            .target
            .field_manager()
            .ok_or_else(|| status::internal("the kind keeps no managed fields"))?;
        let now = self.target.resource.clock.now().as_second();
        let options = self.options;
        let merged = manager
            .apply(old, &self.patch, &options.field_manager, options.force, now)
            .await?;
        self.check_duplicates(cx)?;
        let mut object = self.normalize(merged)?;
        if old.is_none() {
            self.check_new(cx, &object)?;
            write::clear_system_fields(&mut object);
        }
        write::default(self.target, &mut object)?;
        write::check_namespace(cx, self.target, &mut object)?;
        write::check_name(&object, &cx.info.name)?;
        update::mutate(cx, self.target, old, &mut object, options).await?;
        Ok(object.into())
    }
}

impl Applied<'_> {
    /// Warns about duplicate keys or rejects them. Unknown fields were rejected by the merge.
    fn check_duplicates(&self, cx: &RequestContext) -> Result<(), Status> {
        let Some(problem) = &self.problem else {
            return Ok(());
        };
        match self.options.field_validation {
            FieldValidation::Ignore => {}
            FieldValidation::Warn => {
                for warning in problem.warnings() {
                    cx.warnings.add(warning);
                }
            }
            FieldValidation::Strict => {
                return Err(status::bad_request(format!(
                    "error strict decoding YAML: error converting YAML to JSON: {problem}"
                )));
            }
        }
        Ok(())
    }

    fn normalize(&self, merged: Value) -> Result<Value, Status> {
        match self.target.body_type().1 {
            Shape::Typed(ty) => {
                let named = named(&self.patch);
                normalize_typed(merged, ty)
                    .map_err(|e| self.conversion_failure(&named, &e.to_string()))
            }
            Shape::Untyped => Ok(merged),
        }
    }

    /// Returns the error for a merged object that does not fit its type.
    fn conversion_failure(&self, named: &str, problem: &str) -> Status {
        let kind = self.target.body_type().0;
        let problem = match problem.starts_with("illegal base64") {
            true => format!("error decoding from json: {problem}"),
            false => problem.to_owned(),
        };
        let text = format!(
            "failed to convert new object ({named}; {kind}) to proper version: unable to convert unstructured object to {kind}: {problem}"
        );
        status::unknown(text)
    }

    /// Rejects a configuration that names a uid if the object does not exist.
    fn check_new(&self, cx: &RequestContext, object: &Value) -> Result<(), Status> {
        match object["metadata"]["uid"]
            .as_str()
            .filter(|uid| !uid.is_empty())
        {
            None => Ok(()),
            Some(uid) => Err(status::conflict(
                &self.target.resource.spec.group_resource(),
                &cx.info.name,
                format!(
                    "uid mismatch: the provided object specified uid {uid}, and no existing object was found"
                ),
            )),
        }
    }
}

/// Returns namespace and name of an object.
fn named(object: &Value) -> String {
    let text = |key: &str| object["metadata"][key].as_str().unwrap_or_default();
    format!("{}/{}", text("namespace"), text("name"))
}
