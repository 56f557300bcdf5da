//! [`Advice`]: the rules that a user lacks, ready to paste.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
};

use crate::{Permission, PolicyRule};

/// The verbs of everything that caches a resource. Whoever lists or watches needs all of them.
const READ: [&str; 3] = ["get", "list", "watch"];

/// The rules that would have allowed requests which a server denied.
///
/// Its text names the requests, and the rules twice: as an author declares them in an operator, and as they are written in a
/// role.
///
/// ```
/// use kubewright_rbac::{Advice, Permission};
///
/// let denied = Permission::of_resource("list", "", "secrets", "", "shop");
/// let advice = Advice::new("system:serviceaccount:shop:web", [denied]);
/// assert!(advice.to_string().contains(r#"operator.rule("", &["secrets"], &["get", "list", "watch"]);"#));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Advice {
    user: String,
    denied: BTreeSet<Permission>,
}

impl Advice {
    /// Returns the advice for a user who was denied some permissions.
    pub fn new(user: impl Into<String>, denied: impl IntoIterator<Item = Permission>) -> Self {
        Self {
            user: user.into(),
            denied: denied.into_iter().collect(),
        }
    }

    /// Returns the rules to add: one for each resource and each path. One that lets somebody list or watch has all verbs that
    /// a cache needs.
    pub fn rules(&self) -> Vec<PolicyRule> {
        let mut verbs = BTreeMap::<_, BTreeSet<&str>>::new();
        for denied in &self.denied {
            let about = (&denied.group, &denied.resource, &denied.path);
            let verbs = verbs.entry(about).or_default();
            verbs.insert(&denied.verb);
            if matches!(denied.verb.as_str(), "list" | "watch") {
                verbs.extend(READ);
            }
        }
        let rule =
            |((group, resource, path), verbs): ((&String, &String, &String), BTreeSet<_>)| {
                let verbs = verbs.into_iter().map(str::to_owned).collect();
                match path.is_empty() {
                    true => PolicyRule {
                        api_groups: vec![group.clone()],
                        resources: vec![resource.clone()],
                        verbs,
                        ..PolicyRule::default()
                    },
                    false => PolicyRule {
                        non_resource_urls: vec![path.clone()],
                        verbs,
                        ..PolicyRule::default()
                    },
                }
            };
        verbs.into_iter().map(rule).collect()
    }
}

impl fmt::Display for Advice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let denied: Vec<String> = self.denied.iter().map(ToString::to_string).collect();
        writeln!(f, "{} may not {}", self.user, denied.join(", "))?;
        writeln!(f, "add to the function that registers the operator:")?;
        for rule in self.rules() {
            writeln!(f, "    {}", rule.to_declaration())?;
        }
        write!(f, "or to the rules of its role:")?;
        for line in self.rules().iter().flat_map(PolicyRule::to_yaml_lines) {
            write!(f, "\n    {line}")?;
        }
        Ok(())
    }
}

impl PolicyRule {
    /// Returns the statement that declares the rule in the function that registers an operator.
    ///
    /// ```
    /// use kubewright_rbac::PolicyRule;
    ///
    /// let metrics = PolicyRule {
    ///     verbs: vec!["get".into()],
    ///     non_resource_urls: vec!["/metrics".into()],
    ///     ..PolicyRule::default()
    /// };
    /// assert_eq!(metrics.to_declaration(), r#"operator.permit(PolicyRule::urls(&["/metrics"], &["get"]));"#);
    /// ```
    pub fn to_declaration(&self) -> String {
        let verbs = &self.verbs;
        if self.resources.is_empty() {
            let urls = &self.non_resource_urls;
            return format!("operator.permit(PolicyRule::urls(&{urls:?}, &{verbs:?}));");
        }
        let group = self.api_groups.first().map_or("", String::as_str);
        let resources = &self.resources;
        match self.resource_names.is_empty() {
            true => format!("operator.rule({group:?}, &{resources:?}, &{verbs:?});"),
            false => format!(
                "operator.permit(PolicyRule::new({group:?}, &{resources:?}, &{verbs:?}).resource_names(&{:?}));",
                self.resource_names
            ),
        }
    }

    /// Returns the lines of the rule in the YAML of a role.
    ///
    /// ```
    /// use kubewright_rbac::PolicyRule;
    ///
    /// let rule = PolicyRule {
    ///     verbs: vec!["get".into()],
    ///     api_groups: vec!["".into()],
    ///     resources: vec!["pods".into()],
    ///     ..PolicyRule::default()
    /// };
    /// assert_eq!(rule.to_yaml_lines(), [r#"- apiGroups: [""]"#, r#"  resources: ["pods"]"#, r#"  verbs: ["get"]"#]);
    /// ```
    pub fn to_yaml_lines(&self) -> Vec<String> {
        let lists = [
            ("apiGroups", &self.api_groups),
            ("resources", &self.resources),
            ("resourceNames", &self.resource_names),
            ("nonResourceURLs", &self.non_resource_urls),
            ("verbs", &self.verbs),
        ];
        let lists = lists.into_iter().filter(|(_, list)| !list.is_empty());
        let line = |(at, (key, list)): (usize, (&str, &Vec<String>))| {
            let dash = if at == 0 { "-" } else { " " };
            format!("{dash} {key}: {list:?}")
        };
        lists.enumerate().map(line).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_text_can_be_pasted() {
        let advice = Advice::new(
            "system:serviceaccount:shop:web",
            [
                Permission::of_resource("update", "apps", "deployments", "scale", "a"),
                Permission::of_resource("patch", "apps", "deployments", "scale", "b"),
                Permission::of_resource("watch", "", "pods", "", ""),
                Permission::of_path("get", "/metrics"),
            ],
        );
        assert_eq!(
            advice.to_string(),
            r#"system:serviceaccount:shop:web may not get /metrics, watch pods, update deployments/scale.apps in the namespace "a", patch deployments/scale.apps in the namespace "b"
add to the function that registers the operator:
    operator.permit(PolicyRule::urls(&["/metrics"], &["get"]));
    operator.rule("", &["pods"], &["get", "list", "watch"]);
    operator.rule("apps", &["deployments/scale"], &["patch", "update"]);
or to the rules of its role:
    - nonResourceURLs: ["/metrics"]
      verbs: ["get"]
    - apiGroups: [""]
      resources: ["pods"]
      verbs: ["get", "list", "watch"]
    - apiGroups: ["apps"]
      resources: ["deployments/scale"]
      verbs: ["patch", "update"]"#
        );
    }
}
