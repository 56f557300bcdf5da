//! Signatures in a shorthand: `list(A) A` is a list of anything and one such thing.
//!
//! Single capital letters are type variables; `opt(T)` is an optional; `ip`, `cidr`, `url`, `quantity`, `semver`,
//! `namedFormat`, `authorizer` and its checks are the Kubernetes types.

use std::sync::Arc;

use crate::types::Type;

/// The types in a shorthand, which is part of this crate and well-formed.
pub(crate) fn types(text: &str) -> Vec<Type> {
    let mut rest = text.trim();
    let mut out = Vec::new();
    while !rest.is_empty() {
        let (of, after) = one(rest);
        out.push(of);
        rest = after.trim_start();
    }
    out
}

/// Adds the type variables in a type.
pub(crate) fn variables(of: &Type, out: &mut Vec<Arc<str>>) {
    match of {
        Type::Param(name) if !out.contains(name) => out.push(name.clone()),
        Type::List(element) => variables(element, out),
        Type::Map(key, value) => {
            variables(key, out);
            variables(value, out);
        }
        Type::Type(Some(of)) => variables(of, out),
        Type::Opaque(_, params) => params.iter().for_each(|p| variables(p, out)),
        _ => {}
    }
}

fn one(text: &str) -> (Type, &str) {
    let end = text
        .find(|c: char| !c.is_ascii_alphanumeric())
        .unwrap_or(text.len());
    let (name, rest) = text.split_at(end);
    let (params, rest) = match rest.strip_prefix('(') {
        None => (Vec::new(), rest),
        Some(inner) => {
            let close = closing(inner);
            let (inner, rest) = inner.split_at(close);
            (types(inner), rest.get(1..).unwrap_or(""))
        }
    };
    let mut params = params.into_iter();
    let mut next = || params.next().unwrap_or(Type::Dyn);
    let of = match name {
        "null" => Type::Null,
        "bool" => Type::Bool,
        "int" => Type::Int,
        "uint" => Type::Uint,
        "double" => Type::Double,
        "string" => Type::String,
        "bytes" => Type::Bytes,
        "duration" => Type::Duration,
        "timestamp" => Type::Timestamp,
        "list" => Type::list(next()),
        "map" => Type::map(next(), next()),
        "type" => Type::Type(Some(Arc::new(next()))),
        "opt" => Type::optional(next()),
        "ip" => Type::opaque("net.IP"),
        "cidr" => Type::opaque("net.CIDR"),
        "url" => Type::object("kubernetes.URL"),
        "quantity" => Type::object("kubernetes.Quantity"),
        "semver" => Type::object("kubernetes.Semver"),
        "authorizer" => Type::object("kubernetes.authorization.Authorizer"),
        "pathCheck" => Type::object("kubernetes.authorization.PathCheck"),
        "groupCheck" => Type::object("kubernetes.authorization.GroupCheck"),
        "resourceCheck" => Type::object("kubernetes.authorization.ResourceCheck"),
        "decision" => Type::object("kubernetes.authorization.Decision"),
        "namedFormat" => Type::object("kubernetes.NamedFormat"),
        name if name.len() == 1 => Type::param(name),
        _ => Type::Dyn,
    };
    (of, rest)
}

/// Returns the offset at which the parenthesis that is open at the start closes.
fn closing(text: &str) -> usize {
    let mut open = 1;
    for (at, c) in text.char_indices() {
        match c {
            '(' => open += 1,
            ')' => open -= 1,
            _ => {}
        }
        if open == 0 {
            return at;
        }
    }
    text.len()
}
