//! The pages of the tutorial and of the chapter about API servers show the code of their projects, all of it, and nothing else.

use std::{collections::BTreeSet, fs, path::Path};

/// The projects: the folder of the pages, the folder of the code, and its files.
const PROJECTS: [(&str, &str, &[&str]); 2] = [
    ("src/tutorial", "tutorial", &FILES),
    ("src/apiserver", "apiserver", &APISERVER),
];

/// The files of the API server.
const APISERVER: [&str; 5] = [
    "src/api/sky/v1/planet.rs",
    "src/apiserver/planet.rs",
    "src/apiserver/planet_orbit.rs",
    "tests/planet_api.rs",
    "tests/planet_orbit.rs",
];

/// The files of the operator.
const FILES: [&str; 9] = [
    "src/api/web/v1/site.rs",
    "src/api/web/v2/site.rs",
    "src/api/web/v2/site_from_v1.rs",
    "src/controller/site.rs",
    "src/webhook/site.rs",
    "tests/site.rs",
    "tests/site_v1_v2.rs",
    "tests/site_webhook.rs",
    "config/samples/web_v1_site.yaml",
];

fn book() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The names of the pages in a folder, and the pieces of code on them.
fn pieces(pages: &str) -> Vec<(String, String)> {
    let mut pieces = Vec::new();
    for entry in fs::read_dir(book().join(pages)).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let text = fs::read_to_string(&path).unwrap();
        let mut parts = text.split("```");
        parts.next();
        while let (Some(block), rest) = (parts.next(), parts.next()) {
            let (kind, code) = block.split_once('\n').unwrap_or((block, ""));
            if kind.starts_with("rust") || kind == "yaml" {
                pieces.push((name.clone(), code.trim_end().to_owned()));
            }
            if rest.is_none() {
                break;
            }
        }
    }
    pieces
}

#[test]
fn every_piece_on_the_pages_is_in_the_project() {
    for (pages, folder, names) in PROJECTS {
        let read = |file: &&str| fs::read_to_string(book().join(folder).join(file)).unwrap();
        let files: Vec<String> = names.iter().map(read).collect();
        let pieces = pieces(pages);
        assert!(pieces.len() >= files.len());
        for (page, piece) in pieces {
            let found = files.iter().any(|file| file.contains(&piece));
            assert!(found, "{page} shows what is in no file:\n{piece}");
        }
    }
}

#[test]
fn every_line_of_the_project_is_on_the_pages() {
    for (pages, folder, names) in PROJECTS {
        let shown: BTreeSet<String> = pieces(pages)
            .iter()
            .flat_map(|(_, piece)| piece.lines().map(|line| line.trim().to_owned()))
            .collect();
        for file in names {
            let text = fs::read_to_string(book().join(folder).join(file)).unwrap();
            for line in text.lines().map(str::trim) {
                let matters = !line.is_empty() && !line.starts_with("//");
                assert!(
                    !matters || shown.contains(line),
                    "{file}: no page shows {line:?}"
                );
            }
        }
    }
}
