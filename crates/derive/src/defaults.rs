//! `#[defaults]`: the defaults of the schema as those of serde and of `Default`.
//!
//! A derive cannot change what other derives see, so this is an attribute above them. For each field with
//! `#[schema(default = ...)]` it writes a function that returns the value, has serde call it for an absent field, and has
//! `Default`, if it is derived, call it too.

use proc_macro2::TokenStream;
use quote::{format_ident, quote, quote_spanned};
use syn::{
    Attribute, Data, DeriveInput, Field, Fields, Ident, Meta, Path, Token, Type, ext::IdentExt,
    punctuated::Punctuated, spanned::Spanned,
};

use crate::{
    position,
    schema_attrs::{Default, SchemaAttrs},
    serde_attrs::{Member, Presence},
    shape::{self, Shape},
};

/// Returns the struct with its defaults, and their functions.
pub(crate) fn expand(arguments: TokenStream, mut item: DeriveInput) -> syn::Result<TokenStream> {
    if !arguments.is_empty() {
        let what = "`defaults` has no arguments: write `#[kubewright::defaults]`";
        return Err(syn::Error::new_spanned(arguments, what));
    }
    let name = item.ident.clone();
    let fields = match &mut item.data {
        Data::Struct(data) => match &mut data.fields {
            Fields::Named(fields) => Some(fields),
            _ => None,
        },
        _ => None,
    };
    let Some(fields) = fields else {
        let what = "`defaults` is for structs with named fields: leave it out";
        return Err(syn::Error::new_spanned(&name, what));
    };
    let generics = item.generics.clone();
    let (impl_generics, type_generics, where_clause) = generics.split_for_impl();
    let turbofish = type_generics.as_turbofish();
    let mut functions = Vec::new();
    let mut values = Vec::new();
    for field in &mut fields.named {
        let Some(ident) = field.ident.clone() else {
            continue;
        };
        let schema_attrs = SchemaAttrs::read(&field.attrs)?;
        let value = match &schema_attrs.default {
            Some((Default::Value(value), _)) if value.to_string() != "null" => {
                let function = format_ident!("__default_{}", ident.unraw());
                let path = quote!(#name #turbofish :: #function)
                    .to_string()
                    .replace(' ', "");
                use_function(field, &path)?;
                let (ty, body) = (&field.ty, body(field, value));
                functions.push(quote! {
                    #[doc(hidden)]
                    fn #function() -> #ty {
                        #body
                    }
                });
                quote!(Self::#function())
            }
            Some((Default::OfSerde, _)) => match Member::read(&field.attrs)?.default {
                Some(Presence::Function(call)) => quote!(#call),
                _ => quote!(::std::default::Default::default()),
            },
            _ => quote!(::std::default::Default::default()),
        };
        values.push(quote!(#ident: #value));
    }
    if functions.is_empty() {
        return Ok(quote!(#item));
    }
    let default = match take_default(&mut item.attrs)? {
        true => quote! {
            #[automatically_derived]
            impl #impl_generics ::std::default::Default for #name #type_generics #where_clause {
                fn default() -> Self {
                    Self { #(#values),* }
                }
            }
        },
        false => TokenStream::new(),
    };
    Ok(quote! {
        #item
        #[automatically_derived]
        impl #impl_generics #name #type_generics #where_clause {
            #(#functions)*
        }
        #default
    })
}

/// Has serde call a function for an absent field.
fn use_function(field: &mut Field, path: &str) -> syn::Result<()> {
    let serde = Member::read(&field.attrs)?;
    if let Some(Presence::Function(call)) = &serde.default {
        let what = "serde has another default for this field: leave one of them out, or write `#[schema(default)]` to use that of \
                    serde";
        return Err(syn::Error::new_spanned(call, what));
    }
    if let Some(with) = &serde.with {
        let what = "serde reads this field in its own way: write a function that returns the default, then \
                    `#[serde(default = \"function\")]` and `#[schema(default)]`";
        return Err(syn::Error::new_spanned(with, what));
    }
    // The `default` of serde alone would be that of the type.
    for attr in &mut field.attrs {
        retain(attr, "serde", |meta| !meta.path().is_ident("default"))?;
    }
    field
        .attrs
        .push(syn::parse_quote!(#[serde(default = #path)]));
    Ok(())
}

/// Returns the code of the value of a default.
fn body(field: &Field, value: &TokenStream) -> TokenStream {
    let ty = &field.ty;
    let inner = shape::optional(ty).unwrap_or(ty);
    let is_bare = is_bare(inner);
    let literal = syn::parse2::<syn::Lit>(value.clone()).ok();
    let code = match (Shape::of(inner), &literal) {
        (Shape::Integer | Shape::Bool, _) if is_bare => Some(quote!(#value)),
        (Shape::Float, _) if is_bare => Some(quote!((#value) as #inner)),
        (Shape::Text, Some(syn::Lit::Str(text))) if is_string(inner) => {
            Some(quote!(::std::string::String::from(#text)))
        }
        _ => None,
    };
    match (code, shape::optional(ty).is_some()) {
        (Some(code), true) => quote!(::std::option::Option::Some(#code)),
        (Some(code), false) => code,
        (None, _) => {
            let span = value.span();
            let at = position::of(span).unwrap_or_default();
            quote_spanned! {span=>
                ::kubewright::__derive::default_from_json(::kubewright::__derive::json!(#value), #at)
            }
        }
    }
}

fn is_string(ty: &Type) -> bool {
    shape::is_called(ty, "String") && is_bare(ty)
}

/// Reports whether a type is not behind a pointer.
fn is_bare(ty: &Type) -> bool {
    std::ptr::eq(shape::bare(ty), ty)
}

/// Takes `Default` out of the derives. Returns whether it was there.
fn take_default(attrs: &mut [Attribute]) -> syn::Result<bool> {
    let is_default = |path: &Path| {
        path.segments
            .last()
            .is_some_and(|last| last.ident == "Default")
    };
    let mut found = false;
    for attr in attrs.iter_mut() {
        retain(attr, "derive", |meta| {
            found |= is_default(meta.path());
            !is_default(meta.path())
        })?;
    }
    Ok(found)
}

/// Removes arguments of an attribute of this name.
fn retain(
    attr: &mut Attribute,
    name: &str,
    mut keep: impl FnMut(&Meta) -> bool,
) -> syn::Result<()> {
    if !attr.path().is_ident(name) {
        return Ok(());
    }
    let all = attr.parse_args_with(Punctuated::<Meta, Token![,]>::parse_terminated)?;
    let kept: Vec<&Meta> = all.iter().filter(|meta| keep(meta)).collect();
    if kept.len() < all.len() {
        let name = Ident::new(name, attr.path().span());
        attr.meta = syn::parse_quote!(#name(#(#kept),*));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn expanded(source: &str) -> Result<String, String> {
        let item: DeriveInput = syn::parse_str(source).expect("Rust");
        let code = expand(TokenStream::new(), item).map_err(|e| e.to_string())?;
        Ok(code.to_string().replace(' ', ""))
    }

    #[test]
    fn serde_and_default_call_the_same_function() {
        let code = expanded(
            "#[derive(Clone, Default, Schema)] struct Spec { #[serde(default, rename = \"a\")] #[schema(default = 3)] a: i32, b: String }",
        )
        .unwrap();
        assert!(code.contains("#[derive(Clone,Schema)]"), "{code}");
        assert!(code.contains("#[serde(rename=\"a\")]"), "{code}");
        assert!(
            code.contains("#[serde(default=\"Spec::__default_a\")]"),
            "{code}"
        );
        assert!(code.contains("fn__default_a()->i32{3}"), "{code}");
        assert!(code.contains("Self{a:Self::__default_a(),b:"), "{code}");
    }

    #[test]
    fn without_a_derived_default_there_is_none() {
        let code = expanded("#[derive(Schema)] struct Spec { #[schema(default = 3)] a: i32 }");
        assert!(!code.unwrap().contains("fndefault()"));
        let code = expanded("#[derive(Default, Schema)] struct Spec { a: i32 }").unwrap();
        assert_eq!(code, "#[derive(Default,Schema)]structSpec{a:i32}");
    }

    #[test]
    fn two_defaults_of_a_field_are_refused() {
        let error = |source: &str| expanded(source).unwrap_err();
        assert!(
            error("struct Spec { #[serde(default = \"f\")] #[schema(default = 3)] a: i32 }")
                .starts_with("serde has another default for this field")
        );
        assert!(
            error("struct Spec { #[serde(with = \"m\")] #[schema(default = 3)] a: i32 }")
                .starts_with("serde reads this field in its own way")
        );
        assert_eq!(
            error("enum Spec { A }"),
            "`defaults` is for structs with named fields: leave it out"
        );
    }
}
