//! The code for a whole kind: of a type that also has `#[kube(...)]`.
//!
//! `#[kube(...)]` is read for what `kube::CustomResource` makes of it; `#[crd(...)]` has what it lacks.

use proc_macro2::TokenStream;
use quote::{format_ident, quote};
use syn::{
    DeriveInput, Expr, ExprLit, Lit, LitStr, Path, Token, meta::ParseNestedMeta, spanned::Spanned,
};

use crate::{
    marks::{Marks, names},
    serde_attrs::{documentation, skip_value},
};

/// What `#[kube(...)]` says, as far as it matters here.
#[derive(Default)]
struct Kube {
    kind: Option<String>,
    root: Option<String>,
    described: bool,
    status: bool,
    scale: Option<Path>,
}

/// The implementation of `CustomKind` for the type that `kube::CustomResource` makes, if it makes one.
pub(crate) fn implementation(input: &DeriveInput) -> syn::Result<TokenStream> {
    let kube = Kube::read(input)?;
    let amendments = amendments(input, kube.as_ref())?;
    let Some(kube) = kube else {
        return Ok(TokenStream::new());
    };
    if let Some(scale) = kube.scale.as_ref().filter(|_| !kube.status) {
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
            fn amend(definition: &mut ::kubewright::__derive::Amended) {
                use ::kubewright::__derive::json;
                #(definition.#amendments;)*
            }

            fn judge() -> &'static ::kubewright::__derive::Judge {
                static JUDGE: ::std::sync::OnceLock<::kubewright::__derive::Judge> =
                    ::std::sync::OnceLock::new();
                JUDGE.get_or_init(::kubewright::__derive::Judge::of::<Self>)
            }
        }
    })
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
                    Some("doc") => kube.described = text(&meta)?.is_some(),
                    Some("status") => {
                        kube.status = true;
                        skip_value(&meta)?;
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

/// `= "text"`
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

/// What `#[crd(...)]` adds: calls of the methods of `Amended`.
fn amendments(input: &DeriveInput, kube: Option<&Kube>) -> syn::Result<Vec<TokenStream>> {
    let mut calls = Vec::new();
    if let Some(text) = documentation(&input.attrs).filter(|_| kube.is_some_and(|k| !k.described)) {
        calls.push(quote!(describe(#text)));
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
                Some("rule" | "title" | "external_docs") => root_mark(&meta, attr)?,
                _ => return Err(meta.error(unknown(name.as_deref().unwrap_or_default()))),
            });
            Ok(())
        })?;
    }
    Ok(calls)
}

/// `annotation("key", "value")`
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

/// A mark on the whole object.
fn root_mark(meta: &ParseNestedMeta<'_>, attr: &syn::Attribute) -> syn::Result<TokenStream> {
    // The same words as in `#[schema(...)]`, so the same reader.
    let path = &meta.path;
    let rest: TokenStream = if meta.input.peek(Token![=]) {
        let value: Expr = meta.value()?.parse()?;
        quote!(= #value)
    } else {
        let content;
        syn::parenthesized!(content in meta.input);
        let content: TokenStream = content.parse()?;
        quote!((#content))
    };
    let mut copy = attr.clone();
    copy.meta = syn::parse_quote!(schema(#path #rest));
    let marks = Marks::read(&[copy])?;
    let node = marks.applied_to(&quote!(node));
    Ok(quote!(mark(|node| #node)))
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
            "`{name}` is not known; known are annotation, external_docs, label, list_kind, rule, title"
        ),
    }
}
