//! [`Attributes`]: a request as authorization rules see it.

use std::borrow::Cow;

use kubewright_machinery::{
    fields::FieldSelector,
    labels::{LabelSelector, SelectorError},
};

use crate::request::{Query, RequestInfo, UserInfo, Verb};

/// A request as authorization rules see it. It need not be a request that was sent: access reviews, impersonation and
/// admission expressions ask about others.
///
/// ```
/// use kubewright_apiserver::{
///     auth::{Attributes, ResourceAttributes},
///     request::UserInfo,
/// };
///
/// let user = UserInfo { name: "alice".into(), ..UserInfo::default() };
/// let web = ResourceAttributes {
///     group: "apps",
///     version: "v1",
///     resource: "deployments",
///     subresource: "scale",
///     namespace: "shop",
///     name: "web",
///     ..ResourceAttributes::default()
/// };
/// let attributes = Attributes::of_resource(&user, "update", web);
/// assert_eq!(attributes.resource().unwrap().with_subresource(), "deployments/scale");
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Attributes<'a> {
    /// The user.
    pub user: &'a UserInfo,
    /// The verb: `list` for a resource, the lower-case method for other paths.
    pub verb: &'a str,
    /// The thing that the verb is about.
    pub target: Target<'a>,
}

/// The thing that a request is about.
#[derive(Clone, Copy, Debug)]
pub enum Target<'a> {
    /// A resource.
    Resource(ResourceAttributes<'a>),
    /// The decoded path of a request that names no resource, such as `/healthz`.
    Path(&'a str),
}

/// A resource, or one object of it, in a request.
#[derive(Clone, Copy, Debug, Default)]
pub struct ResourceAttributes<'a> {
    /// The group; empty for the core group.
    pub group: &'a str,
    /// The version, such as `v1`, or `*`.
    pub version: &'a str,
    /// The resource, such as `pods`.
    pub resource: &'a str,
    /// The subresource, such as `status`, or empty.
    pub subresource: &'a str,
    /// The namespace, or empty.
    pub namespace: &'a str,
    /// The name of the object, or empty: that of the path, or the only one that a field selector allows.
    pub name: &'a str,
    /// The field selector of a list, watch or deletecollection.
    pub field_selector: Selection<'a, FieldSelector>,
    /// The label selector of a list, watch or deletecollection.
    pub label_selector: Selection<'a, LabelSelector>,
}

/// A selector of a request.
///
/// Selectors can only restrict what is allowed, so an authorizer may ignore one that it does not understand.
///
/// ```
/// use kubewright_apiserver::auth::Selection;
/// use kubewright_machinery::fields::FieldSelector;
///
/// let selection: Selection<'_, FieldSelector> = Selection::Text("spec.nodeName=n1");
/// let selector = selection.parsed().unwrap().unwrap();
/// assert_eq!(selector.required_value("spec.nodeName"), Some("n1"));
/// ```
#[derive(Debug, Default)]
pub enum Selection<'a, S> {
    /// There is none.
    #[default]
    None,
    /// The selector as it was sent. It is parsed when an authorizer asks for it.
    Text(&'a str),
    /// A selector that was given as requirements.
    Parsed(&'a S),
    /// Requirements that could not be read, and those that could.
    Invalid {
        /// The problem.
        error: &'a str,
        /// The rest of the selector. It selects more than was asked for.
        rest: Option<&'a S>,
    },
}

impl<'a> Attributes<'a> {
    /// Returns the attributes of a request about a resource.
    pub fn of_resource(
        user: &'a UserInfo,
        verb: &'a str,
        resource: ResourceAttributes<'a>,
    ) -> Self {
        Self {
            user,
            verb,
            target: Target::Resource(resource),
        }
    }

    /// Returns the attributes of a request that names no resource.
    pub fn of_path(user: &'a UserInfo, verb: &'a str, path: &'a str) -> Self {
        Self {
            user,
            verb,
            target: Target::Path(path),
        }
    }

    /// Returns the attributes of a request.
    ///
    /// ```
    /// use http::Method;
    /// use kubewright_apiserver::{auth::Attributes, request::{Query, RequestInfo, UserInfo}};
    ///
    /// let user = UserInfo { name: "alice".into(), ..UserInfo::default() };
    /// let query = Query::parse(None);
    /// let info = RequestInfo::new(&Method::GET, "/api/v1/namespaces/shop/pods", &query);
    /// let attributes = Attributes::of_request(&user, &info, &query);
    /// assert_eq!(attributes.verb, "list");
    /// assert_eq!(attributes.resource().unwrap().resource, "pods");
    /// ```
    pub fn of_request(user: &'a UserInfo, info: &'a RequestInfo, query: &'a Query) -> Self {
        if !info.is_resource {
            return Self::of_path(user, info.verb_text(), &info.path);
        }
        let selects = matches!(info.verb, Verb::List | Verb::Watch | Verb::DeleteCollection);
        let selector = |key| match query.first(key) {
            Some(text) if selects && !info.verb_in_path => text,
            _ => "",
        };
        let resource = ResourceAttributes {
            group: &info.group,
            version: &info.version,
            resource: &info.resource,
            subresource: &info.subresource,
            namespace: &info.namespace,
            name: match info.name.as_str() {
                "" => &info.selected_name,
                name => name,
            },
            field_selector: Selection::of_text(selector("fieldSelector")),
            label_selector: Selection::of_text(selector("labelSelector")),
        };
        Self::of_resource(user, info.verb_text(), resource)
    }

    /// Returns the resource, or `None` for a request that names none.
    pub fn resource(&self) -> Option<&ResourceAttributes<'a>> {
        match &self.target {
            Target::Resource(resource) => Some(resource),
            Target::Path(_) => None,
        }
    }

    /// Returns the same question about another verb.
    #[must_use]
    pub fn with_verb<'b>(&self, verb: &'b str) -> Attributes<'b>
    where
        'a: 'b,
    {
        Attributes { verb, ..*self }
    }
}

impl ResourceAttributes<'_> {
    /// Returns the resource as roles name it, such as `pods/status`.
    pub fn with_subresource(&self) -> Cow<'_, str> {
        match (self.resource, self.subresource) {
            (resource, "") => resource.into(),
            (resource, subresource) => format!("{resource}/{subresource}").into(),
        }
    }
}

impl<'a, S> Selection<'a, S> {
    /// Returns the selection of a text; of an empty one, none.
    pub fn of_text(text: &'a str) -> Self {
        match text {
            "" => Self::None,
            text => Self::Text(text),
        }
    }

    fn parsed_by(
        &self,
        parse: impl FnOnce(&str) -> Result<S, SelectorError>,
    ) -> Result<Option<Cow<'a, S>>, String>
    where
        S: Clone,
    {
        match *self {
            Self::None => Ok(None),
            Self::Text(text) => match parse(text) {
                Ok(selector) => Ok(Some(Cow::Owned(selector))),
                Err(error) => Err(error.to_string()),
            },
            Self::Parsed(selector) => Ok(Some(Cow::Borrowed(selector))),
            Self::Invalid { error, .. } => Err(error.to_owned()),
        }
    }
}

impl<'a> Selection<'a, FieldSelector> {
    /// Returns the selector, if there is one.
    ///
    /// # Errors
    ///
    /// Returns the reason why it cannot be parsed.
    pub fn parsed(&self) -> Result<Option<Cow<'a, FieldSelector>>, String> {
        self.parsed_by(FieldSelector::parse)
    }
}

impl<'a> Selection<'a, LabelSelector> {
    /// Returns the selector, if there is one.
    ///
    /// # Errors
    ///
    /// Returns the reason why it cannot be parsed.
    pub fn parsed(&self) -> Result<Option<Cow<'a, LabelSelector>>, String> {
        self.parsed_by(LabelSelector::parse)
    }
}

impl<S> Clone for Selection<'_, S> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<S> Copy for Selection<'_, S> {}
