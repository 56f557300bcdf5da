//! Derive macros that complement `kube-derive`.
//!
//! [`Schema`](macro@Schema) derives the structural schema of a custom resource from a Rust type. It replaces
//! `schemars::JsonSchema` or `kube::KubeSchema` next to `kube::CustomResource`, and supports what controller-gen's markers
//! support. Its attributes are documented, with an example, in `kubewright-resource`, which also has the runtime of the
//! generated code.
//!
//! | module | contents |
//! |---|---|
//! | `schema_attrs` | `#[schema(...)]`: the table of attributes, and their parser |
//! | `serde_attrs`, `casing` | the effect of serde's attributes on names and presence |
//! | `shape` | the JSON form of a type, guessed from its name |
//! | `fits` | rejection of attributes that do not fit their type |
//! | `fields`, `enums` | the schema of structs and enums |
//! | `kind` | `#[kube(...)]` and `#[crd(...)]`: the code for the whole kind |
//! | `defaults` | [`macro@defaults`]: the defaults of the schema in Rust |
//! | `boxed` | [`macro@boxed_async`]: async methods of trait objects |
//! | `position` | positions in the source |
//!
//! Invariant: every mistake is a compile error at the attribute in question, and its message says what to write. It is the only
//! error: the traits are still implemented, so that the code that uses the type compiles.
//!
//! ```
//! use kubewright::{__derive::JsonSchema, Schema};
//! use serde::{Deserialize, Serialize};
//!
//! #[kubewright::defaults]
//! #[derive(Schema, Serialize, Deserialize)]
//! #[serde(rename_all = "camelCase")]
//! struct Limits {
//!     #[schema(minimum = 1, default = 3)]
//!     max_replicas: i32,
//! }
//!
//! let schema = Limits::json_schema(&mut Default::default());
//! assert_eq!(schema.as_value()["properties"]["maxReplicas"]["minimum"], 1);
//! ```

mod boxed;
mod casing;
mod defaults;
mod enums;
mod fields;
mod fits;
mod kind;
mod position;
mod schema_attrs;
mod serde_attrs;
mod shape;

use proc_macro::TokenStream;
use quote::quote;
use syn::{Data, DeriveInput, parse_macro_input};

#[cfg(test)]
mod tests;

/// Derives the structural schema of a type from its fields, its documentation and `#[schema(...)]`.
///
/// On a type with `#[kube(...)]`, also derives `CustomKind`: the CustomResourceDefinition and native validation.
#[proc_macro_derive(Schema, attributes(schema, crd, serde, schemars, x_kube, validate))]
pub fn derive_schema(input: TokenStream) -> TokenStream {
    let input = parse_macro_input!(input as DeriveInput);
    match expand(&input) {
        Ok(code) => code.into(),
        Err(error) => {
            let errors = error.into_compile_error();
            let instead = without_schema(&input);
            quote!(#errors #instead).into()
        }
    }
}

/// Makes the defaults of the schema those of serde and of `Default`.
///
/// Put it above the derives. A field with `#[schema(default = ...)]` that is absent in JSON gets that value when it is read, as
/// on the server; so does the field of a new value if `Default` is derived.
///
/// ```
/// use kubewright::Schema;
/// use serde::{Deserialize, Serialize};
///
/// #[kubewright::defaults]
/// #[derive(Schema, Default, Serialize, Deserialize)]
/// struct Limits {
///     #[schema(default = 3)]
///     replicas: i32,
///     #[schema(default = ["a", "b"])]
///     zones: Vec<String>,
///     name: Option<String>,
/// }
///
/// assert_eq!(Limits::default().replicas, 3);
/// let read: Limits = serde_json::from_str("{}").unwrap();
/// assert_eq!(read.zones, ["a", "b"]);
/// ```
#[proc_macro_attribute]
pub fn defaults(arguments: TokenStream, item: TokenStream) -> TokenStream {
    let original = proc_macro2::TokenStream::from(item.clone());
    let item = parse_macro_input!(item as DeriveInput);
    match defaults::expand(arguments.into(), item) {
        Ok(code) => code.into(),
        Err(error) => {
            // The type stays, so that this is the only error.
            let errors = error.into_compile_error();
            quote!(#original #errors).into()
        }
    }
}

/// Lets a trait with async methods be used as a trait object: `async fn` returns a boxed future that is `Send`.
///
/// Put it on the trait and on each implementation. A trait whose methods have a default body needs `Send + Sync` as supertraits.
///
/// ```
/// use kubewright_derive::boxed_async;
///
/// #[boxed_async]
/// trait Lookup: Send + Sync {
///     async fn lookup(&self, name: &str) -> Option<String>;
/// }
///
/// struct Upper;
///
/// #[boxed_async]
/// impl Lookup for Upper {
///     async fn lookup(&self, name: &str) -> Option<String> {
///         Some(name.to_uppercase())
///     }
/// }
///
/// let lookup: Box<dyn Lookup> = Box::new(Upper);
/// let found = lookup.lookup("a");
/// # use std::{future::Future, pin::pin, task::{Context, Poll, Waker}};
/// # let found = pin!(found).poll(&mut Context::from_waker(Waker::noop()));
/// # assert_eq!(found, Poll::Ready(Some("A".to_owned())));
/// ```
#[proc_macro_attribute]
pub fn boxed_async(arguments: TokenStream, item: TokenStream) -> TokenStream {
    let item = parse_macro_input!(item as syn::Item);
    match boxed::expand(arguments.into(), item) {
        Ok(code) => code.into(),
        Err(error) => error.into_compile_error().into(),
    }
}

/// Implements the traits without a schema, for a type with mistakes: code that uses the type shall not be wrong as well.
fn without_schema(input: &DeriveInput) -> proc_macro2::TokenStream {
    let name = &input.ident;
    let (of_impl, of_type, of_where) = input.generics.split_for_impl();
    let kind = kind::without_schema(input);
    quote! {
        #[automatically_derived]
        impl #of_impl ::kubewright::__derive::JsonSchema for #name #of_type #of_where {
            fn schema_name() -> ::std::borrow::Cow<'static, str> {
                ::std::default::Default::default()
            }

            fn json_schema(
                _: &mut ::kubewright::__derive::SchemaGenerator,
            ) -> ::kubewright::__derive::JsonSchemaDocument {
                ::std::default::Default::default()
            }
        }
        #kind
    }
}

fn expand(input: &DeriveInput) -> syn::Result<proc_macro2::TokenStream> {
    schema_attrs::reject_foreign(&input.attrs)?;
    schema_attrs::reject_late_defaults(&input.attrs)?;
    let container = serde_attrs::Container::read(&input.attrs)?;
    let schema_attrs = schema_attrs::SchemaAttrs::read(&input.attrs)?;
    let body = match &input.data {
        Data::Struct(data) => fields::structure(input, &container, &schema_attrs, &data.fields)?,
        Data::Enum(data) => enums::enumeration(input, &container, &schema_attrs, data)?,
        Data::Union(_) => {
            let what = "a union has no JSON form: write a struct or an enum";
            return Err(syn::Error::new_spanned(&input.ident, what));
        }
    };
    let kind = kind::implementation(input)?;
    let name = &input.ident;
    let title = container.rename.clone().unwrap_or_else(|| name.to_string());
    let mut generics = input.generics.clone();
    for parameter in generics.type_params_mut() {
        let bound = syn::parse_quote!(::kubewright::__derive::JsonSchema);
        parameter.bounds.push(bound);
    }
    let (of_impl, of_type, of_where) = generics.split_for_impl();
    let parameters: Vec<_> = input.generics.type_params().map(|p| &p.ident).collect();
    Ok(quote! {
        #[automatically_derived]
        impl #of_impl ::kubewright::__derive::JsonSchema for #name #of_type #of_where {
            fn schema_name() -> ::std::borrow::Cow<'static, str> {
                let mut name = ::std::string::String::from(#title);
                #(
                    name.push('_');
                    name.push_str(&<#parameters as ::kubewright::__derive::JsonSchema>::schema_name());
                )*
                name.into()
            }

            fn schema_id() -> ::std::borrow::Cow<'static, str> {
                let mut id = ::std::string::String::from(concat!(module_path!(), "::", #title));
                #(
                    id.push('_');
                    id.push_str(&<#parameters as ::kubewright::__derive::JsonSchema>::schema_id());
                )*
                id.into()
            }

            fn json_schema(
                generator: &mut ::kubewright::__derive::SchemaGenerator,
            ) -> ::kubewright::__derive::JsonSchemaDocument {
                use ::kubewright::__derive::{Node, json};
                let node: Node = { #body };
                node.into_schema()
            }
        }
        #kind
    })
}
