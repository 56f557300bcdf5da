//! The comparison of the example operator with others: what it says of ours is counted and quoted.

use std::{
    fs,
    path::{Path, PathBuf},
};

/// The parts of the table, and the files of each.
const PARTS: [(&str, &[&str]); 6] = [
    ("types of two versions", &["api/v1.rs", "api/v1alpha1.rs"]),
    ("conversion, registration", &["api/mod.rs"]),
    ("controller", &["controller.rs"]),
    ("owned objects", &["objects.rs"]),
    ("DNS", &["dns.rs"]),
    (
        "program: flags, logs, probes, metrics, election, webhook",
        &["lib.rs", "main.rs"],
    ),
];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn page() -> String {
    fs::read_to_string(root().join("docs/book/src/comparison.md")).unwrap()
}

fn source(file: &str) -> String {
    let sources = root().join("examples/webapp_operator/src");
    fs::read_to_string(sources.join(file)).unwrap()
}

/// Returns our number in a row of the table.
fn counted(page: &str, part: &str) -> usize {
    let row = page
        .lines()
        .find(|line| line.starts_with(&format!("| {part} |")));
    let cell = row.and_then(|row| row.split('|').nth(2));
    let number = cell.map(|cell| cell.trim().trim_matches('*').to_owned());
    number
        .and_then(|number| number.parse().ok())
        .unwrap_or_else(|| panic!("no row for {part}"))
}

#[test]
fn the_example_has_the_lines_that_the_page_counts_and_no_more_than_450() {
    let page = page();
    let mut total = 0;
    for (part, files) in PARTS {
        let lines: usize = files.iter().map(|file| source(file).lines().count()).sum();
        assert_eq!(counted(&page, part), lines, "{part}");
        total += lines;
    }
    assert_eq!(counted(&page, "**written**"), total);
    assert!(total <= 450, "{total}");
}

#[test]
fn the_code_that_the_page_shows_of_ours_is_in_the_example() {
    let (page, controller) = (page(), source("controller.rs"));
    let squeezed = |text: &str| text.split_whitespace().collect::<String>();
    let controller = squeezed(&controller);
    // The last block of Rust is that of kube-rs.
    let blocks: Vec<&str> = page
        .split("```rust,ignore\n")
        .skip(1)
        .filter_map(|rest| rest.split("```").next())
        .filter(|block| block.contains("ctx.") || block.contains(".references"))
        .collect();
    assert_eq!(blocks.len(), 3);
    for block in blocks {
        assert!(controller.contains(&squeezed(block)), "{block}");
    }
}
