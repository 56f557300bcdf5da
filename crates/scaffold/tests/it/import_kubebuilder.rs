//! A project of kubebuilder's, to Rust. That the result builds, and generates the same files, is shown where whole projects are
//! built, with the tool.

use std::{fs, path::Path};

use kubewright_scaffold::{Dependency, ImportProject, Imported, Project};

use crate::project::Directory;

fn fixture() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/kubebuilder/guestbook")
}

fn import(from: &Path, to: &Directory) -> Result<Imported, String> {
    let import = ImportProject {
        from: from.to_owned(),
        name: None,
        kubewright: Dependency::Version("0.1.0".into()),
    };
    let imported = import.plan(&to.path(""), str::to_owned);
    imported.map_err(|refusal| refusal.to_string())
}

#[test]
fn kinds_controllers_and_permissions_come_over() {
    let directory = Directory::new();
    let imported = import(&fixture(), &directory).unwrap();
    imported.plan.write().unwrap();
    let project = Project::read(&directory.path("")).unwrap();
    assert_eq!(
        (project.name.as_str(), project.domain.as_str()),
        ("guestbook", "example.com")
    );
    let shown: Vec<String> = project
        .resources
        .iter()
        .map(|it| {
            format!(
                "{} {} {} {:?}",
                it.kind, it.plural, it.namespaced, it.controllers
            )
        })
        .collect();
    assert_eq!(
        shown,
        [
            "Guestbook guestbooks true [\"guestbook\"]",
            "Shelf shelves false [\"shelf\"]",
            "Deployment deployments true [\"deployment\"]",
        ]
    );
    let types = directory.read("src/api/webapp/v1/guestbook.rs");
    assert!(types.contains("pub struct GuestbookSpec {"), "{types}");
    let permissions = directory.read("src/permissions.rs");
    assert!(
        permissions.contains(
            "PolicyRule::new(\"\", &[\"secrets\"], &[\"get\"]).resource_names(&[\"ink\"])"
        ),
        "{permissions}"
    );
    let library = directory.read("src/lib.rs");
    for line in [
        "pub mod permissions;",
        "    operator.api::<api::webapp::v1::Shelf>();",
        "    controller::deployment::register(operator);",
        "    permissions::register(operator);",
    ] {
        assert!(library.lines().any(|it| it == line), "{line}\n{library}");
    }
    assert_eq!(
        imported.notes,
        [
            "the webhooks of webapp/v1/Guestbook are not imported",
            "v1/Certificate is defined elsewhere: import its definition, then add its controller",
        ]
    );
}

#[test]
fn without_markers_the_role_says_what_is_allowed() {
    let (from, to) = (Directory::new(), Directory::new());
    for file in ["PROJECT", "config/rbac/role.yaml"] {
        let path = from.path(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::copy(fixture().join(file), path).unwrap();
    }
    let project = fs::read_to_string(from.path("PROJECT")).unwrap();
    let (head, _) = project.split_once("resources:").unwrap();
    fs::write(from.path("PROJECT"), format!("{head}version: \"3\"\n")).unwrap();
    import(&from.path(""), &to).unwrap().plan.write().unwrap();
    let permissions = to.read("src/permissions.rs");
    assert!(
        permissions.contains(".resource_names(&[\"ink\"])"),
        "{permissions}"
    );
}

#[test]
fn errors_of_imports_are_one_sentence() {
    let (from, to) = (Directory::new(), Directory::new());
    let refusal = import(&from.path(""), &to).unwrap_err();
    assert!(refusal.contains("PROJECT: No such file"), "{refusal}");
    fs::write(from.path("PROJECT"), "version: \"2\"\ndomain: a.b\n").unwrap();
    assert_eq!(
        import(&from.path(""), &to).unwrap_err(),
        "PROJECT is of version \"2\"; bring it to version 3 with kubebuilder first"
    );
    fs::copy(fixture().join("PROJECT"), from.path("PROJECT")).unwrap();
    assert_eq!(
        import(&from.path(""), &to).unwrap_err(),
        "config/crd/bases has no definition of webapp/v1/Guestbook; run `make manifests` in the Go project first"
    );
    assert_eq!(to.everything(), []);
}
