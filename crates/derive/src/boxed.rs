//! `#[boxed_async]`: async methods of traits that are used as trait objects.
//!
//! Each `async fn` becomes a function that returns a boxed future, with one lifetime for everything that the future borrows and
//! no `where` clause. Without `where` clauses, the compiler proves once per crate that the types which the futures hold are
//! `Send`; with those that `async-trait` writes, it repeats the proof for every method.

use proc_macro2::TokenStream;
use quote::ToTokens;
use syn::{
    Block, FnArg, GenericParam, Ident, ImplItem, Item, Lifetime, LifetimeParam, ReceiverKind,
    ReturnType, Signature, TraitItem, Type, parse_quote,
    visit_mut::{self, VisitMut},
};

/// Rewrites the async methods of a trait or of its implementation.
pub(crate) fn expand(arguments: TokenStream, item: Item) -> syn::Result<TokenStream> {
    if !arguments.is_empty() {
        let what = "boxed_async takes no arguments";
        return Err(syn::Error::new_spanned(arguments, what));
    }
    match item {
        Item::Trait(mut item) => {
            for member in &mut item.items {
                if let TraitItem::Fn(method) = member {
                    boxed(&mut method.sig, method.default.as_mut());
                }
            }
            Ok(item.into_token_stream())
        }
        Item::Impl(mut item) => {
            for member in &mut item.items {
                if let ImplItem::Fn(method) = member {
                    boxed(&mut method.sig, Some(&mut method.block));
                }
            }
            Ok(item.into_token_stream())
        }
        other => {
            let what = "boxed_async belongs on a trait or on its implementation";
            Err(syn::Error::new_spanned(other, what))
        }
    }
}

/// Rewrites a method if it is async.
fn boxed(signature: &mut Signature, body: Option<&mut Block>) {
    if signature.asyncness.take().is_none() {
        return;
    }
    let lifetime = Lifetime::new("'boxed", proc_macro2::Span::call_site());
    for input in &mut signature.inputs {
        match input {
            FnArg::Receiver(receiver) => match &mut receiver.kind {
                ReceiverKind::Reference(_, elided, _) => name(&lifetime, elided),
                ReceiverKind::Typed(_, ty) => InArgument(&lifetime).visit_type_mut(ty),
                _ => {}
            },
            FnArg::Typed(argument) => InArgument(&lifetime).visit_type_mut(&mut argument.ty),
        }
    }
    let mut output = match &signature.output {
        ReturnType::Default => parse_quote!(()),
        ReturnType::Type(_, output) => Type::clone(output),
    };
    InOutput(&lifetime).visit_type_mut(&mut output);
    signature.output = parse_quote! {
        -> ::std::pin::Pin<::std::boxed::Box<
            dyn ::std::future::Future<Output = #output> + ::std::marker::Send + #lifetime
        >>
    };
    let parameter = GenericParam::Lifetime(LifetimeParam::new(lifetime));
    signature.generics.params.insert(0, parameter);
    if let Some(body) = body {
        let statements = std::mem::take(&mut body.stmts);
        let returned = Ident::new("__returned", proc_macro2::Span::mixed_site());
        // The first statement tells the type to `return` and `?` in the body.
        *body = parse_quote!({
            ::std::boxed::Box::pin(async move {
                if let ::std::option::Option::Some(#returned) = ::std::option::Option::None::<#output> {
                    #[allow(unreachable_code)]
                    return #returned;
                }
                let #returned: #output = { #(#statements)* };
                #[allow(unreachable_code)]
                #returned
            })
        });
    }
}

/// Names the elided lifetimes of an argument that are not behind another reference: those behind one outlive it anyway.
struct InArgument<'l>(&'l Lifetime);

impl VisitMut for InArgument<'_> {
    fn visit_type_reference_mut(&mut self, reference: &mut syn::TypeReference) {
        name(self.0, &mut reference.lifetime);
    }

    fn visit_lifetime_mut(&mut self, elided: &mut Lifetime) {
        name_anonymous(self.0, elided);
    }

    fn visit_parenthesized_generic_arguments_mut(
        &mut self,
        _: &mut syn::ParenthesizedGenericArguments,
    ) {
        // The lifetimes in `Fn(&T)` are those of its callers.
    }
}

/// Names all elided lifetimes of what a method returns.
struct InOutput<'l>(&'l Lifetime);

impl VisitMut for InOutput<'_> {
    fn visit_type_reference_mut(&mut self, reference: &mut syn::TypeReference) {
        name(self.0, &mut reference.lifetime);
        visit_mut::visit_type_reference_mut(self, reference);
    }

    fn visit_lifetime_mut(&mut self, elided: &mut Lifetime) {
        name_anonymous(self.0, elided);
    }

    fn visit_parenthesized_generic_arguments_mut(
        &mut self,
        _: &mut syn::ParenthesizedGenericArguments,
    ) {
    }
}

fn name(lifetime: &Lifetime, of_reference: &mut Option<Lifetime>) {
    match of_reference {
        Some(elided) => name_anonymous(lifetime, elided),
        None => *of_reference = Some(lifetime.clone()),
    }
}

fn name_anonymous(lifetime: &Lifetime, elided: &mut Lifetime) {
    if elided.ident == "_" {
        *elided = lifetime.clone();
    }
}
