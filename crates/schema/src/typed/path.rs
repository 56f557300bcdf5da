//! The position of the decoder in the document, kept on the stack and rendered only for reports.
//!
//! Go counts two ways. Strict problems name everything: `spec.containers[0].imagee`. Type mismatches name struct
//! fields alone, embedded structs included, and the struct that holds the last one:
//! `HostPathVolumeSource.spec.volumes.VolumeSource.hostPath.path`.

use kubewright_catalog::types::{StructType, Type};
use kubewright_machinery::limits::push_path;

use super::{TypeError, embedded};

/// One step down.
#[derive(Clone, Copy)]
pub(super) enum Step<'p> {
    Root,
    Field(&'static StructType, &'static str),
    Key(&'p str),
    Index(usize),
    /// `true` below a type that Go decodes with another decoder.
    Apart,
}

/// The steps from the root, innermost first.
pub(super) struct Path<'p> {
    parent: Option<&'p Path<'p>>,
    step: Step<'p>,
    pub(super) depth: usize,
}

impl<'p> Path<'p> {
    pub(super) fn root() -> Self {
        Path {
            parent: None,
            step: Step::Root,
            depth: 0,
        }
    }

    pub(super) fn push(&'p self, step: Step<'p>) -> Path<'p> {
        Path {
            parent: Some(self),
            step,
            depth: self.depth + 1,
        }
    }

    /// The path of a key of the object that is here, as strict problems show it.
    pub(super) fn strict(&self, key: &str) -> String {
        let mut out = String::new();
        for step in self.steps() {
            match step {
                Step::Field(_, name) => push_key(&mut out, name),
                Step::Key(key) => push_key(&mut out, key),
                Step::Index(index) => push_path(&mut out, &format!("[{index}]")),
                Step::Root | Step::Apart => {}
            }
        }
        push_key(&mut out, key);
        out
    }

    /// The error for a value of the wrong kind at this place.
    pub(super) fn mismatch(&self, given: &str, wanted: &str) -> TypeError {
        let mut fields = Vec::new();
        let mut holder = None;
        let mut apart = false;
        for step in self.steps() {
            match step {
                Step::Field(ty, name) => {
                    fields.extend(embedded::go_names(ty, name));
                    fields.push(name);
                    if !apart {
                        holder = Some(ty.name);
                    }
                }
                Step::Apart => apart = true,
                Step::Root | Step::Key(_) | Step::Index(_) => {}
            }
        }
        TypeError::new(match holder {
            Some(holder) => format!(
                "json: cannot unmarshal {given} into Go struct field {holder}.{} of type {wanted}",
                fields.join(".")
            ),
            None => format!("json: cannot unmarshal {given} into Go value of type {wanted}"),
        })
    }

    fn steps(&self) -> impl Iterator<Item = Step<'p>> {
        let mut steps = Vec::with_capacity(self.depth + 1);
        let mut here = Some(self);
        while let Some(path) = here {
            steps.push(path.step);
            here = path.parent;
        }
        steps.into_iter().rev()
    }
}

/// Returns the name of a struct in Go: `v1.PodSpec`.
pub(super) fn go_struct_name(ty: &StructType) -> String {
    let package = ty.openapi.rsplit('.').nth(1).unwrap_or_default();
    format!("{package}.{}", ty.name)
}

/// Returns the name of a type in Go's messages, without pointers.
pub(super) fn go_type_name(ty: &Type) -> String {
    match ty {
        Type::Struct(ty) => go_struct_name(ty),
        Type::Optional(inner) => go_type_name(inner),
        Type::List(item) => format!("[]{}", go_element_name(item)),
        Type::Map(Type::Quantity) => "v1.ResourceList".to_owned(),
        Type::Map(item) => format!("map[string]{}", go_element_name(item)),
        other => format!("{other:?}"),
    }
}

fn go_element_name(ty: &Type) -> String {
    match ty {
        Type::Optional(inner) => format!("*{}", go_element_name(inner)),
        other => go_type_name(other),
    }
}

fn push_key(out: &mut String, key: &str) {
    if !out.is_empty() {
        push_path(out, ".");
    }
    push_path(out, key);
}
