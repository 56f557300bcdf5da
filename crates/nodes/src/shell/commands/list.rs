//! Commands that show files.

use super::Call;
use crate::{
    files::{Entry, Kind, join},
    shell::pattern,
};

impl Call<'_> {
    pub(super) async fn list(&mut self) -> i32 {
        match self.name {
            "ls" => self.ls().await,
            "find" => self.find().await,
            "readlink" => {
                let (_, names) = self.options("");
                let Some(name) = names.first() else { return 1 };
                match self.shell.world.files.own_entry(&self.path(name)) {
                    Ok(Entry {
                        kind: Kind::Link(target),
                        ..
                    }) => self.print(format!("{target}\n")).await,
                    _ => 1,
                }
            }
            _ => self.stat().await,
        }
    }

    async fn ls(&self) -> i32 {
        let (options, mut names) = self.options("");
        let has = |wanted: char| options.iter().any(|(letter, _)| *letter == wanted);
        if names.is_empty() {
            names.push(".".to_owned());
        }
        let (mut printed, mut code) = (String::new(), 0);
        let files = &self.shell.world.files;
        let mut directories = Vec::new();
        for name in &names {
            match files.entry(&self.path(name)) {
                Ok(entry) if entry.is_directory() && !has('d') => directories.push((name, entry)),
                Ok(entry) => line(&mut printed, name, &entry, has('l')),
                Err(error) => code = self.fail(1, &format!("{name}: {error}")).await,
            }
        }
        for (i, (name, _)) in directories.iter().enumerate() {
            if names.len() > 1 {
                let gap = if i > 0 || !printed.is_empty() {
                    "\n"
                } else {
                    ""
                };
                printed.push_str(&format!("{gap}{name}:\n"));
            }
            let path = self.path(name);
            if has('a') {
                for dots in [".", ".."] {
                    let entry = files.entry(&self.path(&format!("{name}/{dots}")));
                    if let Ok(entry) = entry {
                        line(&mut printed, dots, &entry, has('l'));
                    }
                }
            }
            for child in files.list(&path).unwrap_or_default() {
                if child.starts_with('.') && !has('a') && !has('A') {
                    continue;
                }
                let mut below = path.clone();
                below.push(child.clone());
                if let Ok(entry) = files.own_entry(&below) {
                    line(&mut printed, &child, &entry, has('l'));
                }
            }
        }
        match self.print(printed).await {
            0 => code,
            code => code,
        }
    }

    async fn find(&self) -> i32 {
        let starts: Vec<&String> = self
            .rest
            .iter()
            .take_while(|word| !word.starts_with('-'))
            .collect();
        let tests = &self.rest[starts.len()..];
        let value = |wanted: &str| {
            let at = tests.iter().position(|word| word == wanted)?;
            tests.get(at + 1).map(String::as_str)
        };
        let (name, kind) = (value("-name"), value("-type"));
        let dot = ".".to_owned();
        let starts = if starts.is_empty() {
            vec![&dot]
        } else {
            starts
        };
        let (mut printed, mut code) = (String::new(), 0);
        let mut pending: Vec<(String, Vec<String>)> = starts
            .iter()
            .rev()
            .map(|s| ((*s).clone(), self.path(s)))
            .collect();
        while let Some((shown, path)) = pending.pop() {
            let entry = match self.shell.world.files.own_entry(&path) {
                Ok(entry) => entry,
                Err(error) => {
                    code = self.fail(1, &format!("{shown}: {error}")).await;
                    continue;
                }
            };
            let last = shown.rsplit('/').next().unwrap_or_default();
            let is_kind = match kind {
                Some("f") => matches!(entry.kind, Kind::File(_)),
                Some("d") => entry.is_directory(),
                Some("l") => matches!(entry.kind, Kind::Link(_)),
                _ => true,
            };
            if is_kind && name.is_none_or(|name| pattern::matches(name, last)) {
                printed.push_str(&format!("{shown}\n"));
            }
            if entry.is_directory() {
                let names = self.shell.world.files.list(&path).unwrap_or_default();
                for child in names.into_iter().rev() {
                    let mut below = path.clone();
                    below.push(child.clone());
                    pending.push((format!("{}/{child}", shown.trim_end_matches('/')), below));
                }
            }
        }
        match self.print(printed).await {
            0 => code,
            code => code,
        }
    }

    async fn stat(&self) -> i32 {
        let (_, names) = self.options("c");
        for name in &names {
            let path = self.path(name);
            match self.shell.world.files.entry(&path) {
                Ok(entry) => {
                    let (size, mode) = (entry.size(), entry.mode);
                    let text = format!(
                        "  File: {}\n  Size: {size}\nAccess: ({mode:04o}/{})\n",
                        join(&path),
                        mode_text(&entry)
                    );
                    let code = self.print(text).await;
                    if code != 0 {
                        return code;
                    }
                }
                Err(error) => return self.fail(1, &format!("can't stat '{name}': {error}")).await,
            }
        }
        0
    }
}

fn line(out: &mut String, name: &str, entry: &Entry, is_long: bool) {
    if !is_long {
        return out.push_str(&format!("{name}\n"));
    }
    let (size, time) = (entry.size(), entry.modified.strftime("%b %e %H:%M"));
    let target = match &entry.kind {
        Kind::Link(target) => format!(" -> {target}"),
        _ => String::new(),
    };
    let mode = mode_text(entry);
    out.push_str(&format!(
        "{mode}    1 root     root     {size:9} {time} {name}{target}\n"
    ));
}

fn mode_text(entry: &Entry) -> String {
    let first = match entry.kind {
        Kind::Directory(_) => 'd',
        Kind::File(_) => '-',
        Kind::Link(_) => 'l',
    };
    let bits = (0..9).rev().zip("rwxrwxrwx".chars());
    std::iter::once(first)
        .chain(bits.map(|(bit, letter)| {
            if entry.mode >> bit & 1 == 1 {
                letter
            } else {
                '-'
            }
        }))
        .collect()
}
