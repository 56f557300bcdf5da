//! Attributes that are keywords of the schema.

use proc_macro2::{Delimiter, Span, TokenStream, TokenTree};
use quote::quote;
use syn::{LitStr, Token, meta::ParseNestedMeta, spanned::Spanned};

use super::json;

/// A parsed keyword.
pub(crate) struct Keyword {
    pub(crate) name: &'static str,
    pub(crate) key: &'static str,
    pub(crate) value: TokenStream,
    pub(crate) purpose: For,
    pub(crate) span: Span,
}

/// The types that a keyword applies to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum For {
    Numbers,
    Texts,
    Lists,
    Objects,
    /// Objects, including those that only the type knows to be one.
    Open,
    Anything,
}

/// The syntax of a keyword's value.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Value {
    /// `name`, or `name = true`
    Flag,
    /// A number.
    Number,
    /// A non-negative integer.
    Count,
    /// The number of a field in protobuf.
    FieldNumber,
    /// A string.
    Text,
    /// One of these strings.
    OneOf(&'static [&'static str]),
    /// Any JSON.
    Json,
    /// A list of values.
    List,
    /// A list of schemas.
    Schemas,
    /// A schema.
    Schema,
}

/// The highest number of a field in protobuf, as in `kubewright-protobuf`.
const HIGHEST_FIELD_NUMBER: u32 = 2047;

/// The keywords: name of the attribute, name in the schema, syntax of the value, and types it applies to.
const KEYWORDS: [(&str, &str, Value, For); 28] = [
    ("minimum", "minimum", Value::Number, For::Numbers),
    ("maximum", "maximum", Value::Number, For::Numbers),
    (
        "exclusive_minimum",
        "exclusiveMinimum",
        Value::Flag,
        For::Numbers,
    ),
    (
        "exclusive_maximum",
        "exclusiveMaximum",
        Value::Flag,
        For::Numbers,
    ),
    ("multiple_of", "multipleOf", Value::Number, For::Numbers),
    ("min_length", "minLength", Value::Count, For::Texts),
    ("max_length", "maxLength", Value::Count, For::Texts),
    ("pattern", "pattern", Value::Text, For::Texts),
    ("min_items", "minItems", Value::Count, For::Lists),
    ("max_items", "maxItems", Value::Count, For::Lists),
    (
        "list_type",
        "x-kubernetes-list-type",
        Value::OneOf(&["atomic", "set", "map"]),
        For::Lists,
    ),
    (
        "min_properties",
        "minProperties",
        Value::Count,
        For::Objects,
    ),
    (
        "max_properties",
        "maxProperties",
        Value::Count,
        For::Objects,
    ),
    (
        "map_type",
        "x-kubernetes-map-type",
        Value::OneOf(&["granular", "atomic"]),
        For::Objects,
    ),
    (
        "struct_type",
        "x-kubernetes-map-type",
        Value::OneOf(&["granular", "atomic"]),
        For::Objects,
    ),
    ("enum", "enum", Value::List, For::Anything),
    ("format", "format", Value::Text, For::Anything),
    (
        "type",
        "type",
        Value::OneOf(&["object", "array", "string", "integer", "number", "boolean"]),
        For::Anything,
    ),
    ("title", "title", Value::Text, For::Anything),
    ("description", "description", Value::Text, For::Anything),
    ("example", "example", Value::Json, For::Anything),
    ("nullable", "nullable", Value::Flag, For::Anything),
    (
        "preserve_unknown_fields",
        "x-kubernetes-preserve-unknown-fields",
        Value::Flag,
        For::Open,
    ),
    (
        "protobuf",
        "x-kubewright-protobuf",
        Value::FieldNumber,
        For::Anything,
    ),
    ("all_of", "allOf", Value::Schemas, For::Anything),
    ("any_of", "anyOf", Value::Schemas, For::Anything),
    ("one_of", "oneOf", Value::Schemas, For::Anything),
    ("not", "not", Value::Schema, For::Anything),
];

/// The other attributes, for the message about unknown ones.
const OTHERS: [&str; 18] = [
    "as",
    "at_least_one_of",
    "at_most_one_of",
    "default",
    "embedded_resource",
    "exactly_one_of",
    "extend",
    "external_docs",
    "immutable",
    "int_or_string",
    "items",
    "list_map_keys",
    "optional",
    "required",
    "rule",
    "schemaless",
    "values",
    "unique_items",
];

/// Parses a keyword, if the attribute is one.
pub(super) fn read(name: &str, meta: &ParseNestedMeta<'_>) -> syn::Result<Option<Keyword>> {
    let known = KEYWORDS.into_iter().find(|(rust, ..)| *rust == name);
    let Some((name, key, how, purpose)) = known else {
        return Ok(None);
    };
    let span = meta.path.span();
    let value = match how {
        Value::Flag if !meta.input.peek(Token![=]) => quote!(true),
        Value::Flag => {
            let flag: syn::LitBool = meta.value()?.parse()?;
            quote!(#flag)
        }
        Value::Count => {
            let what = format!("`{name}` counts: write a number such as `{name} = 3`");
            let count = meta.value()?.parse::<syn::LitInt>();
            let count = count.map_err(|e| syn::Error::new(e.span(), &what))?;
            if count.base10_parse::<u64>().is_err() {
                return Err(syn::Error::new(count.span(), what));
            }
            quote!(#count)
        }
        Value::FieldNumber => {
            let what = format!(
                "`{name}` is the number of the field in protobuf: write one from 1 to {HIGHEST_FIELD_NUMBER}, such as `{name} = 3`"
            );
            let number = meta.value()?.parse::<syn::LitInt>();
            let number = number.map_err(|e| syn::Error::new(e.span(), &what))?;
            let known = 1..=HIGHEST_FIELD_NUMBER;
            if !number.base10_parse().is_ok_and(|n: u32| known.contains(&n)) {
                return Err(syn::Error::new(number.span(), what));
            }
            quote!(#number)
        }
        Value::Number => {
            let value = json(meta.value()?)?;
            if value.to_string().starts_with('"') {
                let what = format!("`{name}` is a number: write `{name} = 3`, without quotes");
                return Err(syn::Error::new(value.span(), what));
            }
            value
        }
        Value::Text => {
            let value = json(meta.value()?)?;
            let first = value.to_string();
            if first.starts_with(|c: char| c.is_ascii_digit()) {
                let what = format!("`{name}` is a text: write `{name} = \"...\"`");
                return Err(syn::Error::new(value.span(), what));
            }
            value
        }
        Value::OneOf(allowed) => {
            let text: LitStr = meta.value()?.parse()?;
            if !allowed.contains(&text.value().as_str()) {
                let what = format!("`{name}` is one of \"{}\"", allowed.join("\", \""));
                return Err(syn::Error::new(text.span(), what));
            }
            quote!(#text)
        }
        Value::Json => json(meta.value()?)?,
        Value::List => {
            let value = json(meta.value()?)?;
            let is_list =
                delimited(&value, Delimiter::Bracket).is_some_and(|list| !list.is_empty());
            if !is_list {
                let what = format!("`{name}` is a list of values: write `{name} = [\"a\", \"b\"]`");
                return Err(syn::Error::new(span, what));
            }
            value
        }
        Value::Schemas | Value::Schema => schemas(name, how, meta)?,
    };
    Ok(Some(Keyword {
        name,
        key,
        value,
        purpose,
        span,
    }))
}

/// Returns the content of the delimiters that a value starts with.
fn delimited(tokens: &TokenStream, by: Delimiter) -> Option<TokenStream> {
    match tokens.clone().into_iter().next() {
        Some(TokenTree::Group(group)) if group.delimiter() == by => Some(group.stream()),
        _ => None,
    }
}

/// Parses schemas as JSON objects: a list of them, or one.
fn schemas(name: &str, how: Value, meta: &ParseNestedMeta<'_>) -> syn::Result<TokenStream> {
    let value = match meta.input.peek(Token![=]) {
        true => json(meta.value()?)?,
        false => TokenStream::new(),
    };
    let fits = match how {
        Value::Schema => delimited(&value, Delimiter::Brace).is_some(),
        _ => delimited(&value, Delimiter::Bracket).is_some_and(|list| {
            let is_schema = |token: &TokenTree| match token {
                TokenTree::Group(group) => group.delimiter() == Delimiter::Brace,
                TokenTree::Punct(punct) => punct.as_char() == ',',
                _ => false,
            };
            !list.is_empty() && list.into_iter().all(|token| is_schema(&token))
        }),
    };
    if fits {
        return Ok(value);
    }
    let what = match name {
        "one_of" => {
            "write `enum = [...]` for a value out of a list, `exactly_one_of(\"a\", \"b\")` for a field out of several, make the \
             type a Rust enum, or give schemas: `one_of = [{\"required\": [\"a\"]}, {\"required\": [\"b\"]}]`"
                .to_owned()
        }
        "not" => "`not` is a schema: write `not = {\"required\": [\"a\"]}`".to_owned(),
        _ => format!("`{name}` is a list of schemas: write `{name} = [{{\"required\": [\"a\"]}}, {{\"required\": [\"b\"]}}]`"),
    };
    Err(syn::Error::new(meta.path.span(), what))
}

/// Returns the message for an unknown attribute.
pub(super) fn unknown(name: &str) -> String {
    let known = KEYWORDS.iter().map(|(rust, ..)| *rust).chain(OTHERS);
    let mut known: Vec<&str> = known.filter(|n| *n != "unique_items").collect();
    known.sort_unstable();
    let guess = match name {
        "min" => Some("minimum"),
        "max" => Some("maximum"),
        "validation" | "cel" | "validate" => Some("rule"),
        "key" | "keys" | "map_keys" | "list_map_key" => Some("list_map_keys(\"name\")"),
        "length" => Some("min_length` and `max_length"),
        "range" => Some("minimum` and `maximum"),
        "regex" => Some("pattern"),
        "embedded" => Some("embedded_resource"),
        "preserve_unknown" => Some("preserve_unknown_fields"),
        "with" => Some("as = \"Type\""),
        _ => None,
    };
    match guess {
        Some(guess) => format!("`{name}` is called `{guess}` here"),
        None => format!("`{name}` is not known; known are {}", known.join(", ")),
    }
}
