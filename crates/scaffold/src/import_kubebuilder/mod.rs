//! Imports kubebuilder projects: the same APIs and permissions, and an empty controller for each of theirs.
//!
//! The import reads `PROJECT`, the CRDs in `config/crd/bases`, the `+kubebuilder:rbac` markers of all Go files, and
//! `config/rbac/role.yaml` if there are no markers. Go code is not translated. [`Imported::notes`] lists what was
//! left out.
//!
//! | module | contents |
//! |---|---|
//! | `project_file` | `PROJECT` |
//! | `markers` | permissions in comments of Go source |
//! | `permissions` | permissions as a Rust module |

mod markers;
mod permissions;
mod project_file;

use std::{
    collections::BTreeMap,
    fs, io,
    path::{Path, PathBuf},
};

use kubewright_operator::PolicyRule;

pub use markers::rbac_markers;

use crate::{
    Error,
    commands::{Dependency, NewProject, Package, api, controller, registration, targets},
    import_crd::{Module, import_crds},
    names::{self, Gvk},
    plan::Plan,
    project::{File, PROJECT_FILE, Resource, plain},
};
use project_file::{GoProject, GoResource};

/// The maximum depth of searched directories.
const DEEPEST: usize = 20;

/// Imports a kubebuilder project.
///
/// ```
/// use kubewright_scaffold::{Dependency, ImportProject};
///
/// # let go = std::env::temp_dir().join(format!("kubewright-doc-go-{}", std::process::id()));
/// # std::fs::create_dir_all(&go).unwrap();
/// std::fs::write(go.join("PROJECT"), "version: '3'\ndomain: example.com\nprojectName: crew\n").unwrap();
/// let import = ImportProject {
///     from: go.clone(),
///     name: None,
///     kubewright: Dependency::Version("0.1.0".into()),
/// };
/// let imported = import.plan(&go.join("rust"), |source| source.to_owned())?;
/// assert!(imported.plan.diff().contains("+name = \"crew\""));
/// # std::fs::remove_dir_all(&go).unwrap();
/// # Ok::<(), kubewright_scaffold::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct ImportProject {
    /// The directory of the Go project.
    pub from: PathBuf,
    /// The name. Defaults to that of the Go project.
    pub name: Option<String>,
    /// The kubewright dependency.
    pub kubewright: Dependency,
}

/// The result of an import.
///
/// ```
/// use kubewright_scaffold::{Dependency, ImportProject};
///
/// # let go = std::env::temp_dir().join(format!("kubewright-doc-imported-{}", std::process::id()));
/// # std::fs::create_dir_all(&go).unwrap();
/// let project = "version: '3'\ndomain: example.com\nprojectName: crew\nresources:\n\
///     - {group: acme, domain: cert-manager.io, version: v1, kind: Order, controller: true}\n";
/// std::fs::write(go.join("PROJECT"), project).unwrap();
/// let import = ImportProject {
///     from: go.clone(),
///     name: None,
///     kubewright: Dependency::Version("0.1.0".into()),
/// };
/// let imported = import.plan(&go.join("rust"), |source| source.to_owned())?;
/// assert!(imported.notes[0].starts_with("acme/v1/Order is defined elsewhere"));
/// # std::fs::remove_dir_all(&go).unwrap();
/// # Ok::<(), kubewright_scaffold::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Imported {
    /// The plan of the new project.
    pub plan: Plan,
    /// The parts that were left out, one sentence each.
    pub notes: Vec<String>,
}

impl ImportProject {
    /// Plans the project in a directory that has none yet. `format` formats Rust source.
    ///
    /// # Errors
    ///
    /// Fails if the Go project cannot be read or a name is not valid.
    pub fn plan(&self, root: &Path, format: impl Fn(&str) -> String) -> Result<Imported, Error> {
        let go = GoProject::read(&self.read("PROJECT")?)?;
        let name = match &self.name {
            Some(name) => name.clone(),
            None => go.project_name.clone(),
        };
        let new = NewProject {
            name: name.clone(),
            domain: go.domain.clone(),
            namespaced: go.namespaced,
            kubewright: self.kubewright.clone(),
            package: Package::default(),
        };
        let mut import = Import {
            plan: new.plan(root)?,
            file: File::new(&name, &go.domain, go.namespaced),
            modules: self.definitions()?,
            domain: go.domain.clone(),
            notes: Vec::new(),
        };
        for resource in &go.resources {
            import.resource(resource, &format)?;
        }
        let rules = self.rules()?;
        if !rules.is_empty() {
            let source = format(&permissions::module(&rules));
            import.plan.create(permissions::PATH, source)?;
            registration::declare(&mut import.plan, "src/lib.rs", "permissions", "")?;
            registration::register(&mut import.plan, "permissions::register(operator);")?;
        }
        import.plan.set(PROJECT_FILE, Some(import.file.written()))?;
        Ok(Imported {
            plan: import.plan,
            notes: import.notes,
        })
    }

    fn read(&self, path: &str) -> Result<String, Error> {
        let path = self.from.join(path);
        fs::read_to_string(&path).map_err(|e| Error::io("read", &path, &e))
    }

    /// Returns the types of all CRDs.
    fn definitions(&self) -> Result<Vec<Module>, Error> {
        let mut modules = Vec::new();
        for path in walk(&self.from.join("config/crd/bases"), "yaml", DEEPEST)? {
            let text = fs::read_to_string(&path).map_err(|e| Error::io("read", &path, &e))?;
            modules.extend(import_crds(&text).map_err(|e| {
                Error::new(
                    format_args!("{}: {e}", path.display()),
                    "correct the definition",
                )
            })?);
        }
        Ok(modules)
    }

    /// Returns the permissions of the markers, or of the role if there are none.
    fn rules(&self) -> Result<Vec<PolicyRule>, Error> {
        let mut rules = Vec::new();
        for path in walk(&self.from, "go", 0)? {
            let text = fs::read_to_string(&path).map_err(|e| Error::io("read", &path, &e))?;
            let shown = path.strip_prefix(&self.from).unwrap_or(&path);
            rules.extend(rbac_markers(&shown.display().to_string(), &text)?);
        }
        let role = "config/rbac/role.yaml";
        if rules.is_empty() && self.from.join(role).is_file() {
            rules = permissions::of_roles(role, &self.read(role)?)?;
        }
        Ok(rules)
    }
}

/// A project under construction.
struct Import {
    plan: Plan,
    file: File,
    modules: Vec<Module>,
    domain: String,
    notes: Vec<String>,
}

impl Import {
    fn resource(&mut self, go: &GoResource, format: &impl Fn(&str) -> String) -> Result<(), Error> {
        let gvk = Gvk {
            group: go.group.clone(),
            version: go.version.clone(),
            kind: go.kind.clone(),
        };
        if go.webhooks.is_some() {
            self.notes
                .push(format!("the webhooks of {gvk} are not imported"));
        }
        let mut resource = match &go.api {
            Some(_) => match self.types(go, &gvk, format)? {
                Some(resource) => resource,
                None => return Ok(()),
            },
            None => match targets::built_in(&gvk) {
                Some(target) => target.resource,
                None => {
                    self.notes.push(format!(
                        "{gvk} is defined elsewhere: import its definition, then add its controller"
                    ));
                    return Ok(());
                }
            },
        };
        for name in go.controllers() {
            let name = match name.is_empty() {
                true => plain(&resource.kind_module()).to_owned(),
                false => names::module(&name.replace('-', "_")),
            };
            controller::check_name(&name)?;
            let target = match resource.api {
                true => targets::Target::own(&resource),
                false => match targets::built_in(&gvk) {
                    Some(target) => target,
                    None => continue,
                },
            };
            controller::write_plain(&mut self.plan, &name, &target)?;
            resource.controllers.push(name);
        }
        if resource.api || !resource.controllers.is_empty() {
            self.file.put(&resource);
        }
        Ok(())
    }

    /// Adds the types of a kind, or a note if it cannot be a kind of the project.
    fn types(
        &mut self,
        go: &GoResource,
        gvk: &Gvk,
        format: &impl Fn(&str) -> String,
    ) -> Result<Option<Resource>, Error> {
        let full = go.full_group();
        let same = |module: &&Module| {
            module.group == full && module.version == go.version && module.kind == go.kind
        };
        let Some(module) = self.modules.iter().find(same).cloned() else {
            return Err(Error::new(
                format_args!("config/crd/bases has no definition of {gvk}"),
                "run `make manifests` in the Go project first",
            ));
        };
        if go.group.is_empty() || go.domain != self.domain {
            self.notes.push(format!(
                "{full}/{}/{} is not in a group of the domain {}: import its definition by hand",
                go.version, go.kind, self.domain
            ));
            return Ok(None);
        }
        names::check_group(&go.group)?;
        names::check_version(&go.version)?;
        names::check_kind(&go.kind)?;
        let resource = Resource {
            group: go.group.clone(),
            version: go.version.clone(),
            kind: go.kind.clone(),
            plural: module.plural.clone(),
            namespaced: module.namespaced,
            api: true,
            controllers: Vec::new(),
            owns: BTreeMap::new(),
            aggregated: None,
            webhooks: Default::default(),
        };
        let mut source = module.source.clone();
        if !source.contains("kubewright::Schema") {
            source += &format!("\nkubewright::custom_kind!({});\n", go.kind);
        }
        self.plan.create(&resource.types_path(), format(&source))?;
        let reexport = format!("pub use {}::{};", resource.kind_module(), resource.kind);
        api::modules_of(&mut self.plan, &full, &resource, &reexport)?;
        let notes = module.notes.iter().map(|note| format!("{gvk}: {note}"));
        self.notes.extend(notes);
        Ok(Some(resource))
    }
}

/// Returns the files with an extension below a directory, sorted. Hidden and vendored directories are skipped.
fn walk(directory: &Path, extension: &str, depth: usize) -> Result<Vec<PathBuf>, Error> {
    let entries = match fs::read_dir(directory) {
        Ok(entries) => entries,
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(e) => return Err(Error::io("read", directory, &e)),
    };
    let mut found = Vec::new();
    for entry in entries {
        let path = entry.map_err(|e| Error::io("read", directory, &e))?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if name.starts_with('.') || matches!(name.as_ref(), "vendor" | "bin" | "testdata") {
            continue;
        }
        // Symbolic links are not followed, since they may form cycles.
        if path.is_dir() && !path.is_symlink() && depth < DEEPEST {
            found.extend(walk(&path, extension, depth + 1)?);
        } else if path.is_file() && path.extension().is_some_and(|it| it == extension) {
            found.push(path);
        }
    }
    found.sort();
    Ok(found)
}
