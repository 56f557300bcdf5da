//! Values of objects: paths, differences, owners of fields, YAML lines, masking.

mod diff;
mod mask;
mod owners;
mod path;
mod yaml;

pub(crate) use diff::summary;
pub use diff::{FieldChange, Op, diff};
pub use mask::{MASK, Values, mask_secret};
pub use owners::{FieldOwner, Owner, owners};
pub use path::{Path, Step};
pub use yaml::{BlamedLine, yaml_lines};
