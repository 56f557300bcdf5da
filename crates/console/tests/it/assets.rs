//! The files of the pages: what they load, how large they are, and where the vendored ones come from.

use std::{collections::BTreeSet, path::Path};

use kubewright_console::{Asset, assets};
use serde_json::Value;

/// The maximum size of the first load, compressed.
const FIRST_LOAD: usize = 60 << 10;

/// The maximum number of lines of a module.
const LINES: usize = 300;

fn asset(path: &str) -> &'static Asset {
    let found = assets().iter().find(|asset| asset.path == path);
    found.unwrap_or_else(|| panic!("no {path}"))
}

fn text(asset: &Asset) -> &str {
    std::str::from_utf8(asset.content).unwrap()
}

/// Returns the modules that a module imports when it is loaded, as paths.
fn imports(asset: &Asset) -> Vec<String> {
    let folder = asset.path.rsplit_once('/').unwrap().0;
    let text = text(asset);
    let quoted = text.split("from").skip(1).filter_map(|after| {
        let after = after.trim_start().strip_prefix('"')?;
        after.split_once('"').map(|(name, _)| name.to_owned())
    });
    quoted
        .map(
            |name| match (name.strip_prefix("./"), name.strip_prefix("../")) {
                (Some(rest), _) => format!("{folder}/{rest}"),
                (_, Some(rest)) => format!("{}/{rest}", folder.rsplit_once('/').unwrap().0),
                _ => panic!("{}: {name:?} leads nowhere", asset.path),
            },
        )
        .collect()
}

/// Returns all files of the first load.
fn first_load() -> BTreeSet<String> {
    let mut found =
        BTreeSet::from(["/app/index.html", "/app/style.css", "/app/icon.svg"].map(str::to_owned));
    let mut next = vec!["/app/main.js".to_owned()];
    while let Some(path) = next.pop() {
        let imported = imports(asset(&path));
        if found.insert(path) {
            next.extend(imported);
        }
    }
    found
}

#[test]
fn the_first_load_is_small() {
    let size: usize = first_load().iter().map(|path| asset(path).gzip.len()).sum();
    assert!(size <= FIRST_LOAD, "{size} bytes, at most {FIRST_LOAD}");
    println!("first load: {size} bytes in {} files", first_load().len());
}

#[test]
fn the_page_preloads_what_it_needs() {
    let index = text(asset("/app/index.html"));
    for path in first_load()
        .iter()
        .filter(|path| path.ends_with("js") && *path != "/app/main.js")
    {
        assert!(
            index.contains(&format!("<link rel=\"modulepreload\" href=\"{path}\">")),
            "{path} is not preloaded"
        );
    }
    for link in index.split("href=\"").skip(1) {
        asset(link.split_once('"').unwrap().0);
    }
}

#[test]
fn no_markup_has_scripts_or_styles_in_it() {
    let index = text(asset("/app/index.html"));
    assert!(!index.contains("style=") && !index.contains("<style"));
    assert_eq!(
        index.matches("<script").count(),
        index.matches("<script type=\"module\" src=\"/app/").count()
    );
    for asset in assets().iter().filter(|asset| asset.path.ends_with(".js")) {
        for word in [
            "innerHTML",
            "outerHTML",
            "insertAdjacentHTML",
            "dangerouslySetInnerHTML",
            "eval(",
            "new Function",
            "document.write",
        ] {
            assert!(!text(asset).contains(word), "{} has {word}", asset.path);
        }
    }
}

#[test]
fn every_file_is_embedded_and_short() {
    let web = Path::new(env!("CARGO_MANIFEST_DIR")).join("web");
    let mut folders = vec![web.clone()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let name = path
                .strip_prefix(&web)
                .unwrap()
                .to_str()
                .unwrap()
                .to_owned();
            if name.ends_with(".json") || name.ends_with(".txt") {
                continue;
            }
            let embedded = asset(&format!("/app/{name}"));
            assert_eq!(embedded.content, std::fs::read(&path).unwrap(), "{name}");
            if !name.starts_with("vendor/") {
                let lines = text(embedded).lines().count();
                assert!(lines <= LINES, "{name} has {lines} lines, at most {LINES}");
            }
        }
    }
}

/// A vendored file is the file of its package, except for the imports that the list names.
#[test]
fn vendored_files_are_those_of_their_packages() {
    let vendor = Path::new(env!("CARGO_MANIFEST_DIR")).join("web/vendor");
    let list: Value =
        serde_json::from_slice(&std::fs::read(vendor.join("vendor.json")).unwrap()).unwrap();
    let files = list["files"].as_array().unwrap();
    let embedded = assets()
        .iter()
        .filter(|asset| asset.path.starts_with("/app/vendor/"))
        .count();
    assert_eq!(files.len(), embedded, "every file is listed");
    for file in files {
        let name = file["file"].as_str().unwrap();
        let content = std::fs::read_to_string(vendor.join(name)).unwrap();
        assert_eq!(sha256(&content), file["sha256"].as_str().unwrap(), "{name}");
        let mut original = content;
        for (package, local) in file["imports"].as_object().unwrap() {
            let local = format!("from\"{}\"", local.as_str().unwrap());
            original = original.replace(&local, &format!("from\"{package}\""));
        }
        assert_eq!(
            sha256(&original),
            file["sourceSha256"].as_str().unwrap(),
            "{name} as published"
        );
        assert!(["MIT", "Apache-2.0"].contains(&file["license"].as_str().unwrap()));
    }
}

fn sha256(text: &str) -> String {
    let digest = ring::digest::digest(&ring::digest::SHA256, text.as_bytes());
    digest
        .as_ref()
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect()
}
