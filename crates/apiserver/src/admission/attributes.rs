//! [`Attributes`]: the facts about a write that admission plugins decide on.

use kubewright_merge::managed::ManagedFields;
use serde_json::Value;

use super::Reinvocation;
use crate::request::{DeleteOptions, WriteOptions};

/// The operation of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Operation {
    Create,
    Update,
    Delete,
    Connect,
}

/// The options that the client sent with a request.
#[derive(Clone, Copy, Debug)]
pub enum Options<'a> {
    /// The options of a create, an update, a patch or an apply.
    Write(&'a WriteOptions),
    /// The options of a delete.
    Delete(&'a DeleteOptions),
    /// No options: a connect.
    None,
}

/// The attributes of a request. Resource, subresource, namespace and user are in the request context; the object says its kind.
///
/// ```
/// use kubewright_apiserver::{admission::{Attributes, Operation}, request::DeleteOptions};
/// use serde_json::json;
///
/// let old = json!({"metadata": {"name": "colours"}});
/// let options = DeleteOptions { dry_run: true, ..DeleteOptions::default() };
/// let attributes = Attributes::delete("colours", &old, &options);
/// assert_eq!(attributes.operation, Operation::Delete);
/// assert_eq!(attributes.old, Some(&old));
/// assert!(attributes.dry_run);
/// ```
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Attributes<'a> {
    /// The operation.
    pub operation: Operation,
    /// The name of the object; empty if it is not known yet.
    pub name: &'a str,
    /// The stored object, for updates and deletes.
    pub old: Option<&'a Value>,
    /// Whether nothing will be stored.
    pub dry_run: bool,
    /// The options that the client sent.
    pub options: Options<'a>,
    /// The managed fields of a new object, which are not in its value.
    pub managed: Option<&'a ManagedFields>,
    /// The state of the mutating pass; `None` while the request is validated.
    pub reinvocation: Option<&'a Reinvocation>,
}

impl<'a> Attributes<'a> {
    /// Returns the attributes of a create, also by an update or an apply.
    pub fn create(name: &'a str, options: &'a WriteOptions) -> Self {
        Self {
            operation: Operation::Create,
            name,
            old: None,
            dry_run: options.dry_run,
            options: Options::Write(options),
            managed: None,
            reinvocation: None,
        }
    }

    /// Returns the attributes with the managed fields of a new object.
    #[must_use]
    pub fn with_managed(self, managed: Option<&'a ManagedFields>) -> Self {
        Self { managed, ..self }
    }

    /// Returns the attributes of an update, a patch or an apply.
    pub fn update(name: &'a str, old: &'a Value, options: &'a WriteOptions) -> Self {
        Self {
            operation: Operation::Update,
            old: Some(old),
            ..Self::create(name, options)
        }
    }

    /// Returns the attributes of a delete.
    pub fn delete(name: &'a str, old: &'a Value, options: &'a DeleteOptions) -> Self {
        Self {
            operation: Operation::Delete,
            name,
            old: Some(old),
            dry_run: options.dry_run,
            options: Options::Delete(options),
            managed: None,
            reinvocation: None,
        }
    }

    /// Returns the attributes of a connect, such as `exec`.
    pub fn connect(name: &'a str) -> Self {
        Self {
            operation: Operation::Connect,
            name,
            old: None,
            dry_run: false,
            options: Options::None,
            managed: None,
            reinvocation: None,
        }
    }
}
