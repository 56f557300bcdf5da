//! The permissions that an operator needed while it ran, as JSON lines under the target directory of its project.
//!
//! `kubewright dev` and the tests of a project write them, `kubewright audit rbac` reads them.

use std::{
    fs,
    io::{BufRead, BufReader},
    path::{Path, PathBuf},
};

use kubewright_cluster::Access;
use kubewright_scaffold::Error;

use super::session::Session;

/// The maximum number of lines that are read from a file.
const MOST: usize = 100_000;

/// The maximum length of a line.
const LONGEST: usize = 64 * 1024;

/// Returns the directory of the records.
pub(crate) fn directory(root: &Path) -> PathBuf {
    Session::directory(root).join("permissions")
}

/// Writes the permissions that one source used, replacing the earlier ones.
pub(crate) fn write(root: &Path, source: &str, used: &[Access]) -> Result<(), Error> {
    let directory = directory(root);
    fs::create_dir_all(&directory).map_err(|e| Error::io("make", &directory, &e))?;
    let path = directory.join(format!("{source}.jsonl"));
    let line = |access| serde_json::to_string(access).unwrap_or_default() + "\n";
    let text: String = used.iter().map(line).collect();
    fs::write(&path, text).map_err(|e| Error::io("write", &path, &e))
}

/// Removes what tests wrote.
pub(crate) fn forget_tests(root: &Path) -> Result<(), Error> {
    let directory = directory(root).join("tests");
    match fs::remove_dir_all(&directory) {
        Err(e) if e.kind() != std::io::ErrorKind::NotFound => {
            Err(Error::io("remove", &directory, &e))
        }
        _ => Ok(()),
    }
}

/// Reads everything that was used. A line that is not one of ours is an error.
pub(crate) fn read(root: &Path) -> Result<Vec<Access>, Error> {
    let directory = directory(root);
    let mut all = Vec::new();
    for directory in [directory.join("tests"), directory] {
        for entry in fs::read_dir(&directory).into_iter().flatten().flatten() {
            let path = entry.path();
            if path
                .extension()
                .is_some_and(|extension| extension == "jsonl")
            {
                read_file(&path, &mut all)?;
            }
        }
    }
    all.sort();
    all.dedup();
    Ok(all)
}

fn read_file(path: &Path, all: &mut Vec<Access>) -> Result<(), Error> {
    let file = fs::File::open(path).map_err(|e| Error::io("read", path, &e))?;
    for line in BufReader::new(file).lines().take(MOST) {
        let line = line.map_err(|e| Error::io("read", path, &e))?;
        let access = match line.len() <= LONGEST {
            true => serde_json::from_str(&line).ok(),
            false => None,
        };
        let Some(access) = access else {
            return Err(Error::new(
                format_args!("{} is not a record of permissions", path.display()),
                "remove it, and run `kubewright audit rbac --test`",
            ));
        };
        all.push(access);
    }
    Ok(())
}
