//! [`InformerConfig`]: the contents of a cache, and how they are kept.

use std::fmt;

use crate::lister_watcher::Selection;
use crate::object::{Compression, DecodedLimits};
use crate::reflector::ReflectorConfig;
use crate::reflector::monitor::ErrorHandler;
use crate::transform::Transform;

/// The namespaces of a cache.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub enum Namespaces {
    /// All namespaces, and cluster-scoped objects.
    #[default]
    All,
    /// These namespaces.
    These(Vec<String>),
}

/// The contents of a cache, and how they are kept.
///
/// ```
/// use kubewright_informer::{InformerConfig, Namespaces, Selection};
///
/// let config = InformerConfig {
///     namespaces: Namespaces::these(["shop", "bank"]),
///     selection: Selection { labels: Some("app=web".into()), ..Selection::default() },
///     coalesce_deltas: true,
///     ..InformerConfig::default()
/// };
/// assert_eq!(config.namespaces, Namespaces::These(vec!["bank".into(), "shop".into()]));
/// assert!(!config.keep_managed_fields);
/// ```
#[derive(Clone, Default)]
pub struct InformerConfig {
    /// The namespaces.
    pub namespaces: Namespaces,
    /// The objects, and how much of them.
    pub selection: Selection,
    /// The compression of the bytes.
    pub compression: Compression,
    /// The bounds of decoded values that are kept for the next reader.
    pub decoded: DecodedLimits,
    /// True if `metadata.managedFields` is kept.
    pub keep_managed_fields: bool,
    /// A transformation before objects are cached.
    pub transform: Option<Transform>,
    /// True if a later change of an object replaces an earlier one that waits to be applied.
    pub coalesce_deltas: bool,
    /// Timeouts and sizes.
    pub reflector: ReflectorConfig,
    /// A function that is called for every error that ends a list or a watch.
    pub on_error: Option<ErrorHandler>,
}

impl Namespaces {
    /// Selects these namespaces, each once.
    pub fn these<N: Into<String>>(names: impl IntoIterator<Item = N>) -> Self {
        let mut names: Vec<String> = names.into_iter().map(Into::into).collect();
        names.sort();
        names.dedup();
        Self::These(names)
    }
}

impl fmt::Debug for InformerConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("InformerConfig")
            .field("namespaces", &self.namespaces)
            .field("selection", &self.selection)
            .field("compression", &self.compression)
            .finish_non_exhaustive()
    }
}
