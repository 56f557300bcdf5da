//! `new` and `init`: creates a project without an API.

use std::path::Path;

use crate::{
    Error,
    commands::{dependency::Dependency, package::Package},
    names,
    plan::Plan,
    project::{File, PROJECT_FILE},
    templates::{self, Values},
};

/// Creates a project.
///
/// ```
/// use kubewright_scaffold::{Dependency, NewProject, Package};
///
/// let project = NewProject {
///     name: "crew-operator".into(),
///     domain: "example.com".into(),
///     namespaced: false,
///     kubewright: Dependency::Version("0.1.0".into()),
///     package: Package::default(),
/// };
/// let plan = project.plan("not-there-yet".as_ref())?;
/// assert!(plan.changes().iter().any(|change| change.path == "src/main.rs"));
/// # Ok::<(), kubewright_scaffold::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct NewProject {
    /// The name of the package and of the program.
    pub name: String,
    /// The domain of its API groups.
    pub domain: String,
    /// Restricts the operator to its own namespace.
    pub namespaced: bool,
    /// The kubewright dependency.
    pub kubewright: Dependency,
    /// Descriptive entries of `Cargo.toml`.
    pub package: Package,
}

impl NewProject {
    /// Plans the project in a directory that has none yet.
    ///
    /// # Errors
    ///
    /// Fails if a name is not valid, or if the directory has a project already.
    pub fn plan(&self, root: &Path) -> Result<Plan, Error> {
        self.plan_of(root, &OPERATOR)
    }

    /// Plans the project of an API server, to which kinds are added with [`AddAggregatedApi`](crate::AddAggregatedApi). It differs in
    /// its first modules only: either project can have controllers and kinds that it serves itself.
    ///
    /// # Errors
    ///
    /// Fails as [`plan`](Self::plan) does.
    pub fn plan_apiserver(&self, root: &Path) -> Result<Plan, Error> {
        self.plan_of(root, &API_SERVER)
    }

    fn plan_of(&self, root: &Path, contents: &Contents) -> Result<Plan, Error> {
        names::check_project(&self.name)?;
        names::check_domain(&self.domain)?;
        if root.join(PROJECT_FILE).exists() {
            return Err(Error::new(
                format_args!("{} is a project already", root.display()),
                "add to it with `kubewright create api`",
            ));
        }
        if let Some(there) = ["Cargo.toml", "src"]
            .into_iter()
            .find(|name| root.join(name).exists())
        {
            return Err(Error::new(
                format_args!("{} exists already", root.join(there).display()),
                "choose an empty directory",
            ));
        }
        let values = Values::default()
            .with("name", &self.name)
            .with("crate", self.name.replace('-', "_"))
            .with("kubewright", self.kubewright.manifest_keys())
            .with("install_arguments", self.kubewright.install_arguments())
            .with("features", contents.features)
            .with("module", contents.module)
            .with("and_controllers", contents.and_controllers)
            .with("program", contents.program);
        let mut plan = Plan::new(root);
        let file = File::new(&self.name, &self.domain, self.namespaced);
        plan.create(PROJECT_FILE, file.written())?;
        let manifest = values.fill(templates::CARGO_TOML);
        plan.create("Cargo.toml", self.package.applied_to(&manifest)?)?;
        for (path, template) in [
            ("src/main.rs", templates::MAIN),
            ("src/lib.rs", templates::LIB),
            ("src/api/mod.rs", templates::API_MOD),
            (contents.module_path, contents.module_source),
        ] {
            plan.create(path, values.fill(template))?;
        }
        // A repository often has these files already, so they are kept.
        for (path, template) in [
            (".github/workflows/ci.yml", templates::CI),
            (".gitignore", templates::GITIGNORE),
            ("Dockerfile", templates::DOCKERFILE),
            ("README.md", contents.readme),
        ] {
            if plan.read(path)?.is_none() {
                plan.create(path, values.fill(template))?;
            }
        }
        Ok(plan)
    }
}

/// The parts in which projects differ.
struct Contents {
    /// The features of the kubewright dependency, each with a comma.
    features: &'static str,
    module: &'static str,
    module_path: &'static str,
    module_source: &'static str,
    and_controllers: &'static str,
    program: &'static str,
    readme: &'static str,
}

const OPERATOR: Contents = Contents {
    features: "",
    module: "controller",
    module_path: "src/controller/mod.rs",
    module_source: templates::CONTROLLER_MOD,
    and_controllers: " and controllers",
    program: "operator",
    readme: templates::README,
};

const API_SERVER: Contents = Contents {
    features: "\"apiserver\", ",
    module: "apiserver",
    module_path: "src/apiserver/mod.rs",
    module_source: templates::APISERVER_MOD,
    and_controllers: "",
    program: "API server",
    readme: templates::README_APISERVER,
};
