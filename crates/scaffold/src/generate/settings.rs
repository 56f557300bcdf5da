//! [`Settings`]: the settings of a project that its model does not have.

use kubewright_operator::Model;

use super::{model::Kind, naming::Naming};
use crate::project::{Project, WebhookCertificates};

/// The settings of the project that the model does not have.
///
/// ```
/// # use kubewright_scaffold::{Dependency, NewProject};
/// use kubewright_scaffold::{Project, generate::{Settings, read_model}};
///
/// # let directory = std::env::temp_dir().join(format!("kubewright-doc-settings-{}", std::process::id()));
/// # let new = NewProject { name: "crew".into(), domain: "example.com".into(), namespaced: false, kubewright: Dependency::Version("0.1.0".into()), package: Default::default() };
/// # new.plan(&directory)?.write()?;
/// let project = Project::read(&directory)?;
/// let model = read_model(
///     r#"{"model": 2, "name": "crew", "version": "0.3.0", "crds": [], "controllers": [], "rules": []}"#,
/// )?;
/// let settings = Settings::of(&project, &model);
/// assert_eq!(settings.domain, "example.com");
/// assert_eq!(settings.image, "crew:0.3.0");
/// # std::fs::remove_dir_all(&directory).unwrap();
/// # Ok::<(), kubewright_scaffold::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// The name of the project: part of its namespace and prefix of the names of its objects.
    pub name: String,
    /// The domain of its API groups.
    pub domain: String,
    /// Restricts the operator to its own namespace.
    pub namespaced: bool,
    /// The image of the Deployment.
    pub image: String,
    /// The port on which the pods serve metrics to the network, over HTTPS and to authorized users. By default only the pod
    /// itself can read them.
    pub metrics_port: Option<u16>,
    /// The source of the certificate of the webhooks.
    pub webhook_certificates: WebhookCertificates,
}

impl Settings {
    /// Returns the settings of a project.
    pub fn of(project: &Project, model: &Model) -> Settings {
        let version = model.version.as_deref().unwrap_or("latest");
        let image = project.image.clone();
        Settings {
            name: project.name.clone(),
            domain: project.domain.clone(),
            namespaced: project.namespaced,
            image: image.unwrap_or_else(|| format!("{}:{version}", project.name)),
            metrics_port: project.metrics_port,
            webhook_certificates: project.webhook_certificates,
        }
    }

    pub(super) fn kustomize_naming(&self) -> Naming {
        Naming::kustomize(&self.name, self.namespaced)
    }

    /// Returns the file name of a sample, such as `crew_v1_captain.yaml`, with the group without the domain.
    pub(super) fn sample_name(&self, kind: &Kind<'_>) -> String {
        let group = kind.group();
        let short = group.strip_suffix(&format!(".{}", self.domain));
        format!(
            "{}_{}_{}.yaml",
            short.unwrap_or(group),
            kind.version(),
            kind.kind().to_ascii_lowercase()
        )
    }
}
