//! `create subresource`: adds a subresource to a kind that the program serves itself.

use crate::{
    Error,
    commands::{aggregated, registration},
    names::{self, Gvk},
    plan::Plan,
    project::{PROJECT_FILE, Project, Resource, SubresourceType, plain},
    rust_text, templates,
};

/// The line of the scaffolded registration before which subresources are added.
const ANCHOR: &str = "operator.aggregated_api(kind);";

/// The assertions of the scaffolded tests. `get` requests the subresource of an object.
const TEST_OF_OBJECT: &str = r##"    let text = get("first").await.unwrap();
    assert!(text.contains(r#""foo":"foo""#), "{text}");
    assert!(get("other").await.is_err());"##;
const TEST_OF_UPDATE: &str = r##"    let text = get("first").await.unwrap();
    assert!(text.contains(r#""foo":"foo""#), "{text}");
    let patch = kube::api::Patch::Merge(std::collections::BTreeMap::from([("foo", "bar")]));
    let params = kube::api::PatchParams::default();
    let request = Request::new(api.resource_url());
    let request = request.patch_subresource("{{subresource}}", "first", &params, &patch);
    client.request_text(request.unwrap()).await.unwrap();
    let text = get("first").await.unwrap();
    assert!(text.contains(r#""foo":"bar""#), "{text}");"##;
const TEST_OF_CREATE: &str = r##"    let request = Request::new(api.resource_url());
    let body = br#"{"apiVersion":"{{full_group}}/{{version}}","kind":"{{object}}","foo":"foo"}"#;
    let params = PostParams::default();
    let request = request.create_subresource("{{subresource}}", "first", &params, body.to_vec());
    let text = client.request_text(request.unwrap()).await.unwrap();
    assert!(text.contains(r#""foo":"foo""#), "{text}");
    // It cannot be read.
    assert!(get("first").await.is_err());"##;
const TEST_OF_LOG: &str = r##"    assert_eq!(get("first").await.unwrap(), "first\n");
    assert!(get("other").await.is_err());"##;
const TEST_OF_STREAMS: &str = r##"    // A request that is not upgraded is refused.
    let error = get("first").await.unwrap_err();
    assert!(matches!(error, kube::Error::Api(status) if status.code == 400));"##;

/// Adds a subresource to a kind that the program serves itself, with a test.
///
/// ```
/// # use kubewright_scaffold::{AddAggregatedApi, AddSubresource, Dependency, Gvk, NewProject, ObjectData, Project, SubresourceType};
/// # let directory = std::env::temp_dir().join(format!("kubewright-doc-subresource-{}", std::process::id()));
/// # let new = NewProject { name: "sky".into(), domain: "example.com".into(), namespaced: false, kubewright: Dependency::Version("0.1.0".into()), package: Default::default() };
/// # new.plan(&directory)?.write()?;
/// # let add = AddAggregatedApi { gvk: Gvk::parse("space/v1/Planet")?, plural: None, namespaced: false, data: ObjectData::Storage, force: false };
/// # add.plan(&Project::read(&directory)?)?.write()?;
/// let add = AddSubresource {
///     target: Gvk::parse("space/v1/Planet")?,
///     name: "orbit".into(),
///     type_: SubresourceType::Log,
///     force: false,
/// };
/// let plan = add.plan(&Project::read(&directory)?)?;
/// assert!(plan.diff().contains("+    let kind = kind.log(\"orbit\", super::planet_orbit::PlanetOrbit);"));
/// # std::fs::remove_dir_all(&directory).unwrap();
/// # Ok::<(), kubewright_scaffold::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct AddSubresource {
    /// The kind, which the program serves itself.
    pub target: Gvk,
    /// The name, such as `orbit`.
    pub name: String,
    /// The type.
    pub type_: SubresourceType,
    /// Overwrites existing files.
    pub force: bool,
}

impl AddSubresource {
    /// Plans the changes to the project.
    ///
    /// # Errors
    ///
    /// Fails if the kind is not served by the program, or if it has such a subresource.
    pub fn plan(&self, project: &Project) -> Result<Plan, Error> {
        names::check_subresource(&self.name)?;
        let Gvk {
            group,
            version,
            kind,
        } = &self.target;
        let known = project.one(group, version, kind)?;
        let mut resource = known.clone();
        let Some(of_kind) = &mut resource.aggregated else {
            return Err(Error::new(
                format_args!("{kind} is not served by the program of this project"),
                "custom resources have `status` and `scale` only; use a kind of `create api --aggregated`",
            ));
        };
        if of_kind.subresources.contains_key(&self.name) && !self.force {
            return Err(Error::new(
                format_args!("{kind} has a subresource {:?} already", self.name),
                "choose another name, or replace it with --force",
            ));
        }
        let replaced = of_kind.subresources.insert(self.name.clone(), self.type_);
        let mut plan = Plan::new(project.root());
        let part = Part::new(known, &self.name, self.type_);
        plan.put(&part.path(), part.source(project), self.force)?;
        plan.put(&part.test_path(), part.test(project), self.force)?;
        let module = names::module(&part.file);
        registration::declare(
            &mut plan,
            aggregated::APISERVER_MOD,
            &module,
            templates::APISERVER_MOD,
        )?;
        if let Some(old) = replaced {
            let line = Part::new(known, &self.name, old).register_line();
            registration::remove_lines(&mut plan, &aggregated::path(known), &[&line])?;
        }
        register(&mut plan, &aggregated::path(known), &part.register_line())?;
        let mut file = project.file().clone();
        file.put(&resource);
        plan.set(PROJECT_FILE, Some(file.written()))?;
        Ok(plan)
    }
}

/// Adds a line to the registration of a kind. If the scaffolded one was changed, the line is left to the user.
fn register(plan: &mut Plan, path: &str, line: &str) -> Result<(), Error> {
    let source = plan.read(path)?.unwrap_or_default();
    match rust_text::insert_before(&source, ANCHOR, line) {
        Some(edited) => plan.set(path, Some(edited)),
        None => {
            plan.leave_to_user(path, "where the kind is registered", vec![line.to_owned()]);
            Ok(())
        }
    }
}

/// A subresource, with the names of its files and types.
pub(super) struct Part<'a> {
    resource: &'a Resource,
    name: &'a str,
    type_: SubresourceType,
    /// The name of its file, such as `planet_orbit`.
    file: String,
}

impl<'a> Part<'a> {
    pub(super) fn new(resource: &'a Resource, name: &'a str, type_: SubresourceType) -> Self {
        let kind = aggregated::module(resource);
        Self {
            resource,
            name,
            type_,
            file: format!("{}_{name}", plain(&kind)),
        }
    }

    pub(super) fn path(&self) -> String {
        format!("src/apiserver/{}.rs", self.file)
    }

    pub(super) fn test_path(&self) -> String {
        format!("tests/{}.rs", self.file)
    }

    pub(super) fn module_line(&self) -> String {
        format!("pub mod {};", self.file)
    }

    /// Returns the name of the type that serves it.
    fn handler(&self) -> String {
        let mut letters = self.name.chars();
        let first = letters.next().map(|c| c.to_ascii_uppercase());
        let name: String = first.into_iter().chain(letters).collect();
        format!("{}{name}", self.resource.kind)
    }

    pub(super) fn register_line(&self) -> String {
        let (method, value) = match self.type_ {
            SubresourceType::Object | SubresourceType::Create => ("subresource", ""),
            SubresourceType::Update => ("subresource", "::default()"),
            SubresourceType::Log => ("log", ""),
            SubresourceType::Exec => ("exec", ""),
            SubresourceType::PortForward => ("port_forward", ""),
        };
        format!(
            "let kind = kind.{method}({:?}, super::{}::{}{value});",
            self.name,
            self.file,
            self.handler()
        )
    }

    /// Returns the name of the type of its objects, or of what the streams belong to.
    fn object(&self) -> String {
        let suffix = match self.type_ {
            SubresourceType::Object | SubresourceType::Update => "Info",
            SubresourceType::Create => "Request",
            SubresourceType::Log => "",
            SubresourceType::Exec => "Session",
            SubresourceType::PortForward => "Ports",
        };
        format!("{}{suffix}", self.handler())
    }

    /// Returns the scaffolded file.
    pub(super) fn source(&self, project: &Project) -> String {
        let template = match self.type_ {
            SubresourceType::Object => templates::SUBRESOURCE_OBJECT,
            SubresourceType::Update => templates::SUBRESOURCE_UPDATE,
            SubresourceType::Create => templates::SUBRESOURCE_CREATE,
            SubresourceType::Log => templates::SUBRESOURCE_LOG,
            SubresourceType::Exec => templates::SUBRESOURCE_EXEC,
            SubresourceType::PortForward => templates::SUBRESOURCE_PORT_FORWARD,
        };
        aggregated::values(project, self.resource)
            .with("subresource", self.name)
            .with("object", self.object())
            .with("handler", self.handler())
            .fill(template)
    }

    /// Returns the scaffolded test.
    pub(super) fn test(&self, project: &Project) -> String {
        let assertions = match self.type_ {
            SubresourceType::Object => TEST_OF_OBJECT,
            SubresourceType::Update => TEST_OF_UPDATE,
            SubresourceType::Create => TEST_OF_CREATE,
            SubresourceType::Log => TEST_OF_LOG,
            SubresourceType::Exec | SubresourceType::PortForward => TEST_OF_STREAMS,
        };
        aggregated::values(project, self.resource)
            .with("subresource", self.name)
            .with("subresource_word", self.name)
            .with("object", self.object())
            .with("assertions", assertions)
            .fill(templates::SUBRESOURCE_TEST)
    }
}
