//! Edits of `#[kube(...)]` in the types of a kind: its version, and whether objects are stored in it.
//!
//! The attribute is edited as text, so that everything else in the file stays as the user wrote it.

use crate::Error;

/// The setting, with either value.
const STORAGE: [&str; 2] = ["storage = false", "storage = true"];

/// Returns the types of a version as those of another version.
///
/// # Errors
///
/// Fails if the types do not name their version once.
pub(super) fn with_version(source: &str, from: &str, to: &str) -> Result<String, Error> {
    let old = entry(source, from)?;
    Ok(source.replacen(&old, &format!("version = \"{to}\""), 1))
}

/// Returns the types of a version with the storage setting: the storage version has none, the others say `storage = false`.
///
/// # Errors
///
/// Fails if the types do not name their version once.
pub(super) fn with_storage(source: &str, version: &str, stored: bool) -> Result<String, Error> {
    let alone = |line: &str| STORAGE.contains(&line.trim().trim_end_matches(','));
    let kept = source.split_inclusive('\n').filter(|line| !alone(line));
    let mut text: String = kept.collect();
    for setting in STORAGE {
        text = text.replace(&format!(", {setting}"), "");
    }
    let entry = entry(&text, version)?;
    if stored {
        return Ok(text);
    }
    let after = text.split_once(&entry).map_or("", |(_, after)| after);
    let at_end_of_line = after.trim_start_matches(',').starts_with('\n');
    let separator = match at_end_of_line {
        true => "\n    ",
        false => " ",
    };
    Ok(text.replacen(&entry, &format!("{entry},{separator}storage = false"), 1))
}

/// Reports whether objects are stored in the version of these types.
pub(super) fn is_stored(source: &str) -> bool {
    !source.contains(STORAGE[0])
}

/// Returns the entry of the version, which must be there once.
fn entry(source: &str, version: &str) -> Result<String, Error> {
    let entry = format!("version = \"{version}\"");
    match source.matches(&entry).count() {
        1 => Ok(entry),
        _ => Err(Error::new(
            format_args!("the types of {version} do not say {entry} once"),
            "write it in #[kube(...)]",
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_storage_setting_moves_in_attributes_of_one_line_and_of_several() {
        for (stored, served) in [
            (
                "#[kube(\n    group = \"a\",\n    version = \"v1\",\n    kind = \"A\"\n)]",
                "#[kube(\n    group = \"a\",\n    version = \"v1\",\n    storage = false,\n    kind = \"A\"\n)]",
            ),
            (
                "#[kube(group = \"a\", version = \"v1\", kind = \"A\")]",
                "#[kube(group = \"a\", version = \"v1\", storage = false, kind = \"A\")]",
            ),
            (
                "#[kube(kind = \"A\", version = \"v1\")]",
                "#[kube(kind = \"A\", version = \"v1\", storage = false)]",
            ),
        ] {
            assert_eq!(with_storage(stored, "v1", false).unwrap(), served);
            assert_eq!(with_storage(served, "v1", true).unwrap(), stored);
            assert_eq!(with_storage(served, "v1", false).unwrap(), served);
            assert!(is_stored(stored) && !is_stored(served));
        }
        let explicit = "#[kube(version = \"v1\", kind = \"A\", storage = true)]";
        assert_eq!(
            with_storage(explicit, "v1", true).unwrap(),
            "#[kube(version = \"v1\", kind = \"A\")]"
        );
    }

    #[test]
    fn types_that_do_not_name_their_version_are_refused() {
        let error = with_storage("#[kube(version = VERSION)]", "v1", false).unwrap_err();
        assert_eq!(
            error.to_string(),
            "the types of v1 do not say version = \"v1\" once; write it in #[kube(...)]"
        );
        assert!(with_version("", "v1", "v2").is_err());
    }
}
