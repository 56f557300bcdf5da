//! What schemas say to people.

/// A source of descriptions: of types, and of their fields.
///
/// Types are named as OpenAPI documents name them (`io.k8s.api.core.v1.PodSpec`). A server publishes schemas with or
/// without them; `kubectl explain` shows them.
pub trait Descriptions: Send + Sync {
    /// The description of a field, or with an empty field that of the type itself.
    fn describe(&self, ty: &str, field: &str) -> Option<&str>;
}

/// No descriptions: schemas tell names and types only.
pub struct Undescribed;

impl Descriptions for Undescribed {
    fn describe(&self, _: &str, _: &str) -> Option<&str> {
        None
    }
}
