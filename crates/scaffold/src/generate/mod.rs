//! Generates files from the description of an operator: CRDs, roles, manifests, a Helm chart, samples, API reference.
//!
//! Everything comes from one [`Model`], which the operator's program prints. [`render`] is a pure function from it to
//! [`File`]s; [`plan()`] compares them with the files on disk. A generated file carries a header with a digest, so that an
//! edited file is recognized and never overwritten. Files that only start as generated (samples, overlays, the values of the
//! chart) belong to the user from the first edit on.

mod apiserver;
mod crd;
mod dashboards;
mod docs;
mod helm;
mod json_schema;
mod kustomize;
mod manager;
mod model;
mod naming;
mod output;
mod rbac;
mod samples;
mod settings;
pub(crate) mod stamp;
mod validate;
mod webhook;
mod yaml;

use std::fmt;

use kubewright_operator::Model;
pub use model::read_model;
pub use output::plan;
pub use settings::Settings;
pub use validate::validate;
pub use webhook::{concerns_operator, has_rule_for, webhook_configurations};

use self::stamp::{Language, stamp};
use crate::Error;

/// A set of files to generate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Target {
    /// `config/crd/bases`: CustomResourceDefinitions.
    Crd,
    /// `config/rbac`: roles.
    Rbac,
    /// `config/webhook`: webhook configurations and their Service.
    Webhook,
    /// `config/apiserver`: APIServices of kinds that the program serves itself, and their Service.
    ApiServer,
    /// `config/`: the whole kustomize tree, including CRDs, roles, webhooks, APIServices and samples.
    Kustomize,
    /// `dist/install.yaml`: everything in one file.
    Yaml,
    /// `dist/chart`: a Helm chart.
    Helm,
    /// `config/samples`: sample objects.
    Samples,
    /// `docs/api.md`: the API reference.
    Docs,
    /// `config/schema`: JSON schemas for editors.
    Schema,
    /// `config/observability`: dashboards for Grafana, alert rules and a ServiceMonitor.
    Dashboards,
}

impl Target {
    /// All targets.
    pub const ALL: [Target; 11] = [
        Target::Crd,
        Target::Rbac,
        Target::Webhook,
        Target::ApiServer,
        Target::Kustomize,
        Target::Yaml,
        Target::Helm,
        Target::Samples,
        Target::Docs,
        Target::Schema,
        Target::Dashboards,
    ];

    /// Returns the name used on the command line and in `operator.toml`.
    pub fn name(self) -> &'static str {
        match self {
            Target::Crd => "crd",
            Target::Rbac => "rbac",
            Target::Webhook => "webhook",
            Target::ApiServer => "apiserver",
            Target::Kustomize => "kustomize",
            Target::Yaml => "yaml",
            Target::Helm => "helm",
            Target::Samples => "samples",
            Target::Docs => "docs",
            Target::Schema => "schema",
            Target::Dashboards => "dashboards",
        }
    }

    /// Reports whether this target generates the files of another: the kustomize tree includes CRDs, roles, webhooks,
    /// APIServices and samples.
    fn includes(self, other: Target) -> bool {
        let in_tree = [
            Target::Crd,
            Target::Rbac,
            Target::Webhook,
            Target::ApiServer,
            Target::Samples,
        ];
        self == other || (self == Target::Kustomize && in_tree.contains(&other))
    }

    /// Returns the directories of its own files, from which outdated generated files are removed.
    fn directories(self) -> &'static [&'static str] {
        match self {
            Target::Crd => &["config/crd/bases"],
            Target::Rbac => &["config/rbac"],
            Target::Webhook => &["config/webhook"],
            Target::ApiServer => &["config/apiserver"],
            Target::Kustomize => &[
                "config/certmanager",
                "config/crd",
                "config/crd/patches",
                "config/default",
                "config/manager",
                "config/network-policy",
            ],
            Target::Yaml | Target::Docs => &[],
            Target::Helm => &["dist/chart/templates", "dist/chart/templates/crd"],
            Target::Samples => &["config/samples"],
            Target::Schema => &["config/schema"],
            Target::Dashboards => &["config/observability"],
        }
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A generated file.
///
/// ```
/// use kubewright_scaffold::{WebhookCertificates, generate::{Owner, Settings, Target, read_model, render}};
///
/// let model = read_model(
///     r#"{"model": 2, "name": "crew", "version": "0.3.0", "crds": [], "controllers": [], "rules": [
///         {"apiGroups": ["apps"], "resources": ["deployments"], "verbs": ["get"]}
///     ]}"#,
/// )?;
/// let settings = Settings {
///     name: "crew".into(),
///     domain: "example.com".into(),
///     namespaced: false,
///     image: "crew:0.3.0".into(),
///     metrics_port: None,
///     webhook_certificates: WebhookCertificates::Operator,
/// };
/// let files = render(&model, &settings, &[Target::Rbac])?;
/// let role = files.iter().find(|file| file.path == "config/rbac/role.yaml").expect("a role");
/// assert_eq!(role.owner, Owner::Tool);
/// assert!(role.text.starts_with("# Generated by `kubewright generate`; do not edit"));
/// # Ok::<(), kubewright_scaffold::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct File {
    /// The path within the project.
    pub path: String,
    /// The content, including the header if it has one.
    pub text: String,
    /// The owner of the file.
    pub owner: Owner,
}

/// The owner of a file: decides whether it may be overwritten.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Owner {
    /// The tool: an edited file is reported as an error.
    Tool,
    /// The user from the first edit on; until then the file follows the model.
    FirstEditor,
    /// The user: the file is created once and never changed.
    User,
}

impl File {
    fn marked(path: impl Into<String>, language: Language, text: &str) -> File {
        File {
            path: path.into(),
            text: stamp(language, false, text),
            owner: Owner::Tool,
        }
    }

    fn until_edited(path: impl Into<String>, text: &str) -> File {
        File {
            path: path.into(),
            text: stamp(Language::Yaml, true, text),
            owner: Owner::FirstEditor,
        }
    }

    fn yaml(path: impl Into<String>, text: String) -> File {
        File::marked(path, Language::Yaml, &text)
    }

    fn seed(path: impl Into<String>, text: String) -> File {
        File {
            path: path.into(),
            text,
            owner: Owner::User,
        }
    }
}

/// Returns the files of some targets, sorted by path.
///
/// # Errors
///
/// Fails if an object cannot be written as YAML.
///
/// ```
/// use kubewright_scaffold::{WebhookCertificates, generate::{Settings, Target, read_model, render}};
///
/// // An operator prints its model when it is called with `describe`.
/// let model = read_model(
///     r#"{"model": 2, "name": "crew", "version": "0.3.0", "crds": [], "controllers": [], "rules": [
///         {"apiGroups": ["apps"], "resources": ["deployments"], "verbs": ["get"]}
///     ]}"#,
/// )?;
/// let settings = Settings {
///     name: "crew".into(),
///     domain: "example.com".into(),
///     namespaced: false,
///     image: "registry.example.com/crew:0.3.0".into(),
///     metrics_port: None,
///     webhook_certificates: WebhookCertificates::Operator,
/// };
/// let files = render(&model, &settings, &[Target::Rbac])?;
/// assert!(files.iter().any(|file| file.path == "config/rbac/role.yaml"));
/// # Ok::<(), kubewright_scaffold::Error>(())
/// ```
pub fn render(model: &Model, settings: &Settings, targets: &[Target]) -> Result<Vec<File>, Error> {
    let mut files = Vec::new();
    for part in Target::ALL {
        if targets.iter().any(|target| target.includes(part)) {
            files.extend(own_files(model, settings, part)?);
        }
    }
    files.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(files)
}

/// Returns the files that only this target generates.
fn own_files(model: &Model, settings: &Settings, target: Target) -> Result<Vec<File>, Error> {
    match target {
        Target::Crd => kustomize::crds(model),
        Target::Rbac => kustomize::roles(model, settings),
        Target::Webhook => webhook::files(model, settings),
        Target::ApiServer => apiserver::files(model, settings),
        Target::Kustomize => kustomize::tree(model, settings),
        Target::Yaml => kustomize::installer(model, settings),
        Target::Helm => helm::files(model, settings),
        Target::Samples => samples::files(model, settings),
        Target::Docs => Ok(docs::files(model)),
        Target::Schema => Ok(json_schema::files(model)),
        Target::Dashboards => dashboards::files(settings),
    }
}
