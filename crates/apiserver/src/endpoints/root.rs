//! `/`: the list of paths that are served.

use bytes::Bytes;
use serde::Serialize;

use super::HealthChecks;
use crate::registry::Registry;

#[derive(Serialize)]
struct RootPaths {
    paths: Vec<String>,
}

/// Returns the document as indented JSON: the sorted paths of the API, the health checks, and `others` such as `/version`.
pub(crate) fn document<'a>(
    registry: &Registry,
    health: &HealthChecks,
    others: impl IntoIterator<Item = &'a str>,
) -> Bytes {
    let mut paths = health.paths();
    paths.extend(others.into_iter().map(str::to_owned));
    paths.extend(["/apis".to_owned(), "/apis/".to_owned()]);
    for group in registry.groups() {
        let base = if group.name.is_empty() {
            "/api".to_owned()
        } else {
            format!("/apis/{}", group.name)
        };
        paths.extend(
            group
                .versions
                .iter()
                .map(|(version, _)| format!("{base}/{version}")),
        );
        paths.push(base);
    }
    paths.sort_unstable();
    paths.dedup();
    serde_json::to_vec_pretty(&RootPaths { paths })
        .expect("a list of strings")
        .into()
}

#[cfg(test)]
mod tests {
    use kubewright_machinery::gvk::GroupVersionKind;

    use super::*;
    use crate::registry::{Handlers, RegistryBuilder, Resource, ResourceSpec};

    #[test]
    fn paths_are_sorted_and_only_what_is_served() {
        let mut builder = RegistryBuilder::default();
        builder.add(Resource::computed(
            ResourceSpec::new(
                GroupVersionKind::new("apps", "v1", "Deployment"),
                "deployments",
            )
            .namespaced(),
            Handlers::default(),
        ));
        builder.add(Resource::computed(
            ResourceSpec::new(GroupVersionKind::new("", "v1", "Pod"), "pods").namespaced(),
            Handlers::default(),
        ));
        let health = HealthChecks::new().check("ping", || Ok(()));
        let text = document(&builder.build(), &health, ["/version", "/metrics"]);
        let text = std::str::from_utf8(&text).unwrap();
        assert!(
            text.starts_with("{\n  \"paths\": [\n    \"/api\",\n    \"/api/v1\",\n"),
            "{text}"
        );
        assert!(text.ends_with("    \"/version\"\n  ]\n}"), "{text}");
        let paths: serde_json::Value = serde_json::from_str(text).unwrap();
        assert_eq!(
            paths["paths"],
            serde_json::json!([
                "/api",
                "/api/v1",
                "/apis",
                "/apis/",
                "/apis/apps",
                "/apis/apps/v1",
                "/healthz",
                "/healthz/ping",
                "/livez",
                "/livez/ping",
                "/metrics",
                "/readyz",
                "/readyz/ping",
                "/version"
            ])
        );
    }
}
