//! Guesses the JSON form of a type from its syntax.

use syn::{GenericArgument, Ident, PathArguments, Type};

/// The JSON form of a type, as far as its name tells.
#[derive(Clone, Copy)]
pub(crate) enum Shape<'a> {
    Integer,
    Float,
    Text,
    Bool,
    IntOrString,
    List(&'a Type),
    Map(&'a Type),
    /// A struct.
    Object,
    Unknown,
}

impl<'a> Shape<'a> {
    /// Returns the shape of a type, ignoring `Option`, `Box`, `Arc` and `Rc` around it.
    pub(crate) fn of(ty: &'a Type) -> Self {
        let ty = bare(ty);
        let Type::Path(path) = ty else {
            return match ty {
                Type::Array(array) => Shape::List(&array.elem),
                Type::Slice(slice) => Shape::List(&slice.elem),
                _ => Shape::Unknown,
            };
        };
        let Some(last) = path.path.segments.last() else {
            return Shape::Unknown;
        };
        let argument = |n: usize| nth_type(&last.arguments, n);
        match last.ident.to_string().as_str() {
            "i8" | "i16" | "i32" | "i64" | "i128" | "isize" | "u8" | "u16" | "u32" | "u64"
            | "u128" | "usize" => Shape::Integer,
            "f32" | "f64" => Shape::Float,
            "String" | "str" | "PathBuf" => Shape::Text,
            "bool" => Shape::Bool,
            "IntOrString" | "Quantity" => Shape::IntOrString,
            "Vec" | "VecDeque" | "BTreeSet" | "HashSet" | "LinkedList" | "IndexSet" => {
                argument(0).map_or(Shape::Unknown, Shape::List)
            }
            "BTreeMap" | "HashMap" | "IndexMap" => argument(1).map_or(Shape::Unknown, Shape::Map),
            _ => Shape::Unknown,
        }
    }
}

/// Returns the element type of a list, set or map, with the name of the runtime function for it.
pub(crate) fn collection(ty: &Type) -> Option<(Ident, &Type)> {
    let Type::Path(path) = bare(ty) else {
        return None;
    };
    let last = path.path.segments.last()?;
    let (function, argument) = match last.ident.to_string().as_str() {
        "Vec" | "VecDeque" | "LinkedList" => ("list", 0),
        "BTreeSet" | "HashSet" | "IndexSet" => ("set_of", 0),
        "BTreeMap" | "HashMap" | "IndexMap" => ("map", 1),
        _ => return None,
    };
    let inner = nth_type(&last.arguments, argument)?;
    Some((Ident::new(function, last.ident.span()), inner))
}

/// Returns the type within an `Option`.
pub(crate) fn optional(ty: &Type) -> Option<&Type> {
    wrapped(ty, &["Option"])
}

/// Returns the type without `Option` and pointers around it.
pub(crate) fn bare(ty: &Type) -> &Type {
    let mut ty = ty;
    while let Some(inner) = wrapped(ty, &["Option", "Box", "Arc", "Rc"]) {
        ty = inner;
    }
    ty
}

/// Reports whether the type has this name.
pub(crate) fn is_called(ty: &Type, name: &str) -> bool {
    let Type::Path(path) = bare(ty) else {
        return false;
    };
    path.path.segments.last().is_some_and(|s| s.ident == name)
}

fn wrapped<'a>(ty: &'a Type, names: &[&str]) -> Option<&'a Type> {
    let ty = match ty {
        Type::Group(group) => &*group.elem,
        Type::Paren(paren) => &*paren.elem,
        other => other,
    };
    let Type::Path(path) = ty else {
        return None;
    };
    let last = path.path.segments.last()?;
    let named = names.iter().any(|name| last.ident == name);
    named.then(|| nth_type(&last.arguments, 0)).flatten()
}

fn nth_type(arguments: &PathArguments, n: usize) -> Option<&Type> {
    let PathArguments::AngleBracketed(arguments) = arguments else {
        return None;
    };
    let types = arguments.args.iter().filter_map(|argument| match argument {
        GenericArgument::Type(ty) => Some(ty),
        _ => None,
    });
    types.into_iter().nth(n)
}
