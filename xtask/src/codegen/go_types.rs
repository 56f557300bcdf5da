//! Renders the table of `kubewright-builtin-controllers`: the Go types of a pod template, for hashes of what Go prints.
//!
//! A type begins a line with its name; a type that is no struct has its underlying type behind it. Fields follow, indented:
//! name, JSON name, type. Columns are separated by tabs.

use std::collections::BTreeMap;
use std::fmt::Write;

use anyhow::Result;

use super::facts::{Facts, GoType};

const ROOT: &str = "//! The Go types of a pod template.

/// Types and their fields, in columns.
pub(crate) static GO_TYPES: &str = include_str!(\"go_types.tsv\");
";

/// The files, by name.
pub(crate) fn render(facts: &Facts) -> Result<BTreeMap<String, String>> {
    Ok(BTreeMap::from([
        ("mod.rs".into(), ROOT.into()),
        ("go_types.tsv".into(), render_types(&facts.go_types)?),
    ]))
}

fn render_types(types: &[GoType]) -> Result<String> {
    let mut out = String::new();
    for ty in types {
        match ty.underlying.as_str() {
            "" => writeln!(out, "{}", ty.name)?,
            underlying => writeln!(out, "{}\t{underlying}", ty.name)?,
        }
        for field in &ty.fields {
            writeln!(out, "\t{}\t{}\t{}", field.name, field.json, field.r#type)?;
        }
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codegen::facts::GoField;

    #[test]
    fn a_type_is_a_line_and_its_fields_are_indented() {
        let types = [
            GoType {
                name: "v1.Probe".into(),
                underlying: String::new(),
                fields: vec![GoField {
                    name: "ProbeHandler".into(),
                    json: String::new(),
                    r#type: "v1.ProbeHandler".into(),
                }],
            },
            GoType {
                name: "v1.Protocol".into(),
                underlying: "string".into(),
                fields: Vec::new(),
            },
        ];
        assert_eq!(
            render_types(&types).unwrap(),
            "v1.Probe\n\tProbeHandler\t\tv1.ProbeHandler\nv1.Protocol\tstring\n"
        );
    }
}
