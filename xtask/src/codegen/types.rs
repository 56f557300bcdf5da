//! Renders the struct types: one Rust module per Go package, one static per struct.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use anyhow::{Context, Result, bail};

use super::facts::{Facts, Field, Struct, Type};
use super::names::screaming;

/// Where the static of each struct lives, by OpenAPI name.
pub(crate) struct Statics<'a> {
    by_openapi: BTreeMap<&'a str, (&'a str, String)>,
}

/// The modules with their structs, sorted.
pub(crate) fn modules(facts: &Facts) -> BTreeMap<&str, Vec<&Struct>> {
    let mut modules: BTreeMap<&str, Vec<&Struct>> = BTreeMap::new();
    for ty in sorted(facts) {
        modules.entry(&ty.module).or_default().push(ty);
    }
    modules
}

/// `mod.rs`: the modules and the table of all types by OpenAPI name.
pub(crate) fn render_root(facts: &Facts, statics: &Statics<'_>) -> Result<String> {
    let mut out = String::from(
        "//! The tables of the built-in kinds: one module per package of types, and the resources.\n\n\
         use crate::types::StructType;\n\n",
    );
    for module in modules(facts).keys() {
        writeln!(out, "pub mod {module};")?;
    }
    out.push_str("pub mod resources;\n\n");
    out.push_str("/// The release that the tables were read from.\n");
    writeln!(out, "pub const RELEASE: &str = {:?};\n", facts.release)?;
    out.push_str("/// Every struct type, sorted by OpenAPI name.\n");
    out.push_str("pub static TYPES: &[&StructType] = &[\n");
    for ty in sorted(facts) {
        writeln!(out, "    &{},", statics.path("", &ty.openapi)?)?;
    }
    out.push_str("];\n\n");
    out.push_str("/// The type of every kind, sorted by group, version and kind.\n");
    out.push_str("pub static KINDS: &[(&str, &str, &str, &StructType)] = &[\n");
    for kind in &facts.kinds {
        let path = statics.path("", &kind.r#type)?;
        writeln!(
            out,
            "    ({:?}, {:?}, {:?}, &{path}),",
            kind.group, kind.version, kind.kind
        )?;
    }
    out.push_str("];\n\n");
    out.push_str(
        "/// The unions of struct types, as their schemas publish them: OpenAPI name and JSON, sorted.\n",
    );
    out.push_str("pub static UNIONS: &[(&str, &str)] = &[\n");
    for ty in sorted(facts).iter().filter(|ty| !ty.unions.is_empty()) {
        writeln!(out, "    ({:?}, {:?}),", ty.openapi, ty.unions)?;
    }
    out.push_str("];\n\n");
    out.push_str(
        "/// The group versions under which the options of package meta may be sent, sorted.\n",
    );
    out.push_str("pub static OPTION_VERSIONS: &[(&str, &str)] = &[\n");
    for known in &facts.option_versions {
        writeln!(out, "    ({:?}, {:?}),", known.group, known.version)?;
    }
    out.push_str("];\n\n");
    out.push_str(
        "/// What the schemas say to people, compressed (gzip): records of OpenAPI name, JSON name (empty for the type\n\
         /// itself) and text; parts end with U+001F, records with U+001E. The text is by the Kubernetes Authors, Apache-2.0.\n\
         pub static DESCRIPTIONS: &[u8] = include_bytes!(\"descriptions.gz\");\n",
    );
    Ok(out)
}

/// One module.
pub(crate) fn render_module(
    module: &str,
    structs: &[&Struct],
    statics: &Statics<'_>,
) -> Result<String> {
    let mut body = String::new();
    for ty in structs {
        writeln!(body, "\n/// `{}`", ty.openapi)?;
        let name = statics.path(module, &ty.openapi)?;
        let atomic = if ty.atomic { "atomic_" } else { "" };
        writeln!(
            body,
            "pub static {name}: StructType = {atomic}object({:?}, {:?}, &[",
            ty.name, ty.openapi
        )?;
        for field in &ty.fields {
            let field = statics
                .field(module, field)
                .with_context(|| format!("{}.{}", ty.name, field.json))?;
            writeln!(body, "    {field},")?;
        }
        body.push_str("]);\n");
    }
    let mut out = format!("//! The types of `{module}`.\n\n");
    for (list, words) in [
        (
            "crate::declare",
            &["atomic_object(", "object(", "field("][..],
        ),
        ("crate::types::Omit", &["Empty", "Never", "Zero"]),
    ] {
        let used: Vec<&str> = words
            .iter()
            .filter(|word| body.contains(&format!(" {word}")))
            .map(|word| word.trim_end_matches('('))
            .collect();
        writeln!(out, "use {list}::{{{}}};", used.join(", "))?;
    }
    out.push_str("use crate::types::StructType;\nuse crate::types::Type::*;\n");
    let foreign: BTreeSet<&str> = statics
        .by_openapi
        .values()
        .map(|(home, _)| *home)
        .filter(|home| body.contains(&format!("&{home}::")))
        .collect();
    for home in foreign {
        writeln!(out, "use super::{home};")?;
    }
    Ok(out + &body)
}

impl<'a> Statics<'a> {
    /// Names the static of every struct.
    pub(crate) fn of(facts: &'a Facts) -> Self {
        let entry = |ty: &'a Struct| (&*ty.openapi, (&*ty.module, screaming(&ty.name)));
        Self {
            by_openapi: facts.types.iter().map(entry).collect(),
        }
    }

    /// The path of a struct's static as seen from a module; the empty name is the parent of all modules.
    pub(crate) fn path(&self, from: &str, openapi: &str) -> Result<String> {
        let (home, name) = self
            .by_openapi
            .get(openapi)
            .context(format!("no struct {openapi:?}"))?;
        Ok(if *home == from {
            name.clone()
        } else {
            format!("{home}::{name}")
        })
    }

    fn field(&self, module: &str, field: &Field) -> Result<String> {
        let ty = self.ty(module, &field.r#type)?;
        let mut out = format!(
            "field({:?}, {ty}, {}, {})",
            field.json, field.omit, field.proto
        );
        if !field.embedded.is_empty() {
            write!(out, ".within(&{:?})", field.embedded)?;
        }
        match field.list_type.as_str() {
            "" => {}
            "atomic" => out.push_str(".atomic_list()"),
            "set" => out.push_str(".set()"),
            "map" => write!(out, ".keyed(&{:?})", field.list_keys)?,
            other => bail!("list type {other:?}"),
        }
        match field.map_type.as_str() {
            "" => {}
            "atomic" => out.push_str(".atomic()"),
            "granular" => out.push_str(".granular()"),
            other => bail!("map type {other:?}"),
        }
        match (field.patch.as_str(), field.patch_key.as_str()) {
            ("", "") => {}
            ("replace", "") => out.push_str(".replace()"),
            ("retainKeys", "") => out.push_str(".retain_keys()"),
            ("merge", key) => write!(out, ".merge({:?})", Some(key).filter(|k| !k.is_empty()))?,
            ("merge,retainKeys", key) => write!(
                out,
                ".merge_retain_keys({:?})",
                Some(key).filter(|k| !k.is_empty())
            )?,
            other => bail!("patch strategy {other:?}"),
        }
        if let Some(default) = &field.default {
            write!(out, ".default({:?})", default.to_string())?;
        }
        if field.required {
            out.push_str(".required()");
        }
        if !field.values.is_empty() {
            write!(out, ".values(&{:?})", field.values)?;
        }
        Ok(out)
    }

    fn ty(&self, module: &str, ty: &Type) -> Result<String> {
        let kind = &ty.kind;
        Ok(match (&ty.of, kind.as_str()) {
            (Some(of), _) => format!("{kind}(&{})", self.ty(module, of)?),
            (None, "String" | "StringsMessage") => format!("{kind}({:?})", ty.name),
            (None, _) if !ty.name.is_empty() => {
                format!("{kind}(&{})", self.path(module, &ty.name)?)
            }
            (None, _) => kind.clone(),
        })
    }
}

fn sorted(facts: &Facts) -> Vec<&Struct> {
    let mut all: Vec<&Struct> = facts.types.iter().collect();
    all.sort_by(|a, b| a.openapi.cmp(&b.openapi));
    all
}
