//! Finds resources and types by name, in constant or logarithmic time.

use std::collections::HashMap;
use std::sync::LazyLock;

use crate::generated::{KINDS, TYPES, resources::GROUPS};
use crate::resource::{GroupInfo, ResourceInfo};
use crate::types::StructType;

/// The groups that a server serves by default: the core group, then the others in the order `/apis` prints them.
///
/// ```
/// use kubewright_catalog::groups;
///
/// assert_eq!(groups()[0].name, "");
/// ```
pub fn groups() -> &'static [GroupInfo] {
    GROUPS
}

/// The resource of that plural name.
///
/// ```
/// let deployments = kubewright_catalog::resource("apps", "v1", "deployments").unwrap();
/// assert_eq!(deployments.kind, "Deployment");
/// ```
pub fn resource(group: &str, version: &str, plural: &str) -> Option<&'static ResourceInfo> {
    INDEX.plurals.get(&(group, version, plural)).copied()
}

/// The resource whose objects are of that kind.
///
/// ```
/// use kubewright_catalog::by_kind;
///
/// assert_eq!(by_kind("apps", "v1", "Deployment").unwrap().plural, "deployments");
/// ```
pub fn by_kind(group: &str, version: &str, kind: &str) -> Option<&'static ResourceInfo> {
    INDEX.kinds.get(&(group, version, kind)).copied()
}

/// The type of that OpenAPI name.
///
/// ```
/// let ty = kubewright_catalog::struct_type("io.k8s.api.core.v1.PodSpec").unwrap();
/// assert_eq!(ty.name, "PodSpec");
/// ```
pub fn struct_type(openapi_name: &str) -> Option<&'static StructType> {
    let at = TYPES
        .binary_search_by(|ty| ty.openapi.cmp(openapi_name))
        .ok()?;
    TYPES.get(at).copied()
}

/// The type of a kind, whether or not a resource has it: `PodList`, `Eviction`, `Scale`, `Status`, `Table`.
///
/// The options of package meta (`DeleteOptions` and its like), which clients may send under any group version, are
/// found under `meta.k8s.io/v1` only.
///
/// ```
/// use kubewright_catalog::kind_type;
///
/// assert_eq!(kind_type("", "v1", "PodList").unwrap().name, "PodList");
/// ```
pub fn kind_type(group: &str, version: &str, kind: &str) -> Option<&'static StructType> {
    let wanted = (group, version, kind);
    let at =
        KINDS.binary_search_by(|(group, version, kind, _)| (*group, *version, *kind).cmp(&wanted));
    KINDS.get(at.ok()?).map(|(_, _, _, ty)| *ty)
}

type Names = (&'static str, &'static str, &'static str);

struct Index {
    plurals: HashMap<Names, &'static ResourceInfo>,
    kinds: HashMap<Names, &'static ResourceInfo>,
}

static INDEX: LazyLock<Index> = LazyLock::new(|| {
    let mut index = Index {
        plurals: HashMap::new(),
        kinds: HashMap::new(),
    };
    for group in GROUPS {
        for version in group.versions {
            for resource in version.resources {
                index
                    .plurals
                    .insert((group.name, version.version, resource.plural), resource);
                index
                    .kinds
                    .insert((group.name, version.version, resource.kind), resource);
            }
        }
    }
    index
});
