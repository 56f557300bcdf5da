//! Rules of the built-in kinds: defaulting, strategies, validation, and conversion between versions of one
//! stored object. All are pure functions over JSON values in normal form.
//!
//! | module | contents |
//! |---|---|
//! | `rules` | [`KindRules`], and [`rules()`], which finds them by group and kind |
//! | [`general`] | the defaults of all kinds |
//! | [`convert`](mod@convert) | conversion of stored objects to another version or group |
//! | [`scale`] | the scale subresource |
//! | [`usage`] | the resources of pods, and the usage that quotas count |
//! | [`core`], `apps`, `batch`, … | one module for each API group, one file for each kind |
//!
//! ```
//! use kubewright_builtins::rules;
//! use serde_json::json;
//!
//! let mut pod = json!({"metadata": {"name": "p"}, "spec": {"containers": [{"name": "c", "image": "nginx"}]}});
//! let of_pods = rules("", "Pod");
//! (of_pods.default)(&mut pod);
//! (of_pods.prepare_create)(&mut pod);
//! assert_eq!(pod["spec"]["containers"][0]["imagePullPolicy"], "Always");
//! assert_eq!(pod["status"]["qosClass"], "BestEffort");
//! ```

mod address;
mod admissionregistration;
pub mod apiextensions;
mod apiregistration;
mod apps;
pub mod authentication;
mod autoscaling;
mod batch;
pub mod certificates;
mod checks;
mod conditions;
pub mod convert;
mod coordination;
pub mod core;
mod discovery;
mod flowcontrol;
pub mod general;
#[rustfmt::skip]
mod generated;
mod go_json;
mod internal_form;
mod meta;
mod networking;
mod node;
mod policy;
mod rbac;
mod resource;
mod rules;
pub mod scale;
mod scheduling;
mod storage;
mod table;
pub mod usage;

use kubewright_machinery::json;

pub use rules::{Grace, GraceFn, KindRules, PutRequesterFn, StampFn, rules};
