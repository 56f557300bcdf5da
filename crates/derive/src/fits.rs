//! Rejects attributes that do not fit their type, as far as the name of the type tells.

use syn::{LitStr, Type};

use crate::{
    schema_attrs::{Default, For, SchemaAttrs},
    shape::Shape,
};

/// Rejects attributes that do not fit. The error says what to write instead.
pub(crate) fn check(schema_attrs: &SchemaAttrs, ty: &Type) -> syn::Result<()> {
    let shown = quote::quote!(#ty).to_string().replace(' ', "");
    check_shape(schema_attrs, Shape::of(ty), &shown)?;
    if let Some((inner, span)) = &schema_attrs.items {
        match Shape::of(ty) {
            Shape::List(item) => check(inner, item)?,
            Shape::Unknown => {}
            _ => return Err(misfit(*span, "items", "lists", &shown, "")),
        }
    }
    if let Some((inner, span)) = &schema_attrs.values {
        match Shape::of(ty) {
            Shape::Map(value) => check(inner, value)?,
            Shape::Unknown => {}
            _ => return Err(misfit(*span, "values", "maps", &shown, "")),
        }
    }
    check_default(schema_attrs, ty)
}

/// Like [`check`], for a type whose shape is known.
pub(crate) fn check_shape(
    schema_attrs: &SchemaAttrs,
    shape: Shape<'_>,
    shown: &str,
) -> syn::Result<()> {
    for keyword in &schema_attrs.keywords {
        let (fits, wanted) = match keyword.purpose {
            For::Numbers => (
                matches!(shape, Shape::Integer | Shape::Float | Shape::IntOrString),
                "numbers",
            ),
            For::Texts => (matches!(shape, Shape::Text | Shape::IntOrString), "texts"),
            For::Lists => (matches!(shape, Shape::List(_)), "lists"),
            For::Objects | For::Open => (matches!(shape, Shape::Map(_) | Shape::Object), "objects"),
            For::Anything => (true, ""),
        };
        if fits || is_retyped(schema_attrs) || matches!(shape, Shape::Unknown) {
            continue;
        }
        let instead = instead(keyword.name, shape);
        return Err(misfit(keyword.span, keyword.name, wanted, shown, instead));
    }
    check_stand_ins(schema_attrs, shape, shown)?;
    if let Some((_, span)) = &schema_attrs.list_map_keys {
        match shape {
            Shape::List(item) if is_scalar(item) => {
                let what = format!(
                    "`list_map_keys` tells objects apart by their fields, and `{shown}` has none: write `list_type = \"set\"`"
                );
                return Err(syn::Error::new(*span, what));
            }
            Shape::List(_) | Shape::Unknown => {}
            _ => return Err(misfit(*span, "list_map_keys", "lists", shown, "")),
        }
    }
    Ok(())
}

/// Reports whether the schema is not that of the type.
fn is_retyped(schema_attrs: &SchemaAttrs) -> bool {
    schema_attrs.schemaless
        || schema_attrs.stands_for.is_some()
        || schema_attrs.int_or_string.is_some()
        || schema_attrs.keyword("type").is_some()
}

/// Checks attributes whose values only some types can hold.
fn check_stand_ins(schema_attrs: &SchemaAttrs, shape: Shape<'_>, shown: &str) -> syn::Result<()> {
    let elsewhere = schema_attrs.schemaless || schema_attrs.stands_for.is_some();
    if let Some(span) = schema_attrs.embedded.filter(|_| !elsewhere)
        && !matches!(shape, Shape::Unknown | Shape::Object | Shape::Map(_))
    {
        let advice = ": make it a struct, or a `serde_json::Value`";
        return Err(misfit(span, "embedded_resource", "objects", shown, advice));
    }
    if let Some(span) = schema_attrs.int_or_string.filter(|_| !elsewhere)
        && !matches!(shape, Shape::Unknown | Shape::Object | Shape::IntOrString)
    {
        let what = format!(
            "`{shown}` cannot hold both a number and a text: make it an `IntOrString` of k8s-openapi"
        );
        return Err(syn::Error::new(span, what));
    }
    Ok(())
}

fn misfit(
    span: proc_macro2::Span,
    name: &str,
    wanted: &str,
    shown: &str,
    instead: &str,
) -> syn::Error {
    syn::Error::new(
        span,
        format!("`{name}` is for {wanted}, and this is `{shown}`{instead}"),
    )
}

/// Suggests what the author may have meant.
fn instead(name: &str, shape: Shape<'_>) -> &'static str {
    match (name, shape) {
        ("minimum", Shape::Text) => ": write `min_length` for its length",
        ("maximum", Shape::Text) => ": write `max_length` for its length",
        ("minimum" | "min_length", Shape::List(_)) => {
            ": write `min_items` for its length, or `items(...)` for what is in it"
        }
        ("maximum" | "max_length", Shape::List(_)) => {
            ": write `max_items` for its length, or `items(...)` for what is in it"
        }
        ("pattern", Shape::List(_)) => ": write `items(pattern = \"...\")`",
        ("min_length", Shape::Map(_)) => ": write `min_properties`",
        ("max_length", Shape::Map(_)) => ": write `max_properties`",
        ("min_items", Shape::Map(_) | Shape::Object) => ": write `min_properties`",
        ("max_items", Shape::Map(_) | Shape::Object) => ": write `max_properties`",
        ("min_items" | "min_length", Shape::Integer | Shape::Float) => ": write `minimum`",
        ("max_items" | "max_length", Shape::Integer | Shape::Float) => ": write `maximum`",
        ("min_items", Shape::Text) => ": write `min_length`",
        ("max_items", Shape::Text) => ": write `max_length`",
        ("list_type", Shape::Map(_) | Shape::Object) => ": write `map_type`",
        ("map_type" | "struct_type", Shape::List(_)) => ": write `list_type`",
        ("multiple_of", Shape::List(_)) => ": write `items(multiple_of = ...)`",
        ("min_properties", Shape::List(_)) => ": write `min_items`",
        ("max_properties", Shape::List(_)) => ": write `max_items`",
        ("preserve_unknown_fields", Shape::List(_)) => ": write `items(preserve_unknown_fields)`",
        _ => "",
    }
}

fn is_scalar(ty: &Type) -> bool {
    matches!(
        Shape::of(ty),
        Shape::Integer | Shape::Float | Shape::Text | Shape::Bool
    )
}

/// Checks that a literal default fits the type.
fn check_default(schema_attrs: &SchemaAttrs, ty: &Type) -> syn::Result<()> {
    let Some((Default::Value(value), _)) = &schema_attrs.default else {
        return Ok(());
    };
    let Ok(literal) = syn::parse2::<syn::Lit>(value.clone()) else {
        return Ok(());
    };
    let (fits, example) = match (Shape::of(ty), &literal) {
        (Shape::Integer, syn::Lit::Int(_)) => (true, ""),
        (Shape::Integer, _) => (false, "a whole number such as `default = 3`"),
        (Shape::Float, syn::Lit::Int(_) | syn::Lit::Float(_)) => (true, ""),
        (Shape::Float, _) => (false, "a number such as `default = 0.5`"),
        (Shape::Text, syn::Lit::Str(_)) => (true, ""),
        (Shape::Text, _) => (false, "a text such as `default = \"3\"`"),
        (Shape::Bool, syn::Lit::Bool(_)) => (true, ""),
        (Shape::Bool, _) => (false, "`default = true`"),
        (Shape::List(_), _) => (false, "a list such as `default = [1, 2]`"),
        (Shape::Map(_), _) => (false, "an object such as `default = {\"a\": 1}`"),
        _ => (true, ""),
    };
    match fits {
        true => Ok(()),
        false => {
            let what = format!(
                "this default is not a `{}`: write {example}",
                quote::quote!(#ty).to_string().replace(' ', "")
            );
            Err(syn::Error::new(literal.span(), what))
        }
    }
}

/// Checks that the names in `exactly_one_of` and similar are optional fields.
pub(crate) fn check_groups(
    schema_attrs: &SchemaAttrs,
    fields: &[(String, bool)],
) -> syn::Result<()> {
    for group in &schema_attrs.groups {
        if group.names.len() < 2 {
            let what = format!("write at least two fields: `{}(\"a\", \"b\")`", group.how);
            return Err(syn::Error::new(group.span, what));
        }
        for name in &group.names {
            check_group_member(name, fields)?;
        }
    }
    Ok(())
}

fn check_group_member(name: &LitStr, fields: &[(String, bool)]) -> syn::Result<()> {
    let wanted = name.value();
    if wanted.contains('.') {
        let what =
            format!("`{wanted}` is further down: put the attribute on the type that has the field");
        return Err(syn::Error::new(name.span(), what));
    }
    match fields.iter().find(|(field, _)| *field == wanted) {
        Some((_, false)) => Ok(()),
        Some((_, true)) => {
            let what = format!(
                "`{wanted}` is always there: make it an `Option` that is skipped when it is `None`"
            );
            Err(syn::Error::new(name.span(), what))
        }
        None => {
            let known: Vec<&str> = fields.iter().map(|(field, _)| field.as_str()).collect();
            let what = format!(
                "there is no field `{wanted}` in the JSON of this type; there are {}",
                known.join(", ")
            );
            Err(syn::Error::new(name.span(), what))
        }
    }
}
