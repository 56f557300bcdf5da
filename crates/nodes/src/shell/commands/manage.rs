//! Commands that change files.

use super::Call;
use crate::files::{Entry, FileError, Kind};

impl Call<'_> {
    pub(super) async fn manage(&mut self) -> i32 {
        let (options, names) = self.options(match self.name {
            "mkdir" => "m",
            "touch" => "dr",
            _ => "",
        });
        let has = |wanted: char| options.iter().any(|(letter, _)| *letter == wanted);
        let files = self.shell.world.files.clone();
        let now = self.now();
        let mut code = 0;
        match self.name {
            "mv" | "cp" | "ln" => {
                return self
                    .transfer(&names, has('s'), has('r') || has('a') || has('R'), has('v'))
                    .await;
            }
            "mktemp" => {
                let name = format!(
                    "/tmp/tmp.{}",
                    &crate::image::hex(&[&self.shell.random().to_string()])[..10]
                );
                let made = match has('d') {
                    true => files.create_directory(&self.path(&name), true, now),
                    false => files.write(&self.path(&name), b"", false, now),
                };
                return match made {
                    Ok(()) => self.print(format!("{name}\n")).await,
                    Err(error) => self.fail(1, &format!("{name}: {error}")).await,
                };
            }
            "chmod" | "chown" => {
                let Some((mode, names)) = names.split_first() else {
                    return self.fail(1, "missing operand").await;
                };
                for name in names {
                    let path = self.path(name);
                    let changed = files.entry(&path).and_then(|entry| {
                        let mode = match self.name {
                            "chmod" => changed_mode(mode, entry.mode).ok_or(FileError::Invalid)?,
                            _ => entry.mode,
                        };
                        files.set_mode(&path, mode)
                    });
                    if let Err(error) = changed {
                        code = self.fail(1, &format!("{name}: {error}")).await;
                    }
                }
                return code;
            }
            _ => {}
        }
        if names.is_empty() && !has('f') {
            return self.fail(1, "missing operand").await;
        }
        for name in &names {
            let path = self.path(name);
            let done = match self.name {
                "touch" => files.write(&path, b"", true, now),
                "mkdir" => match files.create_directory(&path, has('p'), now) {
                    Err(FileError::Exists) if has('p') && files.list(&path).is_ok() => Ok(()),
                    done => done,
                },
                "rmdir" => match files.list(&path) {
                    Ok(children) if children.is_empty() => files.remove(&path),
                    Ok(_) => Err(FileError::NotEmpty),
                    Err(error) => Err(error),
                },
                _ => match files.own_entry(&path) {
                    Ok(entry) if entry.is_directory() && !has('r') && !has('R') => {
                        Err(FileError::IsDirectory)
                    }
                    Ok(_) => files.remove(&path),
                    Err(_) if has('f') => Ok(()),
                    Err(error) => Err(error),
                },
            };
            if let Err(error) = done {
                let what = match self.name {
                    "mkdir" => format!("can't create directory '{name}': {error}"),
                    "rm" => format!("can't remove '{name}': {error}"),
                    _ => format!("{name}: {error}"),
                };
                code = self.fail(1, &what).await;
            }
        }
        code
    }

    async fn transfer(
        &self,
        names: &[String],
        symbolic: bool,
        recursive: bool,
        verbose: bool,
    ) -> i32 {
        let files = &self.shell.world.files;
        let Some((to, from)) = names.split_last().filter(|(_, from)| !from.is_empty()) else {
            return self.fail(1, "missing file operand").await;
        };
        let into = files
            .entry(&self.path(to))
            .is_ok_and(|entry| entry.is_directory());
        if from.len() > 1 && !into {
            return self
                .fail(1, &format!("target '{to}' is not a directory"))
                .await;
        }
        let mut code = 0;
        for name in from {
            let source = self.path(name);
            let mut target = self.path(to);
            if into {
                target.extend(source.last().cloned());
            }
            let shown = crate::files::join(&target);
            let done = match self.name {
                "ln" if symbolic => files.put(&target, Entry::link(name, self.now())),
                _ => self.copied(&source, &target, recursive || self.name == "mv"),
            };
            let done = match (self.name, done) {
                ("mv", Ok(())) if source != target => files.remove(&source),
                (_, done) => done,
            };
            match done {
                Ok(()) if verbose => {
                    let line = match self.name {
                        "mv" => format!("renamed '{name}' -> '{shown}'\n"),
                        _ => format!("'{name}' -> '{shown}'\n"),
                    };
                    match self.print(line).await {
                        0 => {}
                        failed => code = failed,
                    }
                }
                Ok(()) => {}
                Err(error) => {
                    let verb = if self.name == "mv" { "rename" } else { "stat" };
                    code = self
                        .fail(1, &format!("can't {verb} '{name}': {error}"))
                        .await;
                }
            }
        }
        code
    }

    fn copied(
        &self,
        source: &[String],
        target: &[String],
        recursive: bool,
    ) -> Result<(), FileError> {
        let files = &self.shell.world.files;
        let entry = match recursive {
            true => files.own_entry(source)?,
            false => files.entry(source)?,
        };
        if entry.is_directory() && (!recursive || target.starts_with(source)) {
            return Err(match recursive {
                true => FileError::Invalid,
                false => FileError::IsDirectory,
            });
        }
        match &entry.kind {
            // The existing path is kept, so that a link to it is followed.
            Kind::File(bytes) => {
                files.write(target, bytes, false, self.now())?;
                files.set_mode(target, entry.mode)
            }
            _ => files.put(target, entry),
        }
    }
}

/// Returns the mode after a change such as `755`, `+x` or `u+x`.
fn changed_mode(text: &str, before: u32) -> Option<u32> {
    if let Ok(mode) = u32::from_str_radix(text, 8) {
        return (mode <= 0o7777).then_some(mode);
    }
    let at = text.find(['+', '-', '='])?;
    let (who, change) = text.split_at(at);
    let bits = change[1..].chars().try_fold(0, |bits, letter| {
        Some(
            bits | match letter {
                'r' => 4,
                'w' => 2,
                'x' => 1,
                _ => return None,
            },
        )
    })?;
    let shifts = [('u', 6), ('g', 3), ('o', 0)];
    let mut mode = before;
    for (letter, shift) in shifts {
        if who.is_empty() || who.contains(letter) || who.contains('a') {
            match &change[..1] {
                "+" => mode |= bits << shift,
                "-" => mode &= !(bits << shift),
                _ => mode = mode & !(7 << shift) | bits << shift,
            }
        }
    }
    Some(mode)
}
