//! Generates the schema of enums.
//!
//! | enum | schema |
//! |---|---|
//! | unit variants only | a string with the names as allowed values |
//! | externally tagged, with data | an object of which exactly one field is set |
//! | internally tagged | an object with a tag field and the fields of all variants |
//! | anything else | rejected, since it has no structural schema, unless one is given |

use proc_macro2::TokenStream;
use quote::quote;
use syn::{DataEnum, DeriveInput, Fields, LitStr, Variant, ext::IdentExt};

use crate::{
    fields::{Names, described, object, of, reject_field_attrs, reject_number, replaced},
    fits,
    schema_attrs::{SchemaAttrs, reject_foreign},
    serde_attrs::{Container, Member, documentation},
};

/// Returns the schema of an enum as an expression.
pub(crate) fn enumeration(
    input: &DeriveInput,
    container: &Container,
    schema_attrs: &SchemaAttrs,
    data: &DataEnum,
) -> syn::Result<TokenStream> {
    reject_field_attrs(schema_attrs)?;
    reject_number(schema_attrs)?;
    let mut variants = Vec::new();
    for variant in &data.variants {
        reject_foreign(&variant.attrs)?;
        let serde = Member::read(&variant.attrs)?;
        if !serde.skip {
            variants.push(One::new(variant, serde, container)?);
        }
    }
    let plain = variants
        .iter()
        .all(|one| matches!(one.variant.fields, Fields::Unit));
    let node = if let Some(node) = replaced(container, schema_attrs)? {
        node
    } else if let Some(path) = &container.untagged {
        if schema_attrs.keyword("type").is_none()
            && schema_attrs.keyword("preserve_unknown_fields").is_none()
        {
            let what = "an untagged enum has no structural schema: tag it, or write `#[schema(int_or_string)]` for a number \
                        or a text, or `#[schema(preserve_unknown_fields)]` for anything";
            return Err(syn::Error::new_spanned(path, what));
        }
        quote!(Node::empty())
    } else if let Some(content) = &container.content {
        let what = "an enum with `content` has no structural schema: leave `content` out, and `tag` too for one field per \
                    variant";
        return Err(syn::Error::new(content.span(), what));
    } else if let Some(tag) = &container.tag {
        internally_tagged(tag, &variants, container)?
    } else if plain {
        names(&variants)?
    } else {
        externally_tagged(&variants, container)?
    };
    Ok(described(schema_attrs, node, documentation(&input.attrs)))
}

/// A variant that serde does not skip.
struct One<'a> {
    variant: &'a Variant,
    serde: Member,
    name: String,
}

impl<'a> One<'a> {
    fn new(variant: &'a Variant, serde: Member, container: &Container) -> syn::Result<Self> {
        if let Some(path) = &serde.other {
            let what = "`other` takes any value, and the schema would reject it: name all values, or write a `String` with \
                        `#[schema(...)]`";
            return Err(syn::Error::new_spanned(path, what));
        }
        let rust = variant.ident.unraw().to_string();
        let cased = || {
            container
                .rename_all
                .map_or_else(|| rust.clone(), |casing| casing.variant(&rust))
        };
        let name = serde.rename.clone().unwrap_or_else(cased);
        Ok(Self {
            variant,
            serde,
            name,
        })
    }

    /// Returns the schema of the variant's data as an expression.
    fn node(&self, container: &Container) -> syn::Result<TokenStream> {
        let schema_attrs = SchemaAttrs::read(&self.variant.attrs)?;
        reject_field_attrs(&schema_attrs)?;
        let node = match &self.variant.fields {
            Fields::Unit => quote!(Node::object()),
            Fields::Named(named) => {
                let names = Names {
                    casing: self.serde.rename_all.or(container.rename_all_fields),
                    defaulted: None,
                };
                let (node, known) = object(named, &names)?;
                fits::check_groups(&schema_attrs, &known)?;
                node
            }
            Fields::Unnamed(unnamed) if unnamed.unnamed.len() == 1 => {
                let ty = &unnamed.unnamed[0].ty;
                fits::check(&schema_attrs, ty)?;
                of(ty)
            }
            Fields::Unnamed(unnamed) => {
                let what = "values of different types in a row have no structural schema: write `Variant { a: A, b: B }`";
                return Err(syn::Error::new_spanned(unnamed, what));
            }
        };
        Ok(described(
            &schema_attrs,
            node,
            documentation(&self.variant.attrs),
        ))
    }
}

fn names(variants: &[One<'_>]) -> syn::Result<TokenStream> {
    let names = variants.iter().map(|one| &one.name);
    Ok(quote!(
        Node::empty()
            .set("type", json!("string"))
            .set("enum", json!([#(#names),*]))
    ))
}

fn externally_tagged(variants: &[One<'_>], container: &Container) -> syn::Result<TokenStream> {
    let mut statements = Vec::new();
    for one in variants {
        if matches!(one.variant.fields, Fields::Unit) {
            let name = &one.variant.ident;
            let what = format!(
                "`{name}` is written as a text and the others as objects, which has no structural schema: write `{name} {{}}`"
            );
            return Err(syn::Error::new_spanned(name, what));
        }
        let (name, node) = (&one.name, one.node(container)?);
        statements.push(quote!(object.property(#name, #node, false, false);));
    }
    let names = variants.iter().map(|one| &one.name);
    Ok(quote! {{
        let mut object = Node::object();
        #(#statements)*
        object.exactly_one_of(&[#(#names),*])
    }})
}

fn internally_tagged(
    tag: &LitStr,
    variants: &[One<'_>],
    container: &Container,
) -> syn::Result<TokenStream> {
    let mut nodes = Vec::new();
    for one in variants {
        let (name, node) = (&one.name, one.node(container)?);
        nodes.push(quote!((#name, #node)));
    }
    Ok(quote!(Node::tagged(#tag, ::std::vec![#(#nodes),*])))
}
