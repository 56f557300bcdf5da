//! [`Counted`]: a resource that quotas count.

use std::collections::BTreeSet;

use kubewright_builtins::usage::{Evaluator, resource_list::ResourceList};

/// The prefix of a count of objects.
const COUNT: &str = "count/";

/// Resources that are counted under their plain name, too.
const PLAIN: [&str; 4] = [
    "configmaps",
    "resourcequotas",
    "replicationcontrollers",
    "secrets",
];

/// Resources of which quotas limit more than the number of objects.
const EVALUATED: [(&str, &str); 4] = [
    ("", "pods"),
    ("", "services"),
    ("", "persistentvolumeclaims"),
    ("resource.k8s.io", "resourceclaims"),
];

/// A resource that quotas count, by group and plural name.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Counted {
    pub(super) group: String,
    pub(super) plural: String,
}

impl Counted {
    /// Returns a resource of the core group.
    pub(super) fn core(plural: &str) -> Self {
        Self::new("", plural)
    }

    fn new(group: &str, plural: &str) -> Self {
        Self {
            group: group.to_owned(),
            plural: plural.to_owned(),
        }
    }

    /// Returns the resources that are counted for these limits.
    pub(super) fn of(hard: &ResourceList) -> BTreeSet<Self> {
        hard.keys()
            .filter_map(|name| Self::limited_by(name))
            .collect()
    }

    fn limited_by(name: &str) -> Option<Self> {
        let evaluated = EVALUATED
            .iter()
            .find(|(group, plural)| Evaluator::of(group, plural).measures(name));
        if let Some((group, plural)) = evaluated {
            return Some(Self::new(group, plural));
        }
        match name.strip_prefix(COUNT) {
            Some(resource) => {
                let (plural, group) = resource.split_once('.').unwrap_or((resource, ""));
                Some(Self::new(group, plural))
            }
            None => PLAIN.contains(&name).then(|| Self::core(name)),
        }
    }

    pub(super) fn evaluator(&self) -> Evaluator {
        Evaluator::of(&self.group, &self.plural)
    }

    /// Reports whether the number of objects says all that quotas limit.
    pub(super) fn is_plain(&self) -> bool {
        matches!(self.evaluator(), Evaluator::Objects(..))
    }

    /// Reports whether the controller watches the resource from its start.
    pub(super) fn is_always_watched(&self) -> bool {
        self.group.is_empty() && !self.is_plain()
    }
}

#[cfg(test)]
mod tests {
    use kubewright_builtins::usage::resource_list::read;
    use serde_json::json;

    use super::*;

    #[test]
    fn resources_follow_from_the_names_of_limits() {
        let names = |name: &str| {
            let all = Counted::of(&read(&json!({name: "1"})));
            let all: Vec<String> = all
                .iter()
                .map(|c| format!("{}/{}", c.group, c.plural))
                .collect();
            all.join(" ")
        };
        assert_eq!(names("requests.cpu"), "/pods");
        assert_eq!(names("count/pods"), "/pods");
        assert_eq!(names("requests.nvidia.com/gpu"), "/pods");
        assert_eq!(names("services.nodeports"), "/services");
        assert_eq!(
            names("fast.storageclass.storage.k8s.io/requests.storage"),
            "/persistentvolumeclaims"
        );
        assert_eq!(names("configmaps"), "/configmaps");
        assert_eq!(names("count/secrets"), "/secrets");
        assert_eq!(
            names("count/widgets.shop.example.com"),
            "shop.example.com/widgets"
        );
        assert_eq!(names("something"), "");
    }
}
