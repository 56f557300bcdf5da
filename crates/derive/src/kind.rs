//! Generates the code for a whole kind: a type that also has `#[kube(...)]`.
//!
//! `#[kube(...)]` is read for the parts that matter here; `#[crd(...)]` adds what it lacks.

use proc_macro2::TokenStream;
use quote::{format_ident, quote};
use syn::{
    DeriveInput, Expr, ExprLit, Lit, LitBool, LitStr, Path, Token, meta::ParseNestedMeta,
    spanned::Spanned,
};

use crate::{
    schema_attrs::{SchemaAttrs, json, names},
    serde_attrs::{documentation, skip_value},
};

/// The options of `#[kube(...)]` that matter here.
#[derive(Default)]
struct Kube {
    kind: Option<String>,
    root: Option<String>,
    doc: Option<String>,
    no_spec: bool,
    status: Option<Path>,
    scale: Option<Path>,
}

/// Generates the implementation of `CustomKind` for the type that `kube::CustomResource` generates, if there is one.
pub(crate) fn implementation(input: &DeriveInput) -> syn::Result<TokenStream> {
    let kube = Kube::read(input)?;
    let calls = builder_calls(input, kube.as_ref())?;
    let Some(kube) = kube else {
        return Ok(TokenStream::new());
    };
    if let Some(scale) = kube.scale.as_ref().filter(|_| kube.status.is_none()) {
        let what =
            "without a status there is no `scale`: add `status = \"...\"`, the type of the status";
        return Err(syn::Error::new_spanned(scale, what));
    }
    let Some(root) = kube.root.or(kube.kind) else {
        return Ok(TokenStream::new());
    };
    let root = format_ident!("{root}");
    Ok(quote! {
        #[automatically_derived]
        impl ::kubewright::__derive::CustomKind for #root {
            fn extend_crd(crd: &mut ::kubewright::__derive::CrdBuilder) {
                use ::kubewright::__derive::json;
                #(crd.#calls;)*
            }

            fn validator() -> &'static ::kubewright::__derive::Validator {
                static VALIDATOR: ::std::sync::OnceLock<::kubewright::__derive::Validator> =
                    ::std::sync::OnceLock::new();
                VALIDATOR.get_or_init(::kubewright::__derive::Validator::of::<Self>)
            }
        }
    })
}

/// Generates the implementation of `CustomKind` for a type whose attributes have mistakes.
pub(crate) fn without_schema(input: &DeriveInput) -> TokenStream {
    let Ok(Some(kube)) = Kube::read(input) else {
        return TokenStream::new();
    };
    let Some(root) = kube.root.or(kube.kind) else {
        return TokenStream::new();
    };
    let root = format_ident!("{root}");
    quote! {
        #[automatically_derived]
        impl ::kubewright::__derive::CustomKind for #root {
            fn validator() -> &'static ::kubewright::__derive::Validator {
                ::std::unreachable!()
            }
        }
    }
}

impl Kube {
    fn read(input: &DeriveInput) -> syn::Result<Option<Self>> {
        let mut kube: Option<Self> = None;
        for attr in input.attrs.iter().filter(|a| a.path().is_ident("kube")) {
            let kube = kube.get_or_insert_default();
            attr.parse_nested_meta(|meta| {
                let name = meta.path.get_ident().map(ToString::to_string);
                match name.as_deref() {
                    Some("kind") => kube.kind = text(&meta)?,
                    Some("root") => kube.root = text(&meta)?,
                    Some("doc") => kube.doc = text(&meta)?,
                    Some("no_spec") => kube.no_spec = true,
                    Some("status") => {
                        let value = meta.value()?;
                        kube.status = Some(match value.peek(LitStr) {
                            true => value.parse::<LitStr>()?.parse()?,
                            false => value.parse()?,
                        });
                    }
                    Some("scale") => {
                        kube.scale = Some(meta.path.clone());
                        skip_value(&meta)?;
                    }
                    _ => skip_value(&meta)?,
                }
                Ok(())
            })?;
        }
        Ok(kube)
    }
}

/// Parses `= "text"`.
fn text(meta: &ParseNestedMeta<'_>) -> syn::Result<Option<String>> {
    let value: Expr = meta.value()?.parse()?;
    Ok(match value {
        Expr::Lit(ExprLit {
            lit: Lit::Str(text),
            ..
        }) => Some(text.value()),
        _ => None,
    })
}

/// Returns the calls of methods of `CrdBuilder` that set the schemas and the options of `#[crd(...)]`.
fn builder_calls(input: &DeriveInput, kube: Option<&Kube>) -> syn::Result<Vec<TokenStream>> {
    let mut calls = Vec::new();
    if let Some(kube) = kube {
        let spec = &input.ident;
        calls.push(match kube.no_spec {
            true => quote!(fields::<#spec>()),
            false => quote!(spec::<#spec>()),
        });
        let status = kube.status.as_ref();
        calls.extend(status.map(|status| quote!(status::<#status>())));
        let text = kube.doc.clone().or_else(|| documentation(&input.attrs));
        calls.extend(text.map(|text| quote!(describe(#text))));
    }
    for attr in input.attrs.iter().filter(|a| a.path().is_ident("crd")) {
        if kube.is_none() {
            let what = "`#[crd(...)]` is about a whole kind: put it beside `#[kube(...)]`";
            return Err(syn::Error::new_spanned(attr, what));
        }
        attr.parse_nested_meta(|meta| {
            let name = meta.path.get_ident().map(ToString::to_string);
            calls.push(match name.as_deref() {
                Some("annotation") => pair(&meta, &quote!(annotation))?,
                Some("label") => pair(&meta, &quote!(label))?,
                Some("list_kind") => {
                    let kind: LitStr = meta.value()?.parse()?;
                    quote!(list_kind(#kind))
                }
                Some("status_subresource") => {
                    let wanted = match meta.input.peek(Token![=]) {
                        true => meta.value()?.parse::<LitBool>()?.value,
                        false => true,
                    };
                    quote!(status_subresource(#wanted))
                }
                Some("metadata") => {
                    let schema = json(meta.value()?)?;
                    quote!(metadata(json!(#schema)))
                }
                Some("rule" | "title" | "external_docs" | "preserve_unknown_fields" | "extend") => {
                    root_attr(&meta, attr)?
                }
                _ => return Err(meta.error(unknown(name.as_deref().unwrap_or_default()))),
            });
            Ok(())
        })?;
    }
    Ok(calls)
}

/// Parses `annotation("key", "value")`.
fn pair(meta: &ParseNestedMeta<'_>, method: &TokenStream) -> syn::Result<TokenStream> {
    let usage = || format!("write `{method}(\"key\", \"value\")`");
    if !meta.input.peek(syn::token::Paren) {
        return Err(meta.error(usage()));
    }
    match names(meta)?.as_slice() {
        [key, value] => Ok(quote!(#method(#key, #value))),
        _ => Err(syn::Error::new(meta.path.span(), usage())),
    }
}

/// Parses an attribute that applies to the schema of the whole object.
fn root_attr(meta: &ParseNestedMeta<'_>, attr: &syn::Attribute) -> syn::Result<TokenStream> {
    // The syntax is that of `#[schema(...)]`, so its parser is used.
    let path = &meta.path;
    let rest: TokenStream = if meta.input.peek(Token![=]) {
        let value: Expr = meta.value()?.parse()?;
        quote!(= #value)
    } else if !meta.input.peek(syn::token::Paren) {
        TokenStream::new()
    } else {
        let content;
        syn::parenthesized!(content in meta.input);
        let content: TokenStream = content.parse()?;
        quote!((#content))
    };
    let mut copy = attr.clone();
    copy.meta = syn::parse_quote!(schema(#path #rest));
    let schema_attrs = SchemaAttrs::read(&[copy])?;
    let node = schema_attrs.applied_to(&quote!(node));
    Ok(quote!(map_schema(|node| #node)))
}

fn unknown(name: &str) -> String {
    let kube = [
        "printcolumn",
        "selectable",
        "deprecated",
        "served",
        "storage",
        "scale",
        "status",
        "category",
        "shortname",
        "singular",
        "plural",
        "namespaced",
    ];
    match kube.contains(&name) {
        true => format!("`{name}` is kube's: write it in `#[kube(...)]`"),
        false => format!(
            "`{name}` is not known; known are annotation, extend, external_docs, label, list_kind, metadata, \
             preserve_unknown_fields, rule, status_subresource, title"
        ),
    }
}
