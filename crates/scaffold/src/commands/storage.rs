//! Moving the storage version of a kind: the version in which objects are stored, and which its controllers use.

use crate::{
    Error,
    commands::kube_attribute,
    plan::Plan,
    project::{File, PROJECT_FILE, Project, Resource, controller_path, test_path},
};

/// Makes a version of a kind its storage version. Its controllers use that version from then on.
///
/// ```
/// # use kubewright_scaffold::{AddApi, AddVersion, Dependency, Gvk, NewProject, Project};
/// use kubewright_scaffold::MoveStorage;
/// # let directory = std::env::temp_dir().join(format!("kubewright-doc-storage-{}", std::process::id()));
/// # let new = NewProject { name: "crew".into(), domain: "example.com".into(), namespaced: false, kubewright: Dependency::Version("0.1.0".into()), package: Default::default() };
/// # new.plan(&directory)?.write()?;
/// # let captain = AddApi { gvk: Gvk::parse("crew/v1/Captain")?, plural: None, namespaced: true, resource: true, controller: true, force: false };
/// # captain.plan(&Project::read(&directory)?)?.write()?;
/// # let v2 = AddVersion { group: "crew".into(), kind: "Captain".into(), version: "v2".into(), from: "v1".into(), storage: false };
/// # v2.plan(&Project::read(&directory)?)?.write()?;
/// # let project = Project::read(&directory)?;
///
/// let plan = MoveStorage { group: "crew".into(), kind: "Captain".into(), version: "v2".into() }.plan(&project)?;
/// assert!(plan.diff().contains("+use crate::api::crew::v2::Captain;"));
/// # std::fs::remove_dir_all(&directory).unwrap();
/// # Ok::<(), kubewright_scaffold::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct MoveStorage {
    /// The group. May be empty if the kind is unique.
    pub group: String,
    /// The kind. May be empty if the project has only one.
    pub kind: String,
    /// The new storage version.
    pub version: String,
}

impl MoveStorage {
    /// Plans the changes to the project.
    ///
    /// # Errors
    ///
    /// Fails if the project does not have this version of the kind, or if the types do not say their version.
    pub fn plan(&self, project: &Project) -> Result<Plan, Error> {
        let chosen = project.one(&self.group, &self.version, &self.kind)?;
        if !chosen.api {
            return Err(Error::new(
                format_args!("{} is built into Kubernetes", chosen.kind),
                "name a kind of the project",
            ));
        }
        let mut plan = Plan::new(project.root());
        let mut file = project.file().clone();
        let versions = project.matching(&chosen.group, "", &chosen.kind);
        move_to(&mut plan, &mut file, &versions, chosen)?;
        plan.set(PROJECT_FILE, Some(file.written()))?;
        Ok(plan)
    }
}

/// Makes one of the versions of a kind the storage version.
pub(super) fn move_to(
    plan: &mut Plan,
    file: &mut File,
    versions: &[&Resource],
    chosen: &Resource,
) -> Result<(), Error> {
    let mut chosen = chosen.clone();
    for other in versions {
        let stored = other.version == chosen.version;
        let path = other.types_path();
        let source = types(plan, other)?;
        let edited = kube_attribute::with_storage(&source, &other.version, stored)?;
        plan.set(&path, Some(edited))?;
        if stored || other.controllers.is_empty() {
            continue;
        }
        for name in &other.controllers {
            for path in [controller_path(name), test_path(name)] {
                retarget(plan, &path, other, &chosen)?;
            }
        }
        let mut left = (*other).clone();
        chosen.controllers.append(&mut left.controllers);
        chosen.owns.append(&mut left.owns);
        file.put(&left);
    }
    file.put(&chosen);
    Ok(())
}

/// Returns the version in which objects of a kind are stored.
pub(super) fn current(project: &Project, kind: &Resource) -> Result<Option<String>, Error> {
    let plan = Plan::new(project.root());
    for version in project.matching(&kind.group, "", &kind.kind) {
        let source = plan.read(&version.types_path())?;
        if source.is_some_and(|source| kube_attribute::is_stored(&source)) {
            return Ok(Some(version.version.clone()));
        }
    }
    Ok(None)
}

/// Returns the types of a version.
pub(super) fn types(plan: &Plan, version: &Resource) -> Result<String, Error> {
    plan.read(&version.types_path())?.ok_or_else(|| {
        Error::new(
            format_args!("{} is not there", version.types_path()),
            "put the types there, or recreate them with `kubewright create api --force`",
        )
    })
}

/// Has a file use the types of another version. Imports that name types of other kinds too are left to the user.
fn retarget(plan: &mut Plan, path: &str, from: &Resource, to: &Resource) -> Result<(), Error> {
    let Some(source) = plan.read(path)? else {
        return Ok(());
    };
    let (old, new) = (module(from), module(to));
    let mut edited = String::with_capacity(source.len());
    let mut rest = source.as_str();
    let mut mixed = false;
    while let Some((before, after)) = rest.split_once(&old) {
        edited.push_str(before);
        let of_kind = names_only(after, &from.kind);
        mixed |= !of_kind;
        edited.push_str(if of_kind { &new } else { &old });
        rest = after;
    }
    edited.push_str(rest);
    if mixed {
        let line = format!("use crate::{new}{};", to.kind);
        plan.leave_to_user(
            path,
            "instead of the same types of the old version",
            vec![line],
        );
    }
    plan.set(path, Some(edited))
}

/// `crew::v1::`
fn module(version: &Resource) -> String {
    format!("api::{}::{}::", version.group_module(), version.version)
}

/// Reports whether a path continues with types of this kind only: `Captain;` or `{Captain, CaptainSpec};`.
fn names_only(after: &str, kind: &str) -> bool {
    let names = match after.strip_prefix('{') {
        Some(list) => list.split_once('}').map_or(list, |(list, _)| list),
        None => after
            .split(|c: char| !c.is_ascii_alphanumeric() && c != '_')
            .next()
            .unwrap_or_default(),
    };
    let of_kind = |name: &str| {
        let rest = name.trim().strip_prefix(kind);
        rest.is_some_and(|rest| matches!(rest, "" | "Spec" | "Status"))
    };
    names
        .split(',')
        .filter(|name| !name.trim().is_empty())
        .all(of_kind)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn imports_of_one_and_of_several_kinds_are_distinguished() {
        assert!(names_only("Captain;", "Captain"));
        assert!(names_only(
            "{Captain, CaptainSpec,\n CaptainStatus};",
            "Captain"
        ));
        assert!(!names_only("Captaincy;", "Captain"));
        assert!(!names_only("{Captain, Mate};", "Captain"));
    }
}
