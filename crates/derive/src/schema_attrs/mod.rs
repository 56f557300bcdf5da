//! Parses `#[schema(...)]` and generates the code that applies it to a schema.
//!
//! Most attributes are one keyword of the schema each, see `keyword`. The others have a field in [`SchemaAttrs`].

mod keyword;
mod rule;

use proc_macro2::{Span, TokenStream, TokenTree};
use quote::quote;
use syn::{
    Attribute, LitStr, Token, Type, meta::ParseNestedMeta, parse::ParseStream, spanned::Spanned,
};

pub(crate) use keyword::{For, Keyword};

/// A default.
pub(crate) enum Default {
    /// `default = ...`
    Value(TokenStream),
    /// `default`: the default of serde.
    OfSerde,
}

/// A rule on the number of fields that are set.
pub(crate) struct Group {
    /// The name of the runtime function.
    pub(crate) how: &'static str,
    pub(crate) names: Vec<LitStr>,
    pub(crate) span: Span,
}

/// Everything in `#[schema(...)]` on one type, field or variant.
#[derive(Default)]
pub(crate) struct SchemaAttrs {
    pub(crate) keywords: Vec<Keyword>,
    /// The rules, each as a JSON object.
    pub(crate) rules: Vec<TokenStream>,
    pub(crate) default: Option<(Default, Span)>,
    pub(crate) required: Option<(bool, Span)>,
    pub(crate) immutable: Option<Span>,
    pub(crate) schemaless: bool,
    pub(crate) int_or_string: Option<Span>,
    pub(crate) embedded: Option<Span>,
    pub(crate) list_map_keys: Option<(Vec<LitStr>, Span)>,
    pub(crate) external_docs: Option<TokenStream>,
    pub(crate) items: Option<(Box<SchemaAttrs>, Span)>,
    pub(crate) values: Option<(Box<SchemaAttrs>, Span)>,
    pub(crate) groups: Vec<Group>,
    pub(crate) stands_for: Option<Type>,
    /// Keywords given by their name in the schema.
    pub(crate) extensions: Vec<(LitStr, TokenStream)>,
    /// The position of the first attribute.
    pub(crate) span: Option<Span>,
}

impl SchemaAttrs {
    /// Parses the `#[schema(...)]` among some attributes.
    pub(crate) fn read(attrs: &[Attribute]) -> syn::Result<Self> {
        let mut schema_attrs = Self::default();
        for attr in attrs.iter().filter(|attr| attr.path().is_ident("schema")) {
            attr.parse_nested_meta(|meta| schema_attrs.take(&meta))?;
        }
        schema_attrs.check()?;
        Ok(schema_attrs)
    }

    /// Returns the keyword, if it is present.
    pub(crate) fn keyword(&self, name: &str) -> Option<&Keyword> {
        self.keywords.iter().find(|keyword| keyword.name == name)
    }

    /// Returns code that applies these attributes to the schema node `#node`.
    pub(crate) fn applied_to(&self, node: &TokenStream) -> TokenStream {
        let mut code = node.clone();
        if self.int_or_string.is_some() {
            code = quote!(#code.int_or_string());
        }
        if self.embedded.is_some() {
            code = quote!(#code.embedded_resource());
        }
        let (keys, values): (Vec<_>, Vec<_>) =
            self.keywords.iter().map(|k| (k.key, &k.value)).unzip();
        if !keys.is_empty() {
            code = quote!(#code #(.set(#keys, json!(#values)))*);
        }
        if let Some((keys, _)) = &self.list_map_keys {
            code = quote! {
                #code
                    .set("x-kubernetes-list-type", json!("map"))
                    .set("x-kubernetes-list-map-keys", json!([#(#keys),*]))
            };
        }
        if let Some(docs) = &self.external_docs {
            code = quote!(#code.set("externalDocs", #docs));
        }
        if let Some((inner, _)) = &self.items {
            let inner = inner.applied_to(&quote!(node));
            code = quote!(#code.items(|node: Node| #inner));
        }
        if let Some((inner, _)) = &self.values {
            let inner = inner.applied_to(&quote!(node));
            code = quote!(#code.values(|node: Node| #inner));
        }
        let rules = &self.rules;
        code = quote!(#code #(.rule(#rules))*);
        // controller-gen's order, whatever the order in the source.
        let rank = |group: &&Group| match group.how {
            "at_most_one_of" => 0,
            "exactly_one_of" => 1,
            _ => 2,
        };
        let mut groups: Vec<&Group> = self.groups.iter().collect();
        groups.sort_by_key(rank);
        for group in groups {
            let how = syn::Ident::new(group.how, Span::call_site());
            let names = &group.names;
            code = quote!(#code.#how(&[#(#names),*]));
        }
        for (key, value) in &self.extensions {
            code = quote!(#code.extend(#key, json!(#value)));
        }
        code
    }

    fn take(&mut self, meta: &ParseNestedMeta<'_>) -> syn::Result<()> {
        let span = meta.path.span();
        self.span.get_or_insert(span);
        let name = meta.path.get_ident().map(ToString::to_string);
        let name = name.as_deref().unwrap_or_default();
        if let Some(keyword) = keyword::read(name, meta)? {
            let twice = self.keywords.iter().any(|k| k.key == keyword.key);
            if twice {
                return Err(syn::Error::new(
                    span,
                    format!("`{name}` is given twice: once is enough"),
                ));
            }
            self.keywords.push(keyword);
            return Ok(());
        }
        match name {
            "rule" => self.rules.push(rule::read(meta)?),
            "default" if meta.input.peek(Token![=]) => {
                let value = json(meta.value()?)?;
                self.default = Some((Default::Value(value), span));
            }
            "default" => self.default = Some((Default::OfSerde, span)),
            "required" => self.required = Some((true, span)),
            "optional" => self.required = Some((false, span)),
            "immutable" => self.immutable = Some(span),
            "schemaless" => self.schemaless = true,
            "int_or_string" => self.int_or_string = Some(span),
            "embedded_resource" => self.embedded = Some(span),
            "list_map_keys" => self.list_map_keys = Some((names(meta)?, span)),
            "external_docs" => self.external_docs = Some(external_docs(meta)?),
            "items" => self.items = Some((nested(meta)?, span)),
            "values" => self.values = Some((nested(meta)?, span)),
            "exactly_one_of" | "at_most_one_of" | "at_least_one_of" => {
                let how = match name {
                    "exactly_one_of" => "exactly_one_of",
                    "at_most_one_of" => "at_most_one_of",
                    _ => "at_least_one_of",
                };
                let names = names(meta)?;
                self.groups.push(Group { how, names, span });
            }
            "as" => self.stands_for = Some(meta.value()?.parse::<LitStr>()?.parse()?),
            "extend" => self.extensions.extend(extensions(meta)?),
            "unique_items" => {
                let what = "Kubernetes rejects `uniqueItems`: write `list_type = \"set\"`, or make it a `BTreeSet`";
                return Err(syn::Error::new(span, what));
            }
            _ => return Err(syn::Error::new(span, keyword::unknown(name))),
        }
        Ok(())
    }

    /// Checks attributes that need another one.
    fn check(&mut self) -> syn::Result<()> {
        for (flag, bound) in [
            ("exclusive_minimum", "minimum"),
            ("exclusive_maximum", "maximum"),
        ] {
            if let Some(keyword) = self.keyword(flag).filter(|_| self.keyword(bound).is_none()) {
                let what = format!(
                    "`{flag}` says that `{bound}` itself is not allowed: write `{bound} = ..., {flag}`"
                );
                return Err(syn::Error::new(keyword.span, what));
            }
        }
        self.check_bounds()?;
        let list_type = self.keyword("list_type");
        let is_map = list_type.is_some_and(|k| k.value.to_string() == "\"map\"");
        match (&self.list_map_keys, list_type) {
            (None, Some(keyword)) if is_map => {
                let what = "a list of type \"map\" needs the fields that tell its items apart: write \
                            `list_map_keys(\"name\")`";
                Err(syn::Error::new(keyword.span, what))
            }
            (Some((_, span)), Some(_)) if !is_map => {
                let what = "`list_map_keys` is for lists of type \"map\": leave `list_type` out";
                Err(syn::Error::new(*span, what))
            }
            (Some((keys, span)), _) if keys.is_empty() => Err(syn::Error::new(
                *span,
                "write the keys: `list_map_keys(\"name\")`",
            )),
            _ => {
                // `list_map_keys` implies it.
                if self.list_map_keys.is_some() {
                    self.keywords.retain(|k| k.name != "list_type");
                }
                Ok(())
            }
        }
    }
}

impl SchemaAttrs {
    /// Rejects bounds that exclude everything.
    fn check_bounds(&self) -> syn::Result<()> {
        for (low, high) in [
            ("minimum", "maximum"),
            ("min_length", "max_length"),
            ("min_items", "max_items"),
            ("min_properties", "max_properties"),
        ] {
            let number = |name: &str| {
                let keyword = self.keyword(name)?;
                let literal = syn::parse2::<syn::Lit>(keyword.value.clone()).ok()?;
                let number = match &literal {
                    syn::Lit::Int(n) => n.base10_parse::<f64>().ok()?,
                    syn::Lit::Float(n) => n.base10_parse::<f64>().ok()?,
                    _ => return None,
                };
                Some((number, keyword.span))
            };
            if let (Some((least, _)), Some((most, span))) = (number(low), number(high))
                && least > most
            {
                let what = format!(
                    "nothing is at least {least} and at most {most}: write `{low} = {most}, {high} = {least}`"
                );
                return Err(syn::Error::new(span, what));
            }
        }
        Ok(())
    }
}

/// Rejects the attributes of other schema derives, which would silently have no effect.
pub(crate) fn reject_foreign(attrs: &[Attribute]) -> syn::Result<()> {
    let foreign = [
        (
            "schemars",
            "`Schema` does not read `#[schemars(...)]`: write `#[schema(...)]`, as in `#[schema(minimum = 1, pattern = \"^a\")]`",
        ),
        (
            "validate",
            "`Schema` does not read `#[validate(...)]`: write `#[schema(...)]`, as in `#[schema(min_length = 1)]`",
        ),
        (
            "x_kube",
            "`Schema` does not read `#[x_kube(...)]`: write `#[schema(rule(\"self != ''\", message = \"...\"))]` for a validation, \
                    `#[schema(list_map_keys(\"name\"))]` for a merge strategy",
        ),
    ];
    for attr in attrs {
        for (name, what) in foreign {
            if attr.path().is_ident(name) {
                return Err(syn::Error::new_spanned(attr, what));
            }
        }
    }
    Ok(())
}

/// Rejects `#[defaults]` below the derives, which have then seen the type without it.
pub(crate) fn reject_late_defaults(attrs: &[Attribute]) -> syn::Result<()> {
    let late = |attr: &&Attribute| {
        let last = attr.path().segments.last();
        last.is_some_and(|last| last.ident == "defaults")
    };
    match attrs.iter().find(late) {
        Some(attr) => {
            let what = "the derives do not see what `defaults` does: put it above `#[derive(...)]`";
            Err(syn::Error::new_spanned(attr, what))
        }
        None => Ok(()),
    }
}

/// Parses JSON up to the next comma, in the syntax of the macro `json!`.
pub(crate) fn json(input: ParseStream<'_>) -> syn::Result<TokenStream> {
    let mut tokens = TokenStream::new();
    while !input.is_empty() && !input.peek(Token![,]) {
        tokens.extend([input.parse::<TokenTree>()?]);
    }
    match tokens.is_empty() {
        true => Err(syn::Error::new(
            input.span(),
            "a value is missing after `=`",
        )),
        false => Ok(tokens),
    }
}

/// Parses `("a", "b")`.
pub(crate) fn names(meta: &ParseNestedMeta<'_>) -> syn::Result<Vec<LitStr>> {
    let content;
    syn::parenthesized!(content in meta.input);
    let names = content.parse_terminated(<LitStr as syn::parse::Parse>::parse, Token![,])?;
    Ok(names.into_iter().collect())
}

fn nested(meta: &ParseNestedMeta<'_>) -> syn::Result<Box<SchemaAttrs>> {
    let mut schema_attrs = SchemaAttrs::default();
    meta.parse_nested_meta(|inner| {
        let span = inner.path.span();
        schema_attrs.take(&inner)?;
        let of_field = schema_attrs.default.is_some() || schema_attrs.required.is_some() || schema_attrs.immutable.is_some();
        if of_field || schema_attrs.keyword("protobuf").is_some() {
            let what = "this is said of the field itself, not of what is in it: write it outside the parentheses";
            return Err(syn::Error::new(span, what));
        }
        Ok(())
    })?;
    schema_attrs.check()?;
    Ok(Box::new(schema_attrs))
}

/// Parses `("key" = value, ...)`.
fn extensions(meta: &ParseNestedMeta<'_>) -> syn::Result<Vec<(LitStr, TokenStream)>> {
    let usage = "write keywords as the schema has them: `extend(\"x-example\" = true)`; `null` takes one away";
    if !meta.input.peek(syn::token::Paren) {
        return Err(meta.error(usage));
    }
    let content;
    syn::parenthesized!(content in meta.input);
    let mut all = Vec::new();
    while !content.is_empty() {
        let key: LitStr = content
            .parse()
            .map_err(|e| syn::Error::new(e.span(), usage))?;
        content
            .parse::<Token![=]>()
            .map_err(|e| syn::Error::new(e.span(), usage))?;
        all.push((key, json(&content)?));
        if !content.is_empty() {
            content.parse::<Token![,]>()?;
        }
    }
    match all.is_empty() {
        true => Err(meta.error(usage)),
        false => Ok(all),
    }
}

fn external_docs(meta: &ParseNestedMeta<'_>) -> syn::Result<TokenStream> {
    let (mut url, mut description) = (None, None);
    meta.parse_nested_meta(|inner| {
        let text: LitStr = inner.value()?.parse()?;
        match inner.path.get_ident().map(ToString::to_string).as_deref() {
            Some("url") => url = Some(text),
            Some("description") => description = Some(text),
            _ => {
                return Err(
                    inner.error("write `external_docs(url = \"...\", description = \"...\")`")
                );
            }
        }
        Ok(())
    })?;
    let Some(url) = url else {
        return Err(meta.error("write the address: `external_docs(url = \"https://...\")`"));
    };
    Ok(match description {
        Some(text) => quote!(json!({"url": #url, "description": #text})),
        None => quote!(json!({"url": #url})),
    })
}
