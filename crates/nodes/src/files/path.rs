//! Paths: lists of names, without `.` and `..`.

/// The largest number of names in a path.
const MOST_NAMES: usize = 256;

/// Returns the names of a path that is relative to a directory. Names beyond the limit are dropped.
pub(crate) fn absolute(directory: &str, path: &str) -> Vec<String> {
    let directory = match path.starts_with('/') {
        true => "",
        false => directory,
    };
    let mut names: Vec<String> = Vec::new();
    for name in directory.split('/').chain(path.split('/')) {
        match name {
            "" | "." => {}
            ".." => drop(names.pop()),
            name if names.len() < MOST_NAMES => names.push(name.to_owned()),
            _ => {}
        }
    }
    names
}

/// Returns a path as text.
pub(crate) fn join(names: &[String]) -> String {
    format!("/{}", names.join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_made_absolute() {
        assert_eq!(absolute("/a", "b/../c/./d"), ["a", "c", "d"]);
        assert_eq!(absolute("/a", "/b"), ["b"]);
        assert!(absolute("/a", "../../..").is_empty());
        assert_eq!(join(&absolute("/", "x//y/")), "/x/y");
    }
}
