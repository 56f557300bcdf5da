//! The code for structs, and for the fields of variants.

use proc_macro2::TokenStream;
use quote::quote;
use syn::{DeriveInput, Field, Fields, FieldsNamed, Ident, Type, ext::IdentExt, spanned::Spanned};

use crate::{
    casing::Casing,
    fits,
    marks::{Default, Marks, refuse_foreign},
    serde_attrs::{Container, Member, Presence, documentation},
    shape::{self, Shape},
};

/// The schema of a struct, as an expression.
pub(crate) fn structure(
    input: &DeriveInput,
    container: &Container,
    marks: &Marks,
    fields: &Fields,
) -> syn::Result<TokenStream> {
    refuse_field_marks(marks)?;
    let node = if let Some(node) = replaced(container, marks)? {
        node
    } else {
        match fields {
            Fields::Named(named) => {
                let names = Names {
                    casing: container.rename_all,
                    defaulted: container.default.then_some(&input.ident),
                };
                let (node, known) = object(named, &names)?;
                fits::check_shape(marks, Shape::Object, &input.ident.to_string())?;
                fits::check_groups(marks, &known)?;
                node
            }
            Fields::Unnamed(unnamed) if unnamed.unnamed.len() == 1 => {
                let field = &unnamed.unnamed[0];
                refuse_foreign(&field.attrs)?;
                fits::check(marks, &field.ty)?;
                let own = Marks::read(&field.attrs)?;
                fits::check(&own, &field.ty)?;
                own.applied_to(&of(&field.ty))
            }
            Fields::Unnamed(unnamed) => {
                let what = "a list of values of different types has no structural schema: give the fields names";
                return Err(syn::Error::new(unnamed.span(), what));
            }
            Fields::Unit => quote!(Node::object()),
        }
    };
    Ok(described(marks, node, documentation(&input.attrs)))
}

/// How the fields of one struct or variant are named and filled.
pub(crate) struct Names<'a> {
    pub(crate) casing: Option<Casing>,
    /// The type whose `Default` fills absent fields.
    pub(crate) defaulted: Option<&'a Ident>,
}

/// The schema of an object with these fields, as an expression, and which fields it has: their names, and whether they
/// are required.
pub(crate) fn object(
    fields: &FieldsNamed,
    names: &Names<'_>,
) -> syn::Result<(TokenStream, Vec<(String, bool)>)> {
    let mut statements = Vec::new();
    let mut known = Vec::new();
    let mut problems: Option<syn::Error> = None;
    for field in &fields.named {
        match property(field, names) {
            Ok(None) => {}
            Ok(Some(property)) => {
                statements.push(property.code);
                known.extend(property.name.map(|name| (name, property.required)));
            }
            Err(problem) => match &mut problems {
                Some(all) => all.combine(problem),
                None => problems = Some(problem),
            },
        }
    }
    if let Some(problems) = problems {
        return Err(problems);
    }
    let code = quote! {{
        let mut object = Node::object();
        #(#statements)*
        object
    }};
    Ok((code, known))
}

/// The schema of a type, as an expression. Lists and maps are made here, so that what is in them is known by name too.
pub(crate) fn of(ty: &Type) -> TokenStream {
    if let Some((list, inner)) = shape::collection(ty) {
        let inner = of_element(inner);
        return quote!(Node::#list(#inner));
    }
    let called = |name: &str| shape::is_called(ty, name);
    if called("ByteString") {
        return quote!(Node::bytes());
    }
    let inner = shape::optional(ty).unwrap_or(ty);
    if called("Quantity") {
        quote!(Node::of_known::<#inner>(generator, Node::quantity))
    } else if ["IntOrString", "Time", "MicroTime"].into_iter().any(called) {
        quote!(Node::of_known::<#inner>(generator, |node| node))
    } else {
        quote!(Node::of::<#inner>(generator))
    }
}

/// The schema of what is in a list or a map: `null` is a value there.
fn of_element(ty: &Type) -> TokenStream {
    let node = of(ty);
    match shape::optional(ty).is_some() {
        true => quote!(#node.set("nullable", json!(true))),
        false => node,
    }
}

/// A type that another stands in for, or that has no schema.
pub(crate) fn replaced(container: &Container, marks: &Marks) -> syn::Result<Option<TokenStream>> {
    if let Some(ty) = &marks.stands_for {
        return Ok(Some(quote!(Node::of::<#ty>(generator))));
    }
    if marks.schemaless {
        return Ok(Some(quote!(Node::empty())));
    }
    if marks.int_or_string.is_some() {
        return Ok(Some(quote!(Node::empty())));
    }
    if let Some(path) = &container.stand_in {
        let what = "serde writes another type in place of this one: write `#[schema(as = \"Type\")]` with the type that \
                    is written";
        return Err(syn::Error::new_spanned(path, what));
    }
    Ok(None)
}

/// Puts a description and marks on a node.
pub(crate) fn described(marks: &Marks, node: TokenStream, text: Option<String>) -> TokenStream {
    let node = match text {
        Some(text) => quote!(#node.set("description", json!(#text))),
        None => node,
    };
    marks.applied_to(&node)
}

/// Marks that make sense on a field only.
pub(crate) fn refuse_field_marks(marks: &Marks) -> syn::Result<()> {
    let spans = [
        marks.default.as_ref().map(|(_, span)| ("default", *span)),
        marks.required.as_ref().map(|(_, span)| ("required", *span)),
        marks.immutable.map(|span| ("immutable", span)),
    ];
    match spans.into_iter().flatten().next() {
        Some((name, span)) => {
            let what =
                format!("`{name}` is said of a field: put it on the field that has this type");
            Err(syn::Error::new(span, what))
        }
        None => Ok(()),
    }
}

struct Property {
    code: TokenStream,
    /// None where the field is flattened.
    name: Option<String>,
    required: bool,
}

fn property(field: &Field, names: &Names<'_>) -> syn::Result<Option<Property>> {
    refuse_foreign(&field.attrs)?;
    let serde = Member::read(&field.attrs)?;
    let marks = Marks::read(&field.attrs)?;
    let ty = &field.ty;
    let Some(ident) = field.ident.as_ref().filter(|_| !serde.skip) else {
        return Ok(None);
    };
    let optional = shape::optional(ty).is_some();
    if serde.flatten {
        let code = quote!(object.flatten(Node::of::<#ty>(generator), #optional););
        return Ok(Some(Property {
            code,
            name: None,
            required: false,
        }));
    }
    fits::check(&marks, ty)?;
    let retyped = marks.stands_for.is_some() || marks.schemaless || marks.int_or_string.is_some();
    let retyped = retyped || marks.keyword("type").is_some();
    if let Some(path) = serde.with.as_ref().filter(|_| !retyped) {
        let what = "serde writes this field in its own way: write `#[schema(as = \"Type\")]` with a type that is written the \
                    same, such as `String`";
        return Err(syn::Error::new_spanned(path, what));
    }
    let rust = ident.unraw().to_string();
    let cased = || {
        names
            .casing
            .map_or_else(|| rust.clone(), |c| c.field(&rust))
    };
    let name = serde.rename.clone().unwrap_or_else(cased);
    let absent_is_fine = optional || serde.default.is_some() || names.defaulted.is_some();
    check_presence(&marks, ty, absent_is_fine)?;
    let required = match marks.required {
        Some((required, _)) => required,
        None => !(absent_is_fine || serde.skip_if || marks.default.is_some()),
    };
    let node = match (&marks.stands_for, marks.schemaless) {
        (Some(ty), _) => quote!(Node::of::<#ty>(generator)),
        (None, true) => quote!(Node::empty()),
        (None, false) => of(ty),
    };
    let mut node = described(&marks, node, documentation(&field.attrs));
    if let Some(default) = default(&marks, &serde, names, ident, ty)? {
        node = match &marks.default {
            Some((Default::Value(value), _)) if value.to_string() == "null" => {
                quote!(#node.null_default())
            }
            _ => quote!(#node.default_value(#default)),
        };
    }
    let immutable = marks.immutable.is_some();
    let code = quote!(object.property(#name, #node, #required, #immutable););
    Ok(Some(Property {
        code,
        name: Some(name),
        required,
    }))
}

/// The default of a field, as code that makes its JSON.
fn default(
    marks: &Marks,
    serde: &Member,
    names: &Names<'_>,
    ident: &Ident,
    ty: &Type,
) -> syn::Result<Option<TokenStream>> {
    Ok(match &marks.default {
        None => None,
        Some((Default::Value(value), _)) => Some(quote!(json!(#value))),
        Some((Default::OfSerde, span)) => Some(match (&serde.default, names.defaulted) {
            (Some(Presence::Function(call)), _) => quote!(json!(#call)),
            (None, Some(whole)) => {
                quote!(json!(<#whole as ::std::default::Default>::default().#ident))
            }
            (Some(Presence::Default), _) if shape::optional(ty).is_none() => {
                quote!(json!(<#ty as ::std::default::Default>::default()))
            }
            _ => {
                let what = "there is no default to take: write `default = ...`, or add `#[serde(default = \"function\")]`";
                return Err(syn::Error::new(*span, what));
            }
        }),
    })
}

/// Marks that need a type that can be absent or null.
fn check_presence(marks: &Marks, ty: &Type, absent_is_fine: bool) -> syn::Result<()> {
    let shown = quote!(#ty).to_string().replace(' ', "");
    if let Some((false, span)) = marks.required
        && !absent_is_fine
        && marks.default.is_none()
    {
        let what = format!(
            "an object without this field could not be read: make it `Option<{shown}>`, or add `#[serde(default)]`"
        );
        return Err(syn::Error::new(span, what));
    }
    let known = !matches!(Shape::of(ty), Shape::Unknown);
    if let Some(keyword) = marks.keyword("nullable")
        && known
        && shape::optional(ty).is_none()
    {
        let what = format!("`{shown}` cannot hold null: make it `Option<{shown}>`");
        return Err(syn::Error::new(keyword.span, what));
    }
    Ok(())
}
