//! Derive macros, where `kube-derive` has none.
//!
//! [`Schema`](macro@Schema) turns a Rust type into the structural schema of a custom resource. It takes the place of
//! `schemars::JsonSchema` or `kube::KubeSchema` beside `kube::CustomResource`, and knows what controller-gen's markers
//! know. Its attributes are described, with an example, in `kubewright-resource`, which also has what the generated code
//! calls.
//!
//! | module | what it holds |
//! |---|---|
//! | `marks` | `#[schema(...)]`: what an author may write, as a table |
//! | `serde_attrs`, `casing` | what serde's attributes do to names and presence |
//! | `shape` | what can be told of a type from its name |
//! | `fits` | marks that do not fit their type, with what to write instead |
//! | `fields`, `enums` | the code for structs and for enums |
//! | `kind` | `#[kube(...)]` and `#[crd(...)]`: the code for the whole kind |
//!
//! Invariant: whatever is wrong is a compile error at the place where it was written, and says what to write.
//!
//! ```
//! use kubewright::{__derive::JsonSchema, Schema};
//! use serde::{Deserialize, Serialize};
//!
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

mod casing;
mod enums;
mod fields;
mod fits;
mod kind;
mod marks;
mod serde_attrs;
mod shape;

use proc_macro::TokenStream;
use quote::quote;
use syn::{Data, DeriveInput, parse_macro_input};

#[cfg(test)]
mod tests;

/// The structural schema of a type, from its fields, its documentation and `#[schema(...)]`.
///
/// On a type with `#[kube(...)]`, also the definition of the kind and its native validation.
#[proc_macro_derive(Schema, attributes(schema, crd, serde, schemars, x_kube, validate))]
pub fn derive_schema(input: TokenStream) -> TokenStream {
    let input = parse_macro_input!(input as DeriveInput);
    expand(&input)
        .unwrap_or_else(syn::Error::into_compile_error)
        .into()
}

fn expand(input: &DeriveInput) -> syn::Result<proc_macro2::TokenStream> {
    marks::refuse_foreign(&input.attrs)?;
    let container = serde_attrs::Container::read(&input.attrs)?;
    let marks = marks::Marks::read(&input.attrs)?;
    let body = match &input.data {
        Data::Struct(data) => fields::structure(input, &container, &marks, &data.fields)?,
        Data::Enum(data) => enums::enumeration(input, &container, &marks, data)?,
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
