//! `mounttest`: writes files and prints the contents of the container's volumes.

use std::time::Duration;

use super::flags::Flags;
use crate::{files::Kind, image::Container};

/// The text of new files.
const NEW: &str = "mount-tester new file\n";

/// The interval at which a file is read.
const PAUSE: Duration = Duration::from_secs(2);

pub(super) async fn run(container: &Container, flags: &Flags<'_>) -> i32 {
    let mut has_failed = false;
    let mut note = |result: Result<(), ()>| has_failed |= result.is_err();
    if let Some(path) = flags.get("fs_type") {
        let kind = match container.is_in_memory(path).await {
            true => "tmpfs".to_owned(),
            // The number of ext4.
            false => "61267".to_owned(),
        };
        container.log(format!("mount type of {path:?}: {kind}"));
    }
    for (flag, mode) in [
        ("new_file_0644", 0o644),
        ("new_file_0666", 0o666),
        ("new_file_0660", 0o660),
        ("new_file_0777", 0o777),
    ] {
        if let Some(path) = flags.get(flag) {
            note(write(container, path, mode).await);
        }
    }
    if let Some(path) = flags.get("file_mode") {
        note(mode(container, path, "mode").await);
    }
    if let Some(path) = flags.get("file_perm") {
        note(mode(container, path, "perms").await);
    }
    if let Some(path) = flags.get("file_owner") {
        note(owner(container, path).await);
    }
    if let Some(path) = flags.get("file_content") {
        note(print(container, path).await.map(drop));
    }
    if let Some(path) = flags.get("file_content_in_loop") {
        note(watch(container, path, flags).await);
    }
    i32::from(has_failed)
}

async fn print(container: &Container, path: &str) -> Result<String, ()> {
    match container.read_file(path).await {
        Ok(bytes) => {
            let text = String::from_utf8_lossy(&bytes).into_owned();
            lines(container, &format!("content of file {path:?}: {text}"));
            Ok(text)
        }
        Err(error) => {
            container.log(format!(
                "error reading file content for {path:?}: open {path}: {error}"
            ));
            Err(())
        }
    }
}

async fn write(container: &Container, path: &str, mode: u32) -> Result<(), ()> {
    if let Err(error) = container.write_file(path, NEW, mode).await {
        container.log(format!(
            "error writing new file {path:?}: open {path}: {error}"
        ));
        return Err(());
    }
    print(container, path).await.map(drop)
}

async fn mode(container: &Container, path: &str, what: &str) -> Result<(), ()> {
    let Some(entry) = container.file(path).await else {
        return missing(container, path);
    };
    // A mode is that of the file itself, while permissions are printed as those of a file.
    let first = match (&entry.kind, what) {
        (Kind::Directory(_), "mode") => 'd',
        _ => '-',
    };
    let text: String = (0..9)
        .map(|bit| match entry.mode & (0o400 >> bit) {
            0 => '-',
            _ => ['r', 'w', 'x'][bit % 3],
        })
        .collect();
    container.log(format!("{what} of file {path:?}: {first}{text}"));
    Ok(())
}

async fn owner(container: &Container, path: &str) -> Result<(), ()> {
    if container.file(path).await.is_none() {
        return missing(container, path);
    }
    let (user, group) = container.owner(path);
    container.log(format!("owner UID of {path:?}: {user}"));
    container.log(format!("owner GID of {path:?}: {group}"));
    Ok(())
}

/// Prints a file every two seconds, until it has the expected text or the time is over.
async fn watch(container: &Container, path: &str, flags: &Flags<'_>) -> Result<(), ()> {
    let seconds = flags.get("retry_time").and_then(|time| time.parse().ok());
    let breaks = flags.get("break_on_expected_content") != Some("false");
    let end = tokio::time::Instant::now() + Duration::from_secs(seconds.unwrap_or(180));
    let mut last = Ok(());
    while tokio::time::Instant::now() < end {
        last = match container.read_file(path).await {
            Ok(bytes) => {
                let text = String::from_utf8_lossy(&bytes).into_owned();
                lines(container, &format!("content of file {path:?}: {text}"));
                if breaks && text == NEW {
                    return Ok(());
                }
                if breaks {
                    container.log(format!("Unexpected content. Expected: {NEW}. Retrying"));
                }
                Ok(())
            }
            Err(error) => {
                container.log(format!(
                    "Error reading file {path}: open {path}: {error}, retrying"
                ));
                Err(())
            }
        };
        tokio::select! {
            () = tokio::time::sleep(PAUSE) => {}
            () = container.stopped() => break,
        }
    }
    last
}

/// Writes a text to the log, line by line.
fn lines(container: &Container, text: &str) {
    for line in text.strip_suffix('\n').unwrap_or(text).split('\n') {
        container.log(line);
    }
}

fn missing(container: &Container, path: &str) -> Result<(), ()> {
    container.log(format!(
        "error from stat({path:?}): no such file or directory"
    ));
    Err(())
}
