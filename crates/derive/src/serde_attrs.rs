//! Parses serde's attributes on names and presence.
//!
//! Only attributes that change the JSON form are read; all others are left to serde.

use proc_macro2::TokenStream;
use syn::{Attribute, Expr, ExprLit, Lit, LitStr, Path, Token, meta::ParseNestedMeta};

use crate::casing::Casing;

/// `#[serde(...)]` on a type.
#[derive(Default)]
pub(crate) struct Container {
    pub(crate) rename: Option<String>,
    pub(crate) rename_all: Option<Casing>,
    pub(crate) rename_all_fields: Option<Casing>,
    pub(crate) default: bool,
    pub(crate) tag: Option<LitStr>,
    pub(crate) content: Option<LitStr>,
    pub(crate) untagged: Option<Path>,
    /// The type that replaces this one.
    pub(crate) stand_in: Option<Path>,
}

/// `#[serde(...)]` on a field or a variant.
#[derive(Default)]
pub(crate) struct Member {
    pub(crate) rename: Option<String>,
    pub(crate) rename_all: Option<Casing>,
    pub(crate) default: Option<Presence>,
    pub(crate) skip: bool,
    pub(crate) skip_if: bool,
    pub(crate) flatten: bool,
    /// `with`, `serialize_with`, `deserialize_with`: the JSON form is not that of the type.
    pub(crate) with: Option<Path>,
    pub(crate) other: Option<Path>,
}

/// The source of the value of an absent field.
pub(crate) enum Presence {
    /// `Default`
    Default,
    /// A function.
    Function(Box<TokenStream>),
}

impl Container {
    pub(crate) fn read(attrs: &[Attribute]) -> syn::Result<Self> {
        let mut out = Self::default();
        for_each(attrs, |meta, name| {
            match name {
                "rename" => out.rename = one_name(&meta)?.map(|n| n.value()),
                "rename_all" => out.rename_all = casing(&meta)?,
                "rename_all_fields" => out.rename_all_fields = casing(&meta)?,
                "default" => {
                    skip_value(&meta)?;
                    out.default = true;
                }
                "tag" => out.tag = Some(text(&meta)?),
                "content" => out.content = Some(text(&meta)?),
                "untagged" => out.untagged = Some(meta.path.clone()),
                "from" | "into" | "try_from" | "remote" => {
                    skip_value(&meta)?;
                    out.stand_in = Some(meta.path.clone());
                }
                _ => skip_value(&meta)?,
            }
            Ok(())
        })?;
        Ok(out)
    }
}

impl Member {
    pub(crate) fn read(attrs: &[Attribute]) -> syn::Result<Self> {
        let mut out = Self::default();
        for_each(attrs, |meta, name| {
            match name {
                "rename" => out.rename = one_name(&meta)?.map(|n| n.value()),
                "rename_all" => out.rename_all = casing(&meta)?,
                "default" if meta.input.peek(Token![=]) => {
                    let path: Path = text(&meta)?.parse()?;
                    let call = quote::quote!(#path());
                    out.default = Some(Presence::Function(Box::new(call)));
                }
                "default" => out.default = Some(Presence::Default),
                "skip" => out.skip = true,
                "skip_serializing_if" => {
                    skip_value(&meta)?;
                    out.skip_if = true;
                }
                "flatten" => out.flatten = true,
                "other" => out.other = Some(meta.path.clone()),
                "with" | "serialize_with" | "deserialize_with" => {
                    skip_value(&meta)?;
                    out.with = Some(meta.path.clone());
                }
                _ => skip_value(&meta)?,
            }
            Ok(())
        })?;
        Ok(out)
    }
}

/// Calls `read` for each attribute within `#[serde(...)]`.
fn for_each(
    attrs: &[Attribute],
    mut read: impl FnMut(ParseNestedMeta<'_>, &str) -> syn::Result<()>,
) -> syn::Result<()> {
    for attr in attrs.iter().filter(|attr| attr.path().is_ident("serde")) {
        attr.parse_nested_meta(|meta| {
            let name = meta.path.get_ident().map(ToString::to_string);
            read(meta, &name.unwrap_or_default())
        })?;
    }
    Ok(())
}

fn text(meta: &ParseNestedMeta<'_>) -> syn::Result<LitStr> {
    meta.value()?.parse()
}

/// Parses `rename = "a"`, or the serialized name in `rename(serialize = "a", deserialize = "b")`.
fn one_name(meta: &ParseNestedMeta<'_>) -> syn::Result<Option<LitStr>> {
    if meta.input.peek(Token![=]) {
        return text(meta).map(Some);
    }
    let mut written = None;
    meta.parse_nested_meta(|inner| {
        let name = text(&inner)?;
        if inner.path.is_ident("serialize") {
            written = Some(name);
        }
        Ok(())
    })?;
    Ok(written)
}

fn casing(meta: &ParseNestedMeta<'_>) -> syn::Result<Option<Casing>> {
    Ok(one_name(meta)?.and_then(|name| Casing::parse(&name.value())))
}

/// Skips `= value` or `(...)`.
pub(crate) fn skip_value(meta: &ParseNestedMeta<'_>) -> syn::Result<()> {
    if meta.input.peek(Token![=]) {
        let _: Expr = meta.value()?.parse()?;
    } else if meta.input.peek(syn::token::Paren) {
        let content;
        syn::parenthesized!(content in meta.input);
        let _: TokenStream = content.parse()?;
    }
    Ok(())
}

/// Returns the text of the documentation comments, without the common leading space.
pub(crate) fn documentation(attrs: &[Attribute]) -> Option<String> {
    let mut lines = Vec::new();
    for attr in attrs.iter().filter(|attr| attr.path().is_ident("doc")) {
        let Ok(pair) = attr.meta.require_name_value() else {
            continue;
        };
        if let Expr::Lit(ExprLit {
            lit: Lit::Str(text),
            ..
        }) = &pair.value
        {
            let text = text.value();
            lines.extend(text.lines().map(|line| line.trim_end().to_owned()));
            if text.is_empty() {
                lines.push(String::new());
            }
        }
    }
    let indent = |line: &String| line.len() - line.trim_start_matches(' ').len();
    let filled = lines.iter().filter(|line| !line.is_empty());
    let common = filled.map(indent).min().unwrap_or(0);
    let lines = lines.iter().map(|line| line.get(common..).unwrap_or(""));
    let text = lines.collect::<Vec<_>>().join("\n").trim().to_owned();
    (!text.is_empty()).then_some(text)
}
