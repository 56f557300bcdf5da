//! Features of the kubewright dependency in `Cargo.toml`.

use toml_edit::{Array, DocumentMut, Item};

use crate::{Error, plan::Plan};

const MANIFEST: &str = "Cargo.toml";

/// Adds a feature to the kubewright dependency. If it has none in a known form, the edit is left to the user.
pub(super) fn enable(plan: &mut Plan, feature: &str) -> Result<(), Error> {
    add(plan, "dependencies", feature)
}

/// Adds a feature to the kubewright dependency of tests, as [`enable`] does.
pub(super) fn enable_in_tests(plan: &mut Plan, feature: &str) -> Result<(), Error> {
    add(plan, "dev-dependencies", feature)
}

fn add(plan: &mut Plan, section: &str, feature: &str) -> Result<(), Error> {
    let source = plan.read(MANIFEST)?.unwrap_or_default();
    match with_feature(&source, section, feature) {
        Some(edited) => plan.set(MANIFEST, Some(edited)),
        None => {
            let line = format!("features = [\"{feature}\"]");
            let place = match section {
                "dependencies" => "in the dependency on kubewright",
                _ => "in the dev-dependency on kubewright",
            };
            plan.leave_to_user(MANIFEST, place, vec![line]);
            Ok(())
        }
    }
}

fn with_feature(source: &str, section: &str, feature: &str) -> Option<String> {
    let mut document: DocumentMut = source.parse().ok()?;
    let dependency = document.get_mut(section)?.get_mut("kubewright")?;
    let table = dependency.as_table_like_mut()?;
    if table.get("features").is_none() {
        table.insert("features", Item::Value(Array::new().into()));
    }
    let features = table.get_mut("features")?.as_array_mut()?;
    if features.iter().any(|it| it.as_str() == Some(feature)) {
        return Some(source.to_owned());
    }
    features.insert(0, feature);
    // The first one begins without a space.
    if let Some(second) = features.get_mut(1) {
        second.decor_mut().set_prefix(" ");
    }
    Some(document.to_string())
}

#[cfg(test)]
mod tests {
    use super::with_feature;

    #[test]
    fn a_feature_is_added_once() {
        let before =
            "[dependencies]\n# mine\nkubewright = { path = \"/k\", features = [\"mimalloc\"] }\n";
        let with_feature = |source: &str, feature| with_feature(source, "dependencies", feature);
        let after = with_feature(before, "apiserver").unwrap();
        let wanted = before.replace("[\"mimalloc\"]", "[\"apiserver\", \"mimalloc\"]");
        assert_eq!(after, wanted);
        assert_eq!(with_feature(&after, "apiserver"), Some(after));
        let without = "[dependencies]\nkubewright = { path = \"/k\" }\n";
        let after = with_feature(without, "apiserver").unwrap();
        assert!(after.contains("features = [\"apiserver\"]"), "{after}");
        assert_eq!(
            with_feature("[dependencies]\nkubewright = \"1\"\n", "a"),
            None
        );
    }

    #[test]
    fn a_feature_of_tests_is_not_one_of_the_program() {
        let manifest = "[dependencies]\nkubewright = { path = \"/k\", features = [\"mimalloc\"] }\n\n\
                        [dev-dependencies]\nkubewright = { path = \"/k\", features = [\"testing\"] }\n";
        let after = with_feature(manifest, "dev-dependencies", "workloads").unwrap();
        let wanted = manifest.replace("[\"testing\"]", "[\"workloads\", \"testing\"]");
        assert_eq!(after, wanted);
    }
}
