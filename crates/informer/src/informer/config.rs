//! [`InformerConfig`]: what is cached, and how.

use std::fmt;

use crate::lister_watcher::Selection;
use crate::object::Compression;
use crate::reflector::ReflectorConfig;
use crate::reflector::monitor::ErrorHandler;
use crate::transform::Transform;

/// In which namespaces objects are cached.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub enum Namespaces {
    /// In all of them; objects without a namespace too.
    #[default]
    All,
    /// In these.
    These(Vec<String>),
}

/// What is cached, and how.
#[derive(Clone, Default)]
pub struct InformerConfig {
    /// In which namespaces.
    pub namespaces: Namespaces,
    /// Which objects there, and how much of them.
    pub selection: Selection,
    /// How their bytes are kept.
    pub compression: Compression,
    /// Keep `metadata.managedFields`.
    pub keep_managed_fields: bool,
    /// What is done to them before.
    pub transform: Option<Transform>,
    /// Later changes of an object take the place of earlier ones that wait to be applied.
    pub coalesce_deltas: bool,
    /// Times and sizes.
    pub reflector: ReflectorConfig,
    /// Is told of every error that ends a list or a watch.
    pub on_error: Option<ErrorHandler>,
}

impl Namespaces {
    /// These namespaces, each once.
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
