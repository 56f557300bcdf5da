//! [`Rules`]: what a user may do, as a list.

/// The rules that apply to a user in a namespace, as `SelfSubjectRulesReview` lists them.
///
/// ```
/// use kubewright_apiserver::auth::{ResourceRule, Rules};
///
/// let pods = ResourceRule {
///     verbs: vec!["get".into(), "list".into()],
///     api_groups: vec!["".into()],
///     resources: vec!["pods".into()],
///     resource_names: Vec::new(),
/// };
/// let rules = Rules { resource_rules: vec![pods], ..Rules::default() };
/// assert!(!rules.incomplete);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rules {
    /// The rules about resources.
    pub resource_rules: Vec<ResourceRule>,
    /// The rules about other paths.
    pub non_resource_rules: Vec<NonResourceRule>,
    /// Whether the user may be allowed more than the list says.
    pub incomplete: bool,
    /// Problems met on the way.
    pub errors: Vec<String>,
}

/// A rule for resources. `*` matches everything.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ResourceRule {
    /// The verbs.
    pub verbs: Vec<String>,
    /// The groups; the core group is empty.
    pub api_groups: Vec<String>,
    /// The resources, with subresources as `pods/log`.
    pub resources: Vec<String>,
    /// The names of the objects. Without names the rule is about all objects.
    pub resource_names: Vec<String>,
}

/// A rule about paths that name no resource.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NonResourceRule {
    /// The verbs: lower-case methods.
    pub verbs: Vec<String>,
    /// The paths. One that ends in `*` matches all paths with that prefix.
    pub non_resource_urls: Vec<String>,
}

impl Rules {
    /// Returns no rules, and that the user may be allowed more, for the given reason.
    pub fn unknown(error: impl Into<String>) -> Self {
        Self {
            incomplete: true,
            errors: vec![error.into()],
            ..Self::default()
        }
    }

    /// Adds the rules of another authorizer.
    pub fn append(&mut self, other: Self) {
        self.resource_rules.extend(other.resource_rules);
        self.non_resource_rules.extend(other.non_resource_rules);
        self.incomplete |= other.incomplete;
        self.errors.extend(other.errors);
    }
}
