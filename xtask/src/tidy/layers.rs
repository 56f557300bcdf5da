//! Layers: a crate is built on crates of lower layers only.
//!
//! Within a layer, and for the crate that gathers all others, the edges are listed one by one. Examples are above all
//! layers: they may use every crate, and no crate may use them.

use std::collections::BTreeSet;

use super::Finding;
use super::tree::{EXAMPLES, Tree};

/// The layers with their titles and crates.
pub(super) const LAYERS: [(u8, &str, &[&str]); 5] = [
    (
        0,
        "pure",
        &[
            "machinery",
            "catalog",
            "schema",
            "merge",
            "metrics",
            "builtins",
            "protobuf",
            "cel",
            "derive",
            "resource",
            "x509",
            "rbac",
            "ledger",
        ],
    ),
    (
        1,
        "ports",
        &[
            "store",
            "store-durable",
            "store-etcd",
            "client",
            "serve",
            "streams",
        ],
    ),
    (
        2,
        "frameworks",
        &[
            "apiserver",
            "custom-kinds",
            "extension-apiserver",
            "workqueue",
            "informer",
            "controller",
            "webhook",
        ],
    ),
    (
        3,
        "the cluster",
        &[
            "kube-apiserver",
            "builtin-controllers",
            "scheduler",
            "nodes",
            "cluster",
        ],
    ),
    (
        4,
        "products",
        &[
            "testing",
            "cli",
            "console",
            "operator",
            "scaffold",
            "kubewright",
        ],
    ),
];

/// The crates that a crate may use within its own layer.
const WITHIN: &[(&str, &[&str])] = &[
    ("catalog", &["machinery"]),
    ("cel", &["machinery"]),
    ("schema", &["machinery", "catalog", "cel"]),
    (
        "builtins",
        &["machinery", "catalog", "cel", "schema", "x509"],
    ),
    ("merge", &["machinery"]),
    ("x509", &["machinery"]),
    ("protobuf", &["machinery", "catalog"]),
    ("rbac", &["machinery"]),
    ("ledger", &["machinery", "rbac", "schema"]),
    ("resource", &["machinery", "cel", "schema", "derive"]),
    ("store-durable", &["store"]),
    ("store-etcd", &["store"]),
    ("custom-kinds", &["apiserver"]),
    (
        "extension-apiserver",
        &["apiserver", "custom-kinds", "webhook"],
    ),
    ("controller", &["informer", "workqueue"]),
    ("webhook", &["controller"]),
    (
        "cluster",
        &[
            "builtin-controllers",
            "kube-apiserver",
            "nodes",
            "scheduler",
        ],
    ),
    ("nodes", &["scheduler"]),
    ("operator", &["testing"]),
    ("scaffold", &["operator"]),
    ("cli", &["console", "operator", "scaffold"]),
];

/// The crate that shows all others, those of its own layer too.
const GATHERS_ALL: &str = "kubewright";

/// Edges that go down and are wrong still, and why.
const NEVER: [(&str, &[&str], &str); 5] = [
    ("apiserver", &["client"], "a server does not call itself"),
    (
        "controller",
        &["store", "store-durable", "store-etcd"],
        "a controller sees the API only",
    ),
    (
        "builtin-controllers",
        &["store", "store-durable", "store-etcd", "apiserver"],
        "built-in controllers see the API only, as everybody's do",
    ),
    (
        "scheduler",
        &["store", "store-durable", "store-etcd", "apiserver"],
        "a scheduler sees the API only",
    ),
    (
        "nodes",
        &["store", "store-durable", "store-etcd", "apiserver"],
        "nodes see the API only",
    ),
];

/// The lowest layer.
pub(super) fn is_lowest(name: &str) -> bool {
    layer(name) == Some(0)
}

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = dead_names(tree);
    for user in &tree.crates {
        let example = user.name.starts_with(EXAMPLES);
        let folder = if example { "" } else { "crates/" };
        let manifest = format!("{folder}{}/Cargo.toml", user.name);
        if !example && layer(&user.name).is_none() {
            let what = format!("crate `{}` has no layer: give it one in LAYERS", user.name);
            findings.push(Finding::error(&manifest, 1, what));
            continue;
        }
        for used in &user.uses {
            if let Some(what) = objection(&user.name, used) {
                let line = line_of(tree, &manifest, used);
                findings.push(Finding::error(&manifest, line, what));
            }
        }
    }
    findings
}

/// Finds names of crates in the tables above that no longer exist, whose rules would hold for nothing.
fn dead_names(tree: &Tree) -> Vec<Finding> {
    let layered = LAYERS.iter().flat_map(|(_, _, names)| names.iter());
    let within = WITHIN
        .iter()
        .flat_map(|(name, uses)| uses.iter().chain([name]));
    let never = NEVER
        .iter()
        .flat_map(|(name, uses, _)| uses.iter().chain([name]));
    let names: BTreeSet<&str> = layered.chain(within).chain(never).copied().collect();
    let path = "xtask/src/tidy/layers.rs";
    let Some(text) = tree.files.get(path) else {
        return Vec::new();
    };
    let is_dead = |name: &&str| !tree.crates.iter().any(|c| c.name == *name);
    let dead = names.into_iter().filter(is_dead);
    dead.map(|name| {
        let quoted = format!("\"{name}\"");
        let line = text.lines().position(|line| line.contains(&quoted));
        let what = format!("there is no crate `{name}`: rename it here, or remove it");
        Finding::error(path, line.map_or(1, |n| n + 1), what)
    })
    .collect()
}

fn layer(name: &str) -> Option<u8> {
    LAYERS
        .iter()
        .find(|(_, _, names)| names.contains(&name))
        .map(|(layer, _, _)| *layer)
}

fn objection(user: &str, used: &str) -> Option<String> {
    if user.starts_with(EXAMPLES) {
        return None;
    }
    if used.starts_with(EXAMPLES) {
        return Some(format!("`{user}` must not use `{used}`: it is an example"));
    }
    let never = NEVER
        .iter()
        .find(|(name, uses, _)| *name == user && uses.contains(&used));
    if let Some((_, _, why)) = never {
        return Some(format!("`{user}` must not use `{used}`: {why}"));
    }
    let (Some(above), Some(below)) = (layer(user), layer(used)) else {
        return None;
    };
    let listed = above == below
        && WITHIN
            .iter()
            .any(|(name, uses)| *name == user && uses.contains(&used));
    if above == 0 && below == 0 {
        return (!listed).then(|| {
            format!("`{user}` must not use `{used}`: not an edge of layer 0, see WITHIN")
        });
    }
    let gathered = user == GATHERS_ALL && below <= above;
    (below >= above && !gathered && !listed).then(|| {
        format!(
            "`{user}` (layer {above}) must not use `{used}` (layer {below}): move what they share \
             to a lower layer"
        )
    })
}

fn line_of(tree: &Tree, manifest: &str, used: &str) -> usize {
    let used = used.trim_start_matches(EXAMPLES);
    let names = [format!("kubewright-{used}"), used.to_owned()];
    let text = tree.files.get(manifest).map_or("", String::as_str);
    let stands = |line: &str| {
        names.iter().any(|name| {
            line.strip_prefix(name.as_str())
                .is_some_and(|rest| rest.starts_with(['.', ' ', '=']))
        })
    };
    text.lines().position(stands).map_or(1, |n| n + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn allowed(user: &str, used: &str) -> bool {
        check(&Tree::default().with_crate(user, &[used])).is_empty()
    }

    #[test]
    fn a_lower_layer_may_be_used() {
        assert!(allowed("store", "machinery"));
        assert!(allowed("apiserver", "schema"));
        assert!(allowed("cli", "kube-apiserver"));
    }

    #[test]
    fn the_same_or_a_higher_layer_may_not() {
        assert!(!allowed("store", "apiserver"));
        assert!(!allowed("informer", "apiserver"));
        assert!(!allowed("cli", "testing"));
        assert!(!allowed("kube-apiserver", "kubewright"));
    }

    #[test]
    fn layer_0_has_the_listed_edges_only() {
        assert!(allowed("builtins", "catalog"));
        assert!(allowed("merge", "machinery"));
        assert!(!allowed("merge", "catalog"));
        assert!(!allowed("machinery", "catalog"));
        assert!(!allowed("schema", "merge"));
    }

    #[test]
    fn the_controller_runtime_stands_on_its_parts() {
        assert!(allowed("controller", "informer"));
        assert!(!allowed("informer", "controller"));
        assert!(!allowed("workqueue", "informer"));
    }

    #[test]
    fn one_crate_gathers_all() {
        assert!(allowed("kubewright", "testing"));
        assert!(allowed("kubewright", "machinery"));
    }

    #[test]
    fn no_crate_uses_an_example() {
        assert!(!allowed("cli", "examples/ingress_manager"));
        assert!(allowed("examples/ingress_manager", "testing"));
    }

    #[test]
    fn some_edges_are_never_right() {
        assert!(!allowed("apiserver", "client"));
        assert!(!allowed("controller", "store"));
        assert!(!allowed("builtin-controllers", "apiserver"));
    }

    #[test]
    fn rules_about_crates_that_do_not_exist_are_found() {
        let table = Tree::of(&[("xtask/src/tidy/layers.rs", "[\n    \"scheduler\",\n]")]);
        let found = check(&table.with_crate("machinery", &[]));
        let about = |name: &str| found.iter().find(|f| f.what.contains(&format!("`{name}`")));
        assert_eq!(about("scheduler").map(|finding| finding.line), Some(2));
        assert_eq!(about("machinery"), None);
    }

    #[test]
    fn a_crate_without_a_layer_is_found() {
        let found = check(&Tree::default().with_crate("surprise", &[]));
        assert_eq!(found[0].path, "crates/surprise/Cargo.toml");
    }

    #[test]
    fn a_finding_names_the_line_of_the_dependency() {
        let manifest = "[dependencies]\nbytes = \"1\"\nkubewright-apiserver.workspace = true\n";
        let tree = Tree::of(&[("crates/store/Cargo.toml", manifest)]);
        assert_eq!(check(&tree.with_crate("store", &["apiserver"]))[0].line, 3);
    }
}
