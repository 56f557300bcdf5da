//! All definitions of public projects that are kept here, to Rust and back, field by field.
//!
//! The types of a project are imported together, written into a program that prints their definitions, and compiled. Only
//! with `KUBEWRIGHT_TEST_SCAFFOLD` set, as that takes minutes.

use std::{
    fmt::Write as _,
    fs,
    io::Read,
    path::{Path, PathBuf},
    process::Command,
};

use flate2::read::GzDecoder;
use kubewright_scaffold::import_crds_together;
use kubewright_schema::yaml::parse_yaml;
use serde_json::Value;

use super::comparison::{EXCEPTIONS, differences};

/// A project's definitions, each as it was published.
struct Project {
    name: String,
    definitions: Vec<String>,
}

fn projects() -> Vec<Project> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../conformance/definitions");
    let mut projects = Vec::new();
    for directory in listed(&root).into_iter().filter(|path| path.is_dir()) {
        let name = directory
            .file_name()
            .unwrap()
            .to_string_lossy()
            .replace('-', "_");
        // Those that the server refuses are no definitions.
        let files = listed(&directory).into_iter().filter(|path| {
            let name = path.file_name().unwrap().to_string_lossy();
            name.contains(".yaml") && !name.starts_with("refused")
        });
        projects.push(Project {
            definitions: files.map(|path| read(&path)).collect(),
            name,
        });
    }
    projects
}

fn listed(directory: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(directory).unwrap();
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    paths
}

fn read(path: &Path) -> String {
    let bytes = fs::read(path).unwrap();
    let mut text = String::new();
    match path.extension().is_some_and(|extension| extension == "gz") {
        true => GzDecoder::new(bytes.as_slice()).read_to_string(&mut text),
        false => bytes.as_slice().read_to_string(&mut text),
    }
    .unwrap();
    text
}

/// Writes a program that prints the definitions of a project's types, one a line. Answers how many there are.
fn write_program(project: &Project, directory: &Path) -> usize {
    let together = import_crds_together(&project.definitions.join("\n---\n"), |_, _| true).unwrap();
    fs::create_dir_all(directory).unwrap();
    let mut main = "use kubewright::CustomKind;\n".to_owned();
    let mut body = String::new();
    if !together.shared.is_empty() {
        main.push_str("mod shared;\n");
        fs::write(directory.join("shared.rs"), &together.shared).unwrap();
    }
    for module in &together.modules {
        assert_eq!(module.notes, Vec::<String>::new(), "{}", module.kind);
        let name = format!("{}_{}", module.plural, module.version);
        fs::write(directory.join(format!("{name}.rs")), &module.source).unwrap();
        _ = writeln!(main, "mod {name};");
        _ = writeln!(
            body,
            "    println!(\"{{}}\", {name}::{}::manifest().unwrap());",
            module.kind
        );
    }
    _ = write!(main, "\nfn main() {{\n{body}}}\n");
    fs::write(directory.join("main.rs"), main).unwrap();
    together.modules.len()
}

fn write_crate(root: &Path) {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let manifest = format!(
        "[package]\nname = \"imported\"\nedition = \"2024\"\n\n[workspace]\n\n[dependencies]\n\
         kubewright = {{ package = \"kubewright-resource\", path = {:?} }}\n\
         k8s-openapi = {{ version = \"0.29\", default-features = false, features = [\"latest\", \"schemars\"] }}\n\
         kube = {{ version = \"5\", default-features = false, features = [\"derive\"] }}\n\
         schemars = {{ version = \"1\", default-features = false, features = [\"derive\", \"std\"] }}\n\
         serde = {{ version = \"1\", features = [\"derive\"] }}\nserde_json = \"1\"\n\n\
         [profile.dev]\ndebug = \"line-tables-only\"\nsplit-debuginfo = \"unpacked\"\n",
        crates.join("resource").canonicalize().unwrap()
    );
    fs::create_dir_all(root).unwrap();
    fs::write(root.join("Cargo.toml"), manifest).unwrap();
    fs::copy(crates.join("../Cargo.lock"), root.join("Cargo.lock")).unwrap();
}

/// Runs a program and answers what it prints.
fn run(root: &Path, program: &str) -> String {
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().unwrap();
    let output = Command::new(env!("CARGO"))
        .args(["run", "--quiet", "--bin", program])
        .current_dir(root)
        .env("CARGO_TARGET_DIR", target)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{program}: {said}");
    assert!(!said.contains("warning:"), "{program}: {said}");
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn every_public_definition_comes_back() {
    if std::env::var_os("KUBEWRIGHT_TEST_SCAFFOLD").is_none() {
        eprintln!("skipped: all public definitions, compiled: KUBEWRIGHT_TEST_SCAFFOLD is not set");
        return;
    }
    let root = Path::new(env!("CARGO_TARGET_TMPDIR")).join("imported");
    _ = fs::remove_dir_all(&root);
    write_crate(&root);
    let (mut versions, mut wrong) = (0, Vec::new());
    for project in projects() {
        let written = write_program(&project, &root.join("src/bin").join(&project.name));
        let originals: Vec<Value> = project
            .definitions
            .iter()
            .map(|text| parsed(text))
            .collect();
        let printed = run(&root, &project.name);
        assert_eq!(printed.lines().count(), written);
        for line in printed.lines() {
            let manifest: Value = serde_json::from_str(line).unwrap();
            let same =
                |original: &&Value| original["metadata"]["name"] == manifest["metadata"]["name"];
            let original = originals.iter().find(same).unwrap();
            let (name, version) = (
                &manifest["metadata"]["name"],
                &manifest["spec"]["versions"][0]["name"],
            );
            let found = differences(original, &manifest);
            wrong.extend(found.iter().map(|it| format!("{name} {version}: {it}")));
            versions += 1;
        }
    }
    eprintln!(
        "{versions} versions compared; what may differ:\n  {}",
        EXCEPTIONS.join("\n  ")
    );
    assert!(
        wrong.is_empty(),
        "{} differences:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
    fs::remove_dir_all(&root).unwrap();
}

fn parsed(text: &str) -> Value {
    parse_yaml(text.as_bytes())
        .unwrap()
        .node
        .into_value()
        .unwrap()
}

#[test]
fn every_public_definition_is_imported_without_a_note() {
    for project in projects() {
        let together =
            import_crds_together(&project.definitions.join("\n---\n"), |_, _| true).unwrap();
        for module in &together.modules {
            assert_eq!(module.notes, Vec::<String>::new(), "{}", module.kind);
        }
        let alone: usize = together
            .modules
            .iter()
            .map(|module| module.source.len())
            .sum();
        eprintln!(
            "{}: {} modules, {} shared",
            project.name,
            alone,
            together.shared.len()
        );
    }
}
