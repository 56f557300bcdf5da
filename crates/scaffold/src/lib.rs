//! Projects as a library: what `kubewright new`, `create api`, `remove` and `import` do, without a terminal.
//!
//! A command makes a [`plan::Plan`] from what is there; the plan can be shown as a diff, and is written all or nothing.
//!
//! ```
//! use kubewright_scaffold::{
//!     commands::{api::AddApi, new::{Dependency, NewProject}},
//!     names::Gvk,
//!     project::Project,
//! };
//!
//! # let directory = std::env::temp_dir().join(format!("kubewright-doc-{}", std::process::id()));
//! # std::fs::create_dir_all(&directory).unwrap();
//! let project = NewProject {
//!     name: "crew-operator".into(),
//!     domain: "example.com".into(),
//!     namespaced: false,
//!     kubewright: Dependency::Version("0.1.0".into()),
//! };
//! project.plan(&directory)?.write()?;
//!
//! let captain = AddApi {
//!     gvk: Gvk::parse("crew/v1/Captain")?,
//!     plural: None,
//!     namespaced: true,
//!     resource: true,
//!     controller: true,
//!     force: false,
//! };
//! let plan = captain.plan(&Project::read(&directory)?)?;
//! assert!(plan.diff().contains("+    operator.api::<api::crew::v1::Captain>();"));
//! # std::fs::remove_dir_all(&directory).unwrap();
//! # Ok::<(), kubewright_scaffold::Error>(())
//! ```
//!
//! | module | what it holds |
//! |---|---|
//! | [`commands`] | what each command plans |
//! | [`plan`] | [`plan::Plan`]: changes of files, shown as a diff, written all or nothing |
//! | [`generate`] | files made from what an operator says of itself |
//! | [`project`] | [`project::Project`]: `operator.toml`, which records what was scaffolded |
//! | [`names`] | names that projects, groups, versions and kinds may have |
//! | [`import_crd`] | Rust types from a CustomResourceDefinition |
//! | [`import_kubebuilder`] | projects of kubebuilder |
//! | `templates`, `rust_text` | the texts of files, and places in Rust source |

pub mod commands;
mod error;
pub mod generate;
pub mod import_crd;
pub mod import_kubebuilder;
pub mod names;
pub mod plan;
pub mod project;

mod rust_text;
mod templates;

pub use error::Error;

#[doc(hidden)]
pub use error::Error as Refusal;
