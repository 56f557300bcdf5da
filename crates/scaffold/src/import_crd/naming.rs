//! Names types with as few words of their path as needed to distinguish them.
//!
//! `spec.privateKey` becomes `PrivateKey`, unless another type would have the same name: then both get one more word, up to
//! the kind itself. Names do not depend on the order of fields.

use std::collections::{BTreeMap, BTreeSet};

use super::words::pascal;

/// Names that the generated file uses, that the derive or readers take for well-known types, or that say too little.
const TAKEN: [&str; 45] = [
    "Arc",
    "BTreeMap",
    "BTreeSet",
    "Box",
    "ByteString",
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
    "HashMap",
    "HashSet",
    "IndexMap",
    "IndexSet",
    "IntOrString",
    "Into",
    "Iterator",
    "LinkedList",
    "MicroTime",
    "None",
    "Ok",
    "Option",
    "Ord",
    "PartialEq",
    "PathBuf",
    "Quantity",
    "Rc",
    "Result",
    "Schema",
    "Self",
    "Send",
    "Serialize",
    "Some",
    "Spec",
    "String",
    "Sync",
    "Time",
    "ToString",
    "Vec",
    "VecDeque",
];

/// Returns a name for each type, by the words of its path; some names are given.
pub(super) fn names(
    places: &BTreeMap<usize, Vec<String>>,
    kind: Option<&str>,
    given: &BTreeMap<usize, String>,
) -> BTreeMap<usize, String> {
    let mut used: BTreeMap<usize, usize> = places.keys().map(|id| (*id, 1)).collect();
    let name = |id: &usize, words: &[String], used: &BTreeMap<usize, usize>| match given.get(id) {
        Some(name) => name.clone(),
        None => words[words.len().saturating_sub(used[id])..].concat(),
    };
    loop {
        let mut by_name: BTreeMap<String, Vec<usize>> = BTreeMap::new();
        for (id, words) in places {
            let name = name(id, words, &used);
            by_name.entry(name).or_default().push(*id);
        }
        let mut longer = false;
        for (name, ids) in &by_name {
            if ids.len() == 1 && !is_taken(name, kind) {
                continue;
            }
            for id in ids.iter().filter(|id| !given.contains_key(*id)) {
                if let Some(used) = used.get_mut(id).filter(|used| **used < places[id].len()) {
                    *used += 1;
                    longer = true;
                }
            }
        }
        if !longer {
            break;
        }
    }
    let mut names: BTreeMap<usize, String> = given.clone();
    let mut all: BTreeSet<String> = given.values().cloned().collect();
    for (id, words) in places.iter().filter(|(id, _)| !given.contains_key(*id)) {
        let base = name(id, words, &used);
        let mut name = base.clone();
        let mut n = 2;
        while all.contains(&name) || is_taken(&name, kind) {
            name = format!("{base}{n}");
            n += 1;
        }
        all.insert(name.clone());
        names.insert(*id, name);
    }
    names
}

/// Returns the words of a path, with the kind first.
pub(super) fn words(kind: &str, path: &[String]) -> Vec<String> {
    let path = path.iter().map(|word| pascal(word));
    std::iter::once(kind.to_owned())
        .chain(path.filter(|word| !word.is_empty()))
        .collect()
}

/// The root type has the name of the kind.
fn is_taken(name: &str, kind: Option<&str>) -> bool {
    TAKEN.contains(&name) || Some(name) == kind || name.starts_with(|c: char| c.is_ascii_digit())
}
