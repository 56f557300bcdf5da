//! Projects as a library: the commands `kubewright new`, `create api`, `remove`, `generate` and `import`, without a terminal.
//!
//! A command returns a [`Plan`], which can be shown as a diff and is written all or nothing.
//!
//! ```
//! use kubewright_scaffold::{AddApi, Dependency, Gvk, NewProject, Package, Project};
//!
//! # let directory = std::env::temp_dir().join(format!("kubewright-doc-{}", std::process::id()));
//! # std::fs::create_dir_all(&directory).unwrap();
//! let project = NewProject {
//!     name: "crew-operator".into(),
//!     domain: "example.com".into(),
//!     namespaced: false,
//!     kubewright: Dependency::Version("0.1.0".into()),
//!     package: Package::default(),
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
//! | `commands` | the commands that edit a project |
//! | `plan` | [`Plan`]: changes of files, shown as a diff, written all or nothing |
//! | [`generate`] | files generated from the description of an operator |
//! | `project` | [`Project`]: `operator.toml`, which records the scaffolded parts |
//! | `names` | validation of the names of projects, groups, versions and kinds |
//! | `import_crd` | Rust types from a CustomResourceDefinition |
//! | `import_kubebuilder` | import of kubebuilder projects |
//! | `manifests` | objects of YAML and JSON files |
//! | `templates`, `rust_text` | the texts of files, and positions in Rust source |

mod commands;
mod error;
pub mod generate;
mod import_crd;
mod import_kubebuilder;
mod manifests;
mod names;
mod plan;
mod project;
mod rust_text;
mod templates;

pub use commands::{
    AddAggregatedApi, AddApi, AddController, AddSubresource, AddVersion, AddWebhook, Dependency,
    Edit, GitReference, License, MoveStorage, NewProject, Package, PartState, PartStatus, Remove,
    status,
};
pub use error::Error;
pub use import_crd::{ImportError, Module, SharedModules, import_crds, import_crds_together};
pub use import_kubebuilder::{ImportProject, Imported, rbac_markers};
pub use manifests::{ManifestError, parse_manifests};
pub use names::Gvk;
pub use plan::{Change, Edits, Paste, Plan, finish_interrupted};
pub use project::{
    Aggregated, ObjectData, PROJECT_FILE, Project, Resource, SubresourceType, WebhookCertificates,
    Webhooks,
};
