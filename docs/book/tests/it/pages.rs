//! The pages of the tutorial show the code of its project, all of it, and nothing else.

use std::{collections::BTreeSet, fs, path::Path};

/// The files of the project.
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

/// The text of all pages of the tutorial, and the pieces of code on them.
fn pieces() -> Vec<(String, String)> {
    let mut pieces = Vec::new();
    for entry in fs::read_dir(book().join("src/tutorial")).unwrap() {
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
    let files: Vec<String> = FILES
        .iter()
        .map(|file| fs::read_to_string(book().join("tutorial").join(file)).unwrap())
        .collect();
    let pieces = pieces();
    assert!(pieces.len() >= FILES.len());
    for (page, piece) in pieces {
        let found = files.iter().any(|file| file.contains(&piece));
        assert!(found, "{page} shows what is in no file:\n{piece}");
    }
}

#[test]
fn every_line_of_the_project_is_on_the_pages() {
    let shown: BTreeSet<String> = pieces()
        .iter()
        .flat_map(|(_, piece)| piece.lines().map(|line| line.trim().to_owned()))
        .collect();
    for file in FILES {
        let text = fs::read_to_string(book().join("tutorial").join(file)).unwrap();
        for line in text.lines().map(str::trim) {
            let matters = !line.is_empty() && !line.starts_with("//");
            assert!(
                !matters || shown.contains(line),
                "{file}: no page shows {line:?}"
            );
        }
    }
}
