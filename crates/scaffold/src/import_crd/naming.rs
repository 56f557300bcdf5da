//! Names for types: as few words of their place as tell them apart.
//!
//! `spec.privateKey` is `PrivateKey`, unless another type would be called that too: then both take one word more, up to
//! the kind itself. Names do not depend on the order of fields.

use std::collections::BTreeMap;

use super::{types::Types, words::pascal};

/// Names that the generated file uses, or that everybody takes for something else.
const TAKEN: [&str; 29] = [
    "Box",
    "Clone",
    "CustomResource",
    "Debug",
    "Default",
    "Deserialize",
    "Drop",
    "Eq",
    "Err",
    "Fn",
    "From",
    "Into",
    "Iterator",
    "JsonSchema",
    "KubeSchema",
    "None",
    "Ok",
    "Option",
    "Ord",
    "PartialEq",
    "Result",
    "Self",
    "Send",
    "Serialize",
    "Some",
    "String",
    "Sync",
    "ToString",
    "Vec",
];

/// A name for each type. The first ones are given: those of the spec and the status.
pub(super) fn names(kind: &str, types: &Types, given: &BTreeMap<usize, String>) -> Vec<String> {
    let words: Vec<Vec<String>> = types
        .items
        .iter()
        .map(|item| {
            let path = item.path.iter().map(|word| pascal(word));
            std::iter::once(kind.to_owned())
                .chain(path.filter(|word| !word.is_empty()))
                .collect()
        })
        .collect();
    let mut used: Vec<usize> = vec![1; words.len()];
    loop {
        let mut by_name: BTreeMap<String, Vec<usize>> = BTreeMap::new();
        for (id, words) in words.iter().enumerate() {
            by_name
                .entry(name_of(words, used[id], given.get(&id)))
                .or_default()
                .push(id);
        }
        let mut longer = false;
        for (name, ids) in &by_name {
            if ids.len() == 1 && !is_taken(name, kind) {
                continue;
            }
            for &id in ids.iter().filter(|id| !given.contains_key(*id)) {
                if used[id] < words[id].len() {
                    used[id] += 1;
                    longer = true;
                }
            }
        }
        if !longer {
            break;
        }
    }
    let mut names: Vec<String> = Vec::new();
    for (id, words) in words.iter().enumerate() {
        let mut name = name_of(words, used[id], given.get(&id));
        let free = |name: &str, names: &[String]| {
            !names.iter().any(|other| other == name)
                && (given.contains_key(&id) || !given.values().any(|other| other == name))
                && !is_taken(name, kind)
        };
        let base = name.clone();
        let mut n = 2;
        while !free(&name, &names) {
            name = format!("{base}{n}");
            n += 1;
        }
        names.push(name);
    }
    names
}

/// The root type is called as the kind.
fn is_taken(name: &str, kind: &str) -> bool {
    TAKEN.contains(&name) || name == kind || name.starts_with(|c: char| c.is_ascii_digit())
}

fn name_of(words: &[String], used: usize, given: Option<&String>) -> String {
    match given {
        Some(name) => name.clone(),
        None => words[words.len().saturating_sub(used)..].concat(),
    }
}
