//! Generates the schema of structs and of the fields of variants.

use proc_macro2::TokenStream;
use quote::quote;
use syn::{DeriveInput, Field, Fields, FieldsNamed, Ident, Type, ext::IdentExt, spanned::Spanned};

use crate::{
    casing::Casing,
    fits, position,
    schema_attrs::{Default, SchemaAttrs, reject_foreign},
    serde_attrs::{Container, Member, Presence, documentation},
    shape::{self, Shape},
};

/// Returns the schema of a struct as an expression.
pub(crate) fn structure(
    input: &DeriveInput,
    container: &Container,
    schema_attrs: &SchemaAttrs,
    fields: &Fields,
) -> syn::Result<TokenStream> {
    reject_field_attrs(schema_attrs)?;
    reject_number(schema_attrs)?;
    let node = if let Some(node) = replaced(container, schema_attrs)? {
        node
    } else {
        match fields {
            Fields::Named(named) => {
                let names = Names {
                    casing: container.rename_all,
                    defaulted: container.default.then_some(&input.ident),
                };
                let (node, known) = object(named, &names)?;
                fits::check_shape(schema_attrs, Shape::Object, &input.ident.to_string())?;
                fits::check_groups(schema_attrs, &known)?;
                node
            }
            Fields::Unnamed(unnamed) if unnamed.unnamed.len() == 1 => {
                let field = &unnamed.unnamed[0];
                reject_foreign(&field.attrs)?;
                fits::check(schema_attrs, &field.ty)?;
                let own = SchemaAttrs::read(&field.attrs)?;
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
    Ok(described(schema_attrs, node, documentation(&input.attrs)))
}

/// The naming and defaults of the fields of a struct or variant.
pub(crate) struct Names<'a> {
    pub(crate) casing: Option<Casing>,
    /// The type whose `Default` provides absent fields.
    pub(crate) defaulted: Option<&'a Ident>,
}

/// Returns the schema of an object with these fields as an expression, and for each field its name and whether it is
/// required.
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

/// Types of k8s-openapi whose schema the runtime knows, by name.
const WELL_KNOWN: [&str; 5] = ["Condition", "IntOrString", "MicroTime", "Quantity", "Time"];

/// Returns the schema of a type as an expression. Lists and maps are built here, so that the names of their element types are known.
pub(crate) fn of(ty: &Type) -> TokenStream {
    if let Some((list, inner)) = shape::collection(ty) {
        let inner = of_element(inner);
        return quote!(Node::#list(#inner));
    }
    let called = |name: &str| shape::is_called(ty, name);
    if called("ByteString") {
        return quote!(Node::bytes());
    }
    // A type of this name may also be another one, so the types decide: see `Probe` in `kubewright-resource`.
    if WELL_KNOWN.into_iter().any(called) {
        let inner = shape::bare(ty);
        return quote!({
            #[allow(unused_imports)]
            use ::kubewright::__derive::{ViaJsonSchema as _, ViaWellKnown as _};
            (&::kubewright::__derive::Probe::<#inner>::new()).node(generator)
        });
    }
    let inner = shape::optional(ty).unwrap_or(ty);
    quote!(Node::of::<#inner>(generator))
}

/// Returns the schema of the elements of a list or a map, where `null` is a value.
fn of_element(ty: &Type) -> TokenStream {
    let node = of(ty);
    match shape::optional(ty).is_some() {
        true => quote!(#node.set("nullable", json!(true))),
        false => node,
    }
}

/// Returns the schema of a type that another one replaces or that has none.
pub(crate) fn replaced(
    container: &Container,
    schema_attrs: &SchemaAttrs,
) -> syn::Result<Option<TokenStream>> {
    if let Some(ty) = &schema_attrs.stands_for {
        return Ok(Some(quote!(Node::of::<#ty>(generator))));
    }
    if schema_attrs.schemaless {
        return Ok(Some(quote!(Node::empty())));
    }
    if schema_attrs.int_or_string.is_some() {
        return Ok(Some(quote!(Node::empty())));
    }
    if let Some(path) = &container.stand_in {
        let what = "serde writes another type in place of this one: write `#[schema(as = \"Type\")]` with the type that \
                    is written";
        return Err(syn::Error::new_spanned(path, what));
    }
    Ok(None)
}

/// Adds a description and the attributes to a node.
pub(crate) fn described(
    schema_attrs: &SchemaAttrs,
    node: TokenStream,
    text: Option<String>,
) -> TokenStream {
    let node = match text {
        Some(text) => quote!(#node.set("description", json!(#text))),
        None => node,
    };
    schema_attrs.applied_to(&node)
}

/// Rejects attributes that apply only to fields.
pub(crate) fn reject_field_attrs(schema_attrs: &SchemaAttrs) -> syn::Result<()> {
    let spans = [
        schema_attrs
            .default
            .as_ref()
            .map(|(_, span)| ("default", *span)),
        schema_attrs
            .required
            .as_ref()
            .map(|(_, span)| ("required", *span)),
        schema_attrs.immutable.map(|span| ("immutable", span)),
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

/// Rejects a number of a whole type.
pub(crate) fn reject_number(schema_attrs: &SchemaAttrs) -> syn::Result<()> {
    match schema_attrs.keyword("protobuf") {
        None => Ok(()),
        Some(keyword) => Err(syn::Error::new(
            keyword.span,
            "`protobuf` is said of a field: put it on the fields of this type",
        )),
    }
}

struct Property {
    code: TokenStream,
    /// `None` if the field is flattened.
    name: Option<String>,
    required: bool,
}

fn property(field: &Field, names: &Names<'_>) -> syn::Result<Option<Property>> {
    reject_foreign(&field.attrs)?;
    let serde = Member::read(&field.attrs)?;
    let schema_attrs = SchemaAttrs::read(&field.attrs)?;
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
    fits::check(&schema_attrs, ty)?;
    let retyped = schema_attrs.stands_for.is_some()
        || schema_attrs.schemaless
        || schema_attrs.int_or_string.is_some();
    let retyped = retyped || schema_attrs.keyword("type").is_some();
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
    check_presence(&schema_attrs, ty, absent_is_fine)?;
    check_rust_default(&schema_attrs, &serde, ty)?;
    let required = match schema_attrs.required {
        Some((required, _)) => required,
        None => !(absent_is_fine || serde.skip_if || schema_attrs.default.is_some()),
    };
    let node = match (&schema_attrs.stands_for, schema_attrs.schemaless) {
        (Some(ty), _) => quote!(Node::of::<#ty>(generator)),
        (None, true) => quote!(Node::empty()),
        (None, false) => of(ty),
    };
    let mut node = described(&schema_attrs, node, documentation(&field.attrs));
    if let Some(default) = default(&schema_attrs, &serde, names, ident, ty)? {
        node = match &schema_attrs.default {
            Some((Default::Value(value), _)) if value.to_string() == "null" => {
                quote!(#node.null_default())
            }
            _ => quote!(#node.default_value(#default)),
        };
    }
    if let Some(at) = schema_attrs.span.and_then(position::of) {
        let default = schema_attrs.default.as_ref();
        let default = default.and_then(|(_, span)| position::of(*span));
        let default = default.unwrap_or_else(|| at.clone());
        node = quote!(#node.at(#at, #default));
    }
    let immutable = schema_attrs.immutable.is_some();
    let code = quote!(object.property(#name, #node, #required, #immutable););
    Ok(Some(Property {
        code,
        name: Some(name),
        required,
    }))
}

/// Returns the default of a field, as code that builds its JSON.
fn default(
    schema_attrs: &SchemaAttrs,
    serde: &Member,
    names: &Names<'_>,
    ident: &Ident,
    ty: &Type,
) -> syn::Result<Option<TokenStream>> {
    Ok(match &schema_attrs.default {
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

/// Checks that Rust has a default too: an object without the field is valid, and must be readable.
fn check_rust_default(schema_attrs: &SchemaAttrs, serde: &Member, ty: &Type) -> syn::Result<()> {
    let Some((Default::Value(value), span)) = &schema_attrs.default else {
        return Ok(());
    };
    let required = matches!(schema_attrs.required, Some((true, _)));
    let known = serde.default.is_some() || shape::optional(ty).is_some();
    match known || required || value.to_string() == "null" {
        true => Ok(()),
        false => {
            let what = "Rust does not know this default, and cannot read an object without the field: put \
                        `#[kubewright::defaults]` above `#[derive(...)]`";
            Err(syn::Error::new(*span, what))
        }
    }
}

/// Checks attributes that need a type that can be absent or null.
fn check_presence(schema_attrs: &SchemaAttrs, ty: &Type, absent_is_fine: bool) -> syn::Result<()> {
    let shown = quote!(#ty).to_string().replace(' ', "");
    if let Some((false, span)) = schema_attrs.required
        && !absent_is_fine
        && schema_attrs.default.is_none()
    {
        let what = format!(
            "an object without this field could not be read: make it `Option<{shown}>`, or add `#[serde(default)]`"
        );
        return Err(syn::Error::new(span, what));
    }
    let known = !matches!(Shape::of(ty), Shape::Unknown);
    if let Some(keyword) = schema_attrs.keyword("nullable")
        && known
        && shape::optional(ty).is_none()
    {
        let what = format!("`{shown}` cannot hold null: make it `Option<{shown}>`");
        return Err(syn::Error::new(keyword.span, what));
    }
    Ok(())
}
