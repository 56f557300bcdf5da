//! `patch`: JSON patch, merge patch and strategic merge patch. Server-side apply is in `apply.rs`.

use http::{HeaderMap, Response, header};
use kubewright_derive::boxed_async;
use kubewright_machinery::{
    Status,
    field::{self, Path},
    go,
    gvk::GroupKind,
    status,
};
use kubewright_merge::{json_patch, strategic};
use kubewright_schema::{
    Node, Problem, Problems, decode_typed, decode_untyped, normalize_untyped, parse_json,
};
use serde_json::{Value, json};

use super::{Call, Target, apply, check_patched_kind, custom, decode, update, write};
use crate::{
    body::Body,
    field_manager::TypeSchema,
    registry::{Change, Custom, Draft, PatchTypes, Shape},
    request::{
        RequestContext, WriteOptions,
        options::{FieldValidation, WriteKind},
    },
};

pub(super) async fn run(call: Call) -> Result<Response<Body>, Status> {
    let handler = call.handler(|handlers| &handlers.update)?;
    let kind = check_kind(&call)?;
    let accepted = call.accepted()?;
    let Call {
        cx,
        target,
        request,
    } = call;
    let body = decode::read_body(request.into_body()).await?;
    if let Some(record) = cx.annotations.record() {
        record.request_patch(&body);
    }
    if kind == PatchKind::Apply {
        return apply::run(cx, target, &accepted, &body, handler).await;
    }
    let options = WriteOptions::parse(&cx.query, WriteKind::Patch)?;
    // An error in the patch counts only if the object exists.
    let patch = Patch::parse(kind, &body, options.field_validation);
    let change = Patched {
        patch,
        target: &target,
        options: &options,
    };
    let updated = handler
        .update(&cx, &cx.info.name, &change, &options)
        .await?;
    Ok(update::respond(&cx, &accepted, &target, &updated))
}

/// Returns the type of the patch, if the target accepts it.
pub(super) fn check_kind(call: &Call) -> Result<PatchKind, Status> {
    let target = &call.target;
    PatchKind::read(call.request.headers())
        .filter(|kind| kind.taken_by(target))
        .ok_or_else(|| unsupported(target))
}

/// The type of a patch, from its content type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PatchKind {
    Json,
    Merge,
    Strategic,
    Apply,
}

impl PatchKind {
    fn read(headers: &HeaderMap) -> Option<Self> {
        let content_type = headers.get(header::CONTENT_TYPE)?.to_str().ok()?;
        match content_type.split(';').next()?.trim() {
            "application/json-patch+json" => Some(Self::Json),
            "application/merge-patch+json" => Some(Self::Merge),
            "application/strategic-merge-patch+json" => Some(Self::Strategic),
            "application/apply-patch+yaml" => Some(Self::Apply),
            _ => None,
        }
    }

    /// Returns whether the target accepts the patch. Strategic merge needs a type, apply a field manager.
    fn taken_by(self, target: &Target) -> bool {
        match self {
            Self::Json | Self::Merge => true,
            Self::Strategic => {
                target.resource.patch_types() == PatchTypes::All
                    && matches!(target.body_type().1, Shape::Typed(_))
            }
            Self::Apply => target.field_manager().is_some(),
        }
    }
}

/// A parsed patch and the problems that a strict decoder reports.
enum Patch {
    Json(json_patch::Patch, Problems),
    Merge(Value, Problems),
    Strategic(Value, Problems),
}

impl Patch {
    fn parse(kind: PatchKind, body: &[u8], validation: FieldValidation) -> Result<Self, Status> {
        let bad = |text: String| match kind {
            PatchKind::Strategic => status::bad_request(text),
            _ => status::bad_request(format!("error decoding patch: {text}")),
        };
        let node = parse_json(body).map_err(|e| bad(e.to_string()))?;
        if kind == PatchKind::Json {
            if let Some(number) =
                overflowing(&node).filter(|_| validation != FieldValidation::Ignore)
            {
                return Err(bad(format!(
                    "json: cannot unmarshal number {number} into Go struct field jsonPatchOp.value of type float64"
                )));
            }
            let decoding = match validation {
                FieldValidation::Ignore => json_patch::Decoding::Lenient,
                FieldValidation::Warn | FieldValidation::Strict => json_patch::Decoding::Checked,
            };
            let patch = json_patch::Patch::decode(body, decoding).map_err(|e| match e {
                json_patch::DecodeError::TooManyOperations(_) => {
                    status::too_large(format!("Request entity too large: {e}"))
                }
                e => status::bad_request(e.to_string()),
            })?;
            let mut problems = Problems::default();
            for text in patch.strict_errors() {
                problems.push(Problem::Other(text.clone()));
            }
            return Ok(Self::Json(patch, problems));
        }
        if matches!(node, Node::Null) && kind == PatchKind::Merge {
            return Err(status::bad_request("Invalid JSON Patch"));
        }
        if matches!(node, Node::Null) && kind == PatchKind::Strategic {
            return Ok(Self::Strategic(json!({}), Problems::default()));
        }
        if !matches!(node, Node::Object(_)) {
            let kind = node.kind();
            return Err(bad(format!(
                "json: cannot unmarshal {kind} into Go value of type map[string]interface {{}}"
            )));
        }
        let (mut value, problems) = decode_untyped(node).map_err(|e| bad(e.to_string()))?;
        Ok(match kind {
            // A float without a fraction decodes into an integer field.
            PatchKind::Strategic => {
                normalize_untyped(&mut value);
                Self::Strategic(value, problems)
            }
            _ => Self::Merge(value, problems),
        })
    }

    fn apply(&self, old: &Value, shape: Shape) -> Result<Value, Status> {
        match self {
            Self::Strategic(patch, _) => {
                let patched = strategic::apply(TypeSchema::of(shape), old.clone(), patch.clone());
                let mut object = patched.map_err(|e| match e {
                    strategic::Error::BadRequest(text) => status::bad_request(text),
                    strategic::Error::Unprocessable(_) => rejected(),
                    e => status::unknown(e.to_string()),
                })?;
                // A strategic patch cannot change the type.
                for key in ["kind", "apiVersion"] {
                    object[key] = old[key].clone();
                }
                Ok(object)
            }
            Self::Merge(patch, _) => {
                let mut object = old.clone();
                kubewright_machinery::merge_patch::apply(&mut object, patch.clone())
                    .map_err(|e| status::bad_request(e.to_string()))?;
                Ok(object)
            }
            Self::Json(patch, _) => json_patch::apply(old.clone(), patch).map_err(|e| {
                match e.is_too_costly() {
                    true => status::too_large(format!("Request entity too large: {e}")),
                    // kube-apiserver does not report the cause.
                    false => rejected(),
                }
            }),
        }
    }

    /// Returns the text that errors show: the patch itself, or the patched object. Successful requests do not need it.
    fn shown(&self, old: &Value, shape: Shape) -> String {
        match self {
            Self::Strategic(patch, _) => go::display(patch),
            _ => {
                let patched = self.apply(old, shape);
                patched.map_or_else(|error| error.message, |patched| patched.to_string())
            }
        }
    }

    fn problems(&self) -> &Problems {
        match self {
            Self::Json(_, problems) | Self::Merge(_, problems) | Self::Strategic(_, problems) => {
                problems
            }
        }
    }
}

/// Patches the stored object.
struct Patched<'a> {
    patch: Result<Patch, Status>,
    target: &'a Target,
    options: &'a WriteOptions,
}

#[boxed_async]
impl Change for Patched<'_> {
    async fn apply(&self, cx: &RequestContext, old: Option<&Value>) -> Result<Draft, Status> {
        let Some(old) = old else {
            return Err(status::not_found(
                &self.target.resource.spec.group_resource(),
                &cx.info.name,
            ));
        };
        let patch = self.patch.as_ref().map_err(Clone::clone)?;
        let patched = patch.apply(old, self.target.body_type().1)?;
        let mut object = self.decode(cx, patch, old, patched)?;
        write::default(self.target, &mut object)?;
        write::check_namespace(cx, self.target, &mut object)?;
        write::check_name(&object, &cx.info.name)?;
        let mut draft = Draft::from(object);
        if let Some(manager) = self.target.field_manager() {
            manager.track(cx, Some(old), &mut draft, self.options).await;
        }
        update::mutate(cx, self.target, Some(old), &mut draft.value, self.options).await?;
        Ok(draft)
    }
}

impl Patched<'_> {
    /// Decodes the patched object, which must still be of its kind.
    fn decode(
        &self,
        cx: &RequestContext,
        patch: &Patch,
        old: &Value,
        mut patched: Value,
    ) -> Result<Value, Status> {
        let (kind, shape) = self.target.body_type();
        if let Some(custom) = self.target.custom() {
            return self.decode_custom(cx, custom, patch, old, patched);
        }
        check_patched_kind(&patched, kind)
            .map_err(|e| invalid_patch_text(&patched.to_string(), &e))?;
        let shown = || patch.shown(old, shape);
        patched["apiVersion"] = json!(kind.api_version());
        patched["kind"] = json!(kind.kind);
        let Shape::Typed(ty) = shape else {
            self.check_problems(cx, shown, patch.problems())?;
            return Ok(patched);
        };
        let node =
            Node::from_value(patched).map_err(|e| invalid_patch_text(&shown(), &e.to_string()))?;
        let reset = decode::resets_managers(&node);
        let mut typed = decode_typed(node, ty).map_err(|e| {
            let problem = e.to_string();
            match patch {
                Patch::Strategic(..) => invalid_patch_text(&shown(), &not_restored(&problem)),
                _ => invalid_patch_text(&shown(), &problem),
            }
        })?;
        let mut problems = patch.problems().clone();
        for problem in typed.problems.iter() {
            problems.push(problem.clone());
        }
        self.check_problems(cx, shown, &problems)?;
        if reset {
            typed.value["metadata"]["managedFields"] = json!([]);
        }
        Ok(typed.value)
    }

    /// Decodes a patched custom object by its schema.
    fn decode_custom(
        &self,
        cx: &RequestContext,
        custom: &dyn Custom,
        patch: &Patch,
        old: &Value,
        mut patched: Value,
    ) -> Result<Value, Status> {
        let shown = || patch.shown(old, Shape::Untyped);
        let mut problems = patch.problems().clone();
        custom::decode_patched(custom, &mut patched, &mut problems)
            .map_err(|e| invalid_patch_text(&shown(), &e))?;
        self.check_problems(cx, shown, &problems)?;
        Ok(patched)
    }

    fn check_problems(
        &self,
        cx: &RequestContext,
        shown: impl Fn() -> String,
        problems: &Problems,
    ) -> Result<(), Status> {
        if problems.is_empty() {
            return Ok(());
        }
        match self.options.field_validation {
            FieldValidation::Ignore => Ok(()),
            FieldValidation::Warn => {
                for problem in problems.iter() {
                    cx.warnings.add(problem.to_string());
                }
                Ok(())
            }
            FieldValidation::Strict => Err(invalid_patch_text(&shown(), &problems.to_string())),
        }
    }
}

/// Returns the first number that is out of range.
fn overflowing<'a>(node: &'a Node<'_>) -> Option<&'a str> {
    match node {
        Node::Number(text) => {
            let infinite = text.parse::<f64>().is_ok_and(f64::is_infinite);
            infinite.then_some(text)
        }
        Node::Array(items) => items.iter().find_map(overflowing),
        Node::Object(entries) => entries.iter().find_map(|(_, node)| overflowing(node)),
        _ => None,
    }
}

fn invalid_patch_text(patched: &str, text: &str) -> Status {
    let error = field::invalid_str(&Path::new("patch"), patched, text);
    status::invalid(&GroupKind::default(), "", &[error])
}

/// Rewrites the message for a value that does not fit its type. kube-apiserver converts a strategic patch from maps to types
/// without JSON in between, with messages that differ.
fn not_restored(problem: &str) -> String {
    let parts = problem
        .strip_prefix("json: cannot unmarshal ")
        .and_then(|rest| Some((rest.split(' ').next()?, rest.rsplit_once(" of type ")?.1)));
    let Some((found, wanted)) = parts else {
        return problem.to_owned();
    };
    let found = match found {
        "object" => "map",
        "array" => "slice",
        "number" => "int64",
        other => other,
    };
    match wanted {
        "string" if found == "int64" => "cannot convert int64 to string".to_owned(),
        "string" | "bool" | "int" | "int32" | "int64" | "float64" => {
            format!("unrecognized type: {wanted}")
        }
        slice if slice.starts_with("[]") => format!("cannot restore slice from {found}"),
        map if map.starts_with("map[") => format!("cannot restore map from {found}"),
        _ => format!("cannot restore struct from: {found}"),
    }
}

fn rejected() -> Status {
    Status::failure(
        422,
        "Invalid",
        "the server rejected our request due to an error in our request",
    )
    .with_details(Default::default())
}

fn unsupported(target: &Target) -> Status {
    if target.resource.custom.is_some() {
        return status::unsupported_media_type(&[
            "application/json-patch+json",
            "application/merge-patch+json",
            "application/apply-patch+yaml",
        ]);
    }
    Status::failure(415, "UnsupportedMediaType", "415: Unsupported Media Type")
        .with_details(Default::default())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn maps_are_shown_as_go_does() {
        let value = json!({"a": {"b": [1, "x", null]}, "c": true});
        assert_eq!(go::display(&value), "map[a:map[b:[1 x <nil>]] c:true]");
    }

    #[test]
    fn strategic_patches_have_words_of_their_own() {
        for (json, words) in [
            (
                "json: cannot unmarshal string into Go struct field DeploymentSpec.spec.replicas of type int32",
                "unrecognized type: int32",
            ),
            (
                "json: cannot unmarshal object into Go struct field PodSpec.spec.containers of type []v1.Container",
                "cannot restore slice from map",
            ),
            (
                "json: cannot unmarshal array into Go struct field ObjectMeta.metadata.labels of type map[string]string",
                "cannot restore map from slice",
            ),
            (
                "json: cannot unmarshal string into Go struct field Deployment.metadata of type v1.ObjectMeta",
                "cannot restore struct from: string",
            ),
            ("quantities must match", "quantities must match"),
        ] {
            assert_eq!(not_restored(json), words);
        }
    }
}
