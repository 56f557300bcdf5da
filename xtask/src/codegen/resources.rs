//! Renders the groups, versions and resources of discovery.

use std::collections::BTreeMap;
use std::fmt::Write;

use anyhow::{Context, Result, ensure};

use super::facts::{Facts, Resource, Version};
use super::types::Statics;

/// `resources.rs`. Field labels are written by hand: `labels` is that source, and a resource has labels where it
/// declares a constant under the resource's name (see [`label_constant`]).
pub(crate) fn render(facts: &Facts, labels: &str, statics: &Statics<'_>) -> Result<String> {
    let mut out = String::from(
        "//! The groups that a server serves by default, with their resources.\n\n\
         use super::*;\n\
         use crate::field_labels;\n\
         use crate::resource::{GroupInfo, ResourceInfo, SubresourceInfo, VersionInfo};\n\n\
         /// The groups: the core group, then the others in the order `/apis` prints them.\n\
         pub static GROUPS: &[GroupInfo] = &[\n",
    );
    for group in &facts.groups {
        writeln!(out, "    GroupInfo {{ name: {:?}, versions: &[", group.name)?;
        for version in &group.versions {
            writeln!(
                out,
                "        VersionInfo {{ version: {:?}, resources: &[",
                version.version
            )?;
            for (resource, subresources) in rows(version)? {
                let constant = label_constant(&group.name, &version.version, &resource.name);
                let declared = labels.contains(&format!("const {constant}:"));
                let labels = if declared {
                    format!("field_labels::{constant}")
                } else {
                    "&[]".into()
                };
                let path = format!("{}/{}/{}", group.name, version.version, resource.name);
                out.push_str(
                    &render_resource(resource, &subresources, &labels, statics).context(path)?,
                );
            }
            out.push_str("        ] },\n");
        }
        out.push_str("    ] },\n");
    }
    out.push_str("];\n");
    Ok(out)
}

/// `pods` of the core group is `CORE_V1_PODS`; `jobs` of `batch` is `BATCH_V1_JOBS`.
fn label_constant(group: &str, version: &str, plural: &str) -> String {
    let group = match group {
        "" => "core",
        group => group.split('.').next().unwrap_or(group),
    };
    format!("{group}_{version}_{plural}").to_uppercase()
}

/// The resources by name, each with its subresources.
fn rows(version: &Version) -> Result<Vec<(&Resource, Vec<&Resource>)>> {
    let mut subresources: BTreeMap<&str, Vec<&Resource>> = BTreeMap::new();
    for row in &version.resources {
        if let Some((parent, _)) = row.name.split_once('/') {
            subresources.entry(parent).or_default().push(row);
        }
    }
    let mut rows = Vec::new();
    for row in version
        .resources
        .iter()
        .filter(|row| !row.name.contains('/'))
    {
        rows.push((
            row,
            subresources.remove(row.name.as_str()).unwrap_or_default(),
        ));
    }
    ensure!(
        subresources.is_empty(),
        "subresources of no resource: {:?}",
        subresources.keys()
    );
    Ok(rows)
}

fn render_resource(
    row: &Resource,
    subresources: &[&Resource],
    labels: &str,
    statics: &Statics<'_>,
) -> Result<String> {
    let mut out = String::new();
    writeln!(
        out,
        "            ResourceInfo {{ plural: {:?}, singular: {:?}, kind: {:?}, namespaced: {}, verbs: &{:?},",
        row.name, row.singular_name, row.kind, row.namespaced, row.verbs
    )?;
    writeln!(
        out,
        "                short_names: &{:?}, categories: &{:?}, storage_version_hash: {:?}, kind_group: {:?}, kind_version: {:?},",
        row.short_names, row.categories, row.storage_version_hash, row.group, row.version
    )?;
    let ty = statics.path("", &row.r#type)?;
    writeln!(
        out,
        "                ty: &{ty}, field_labels: {labels}, subresources: &["
    )?;
    for sub in subresources {
        let (_, name) = sub
            .name
            .split_once('/')
            .context("a subresource without a slash")?;
        let ty = match sub.r#type.as_str() {
            "" => "None".into(),
            openapi => format!("Some(&{})", statics.path("", openapi)?),
        };
        writeln!(
            out,
            "                    SubresourceInfo {{ name: {name:?}, kind: {:?}, kind_group: {:?}, kind_version: {:?}, verbs: &{:?}, ty: {ty} }},",
            sub.kind, sub.group, sub.version, sub.verbs
        )?;
    }
    out.push_str("                ] },\n");
    Ok(out)
}
