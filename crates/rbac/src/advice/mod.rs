//! [`Advice`]: the rules that a user lacks, ready to paste.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
};

use crate::{Permission, PolicyRule};

/// The verbs that a cache of a resource needs. Clients that list or watch need all of them.
const READ: [&str; 3] = ["get", "list", "watch"];

/// The maximum number of names that a hint lists. An operator that needs more objects hardly knows their names beforehand.
const MAX_NAMES: usize = 3;

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
    only_named: bool,
}

/// A group, a resource and a path, one of which is empty.
type About<'a> = (&'a str, &'a str, &'a str);

impl Advice {
    /// Returns the advice for a user who was denied some permissions.
    pub fn new(user: impl Into<String>, denied: impl IntoIterator<Item = Permission>) -> Self {
        Self {
            user: user.into(),
            denied: denied.into_iter().collect(),
            only_named: false,
        }
    }

    /// Restricts the rules to the objects that the requests named (default: the rules are about all objects of a resource).
    ///
    /// ```
    /// use kubewright_rbac::{Advice, Permission};
    ///
    /// let denied = Permission::of_resource("get", "", "secrets", "", "shop").named("token");
    /// let advice = Advice::new("web", [denied]).only_named();
    /// assert_eq!(advice.rules()[0].resource_names, ["token"]);
    /// ```
    #[must_use]
    pub fn only_named(mut self) -> Self {
        self.only_named = true;
        self
    }

    /// Returns the rules to add: one for each resource and each path. One that allows listing or watching has all verbs that
    /// a cache needs. Verbs such as `bind` and `impersonate` are restricted to the objects that the requests named.
    ///
    /// A user who may not grant the permissions of a role gets these permissions.
    pub fn rules(&self) -> Vec<PolicyRule> {
        let (granting, others): (Vec<_>, Vec<_>) = self
            .denied
            .iter()
            .partition(|it| !it.alternative.is_empty());
        let mut rules = self.rules_for(&others);
        for rule in granting.iter().flat_map(|it| &it.alternative) {
            if !rules.contains(rule) {
                rules.push(rule.clone());
            }
        }
        rules
    }

    /// Returns the rules that let the user grant what the user lacks, for whom the other rules are too many.
    fn grants(&self) -> Vec<PolicyRule> {
        let granting: Vec<_> = self
            .denied
            .iter()
            .filter(|it| !it.alternative.is_empty())
            .collect();
        self.rules_for(&granting)
    }

    fn rules_for(&self, denied: &[&Permission]) -> Vec<PolicyRule> {
        let mut verbs = BTreeMap::<(About<'_>, &str), BTreeSet<&str>>::new();
        for denied in denied {
            // An object has no name yet when its creation is authorized.
            let named = (self.only_named && denied.verb != "create") || !denied.is_of_objects();
            let name = if named { denied.name.as_str() } else { "" };
            let verbs = verbs.entry((about(denied), name)).or_default();
            verbs.insert(&denied.verb);
            if matches!(denied.verb.as_str(), "list" | "watch") {
                verbs.extend(READ);
            }
        }
        let mut names = BTreeMap::<_, Vec<String>>::new();
        for ((about, name), verbs) in verbs {
            // Rules for all objects have no names.
            let names = names.entry((about, name.is_empty(), verbs)).or_default();
            names.extend((!name.is_empty()).then(|| name.to_owned()));
        }
        let rule =
            |(((group, resource, path), _, verbs), names): ((About<'_>, _, BTreeSet<_>), _)| {
                let verbs = verbs.into_iter().map(str::to_owned).collect();
                match path.is_empty() {
                    true => PolicyRule {
                        api_groups: vec![group.to_owned()],
                        resources: vec![resource.to_owned()],
                        resource_names: names,
                        verbs,
                        ..PolicyRule::default()
                    },
                    false => PolicyRule {
                        non_resource_urls: vec![path.to_owned()],
                        verbs,
                        ..PolicyRule::default()
                    },
                }
            };
        names.into_iter().map(rule).collect()
    }

    /// Returns the resources of which all denied requests named one of a few objects, with their names.
    fn restrictions(&self) -> BTreeMap<&str, BTreeSet<&str>> {
        let mut names = BTreeMap::<About<'_>, Vec<&Permission>>::new();
        for denied in self
            .denied
            .iter()
            .filter(|it| !self.only_named && it.is_of_objects())
        {
            names.entry(about(denied)).or_default().push(denied);
        }
        let mut restrictions = BTreeMap::new();
        for ((_, resource, _), denied) in names {
            let names: BTreeSet<&str> = denied.iter().map(|it| it.name.as_str()).collect();
            let is_restrictable = |it: &&Permission| !it.name.is_empty() && it.verb != "create";
            if names.len() <= MAX_NAMES && denied.iter().all(is_restrictable) {
                restrictions.insert(resource, names);
            }
        }
        restrictions
    }
}

fn about(denied: &Permission) -> About<'_> {
    (&denied.group, &denied.resource, &denied.path)
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
        for (resource, names) in self.restrictions() {
            let names = Vec::from_iter(names);
            write!(
                f,
                "\nif it needs no other {resource}, add resourceNames: {names:?} to the rule"
            )?;
        }
        let grants = self.grants();
        if !grants.is_empty() {
            write!(f, "\nor, if it may grant what it does not have itself:")?;
        }
        for rule in grants {
            write!(f, "\n    {}", rule.to_declaration())?;
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
mod tests;
