//! The saved results of perturbed tests, as `Perturb::save` of `kubewright-testing` writes them.

use std::{fs, path::Path, time::SystemTime};

use serde_json::{Value, json};

/// The maximum number of results.
const MOST: usize = 50;

/// The maximum size of a file.
const LARGEST: u64 = 4 << 20;

/// Returns the results in a directory, newest first. Files that cannot be read are left out.
pub(crate) fn reports(directory: Option<&Path>) -> Value {
    let mut found: Vec<(SystemTime, String, Value)> = Vec::new();
    let entries = directory.and_then(|directory| fs::read_dir(directory).ok());
    for entry in entries.into_iter().flatten().flatten() {
        let path = entry.path();
        let is_json = path.extension().is_some_and(|it| it == "json");
        let Ok(metadata) = entry.metadata() else {
            continue;
        };
        if !is_json || metadata.len() > LARGEST {
            continue;
        }
        let text = fs::read(&path).ok();
        let report = text.and_then(|text| serde_json::from_slice(&text).ok());
        let name = path.file_stem().unwrap_or_default().to_string_lossy();
        if let (Some(report), Ok(at)) = (report, metadata.modified()) {
            found.push((at, name.into_owned(), report));
        }
    }
    found.sort_by(|a, b| b.0.cmp(&a.0).then_with(|| a.1.cmp(&b.1)));
    found.truncate(MOST);
    let items = found.into_iter().map(|(at, name, report)| {
        let at = jiff::Timestamp::try_from(at).unwrap_or_default();
        json!({"name": name, "at": at.to_string(), "report": report})
    });
    json!({"items": items.collect::<Vec<_>>()})
}
