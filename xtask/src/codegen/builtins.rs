//! Renders the tables of `kubewright-builtins`: the unversioned structs that error messages print, and the names of time
//! zones.

use std::collections::BTreeMap;
use std::fmt::Write;

use anyhow::Result;

use super::facts::{Facts, Form, Type};
use super::names::screaming;

const ROOT: &str = "//! Tables of facts: the shape of what error messages print, and names.

pub(crate) mod internal_forms;
pub(crate) mod time_zones;
";

const FORMS: &str = "//! The unversioned structs of pod templates and claims: names, order and types of their fields.

use crate::internal_form::{Field, Form};

const fn f(name: &'static str, json: &'static str, form: Form) -> Field {
    Field { name, json, form }
}
";

const TIME_ZONES: &str =
    "//! The names of the time zones that Go knows, from the IANA database that comes with it.

/// The names, sorted.
pub(crate) static TIME_ZONES: &[&str] = &[
";

/// The files, by name.
pub(crate) fn render(facts: &Facts) -> Result<BTreeMap<String, String>> {
    Ok(BTreeMap::from([
        ("mod.rs".into(), ROOT.into()),
        ("internal_forms.rs".into(), render_forms(&facts.forms)?),
        (
            "time_zones.rs".into(),
            render_time_zones(&facts.time_zones)?,
        ),
    ]))
}

/// One static per struct.
fn render_forms(forms: &[Form]) -> Result<String> {
    let mut out = FORMS.to_owned();
    for form in forms {
        let name = screaming(&form.name);
        writeln!(out, "\npub(crate) static {name}: &[Field] = &[")?;
        for field in &form.fields {
            let form = expression(&field.form);
            writeln!(out, "    f({:?}, {:?}, {form}),", field.name, field.json)?;
        }
        out.push_str("];\n");
    }
    Ok(out)
}

/// A value of the Rust enum `Form`.
fn expression(form: &Type) -> String {
    let kind = &form.kind;
    match &form.of {
        Some(of) => format!("Form::{kind}(&{})", expression(of)),
        None if form.name.is_empty() => format!("Form::{kind}"),
        None => format!("Form::{kind}({})", screaming(&form.name)),
    }
}

/// One line per name. They are looked up by halves, which needs Rust's order.
fn render_time_zones(names: &[String]) -> Result<String> {
    let mut names: Vec<&str> = names.iter().map(String::as_str).collect();
    names.sort_unstable();
    let mut out = TIME_ZONES.to_owned();
    for name in names {
        writeln!(out, "    {name:?},")?;
    }
    out.push_str("];\n");
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms_nest_and_name_the_statics_of_structs() {
        let form: Form = serde_json::from_str(
            r#"{"name": "PodOS", "fields": [
                {"name": "A", "json": "a", "form": {"kind": "Text"}},
                {"name": "B", "json": "b", "form": {"kind": "List", "of":
                    {"kind": "Optional", "of": {"kind": "Struct", "name": "HTTPGetAction"}}}}]}"#,
        )
        .unwrap();
        let text = render_forms(&[form]).unwrap();
        let expected = "
pub(crate) static POD_OS: &[Field] = &[
    f(\"A\", \"a\", Form::Text),
    f(\"B\", \"b\", Form::List(&Form::Optional(&Form::Struct(HTTP_GET_ACTION)))),
];
";
        assert_eq!(text.strip_prefix(FORMS), Some(expected));
    }

    #[test]
    fn time_zones_are_sorted_by_bytes() {
        let text = render_time_zones(&["Zulu".into(), "US/Samoa".into(), "UCT".into()]).unwrap();
        let expected = "    \"UCT\",\n    \"US/Samoa\",\n    \"Zulu\",\n];\n";
        assert_eq!(text.strip_prefix(TIME_ZONES), Some(expected));
    }
}
