//! The book's pages, so that `cargo test` compiles and runs the code on them, and checks that their links lead somewhere.
//!
//! No code lives here: a page is a file under `src/`, listed in `src/SUMMARY.md`.

macro_rules! chapters {
    ($($name:ident = $path:literal),* $(,)?) => {
        $(#[doc = include_str!(concat!("src/", $path))] mod $name {})*

        /// The pages whose code is tested: path, text.
        #[cfg(test)]
        const TESTED: &[(&str, &str)] = &[$(($path, include_str!(concat!("src/", $path)))),*];
    };
}

chapters! {
    start = "README.md",
    tutorial_kind = "tutorial/kind.md",
    tutorial_controller = "tutorial/controller.md",
    tutorial_tests = "tutorial/tests.md",
    tutorial_defaulting = "tutorial/defaulting.md",
    tutorial_validation = "tutorial/validation.md",
    tutorial_version = "tutorial/version.md",
    api_server = "apiserver/README.md",
    controllers = "concepts/controllers.md",
    control_loop = "concepts/control-loop.md",
    client = "concepts/client.md",
    informer = "concepts/informer.md",
    workqueue = "concepts/workqueue.md",
    controller_runtime = "concepts/controller-runtime.md",
    crd = "concepts/crd.md",
    custom_apiserver = "concepts/custom-apiserver.md",
    testing = "howto/testing.md",
    workloads = "howto/workloads.md",
    virtual_time = "howto/virtual-time.md",
    perturbation = "howto/perturbation.md",
    permissions = "howto/permissions.md",
    audit = "howto/audit.md",
    several_controllers = "howto/several-controllers.md",
    large_operator = "howto/large-operator.md",
    comparison = "comparison.md",
    watches = "howto/watches.md",
    status = "howto/status.md",
    versions = "howto/versions.md",
    webhooks = "howto/webhooks.md",
    finalizers = "howto/finalizers.md",
    metrics_server = "howto/metrics-server.md",
    external_store = "howto/external-store.md",
    leader_election = "howto/leader-election.md",
    observe = "howto/observe.md",
    coming_from_go = "coming-from-go.md",
    reference_generate = "reference/generate.md",
    reference_markers = "reference/markers.md",
    reference_project_file = "reference/project-file.md",
    coming_from_kube_rs = "coming-from-kube-rs.md",
}

#[cfg(test)]
mod tests {
    use std::path::{Path, PathBuf};

    use super::TESTED;

    fn pages() -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("src")
    }

    /// Returns the files that a page links to, without anchors and URLs.
    fn links(text: &str) -> impl Iterator<Item = &str> {
        text.split("](")
            .skip(1)
            .filter_map(|rest| rest.split(')').next())
            .filter(|link| !link.contains("://"))
            .map(|link| link.split('#').next().unwrap_or(link))
            .filter(|file| !file.is_empty())
    }

    #[test]
    fn every_link_leads_to_a_page() {
        let summary = std::fs::read_to_string(pages().join("SUMMARY.md")).unwrap();
        let read = |path: &str| std::fs::read_to_string(pages().join(path)).unwrap();
        let mut broken = Vec::new();
        for page in std::iter::once("SUMMARY.md").chain(links(&summary)) {
            let folder = Path::new(page).parent().unwrap_or(Path::new(""));
            for link in links(&read(page)) {
                if !pages().join(folder).join(link).is_file() {
                    broken.push(format!("{page}: {link}"));
                }
            }
        }
        assert!(broken.is_empty(), "links that lead nowhere: {broken:#?}");
    }

    #[test]
    fn every_page_with_code_is_tested() {
        let summary = std::fs::read_to_string(pages().join("SUMMARY.md")).unwrap();
        let untested: Vec<_> = links(&summary)
            .filter(|page| !TESTED.iter().any(|(tested, _)| tested == page))
            .filter(|page| {
                std::fs::read_to_string(pages().join(page))
                    .unwrap()
                    .contains("```rust")
            })
            .collect();
        assert!(untested.is_empty(), "not in chapters.rs: {untested:?}");
    }
}
