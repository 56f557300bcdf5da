//! [`AdmissionRequest`]: the request in an admission review.

use std::{borrow::Cow, collections::BTreeMap, fmt};

use kubewright_machinery::gvk::{GroupVersionKind, GroupVersionResource};
use serde::Deserialize;
use serde_json::value::RawValue;

/// The request in an admission review. The objects are borrowed from the body of the review.
///
/// ```
/// use kubewright_webhook::{AdmissionRequest, Operation};
///
/// let request: AdmissionRequest = serde_json::from_str(
///     r#"{
///         "uid": "705ab4f5", "operation": "DELETE", "name": "ahab", "namespace": "crew", "dryRun": true,
///         "kind": {"group": "crew.example.com", "version": "v1", "kind": "Captain"},
///         "userInfo": {"username": "alice"}, "object": null, "oldObject": {"spec": {}}
///     }"#,
/// )?;
/// assert_eq!(request.operation(), Operation::Delete);
/// assert_eq!(request.namespace(), Some("crew"));
/// assert_eq!(request.user().username, "alice");
/// assert!(request.is_dry_run() && request.object().is_none());
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct AdmissionRequest<'a> {
    #[serde(borrow)]
    uid: Cow<'a, str>,
    #[serde(deserialize_with = "kind")]
    kind: GroupVersionKind,
    #[serde(deserialize_with = "resource")]
    resource: GroupVersionResource,
    #[serde(borrow)]
    sub_resource: Cow<'a, str>,
    #[serde(borrow)]
    request_kind: Option<&'a RawValue>,
    #[serde(borrow)]
    request_resource: Option<&'a RawValue>,
    #[serde(borrow)]
    name: Cow<'a, str>,
    #[serde(borrow)]
    namespace: Cow<'a, str>,
    #[serde(borrow)]
    operation: Cow<'a, str>,
    user_info: UserInfo,
    #[serde(borrow)]
    object: Option<ObjectText<'a>>,
    #[serde(borrow)]
    old_object: Option<ObjectText<'a>>,
    dry_run: Option<bool>,
    #[serde(borrow)]
    options: Option<&'a RawValue>,
}

/// An object of a review.
#[derive(Clone, Copy, Debug)]
enum ObjectText<'a> {
    /// A JSON value.
    Checked(&'a RawValue),
    /// Text that may not be JSON.
    Unchecked(&'a str),
}

/// The operation of a request.
///
/// ```
/// use kubewright_webhook::Operation;
///
/// assert_eq!(Operation::Create.to_string(), "CREATE");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Operation {
    /// A new object.
    Create,
    /// A change of an object, by any verb.
    Update,
    /// Deletion of an object.
    Delete,
    /// A connection to a subresource, such as `pods/exec`.
    Connect,
    /// An operation that is unknown to this crate.
    Other,
}

/// The user who made a request.
///
/// ```
/// use kubewright_webhook::UserInfo;
///
/// let user: UserInfo = serde_json::from_str(r#"{"username": "alice", "groups": ["dev"]}"#)?;
/// assert!(user.is_in("dev") && !user.is_in("ops"));
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct UserInfo {
    /// The name, such as `alice` or `system:serviceaccount:crew:captain`.
    pub username: String,
    /// The unique ID; empty if the authenticator gives none.
    pub uid: String,
    /// The groups.
    pub groups: Vec<String>,
    /// Further attributes.
    pub extra: BTreeMap<String, Vec<String>>,
}

impl UserInfo {
    /// Reports whether the user is a member of a group.
    pub fn is_in(&self, group: &str) -> bool {
        self.groups.iter().any(|name| name == group)
    }
}

impl<'a> AdmissionRequest<'a> {
    /// Returns the ID of the review, which is unique to each call of each webhook.
    pub fn uid(&self) -> &str {
        &self.uid
    }

    /// Returns the kind of the object in the review.
    pub fn kind(&self) -> &GroupVersionKind {
        &self.kind
    }

    /// Returns the resource in the review.
    pub fn resource(&self) -> &GroupVersionResource {
        &self.resource
    }

    /// Returns the subresource, such as `status`.
    pub fn subresource(&self) -> Option<&str> {
        given(&self.sub_resource)
    }

    /// Returns the kind of the original request. It differs from [`kind`](Self::kind) if the object was converted to a version
    /// in the rules of the webhook.
    pub fn request_kind(&self) -> GroupVersionKind {
        let requested = self.request_kind;
        let requested = requested.and_then(|text| kind(&mut from(text)).ok());
        requested.unwrap_or_else(|| self.kind.clone())
    }

    /// Returns the resource of the original request. It differs from [`resource`](Self::resource) if the object was converted.
    pub fn request_resource(&self) -> GroupVersionResource {
        let requested = self.request_resource;
        let requested = requested.and_then(|text| resource(&mut from(text)).ok());
        requested.unwrap_or_else(|| self.resource.clone())
    }

    /// Returns the name of the object; `None` if it is still to be generated, and for each object of a deleted collection.
    pub fn name(&self) -> Option<&str> {
        given(&self.name)
    }

    /// Returns the namespace; `None` for cluster-scoped objects.
    pub fn namespace(&self) -> Option<&str> {
        given(&self.namespace)
    }

    /// Returns the operation.
    pub fn operation(&self) -> Operation {
        match &*self.operation {
            "CREATE" => Operation::Create,
            "UPDATE" => Operation::Update,
            "DELETE" => Operation::Delete,
            "CONNECT" => Operation::Connect,
            _ => Operation::Other,
        }
    }

    /// Returns the operation as it was sent.
    pub(crate) fn operation_text(&self) -> &str {
        &self.operation
    }

    /// Returns the user who made the request.
    pub fn user(&self) -> &UserInfo {
        &self.user_info
    }

    /// Returns the new object; `None` for deletions.
    pub fn object(&self) -> Option<&'a RawValue> {
        self.object.and_then(ObjectText::raw)
    }

    /// Returns the stored object; `None` for creations.
    pub fn old_object(&self) -> Option<&'a RawValue> {
        self.old_object.and_then(ObjectText::raw)
    }

    /// Returns the text of the object, which is not validated.
    pub(crate) fn object_text(&self) -> Option<&'a str> {
        self.object.map(ObjectText::text)
    }

    /// Returns the text of the old object, which is not validated.
    pub(crate) fn old_object_text(&self) -> Option<&'a str> {
        self.old_object.map(ObjectText::text)
    }

    /// Sets the objects, whose texts may not be JSON.
    pub(super) fn set_objects(&mut self, object: Option<&'a str>, old: Option<&'a str>) {
        self.object = object.map(ObjectText::Unchecked).or(self.object);
        self.old_object = old.map(ObjectText::Unchecked).or(self.old_object);
    }

    /// Reports whether the request is a dry run. A webhook must then have no side effects.
    pub fn is_dry_run(&self) -> bool {
        self.dry_run.unwrap_or_default()
    }

    /// Returns the options of the request, such as `DeleteOptions`.
    pub fn options(&self) -> Option<&'a RawValue> {
        self.options
    }
}

impl<'a> ObjectText<'a> {
    fn text(self) -> &'a str {
        match self {
            Self::Checked(raw) => raw.get(),
            Self::Unchecked(text) => text,
        }
    }

    /// Returns the value; `None` if the text is not JSON.
    fn raw(self) -> Option<&'a RawValue> {
        match self {
            Self::Checked(raw) => Some(raw),
            Self::Unchecked(text) => serde_json::from_str(text).ok(),
        }
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for ObjectText<'a> {
    fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        <&RawValue>::deserialize(from).map(Self::Checked)
    }
}

impl Operation {
    /// Returns the name in reviews and configurations.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Create => "CREATE",
            Self::Update => "UPDATE",
            Self::Delete => "DELETE",
            Self::Connect => "CONNECT",
            Self::Other => "",
        }
    }
}

impl fmt::Display for Operation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

fn given(text: &str) -> Option<&str> {
    (!text.is_empty()).then_some(text)
}

fn from(text: &RawValue) -> serde_json::Deserializer<serde_json::de::StrRead<'_>> {
    serde_json::Deserializer::from_str(text.get())
}

fn kind<'de, D: serde::Deserializer<'de>>(from: D) -> Result<GroupVersionKind, D::Error> {
    #[derive(Deserialize)]
    #[serde(default)]
    #[derive(Default)]
    struct Kind {
        group: String,
        version: String,
        kind: String,
    }
    let Kind {
        group,
        version,
        kind,
    } = Kind::deserialize(from)?;
    Ok(GroupVersionKind {
        group,
        version,
        kind,
    })
}

fn resource<'de, D: serde::Deserializer<'de>>(from: D) -> Result<GroupVersionResource, D::Error> {
    #[derive(Default, Deserialize)]
    #[serde(default)]
    struct Resource {
        group: String,
        version: String,
        resource: String,
    }
    let Resource {
        group,
        version,
        resource,
    } = Resource::deserialize(from)?;
    Ok(GroupVersionResource {
        group,
        version,
        resource,
    })
}
