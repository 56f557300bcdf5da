//! The output that the README and the book show is what the commands print, line by line.
//!
//! Only what a [placeholder](PLACEHOLDERS) names may differ, such as times and ports, and `…` stands for lines that are left out.
//! Whole sessions are in [`transcripts`](crate::transcripts).

use std::{fs, path::Path, sync::LazyLock};

use regex::Regex;

use crate::{
    process::Process,
    projects::Place,
    server::{Folder, Server, kubewright},
};

/// Marks where lines are left out.
const ELLIPSIS: &str = "…";

/// The parts of outputs that differ between runs: their names, patterns, and replacements.
const PLACEHOLDERS: [(&str, &str, &str); 18] = [
    (
        "timestamp",
        r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{3})?Z",
        "<timestamp>",
    ),
    (
        "time of a request",
        r"\d\d/[A-Z][a-z]{2}/\d{4}:\d\d:\d\d:\d\d",
        "<time>",
    ),
    ("address", r"127\.0\.0\.1:\d+", "<address>"),
    ("token", r"#t=[0-9a-f]+…?", "#t=<token>"),
    (
        "seconds since the start",
        r"^ {0,3}\d{1,4}\.\d{3} ",
        "<seconds> ",
    ),
    ("duration", r"\b\d+(\.\d+)? m?s\b", "<duration>"),
    ("process", r"process \d+", "process <id>"),
    (
        "pod",
        r"\b([a-z]+-[0-9a-z]{8,10})-[0-9a-z]{5}\b",
        "$1-<pod>",
    ),
    ("address of a pod", r"10\.244\.\d+\.\d+", "<ip>"),
    ("age", r"(  )\d+[sm]( +|$)", "$1<age> "),
    // They count what a server writes within its first seconds.
    (
        "revision",
        r"(revision +|continue from |^configmaps +default/\S+ +)\d+",
        "$1<revision>",
    ),
    ("revision of an object", r"^\d+ \{", "<revision> {"),
    (
        "number of objects or changes",
        r"(objects +)\d+|\d+( objects| changes)",
        "$1<count>$2",
    ),
    (
        "revision before damage",
        r"writes after revision \d+",
        "writes after <revision>",
    ),
    (
        "bytes of an object",
        r"^(configmaps +\S+ +<revision>) +\d+$",
        "$1 <bytes>",
    ),
    ("free space", r"\d+ GiB", "<space>"),
    ("store", r"[0-9a-f]{32}", "<id>"),
    // Events that follow each other closely are merged or not.
    (
        "events of the demo",
        r"\d+ failures|\d+ events, \d+ reconciles, \d+ failed",
        "<events>",
    ),
];

/// The lines that report progress: of a rollout that kubectl waits for, and of builds that take more than some seconds.
static PROGRESS: LazyLock<Regex> = LazyLock::new(|| {
    let pattern = r"^Waiting for deployment |^ *\d+\.\d{3} build +(\d+ of \d+ crates, )?Compiling ";
    Regex::new(pattern).expect("a pattern")
});

/// The lines of the demo about events and reconciles, of which more or fewer are merged.
static EVENT: LazyLock<Regex> = LazyLock::new(|| {
    let pattern = "^<seconds> (watch +default/[a-z]+ +(services|ingresses) (added|updated|deleted)\
        |reconcile +default/[a-z]+ +((services|ingresses) (added|updated|deleted)|backoff) +-> \
        (created|applied|deleted|nothing to do|error: .*|error, will retry: .*) \\(<duration>\\))$";
    Regex::new(pattern).expect("a pattern")
});

static PATTERNS: LazyLock<Vec<(Regex, &str)>> = LazyLock::new(|| {
    let compiled = |(name, pattern, replacement): (&str, &str, &'static str)| {
        (Regex::new(pattern).expect(name), replacement)
    };
    PLACEHOLDERS.map(compiled).into()
});

/// Reads a file of the repository.
pub(crate) fn page(path: &str) -> String {
    let root = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."));
    fs::read_to_string(root.join(path)).expect(path)
}

/// Returns the lines that a page shows below the last occurrence of a command.
#[track_caller]
pub(crate) fn shown(path: &str, command: &str) -> Vec<String> {
    let prompt = format!("$ {command}");
    let mut lines: Vec<String> = Vec::new();
    let mut inside = false;
    for line in page(path).lines() {
        if line == prompt {
            lines.clear();
            inside = true;
        } else if line.starts_with("$ ") || line.starts_with("```") {
            inside = false;
        } else if inside {
            lines.push(line.to_owned());
        }
    }
    assert!(!lines.is_empty(), "{path} shows nothing of {command:?}");
    lines
}

/// Returns the line with the names of placeholders in place of what they stand for.
pub(crate) fn named(line: &str) -> String {
    let line = line.trim_end().to_owned();
    let replaced = PATTERNS.iter().fold(line, |line, (pattern, replacement)| {
        pattern.replace_all(&line, *replacement).into_owned()
    });
    replaced.trim_end().to_owned()
}

/// Returns the lines of a text with their placeholders, without empty lines at its end.
pub(crate) fn lines_of(text: &str) -> Vec<String> {
    let lines = text.trim_end().lines();
    lines
        .filter(|line| !PROGRESS.is_match(line))
        .map(named)
        .collect()
}

/// Reports whether a page shows an output: all of it, except for the lines that it leaves out.
pub(crate) fn is_shown(page: &[String], output: &str) -> bool {
    let text = page.join("\n");
    let (page, printed) = (lines_of(&text), lines_of(output));
    let parts: Vec<&[String]> = page.split(|line| line == ELLIPSIS).collect();
    let [first, middle @ .., last] = parts.as_slice() else {
        return page == printed;
    };
    let Some(mut rest) = printed.strip_prefix(*first) else {
        return false;
    };
    for part in middle.iter().filter(|part| !part.is_empty()) {
        let Some(at) = rest.windows(part.len()).position(|lines| lines == *part) else {
            return false;
        };
        rest = &rest[at + part.len()..];
    }
    rest.strip_suffix(*last).is_some()
}

/// Checks that a page shows an output.
#[track_caller]
pub(crate) fn assert_shown(page: &[String], output: &str) {
    let page_lines = lines_of(&page.join("\n")).join("\n");
    let printed = lines_of(output).join("\n");
    assert!(
        is_shown(page, output),
        "the page shows:\n{page_lines}\nthe command prints:\n{printed}"
    );
}

/// Checks that a page shows an output of several programs at once, whose lines have no fixed order.
#[track_caller]
pub(crate) fn assert_shown_in_any_order(page: &[String], output: &str) {
    let sorted = |text: &str| {
        let mut lines = lines_of(text);
        lines.sort();
        lines.join("\n")
    };
    let (page, printed) = (sorted(&page.join("\n")), sorted(output));
    assert!(
        page == printed,
        "the page shows, sorted:\n{page}\nthe command prints:\n{printed}"
    );
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
    let text = page("docs/book/src/tutorial/project.md");
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
    let page = shown("README.md", "cargo run -- demo --once");
    let is_event = |line: &str| EVENT.is_match(&named(line));
    assert!(page.iter().any(|line| is_event(line)), "{page:?}");
    let without_events = |lines: &mut dyn Iterator<Item = &str>| -> Vec<String> {
        let rest = lines.filter(|line| !is_event(line));
        rest.map(str::to_owned).collect()
    };
    let page = without_events(&mut page.iter().map(String::as_str));
    let output = without_events(&mut output.lines()).join("\n");
    assert_shown(&page, &output);
}

#[test]
fn up_prints_the_lines_that_the_readme_shows() {
    let mut server = Server::start();
    let kubeconfig = server.kubeconfig().display().to_string();
    let lines = shown("README.md", "cargo run --release -- up");
    let printed = server
        .printed(lines.len())
        .replace(&kubeconfig, "kubeconfig");
    assert_shown(&lines, &printed);
}

#[test]
fn lines_differ_only_in_placeholders() {
    let line = "  12.500 reconcile a/b -> done (0.1 ms)";
    assert_eq!(named(line), "<seconds> reconcile a/b -> done (<duration>)");
    assert_ne!(
        named(line),
        named("  12.500 reconcile a/b -> failed (0.1 ms)")
    );
    assert_ne!(
        named(line),
        named("  12.500 reconcile  a/b -> done (0.1 ms)")
    );
    assert_ne!(named("8 pods are ready"), named("9 pods are ready"));
}

#[test]
fn a_page_shows_all_lines_or_says_where_it_leaves_some_out() {
    let page = |lines: &[&str]| -> Vec<String> { lines.iter().map(|l| (*l).to_owned()).collect() };
    let output = "a\nb\nc\nd\n";
    assert!(is_shown(&page(&["a", "b", "c", "d"]), output));
    assert!(is_shown(&page(&["a", "…", "c", "…"]), output));
    assert!(is_shown(&page(&["a", "b", "c", "d", "…"]), output));
    assert!(!is_shown(&page(&["a", "b", "d"]), output));
    assert!(!is_shown(&page(&["b", "…"]), output));
    assert!(!is_shown(&page(&["a", "…", "c"]), output));
    assert!(!is_shown(&page(&["a", "…", "d", "…", "c", "…"]), output));
    assert!(!is_shown(&page(&["a", "b", "c", "d", "e"]), output));
}
