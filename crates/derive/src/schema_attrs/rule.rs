//! Parses `rule("self.x < 3", message = "...")`, a CEL rule.

use proc_macro2::TokenStream;
use quote::quote;
use syn::{Ident, LitStr, Token, meta::ParseNestedMeta, parse::ParseStream};

use crate::position;

/// The reasons that a rule can have.
const REASONS: [&str; 4] = [
    "FieldValueInvalid",
    "FieldValueForbidden",
    "FieldValueRequired",
    "FieldValueDuplicate",
];

const USAGE: &str = "write `rule(\"self.x < 3\", message = \"...\")`; a rule may also have `message_expression`, `reason`, \
                     `field_path` and `optional_old_self`";

/// Parses a rule into code that builds its JSON.
pub(super) fn read(meta: &ParseNestedMeta<'_>) -> syn::Result<TokenStream> {
    if meta.input.peek(Token![=]) {
        let rule: LitStr = meta.value()?.parse()?;
        check_expression(&rule, false)?;
        return Ok(json(vec![quote!("rule": #rule)], &rule));
    }
    if !meta.input.peek(syn::token::Paren) {
        return Err(meta.error(USAGE));
    }
    let content;
    syn::parenthesized!(content in meta.input);
    if !content.peek(LitStr) {
        return Err(syn::Error::new(content.span(), USAGE));
    }
    let rule: LitStr = content.parse()?;
    let mut fields = vec![quote!("rule": #rule)];
    let mut message = false;
    while !content.is_empty() {
        content.parse::<Token![,]>()?;
        if content.is_empty() {
            break;
        }
        let name: Ident = content.parse()?;
        let field = match name.to_string().as_str() {
            "message" => {
                message = true;
                let text = text(&content)?;
                if text.value().contains('\n') {
                    let what = "a message is one line: Kubernetes rejects line breaks in it";
                    return Err(syn::Error::new(text.span(), what));
                }
                if text.value().trim().is_empty() {
                    let what = "the message is empty: say what to write, or leave `message` out";
                    return Err(syn::Error::new(text.span(), what));
                }
                quote!("message": #text)
            }
            "message_expression" => {
                let text = text(&content)?;
                quote!("messageExpression": #text)
            }
            "reason" => {
                let text = text(&content)?;
                if !REASONS.contains(&text.value().as_str()) {
                    let what = format!("a reason is one of \"{}\"", REASONS.join("\", \""));
                    return Err(syn::Error::new(text.span(), what));
                }
                quote!("reason": #text)
            }
            "field_path" => {
                let text = text(&content)?;
                if !text.value().starts_with(['.', '[']) {
                    let what = format!(
                        "a field path begins with a dot: write \".{}\"",
                        text.value()
                    );
                    return Err(syn::Error::new(text.span(), what));
                }
                quote!("fieldPath": #text)
            }
            "optional_old_self" => {
                if !rule.value().contains("oldSelf") {
                    let what = "`optional_old_self` is for rules that use `oldSelf`, and this one does not: leave it out";
                    return Err(syn::Error::new(name.span(), what));
                }
                if content.peek(Token![=]) {
                    content.parse::<Token![=]>()?;
                    let flag: syn::LitBool = content.parse()?;
                    quote!("optionalOldSelf": #flag)
                } else {
                    quote!("optionalOldSelf": true)
                }
            }
            other => {
                let what = format!("a rule has no `{other}`: {USAGE}");
                return Err(syn::Error::new(name.span(), what));
            }
        };
        fields.push(field);
    }
    check_expression(&rule, message)?;
    Ok(json(fields, &rule))
}

/// Returns the code of a rule with these fields, and its position.
fn json(mut fields: Vec<TokenStream>, rule: &LitStr) -> TokenStream {
    if let Some(at) = position::of(rule.span()) {
        fields.push(quote!("x-kubewright-at": #at));
    }
    quote!(json!({#(#fields),*}))
}

fn text(content: ParseStream<'_>) -> syn::Result<LitStr> {
    content.parse::<Token![=]>()?;
    content.parse()
}

fn check_expression(rule: &LitStr, has_message: bool) -> syn::Result<()> {
    let text = rule.value();
    if text.trim().is_empty() {
        return Err(syn::Error::new(rule.span(), "the rule is empty"));
    }
    if text.trim().contains('\n') && !has_message {
        let what =
            "a rule of several lines needs a message: write `rule(\"...\", message = \"...\")`";
        return Err(syn::Error::new(rule.span(), what));
    }
    Ok(())
}
