//! The output that the README and the book show is what the commands print.
//!
//! Lines are compared by their shape: numbers, such as times and ports, may differ.

use std::{fs, path::Path};

use crate::{
    process::Process,
    projects::Place,
    server::{Folder, Server, kubewright},
};

/// Marks where lines are left out.
const ELLIPSIS: &str = "…";

/// Returns the lines that a page shows below the last occurrence of a command.
#[track_caller]
pub(crate) fn shown(page: &str, command: &str) -> Vec<String> {
    let path = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../..")).join(page);
    let text = fs::read_to_string(&path).expect(page);
    let prompt = format!("$ {command}");
    let mut lines: Vec<String> = Vec::new();
    let mut inside = false;
    for line in text.lines() {
        if line == prompt {
            lines.clear();
            inside = true;
        } else if line.starts_with("$ ") || line.starts_with("```") {
            inside = false;
        } else if inside && !line.trim().is_empty() && line != ELLIPSIS {
            lines.push(line.to_owned());
        }
    }
    assert!(!lines.is_empty(), "{page} shows nothing of {command:?}");
    lines
}

/// Returns the line with every number as `N` and all white space as single spaces.
fn shape(line: &str) -> String {
    let words: Vec<_> = line.split_whitespace().collect();
    let mut shape = String::new();
    for character in words.join(" ").chars() {
        match character {
            '0'..='9' if shape.ends_with('N') => {}
            '0'..='9' => shape.push('N'),
            _ => shape.push(character),
        }
    }
    shape
}

/// Checks that lines of the same shapes were printed.
#[track_caller]
pub(crate) fn assert_printed(lines: &[String], output: &str) {
    let shapes: Vec<_> = output.lines().map(shape).collect();
    for line in lines {
        let printed = shapes.contains(&shape(line));
        assert!(printed, "nothing like {line:?} in:\n{output}");
    }
}

#[test]
fn a_new_project_has_the_files_that_the_readme_shows() {
    let place = Place::new();
    let new = "new crew --domain example.com";
    let lines = shown("README.md", &format!("kubewright {new} && cd crew"));
    assert_eq!(place.done(new).lines().collect::<Vec<_>>(), lines);
    let place = place.within("crew");
    let add = "create api --group crew --version v1 --kind Captain";
    let lines = shown("README.md", &format!("kubewright {add}"));
    assert_eq!(place.done(add).lines().collect::<Vec<_>>(), lines);
}

#[test]
fn a_new_project_has_the_files_that_the_tutorial_shows() {
    let page = "docs/book/src/tutorial/project.md";
    let path = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../..")).join(page);
    let text = fs::read_to_string(path).expect(page);
    let (_, block) = text.split_once("```text\n").expect("an output");
    let (block, rest) = block.split_once("```").expect("its end");
    let place = Place::new();
    place.done("new site-operator --domain example.com");
    let place = place.within("site-operator");
    let add = "create api --group web --version v1 --kind Site";
    assert_eq!(place.done(add), block);
    let (files, lines) = size(place.path());
    let claim = format!("The project has {files} files with about {lines} lines");
    assert!(rest.contains(&claim), "{claim}");
}

/// Returns the number of files of a project, and that of its lines to the next fifty.
fn size(root: &Path) -> (usize, usize) {
    let (mut files, mut lines) = (0, 0);
    let mut folders = vec![root.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            match path.is_dir() {
                true => folders.push(path),
                false => {
                    files += 1;
                    lines += fs::read_to_string(path).expect("a text").lines().count();
                }
            }
        }
    }
    (files, (lines + 25) / 50 * 50)
}

#[test]
fn the_demo_prints_the_steps_that_the_readme_shows() {
    let folder = Folder::new();
    let mut command = kubewright();
    command.current_dir(folder.path()).args(["demo", "--once"]);
    let (output, status) = Process::start(command, None).finish();
    assert!(status.success(), "{output}");
    let mut lines = shown("README.md", "cargo run -- demo --once");
    // Events that follow each other closely are merged or not, so triggers and counts differ between runs.
    lines.retain(|line| !line.contains(" watch ") && !line.contains(" reconcile "));
    // The names of pods are random.
    lines.retain(|line| !line.contains("store-"));
    assert_printed(&lines, &output);
}

#[test]
fn up_prints_the_line_that_the_readme_shows() {
    let server = Server::start();
    let kubeconfig = server.kubeconfig().display().to_string();
    let ready = server.ready_line().replace(&kubeconfig, "kubeconfig");
    let lines = shown("README.md", "cargo run --release -- up");
    assert_eq!(lines.len(), 1);
    assert_printed(&lines, &ready);
}

#[test]
fn shapes_differ_in_words_and_not_in_numbers() {
    let line = "  12.5 reconcile  a/b -> done (0.1 ms)";
    assert_eq!(shape(line), "N.N reconcile a/b -> done (N.N ms)");
    assert_eq!(
        shape(line),
        shape("1.55 reconcile a/b    -> done (17.23 ms)")
    );
    assert_ne!(
        shape(line),
        shape("1.55 reconcile a/b -> failed (17.23 ms)")
    );
}
