//! Aggregated APIs in the [`Model`]: their APIServices and permissions.

use std::collections::{BTreeMap, BTreeSet};

use kubewright_machinery::version::compare_kube_versions;
use serde_json::{Value, json};

use crate::{
    model::{Model, PolicyRule},
    names::ApiServerNames,
};

/// The `groupPriorityMinimum` of the groups, which is that of custom resources.
const GROUP_PRIORITY: u32 = 1000;

impl Model {
    /// Reports whether the program serves aggregated APIs.
    ///
    /// ```
    /// use kubewright_operator::Model;
    ///
    /// assert!(!Model::new("sky").serves_aggregated_apis());
    /// ```
    pub fn serves_aggregated_apis(&self) -> bool {
        !self.aggregated.is_empty()
    }

    /// Reports whether the cluster calls the program: for webhooks or aggregated APIs.
    pub fn is_called(&self) -> bool {
        self.serves_webhooks() || self.serves_aggregated_apis()
    }

    /// Returns the definitions of all kinds, those of CustomResourceDefinitions and those of aggregated APIs.
    pub fn definitions(&self) -> impl Iterator<Item = &Value> {
        self.crds.iter().chain(&self.aggregated)
    }

    /// Returns the APIServices that refer to the program behind a Service. They have no `caBundle`.
    ///
    /// ```
    /// use kubewright_operator::Model;
    /// use serde_json::json;
    ///
    /// let mut model = Model::new("sky");
    /// model.aggregated.push(json!({"spec": {
    ///     "group": "sky.example.com", "names": {"kind": "Planet", "plural": "planets"}, "scope": "Cluster",
    ///     "versions": [{"name": "v1beta1", "served": true}, {"name": "v1", "served": true}],
    /// }}));
    /// let services = model.api_services("sky-system", "sky-apiserver");
    /// assert_eq!(services[0]["metadata"]["name"], "v1.sky.example.com");
    /// assert_eq!(services[0]["spec"]["versionPriority"], 20);
    /// assert_eq!(services[1]["spec"]["service"]["name"], "sky-apiserver");
    /// ```
    pub fn api_services(&self, namespace: &str, service: &str) -> Vec<Value> {
        let mut services = Vec::new();
        for (group, versions) in self.group_versions() {
            let count = versions.len();
            for (i, version) in versions.iter().enumerate() {
                // The preferred version comes first.
                let priority = 10 * (count - i).min(100);
                services.push(json!({
                    "apiVersion": "apiregistration.k8s.io/v1",
                    "kind": "APIService",
                    "metadata": {"name": format!("{version}.{group}")},
                    "spec": {
                        "group": group,
                        "version": version,
                        "groupPriorityMinimum": GROUP_PRIORITY,
                        "versionPriority": priority,
                        "service": {"namespace": namespace, "name": service, "port": 443},
                    },
                }));
            }
        }
        services
    }

    /// Returns the permissions that the program needs to serve aggregated APIs, in addition to the ClusterRole
    /// `system:auth-delegator` and the Role `extension-apiserver-authentication-reader` in `kube-system`: access to the Secret
    /// with its certificates, to the APIServices, whose `caBundle` it writes, and to namespaces. Empty if it serves no kinds.
    ///
    /// ```
    /// use kubewright_operator::Model;
    ///
    /// let model = Model::new("sky");
    /// assert!(model.apiserver_rules("sky-system", "sky-apiserver").is_empty());
    /// ```
    pub fn apiserver_rules(&self, namespace: &str, service: &str) -> Vec<PolicyRule> {
        if !self.serves_aggregated_apis() {
            return Vec::new();
        }
        let names = ApiServerNames::of(service);
        let own = self.api_service_names();
        let own: Vec<&str> = own.iter().map(String::as_str).collect();
        let change = |group: &str, resource: &str, names: &[&str]| {
            PolicyRule::new(group, &[resource], &["get", "update"]).resource_names(names)
        };
        let mut rules = vec![
            PolicyRule::new("", &["secrets"], &["create"]).namespace(namespace),
            change("", "secrets", &[&names.secret]).namespace(namespace),
            change("apiregistration.k8s.io", "apiservices", &own),
        ];
        let is_namespaced = |definition: &Value| definition["spec"]["scope"] == "Namespaced";
        if self.aggregated.iter().any(is_namespaced) {
            rules.push(PolicyRule::new("", &["namespaces"], &["get"]));
        }
        rules
    }

    /// Returns the names of the APIServices.
    pub(crate) fn api_service_names(&self) -> Vec<String> {
        let groups = self.group_versions().into_iter();
        let names = groups.flat_map(|(group, versions)| {
            let name = move |version: &String| format!("{version}.{group}");
            versions.iter().map(name).collect::<Vec<_>>()
        });
        names.collect()
    }

    /// Returns the served versions of each group, preferred first.
    fn group_versions(&self) -> BTreeMap<String, Vec<String>> {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let mut groups: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        for definition in &self.aggregated {
            let spec = &definition["spec"];
            let versions = spec["versions"].as_array().into_iter().flatten();
            let served = versions.filter(|version| version["served"] == true);
            let group = groups.entry(text(&spec["group"])).or_default();
            group.extend(served.map(|version| text(&version["name"])));
        }
        let sorted = |(group, versions): (String, BTreeSet<String>)| {
            let mut versions: Vec<String> = versions.into_iter().collect();
            versions.sort_by(|a, b| compare_kube_versions(b, a));
            (group, versions)
        };
        groups.into_iter().map(sorted).collect()
    }
}
