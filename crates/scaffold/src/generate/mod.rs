//! Files made from what an operator says of itself: definitions, roles, manifests, a chart, samples, a reference.
//!
//! Everything comes from one [`Model`], which the operator's program prints. [`render`] is a pure function from it to
//! [`File`]s; [`plan()`] compares them with what is there. A generated file carries a mark with a digest, so an edit is seen
//! and never overwritten; a file that only begins as generated (a sample, an overlay, the chart's values) belongs to the
//! user from the first edit on.
//!
//! | module | what it holds |
//! |---|---|
//! | `model` | [`Model`]: what is read |
//! | `crd` | definitions, as controller-gen writes them |
//! | `rbac` | roles and who has them |
//! | `manager` | the Deployment and what is around it |
//! | `kustomize` | the `config/` tree, and all of it as one installer |
//! | `helm` | the chart |
//! | `samples` | objects to try |
//! | `docs`, `json_schema` | a reference for people, schemas for editors |
//! | `naming`, `yaml`, `stamp` | names by place, the printer, the mark |
//! | `output` | [`plan()`]: what has to change |

mod crd;
mod docs;
mod helm;
mod json_schema;
mod kustomize;
mod manager;
pub mod model;
mod naming;
mod output;
mod rbac;
mod samples;
pub(crate) mod stamp;
mod yaml;

use std::fmt;

pub use model::{Model, Rule};
pub use output::plan;

use self::{
    model::Kind,
    naming::Naming,
    stamp::{Language, stamp},
};
use crate::{Refusal, project::Project};

/// What to generate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Target {
    /// `config/crd/bases`: definitions.
    Crd,
    /// `config/rbac`: roles.
    Rbac,
    /// `config/`: the whole tree, definitions and roles included.
    Kustomize,
    /// `dist/install.yaml`: everything in one file.
    Yaml,
    /// `dist/chart`: a Helm chart.
    Helm,
    /// `config/samples`: objects to try.
    Samples,
    /// `docs/api.md`: a reference of the kinds.
    Docs,
    /// `config/schema`: JSON schemas for editors.
    Schema,
}

impl Target {
    /// All targets.
    pub const ALL: [Target; 8] = [
        Target::Crd,
        Target::Rbac,
        Target::Kustomize,
        Target::Yaml,
        Target::Helm,
        Target::Samples,
        Target::Docs,
        Target::Schema,
    ];

    /// Its name on the command line and in `operator.toml`.
    pub fn name(self) -> &'static str {
        match self {
            Target::Crd => "crd",
            Target::Rbac => "rbac",
            Target::Kustomize => "kustomize",
            Target::Yaml => "yaml",
            Target::Helm => "helm",
            Target::Samples => "samples",
            Target::Docs => "docs",
            Target::Schema => "schema",
        }
    }

    /// Whether it makes the files of another: the tree of kustomize has definitions, roles and samples in it.
    fn includes(self, other: Target) -> bool {
        let in_tree = [Target::Crd, Target::Rbac, Target::Samples];
        self == other || (self == Target::Kustomize && in_tree.contains(&other))
    }

    /// The directories of its own files: those that it does not make any more are removed from them.
    fn directories(self) -> &'static [&'static str] {
        match self {
            Target::Crd => &["config/crd/bases"],
            Target::Rbac => &["config/rbac"],
            Target::Kustomize => &["config/crd", "config/default", "config/manager"],
            Target::Yaml | Target::Docs => &[],
            Target::Helm => &["dist/chart/templates", "dist/chart/templates/crd"],
            Target::Samples => &["config/samples"],
            Target::Schema => &["config/schema"],
        }
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// What the project adds to the model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// The name of the project: of its namespace, and before the names of its objects.
    pub name: String,
    /// The domain of its groups.
    pub domain: String,
    /// Whether the operator works in its own namespace only.
    pub namespaced: bool,
    /// The image that the Deployment runs.
    pub image: String,
}

impl Settings {
    /// The settings of a project.
    pub fn of(project: &Project, model: &Model) -> Settings {
        let version = model.version.as_deref().unwrap_or("latest");
        let image = project.image.clone();
        Settings {
            name: project.name.clone(),
            domain: project.domain.clone(),
            namespaced: project.namespaced,
            image: image.unwrap_or_else(|| format!("{}:{version}", project.name)),
        }
    }

    fn kustomize_naming(&self) -> Naming {
        Naming::kustomize(&self.name, self.namespaced)
    }

    /// The file name of a sample: `crew_v1_captain.yaml`, with the group as the project says it.
    fn sample_name(&self, kind: &Kind<'_>) -> String {
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

/// A file to be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct File {
    /// The file, within the project.
    pub path: String,
    /// What it says, with its mark if it has one.
    pub text: String,
    /// Whose it is.
    pub owner: Owner,
}

/// Whose a file is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Owner {
    /// The tool's: an edit is refused.
    Tool,
    /// The user's from the first edit on: until then it follows the model.
    FirstEditor,
    /// The user's: it is made once.
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

/// The files of some targets, sorted.
pub fn render(
    model: &Model,
    settings: &Settings,
    targets: &[Target],
) -> Result<Vec<File>, Refusal> {
    let mut files = Vec::new();
    for part in Target::ALL {
        if targets.iter().any(|target| target.includes(part)) {
            files.extend(own_files(model, settings, part)?);
        }
    }
    files.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(files)
}

/// The files that one target makes and no other.
fn own_files(model: &Model, settings: &Settings, target: Target) -> Result<Vec<File>, Refusal> {
    match target {
        Target::Crd => kustomize::definitions(model),
        Target::Rbac => kustomize::roles(model, settings),
        Target::Kustomize => kustomize::tree(model, settings),
        Target::Yaml => kustomize::installer(model, settings),
        Target::Helm => helm::files(model, settings),
        Target::Samples => samples::files(model, settings),
        Target::Docs => Ok(docs::files(model)),
        Target::Schema => Ok(json_schema::files(model)),
    }
}
