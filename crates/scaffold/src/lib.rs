//! Projects as a library: the commands `kubewright new`, `create api`, `remove`, `generate` and `import`, without a terminal.
//!
//! A command returns a [`plan::Plan`], which can be shown as a diff and is written all or nothing.
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
//! | module | contents |
//! |---|---|
//! | [`commands`] | the commands that edit a project |
//! | [`plan`] | [`plan::Plan`]: changes of files, shown as a diff, written all or nothing |
//! | [`generate`] | files generated from the description of an operator |
//! | [`project`] | [`project::Project`]: `operator.toml`, which records the scaffolded parts |
//! | [`names`] | validation of the names of projects, groups, versions and kinds |
//! | [`import_crd`] | Rust types from a CustomResourceDefinition |
//! | [`import_kubebuilder`] | import of kubebuilder projects |
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
