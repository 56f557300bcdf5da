//! Writes modules: one for each version, and one with shared types.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write,
};

use super::{
    Module, SharedModules,
    attributes::Attributes,
    definition::{Definition, Version},
    naming::{names, words},
    render::{self, Renderer},
    root::{Outline, Roots},
    types::{Body, Types},
};

/// Lints that imported names and descriptions may violate.
const ALLOWED: &str = "#![allow(missing_docs, rustdoc::all, clippy::doc_lazy_continuation, clippy::doc_markdown, clippy::duplicated_attributes, \
clippy::doc_overindented_list_items, clippy::enum_variant_names, clippy::struct_excessive_bools, clippy::tabs_in_doc_comments)]";

/// A version and its CRD.
pub(super) type Of<'a> = (&'a Definition, &'a Version);

/// Returns the versions of a CRD.
pub(super) fn versions(definition: &Definition) -> impl Iterator<Item = Of<'_>> {
    let versions = definition.spec.versions.iter();
    versions.map(move |version| (definition, version))
}

/// A version whose module is under construction.
struct Made<'a> {
    definition: &'a Definition,
    version: &'a Version,
    outline: Outline,
    roots: Roots,
    /// The types it uses.
    uses: BTreeSet<usize>,
}

/// Returns the modules of some versions, with the types that they share.
pub(super) fn modules(versions: &[Of<'_>]) -> SharedModules {
    let mut types = Types::default();
    let outlines: Vec<Outline> = versions
        .iter()
        .map(|(_, version)| Outline::of(version))
        .collect();
    for outline in &outlines {
        outline.collect(&mut types);
    }
    let mut made: Vec<Made<'_>> = Vec::new();
    for ((definition, version), outline) in versions.iter().zip(outlines) {
        let roots = outline.make(&mut types);
        let mut uses = BTreeSet::new();
        for root in std::iter::once(roots.spec).chain(roots.status) {
            types.below(root, &mut uses);
        }
        made.push(Made {
            definition,
            version,
            outline,
            roots,
            uses,
        });
    }
    let shared = shared(&types, &made);
    let modules = made
        .iter()
        .map(|made| made.module(&types, &shared))
        .collect();
    SharedModules {
        modules,
        shared: shared_source(&types, &shared),
    }
}

/// Returns the types that more than one version uses, with their names.
fn shared(types: &Types, made: &[Made<'_>]) -> BTreeMap<usize, String> {
    let mut places: BTreeMap<usize, Vec<String>> = BTreeMap::new();
    for (n, one) in made.iter().enumerate() {
        let kind = &one.definition.spec.names.kind;
        for id in &one.uses {
            let mut others = made.iter().skip(n + 1);
            if !places.contains_key(id) && others.any(|other| other.uses.contains(id)) {
                places.insert(*id, words(kind, &types.items[*id].path));
            }
        }
    }
    names(&places, None, &BTreeMap::new())
}

fn shared_source(types: &Types, shared: &BTreeMap<usize, String>) -> String {
    if shared.is_empty() {
        return String::new();
    }
    let renderer = Renderer {
        types,
        names: shared,
    };
    let mut source = format!(
        "//! Types that several kinds or versions use, made by `kubewright import crd`.\n\n{ALLOWED}\n\n\
         use kubewright::Schema;\nuse serde::{{Deserialize, Serialize}};\n"
    );
    for id in shared.keys() {
        source.push('\n');
        source.push_str(&renderer.item(*id, &[], ""));
    }
    source
}

impl Made<'_> {
    fn module(&self, types: &Types, shared: &BTreeMap<usize, String>) -> Module {
        let spec = &self.definition.spec;
        let kind = &spec.names.kind;
        let Roots { spec: root, status } = self.roots;
        let called = if self.outline.flat { "Fields" } else { "Spec" };
        let mut given = BTreeMap::from([(root, format!("{kind}{called}"))]);
        given.extend(status.map(|id| (id, format!("{kind}Status"))));
        let own = self.uses.iter().filter(|id| !shared.contains_key(*id));
        let places = own
            .map(|id| (*id, words(kind, &types.items[*id].path)))
            .collect();
        let mut names = names(&places, Some(kind), &given);
        for id in self.uses.iter().filter(|id| shared.contains_key(*id)) {
            names.insert(*id, format!("super::shared::{}", shared[id]));
        }
        let renderer = Renderer {
            types,
            names: &names,
        };
        let (default, described) = match &types.items[root].body {
            Body::Struct(body) => (renderer.has_default(body, 0), body.doc.is_some()),
            Body::Enum(_) => (false, false),
        };
        let attributes = Attributes {
            definition: self.definition,
            version: self.version,
            outline: &self.outline,
            status: given.get(&status.unwrap_or(usize::MAX)).map(String::as_str),
            default,
            described,
        };
        let notes = self.notes();
        let mut source = self.header(&notes);
        for id in self.uses.iter().filter(|id| !shared.contains_key(*id)) {
            source.push('\n');
            source.push_str(&match *id == root {
                true => renderer.item(*id, &["CustomResource"], &attributes.written()),
                false => renderer.item(*id, &[], ""),
            });
        }
        Module {
            group: spec.group.clone(),
            version: self.version.name.clone(),
            kind: kind.clone(),
            plural: spec.names.plural.clone(),
            namespaced: spec.scope != "Cluster",
            storage: self.version.storage,
            source,
            notes,
        }
    }

    /// Returns notes on the differences from the CRD.
    fn notes(&self) -> Vec<String> {
        let kind = &self.definition.spec.names.kind;
        let mut notes = Vec::new();
        if self.version.subresources.scale.is_some() && self.roots.status.is_none() {
            notes.push(format!(
                "{kind}: without a status in the schema, its scale is not kept"
            ));
        }
        notes
    }

    fn header(&self, notes: &[String]) -> String {
        let spec = &self.definition.spec;
        let mut out = String::new();
        _ = writeln!(
            out,
            "//! `{}` of {}/{}, made by `kubewright import crd`.",
            spec.names.kind, spec.group, self.version.name
        );
        if !notes.is_empty() {
            out.push_str("//!\n//! Not as in the definition:\n");
            for note in notes {
                let note: String = note
                    .chars()
                    .filter(|c| !render::is_odd(*c) && *c != '\n')
                    .collect();
                _ = writeln!(out, "//! - {note}");
            }
        }
        _ = writeln!(
            out,
            "\n{ALLOWED}\n\nuse kube::CustomResource;\nuse kubewright::Schema;\nuse serde::{{Deserialize, Serialize}};"
        );
        out
    }
}
