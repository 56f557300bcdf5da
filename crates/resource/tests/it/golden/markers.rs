//! What `MARKERS.md` claims is so: every marker is in it, stands in the Go source of its golden, and every test it names is there.

use std::collections::BTreeSet;

const TABLE: &str = include_str!("../../../MARKERS.md");

/// Every marker that controller-gen knows and where it takes it, as `controller-gen crd -wwww` prints them.
const KNOWN: &str = include_str!("../../golden/markers.txt");

/// The Go sources of a golden.
macro_rules! go {
    ($($file:literal),+) => {&[$(include_str!(concat!("../../golden/go/", $file, "_types.go"))),+]};
}

/// The goldens, by the test that compares them.
const GOLDENS: [(&str, &[&str]); 11] = [
    ("bounds_of_numbers", go!("v1/numbers")),
    ("lengths_patterns_and_formats_of_texts", go!("v1/texts")),
    ("list_types_and_map_types", go!("v1/lists")),
    ("defaults_and_presence", go!("v1/defaults")),
    ("rules_and_immutability", go!("v1/rules")),
    ("one_of_several", go!("v1/choices")),
    ("embedded_and_open_objects", go!("v1/objects")),
    ("names_columns_and_subresources", go!("v1/names")),
    ("marks_on_types_and_on_what_is_in_lists", go!("v1/places")),
    ("merging_on_types_and_presence", go!("v1/merges")),
    (
        "several_versions",
        go!(
            "versions/v0/officer",
            "versions/v1/officer",
            "versions/v1alpha1/officer",
            "versions/v1beta1/officer"
        ),
    ),
];

/// Where misuse is tested, and what the goldens leave.
const TESTS: [&str; 4] = [
    include_str!("../../../../derive/src/tests.rs"),
    include_str!("../versions.rs"),
    include_str!("../captain.rs"),
    include_str!("mod.rs"),
];

struct Row<'a> {
    marker: &'a str,
    place: &'a str,
    goldens: Vec<&'a str>,
    misuses: Vec<&'a str>,
    note: &'a str,
}

fn rows() -> Vec<Row<'static>> {
    let lines = TABLE.lines().filter(|line| line.starts_with("| `"));
    lines.map(row).collect()
}

fn row(line: &'static str) -> Row<'static> {
    let cells: Vec<&str> = line.trim_matches('|').split(" | ").map(str::trim).collect();
    let [marker, _, golden, misuse, note] = cells[..] else {
        panic!("not five cells: {line}");
    };
    let (marker, place) = marker.split_once(" on a ").expect("a marker and a place");
    Row {
        marker: marker.trim_matches('`'),
        place,
        goldens: named(golden),
        misuses: named(misuse),
        note,
    }
}

fn named(cell: &str) -> Vec<&str> {
    cell.split('`').skip(1).step_by(2).collect()
}

/// Whether a Go source has a marker at a place: markers of fields are indented.
fn has(source: &str, marker: &str, place: &str) -> bool {
    source.lines().any(|line| {
        let indented = line.starts_with('\t');
        let rest = line
            .trim_start()
            .strip_prefix("// +")
            .and_then(|it| it.strip_prefix(marker));
        let whole = rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['=', ':']));
        whole && indented == (place == "field")
    })
}

#[test]
fn every_marker_has_its_row() {
    let rows: Vec<String> = rows()
        .iter()
        .map(|row| format!("{} {}", row.marker, row.place))
        .collect();
    let unique: BTreeSet<&str> = rows.iter().map(String::as_str).collect();
    assert_eq!(unique.len(), rows.len(), "a row is there twice");
    assert_eq!(unique, KNOWN.lines().collect());
}

#[test]
fn every_row_has_its_tests_or_a_reason() {
    let mut wrong = Vec::new();
    for row in rows() {
        let shown = format!("{} on a {}", row.marker, row.place);
        if row.note.is_empty() && (row.goldens.is_empty() || row.misuses.is_empty()) {
            wrong.push(format!("{shown} lacks a test and says not why"));
        }
        for golden in &row.goldens {
            match GOLDENS.iter().find(|(test, _)| test == golden) {
                None => wrong.push(format!("{shown}: there is no golden {golden}")),
                Some((test, _)) if !is_test(test) => {
                    wrong.push(format!("{shown}: there is no test {test}"))
                }
                Some(_) => {}
            }
        }
        let mut sources = GOLDENS
            .iter()
            .filter(|(test, _)| row.goldens.contains(test));
        let stands =
            sources.any(|(_, go)| go.iter().any(|source| has(source, row.marker, row.place)));
        if !row.goldens.is_empty() && !stands {
            wrong.push(format!(
                "{shown} does not stand in the Go source of its golden"
            ));
        }
        for test in row.misuses.iter().filter(|test| !is_test(test)) {
            wrong.push(format!("{shown}: there is no test {test}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Whether there is a test of this name: a function, or a line of the macro that makes the goldens.
fn is_test(name: &str) -> bool {
    let forms = [format!("\nfn {name}()"), format!("\n    {name}: ")];
    TESTS
        .iter()
        .any(|text| forms.iter().any(|form| text.contains(form)))
}

#[test]
fn a_marker_is_found_where_it_stands() {
    let go = "// +kubebuilder:title=A\ntype A struct {\n\t// +nullable\n\tB string\n}\n";
    assert!(has(go, "kubebuilder:title", "type") && !has(go, "kubebuilder:title", "field"));
    assert!(has(go, "nullable", "field") && !has(go, "null", "field"));
}
