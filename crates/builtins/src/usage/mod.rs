//! The resources that objects use: the totals of pods, and the usage that quotas count.
//!
//! | module | contents |
//! |---|---|
//! | [`resource_list`] | quantities by resource name |
//! | [`pod_resources`] | the total requests and limits of a pod |
//! | `evaluator` | [`Evaluator`]: the usage of the objects of a resource; its rules are in `pods`, `services`, `claims`, `resource_claims` |
//! | `scopes` | [`Selector`]: the objects that a quota applies to |

mod claims;
mod evaluator;
pub mod pod_resources;
mod pods;
mod resource_claims;
pub mod resource_list;
mod scopes;
mod services;

pub use claims::{attribute_classes, class_of};
pub use evaluator::{Evaluator, number};
pub use pods::{is_best_effort, is_terminating, lives};
pub use scopes::Selector;
