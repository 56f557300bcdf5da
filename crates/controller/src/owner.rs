//! Owner and controller references.
//!
//! Rules and messages are controller-runtime's. An owner in a namespace owns objects of that namespace only; an object
//! has at most one controller; references name the same owner if group, kind and name agree.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use kube::{Resource, ResourceExt};
use thiserror::Error;

/// A reference that cannot be set or removed.
#[derive(Clone, Debug, Error, PartialEq)]
pub enum OwnerError {
    /// A cluster-scoped object cannot have a namespaced owner.
    #[error(
        "cluster-scoped resource must not have a namespace-scoped owner, owner's namespace {0}"
    )]
    ClusterScoped(String),
    /// Owner and object are in different namespaces.
    #[error(
        "cross-namespace owner references are disallowed, owner's namespace {owner}, obj's namespace {object}"
    )]
    CrossNamespace {
        /// The owner's namespace.
        owner: String,
        /// The object's namespace.
        object: String,
    },
    /// Another controller owns the object.
    #[error(
        "Object {namespace}/{name} is already owned by another {} controller {}",
        .controller.kind,
        .controller.name
    )]
    AlreadyOwned {
        /// The object's namespace.
        namespace: String,
        /// The object's name.
        name: String,
        /// The existing controller reference.
        controller: OwnerReference,
    },
    /// The owner has not been created on a server yet.
    #[error("{0} has no name or no uid, so it cannot be an owner yet")]
    NotPersisted(String),
    /// The object has no owner references.
    #[error("{0} does not have any owner references")]
    NoOwners(String),
    /// The object has no reference to that owner.
    #[error("{object} does not have an owner reference for {owner}")]
    NotAnOwner {
        /// The object's kind.
        object: String,
        /// The owner's kind.
        owner: String,
    },
    /// The owner is not the controller of the object.
    #[error("{owner} owner is not the controller reference for {object}")]
    NotTheController {
        /// The object's kind.
        object: String,
        /// The owner's kind.
        owner: String,
    },
}

/// Makes `owner` the controller of `controlled`.
///
/// # Errors
///
/// Fails if it has another controller, or if the owner is in another namespace or has not been created yet.
///
/// ```
/// use k8s_openapi::api::core::v1::{ConfigMap, Pod};
/// use kubewright_controller::owner::{controller_of, set_controller_reference};
///
/// let mut owner = ConfigMap::default();
/// owner.metadata.name = Some("shop".into());
/// owner.metadata.namespace = Some("default".into());
/// owner.metadata.uid = Some("6c8b".into());
/// let mut pod = Pod::default();
/// pod.metadata.namespace = Some("default".into());
///
/// set_controller_reference(&owner, &mut pod).unwrap();
/// assert_eq!(controller_of(&pod).unwrap().name, "shop");
///
/// pod.metadata.namespace = Some("other".into());
/// assert!(set_controller_reference(&owner, &mut pod).is_err());
/// ```
pub fn set_controller_reference<O, C>(owner: &O, controlled: &mut C) -> Result<(), OwnerError>
where
    O: Resource,
    O::DynamicType: Default,
    C: Resource,
{
    set_controller_reference_with(owner, &O::DynamicType::default(), controlled)
}

/// Makes `owner`, whose kind is known at run time, the controller of `controlled`. See [`set_controller_reference`].
///
/// # Errors
///
/// Fails like [`set_controller_reference`].
///
/// ```
/// use k8s_openapi::api::core::v1::Pod;
/// use kube::api::{ApiResource, DynamicObject, GroupVersionKind};
/// use kubewright_controller::owner::{controller_of, set_controller_reference_with};
///
/// let captains = ApiResource::from_gvk(&GroupVersionKind::gvk("example.com", "v1", "Captain"));
/// let mut kate = DynamicObject::new("kate", &captains);
/// kate.metadata.uid = Some("6c8b".into());
/// let mut pod = Pod::default();
/// set_controller_reference_with(&kate, &captains, &mut pod).unwrap();
/// assert_eq!(controller_of(&pod).unwrap().api_version, "example.com/v1");
/// ```
pub fn set_controller_reference_with<O: Resource, C: Resource>(
    owner: &O,
    kind: &O::DynamicType,
    controlled: &mut C,
) -> Result<(), OwnerError> {
    validate(owner, controlled)?;
    let reference = OwnerReference {
        controller: Some(true),
        block_owner_deletion: Some(true),
        ..reference(owner, kind)?
    };
    if let Some(controller) = controller_of(controlled)
        && !same_owner(controller, &reference)
    {
        return Err(OwnerError::AlreadyOwned {
            namespace: controlled.namespace().unwrap_or_default(),
            name: controlled.name_any(),
            controller: controller.clone(),
        });
    }
    upsert(controlled, reference);
    Ok(())
}

/// Adds `owner` to the owners of `object`, which is deleted when all of them are gone.
///
/// ```
/// use k8s_openapi::api::core::v1::{ConfigMap, Secret};
/// use kubewright_controller::owner::{has_owner_reference, remove_owner_reference, set_owner_reference};
///
/// let mut owner = ConfigMap::default();
/// owner.metadata.name = Some("colours".into());
/// owner.metadata.uid = Some("1".into());
/// let mut secret = Secret::default();
/// set_owner_reference(&owner, &mut secret).unwrap();
/// assert!(has_owner_reference(&owner, &secret));
/// remove_owner_reference(&owner, &mut secret).unwrap();
/// assert!(!has_owner_reference(&owner, &secret));
/// ```
///
/// # Errors
///
/// Fails if the owner was never created, or is in another namespace.
pub fn set_owner_reference<O, C>(owner: &O, object: &mut C) -> Result<(), OwnerError>
where
    O: Resource,
    O::DynamicType: Default,
    C: Resource,
{
    set_owner_reference_with(owner, &O::DynamicType::default(), object)
}

/// Adds `owner`, whose kind is known at run time, to the owners of `object`. See [`set_owner_reference`].
///
/// # Errors
///
/// Fails like [`set_owner_reference`].
pub fn set_owner_reference_with<O: Resource, C: Resource>(
    owner: &O,
    kind: &O::DynamicType,
    object: &mut C,
) -> Result<(), OwnerError> {
    validate(owner, object)?;
    upsert(object, reference(owner, kind)?);
    Ok(())
}

/// Removes the reference to `owner`.
///
/// # Errors
///
/// Fails if there is no such reference.
///
/// ```
/// use k8s_openapi::api::core::v1::{ConfigMap, Secret};
/// use kubewright_controller::owner::{remove_owner_reference, set_owner_reference};
///
/// let mut owner = ConfigMap::default();
/// owner.metadata.name = Some("colours".into());
/// owner.metadata.uid = Some("1".into());
/// let mut secret = Secret::default();
/// set_owner_reference(&owner, &mut secret).unwrap();
/// assert!(remove_owner_reference(&owner, &mut secret).is_ok());
/// assert!(remove_owner_reference(&owner, &mut secret).is_err());
/// ```
pub fn remove_owner_reference<O, C>(owner: &O, object: &mut C) -> Result<(), OwnerError>
where
    O: Resource,
    O::DynamicType: Default,
    C: Resource,
    C::DynamicType: Default,
{
    let kind = O::DynamicType::default();
    let what = C::kind(&C::DynamicType::default()).into_owned();
    let reference = reference_of(owner, &kind);
    let owners = object.owner_references_mut();
    if owners.is_empty() {
        return Err(OwnerError::NoOwners(what));
    }
    let before = owners.len();
    owners.retain(|existing| !same_owner(existing, &reference));
    if owners.len() == before {
        return Err(OwnerError::NotAnOwner {
            object: what,
            owner: reference.kind,
        });
    }
    Ok(())
}

/// Removes the reference to `owner` if it is the controller.
///
/// # Errors
///
/// Fails if the owner is not the controller.
pub fn remove_controller_reference<O, C>(owner: &O, object: &mut C) -> Result<(), OwnerError>
where
    O: Resource,
    O::DynamicType: Default,
    C: Resource,
    C::DynamicType: Default,
{
    let reference = reference_of(owner, &O::DynamicType::default());
    if controller_of(object).is_some_and(|controller| same_owner(controller, &reference)) {
        remove_owner_reference(owner, object)
    } else {
        Err(OwnerError::NotTheController {
            object: C::kind(&C::DynamicType::default()).into_owned(),
            owner: reference.kind,
        })
    }
}

/// Reports whether `owner` is among the owners of `object`.
pub fn has_owner_reference<O, C>(owner: &O, object: &C) -> bool
where
    O: Resource,
    O::DynamicType: Default,
    C: Resource,
{
    let reference = reference_of(owner, &O::DynamicType::default());
    object
        .owner_references()
        .iter()
        .any(|existing| same_owner(existing, &reference))
}

/// Reports whether the object has a controller.
pub fn has_controller_reference<C: Resource>(object: &C) -> bool {
    controller_of(object).is_some()
}

/// Returns the controller reference of the object.
pub fn controller_of<C: Resource>(object: &C) -> Option<&OwnerReference> {
    object
        .owner_references()
        .iter()
        .find(|owner| owner.controller == Some(true))
}

/// Reports whether `owner` itself, by its UID, controls the object.
///
/// ```
/// use k8s_openapi::api::core::v1::{ConfigMap, Pod};
/// use kubewright_controller::owner::{controller_of, is_controlled_by, set_controller_reference};
///
/// let mut owner = ConfigMap::default();
/// owner.metadata.name = Some("shop".into());
/// owner.metadata.uid = Some("6c8b".into());
/// let mut pod = Pod::default();
/// assert!(controller_of(&pod).is_none());
/// set_controller_reference(&owner, &mut pod).unwrap();
/// assert!(is_controlled_by(&pod, &owner));
///
/// // Another object of the same name does not control it.
/// owner.metadata.uid = Some("77f0".into());
/// assert!(!is_controlled_by(&pod, &owner));
/// ```
pub fn is_controlled_by<O: Resource, C: Resource>(object: &C, owner: &O) -> bool {
    controller_of(object)
        .is_some_and(|controller| owner.meta().uid.as_deref() == Some(controller.uid.as_str()))
}

fn validate<O: Resource, C: Resource>(owner: &O, object: &C) -> Result<(), OwnerError> {
    let Some(owner) = owner.namespace().filter(|namespace| !namespace.is_empty()) else {
        return Ok(());
    };
    let object = object.namespace().unwrap_or_default();
    if object.is_empty() {
        return Err(OwnerError::ClusterScoped(owner));
    }
    if owner != object {
        return Err(OwnerError::CrossNamespace { owner, object });
    }
    Ok(())
}

fn reference<O: Resource>(owner: &O, kind: &O::DynamicType) -> Result<OwnerReference, OwnerError> {
    let reference = reference_of(owner, kind);
    if reference.name.is_empty() || reference.uid.is_empty() {
        return Err(OwnerError::NotPersisted(reference.kind));
    }
    Ok(reference)
}

fn reference_of<O: Resource>(owner: &O, kind: &O::DynamicType) -> OwnerReference {
    OwnerReference {
        api_version: O::api_version(kind).into_owned(),
        kind: O::kind(kind).into_owned(),
        name: owner.meta().name.clone().unwrap_or_default(),
        uid: owner.meta().uid.clone().unwrap_or_default(),
        ..OwnerReference::default()
    }
}

/// Replaces the reference to the same owner, or appends it.
fn upsert<C: Resource>(object: &mut C, reference: OwnerReference) {
    let owners = object.owner_references_mut();
    match owners.iter_mut().find(|o| same_owner(o, &reference)) {
        Some(existing) => *existing = reference,
        None => owners.push(reference),
    }
}

/// The version may differ: it is the same object.
fn same_owner(a: &OwnerReference, b: &OwnerReference) -> bool {
    group(&a.api_version) == group(&b.api_version) && a.kind == b.kind && a.name == b.name
}

fn group(api_version: &str) -> &str {
    api_version.split_once('/').map_or("", |(group, _)| group)
}

#[cfg(test)]
mod tests;
