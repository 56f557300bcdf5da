//! `tar`, as `kubectl cp` uses it.

use super::{Call, split};
use crate::files::{FileError, absolute, pack, unpack};

impl Call<'_> {
    pub(super) async fn tar(&mut self) -> i32 {
        let mut words: Vec<String> = self.rest.to_vec();
        // The letters of the first word need no dash.
        if let Some(first) = words.first_mut()
            && !first.starts_with('-')
        {
            first.insert(0, '-');
        }
        let (options, names) = split(&words, "fC");
        let has = |wanted: char| options.iter().any(|(letter, _)| *letter == wanted);
        let value = |wanted: char| {
            let found = options.iter().rev().find(|(letter, _)| *letter == wanted);
            found.map(|(_, value)| value.clone())
        };
        if has('z') || has('j') {
            return self.fail(1, "compressed archives are not supported").await;
        }
        let directory = value('C').unwrap_or_else(|| ".".to_owned());
        let directory = crate::files::join(&absolute(&self.shell.directory, &directory));
        let files = self.shell.world.files.clone();
        let archive = value('f').filter(|name| name != "-");
        if has('c') {
            let (bytes, errors) = pack(&files, &directory, &names);
            for error in &errors {
                // The reader may be gone.
                let _ = self.io.stderr.write(format!("{error}\n").as_bytes()).await;
            }
            let code = match archive {
                None => self.print(bytes).await,
                Some(name) => {
                    let written = files.write(&self.path(&name), &bytes, false, self.now());
                    self.written(&name, written).await
                }
            };
            return code.max(i32::from(!errors.is_empty()));
        }
        if !has('x') {
            return self.fail(1, "must specify one of -c, -x").await;
        }
        if !files
            .entry(&absolute("/", &directory))
            .is_ok_and(|e| e.is_directory())
        {
            let text =
                format!("can't change directory to '{directory}': No such file or directory");
            return self.fail(1, &text).await;
        }
        let bytes = match archive {
            None => self.io.stdin.all().await.map_err(|e| e.to_string()),
            Some(name) => {
                let read = files.read(&self.path(&name)).map(|bytes| bytes.to_vec());
                read.map_err(|e| format!("can't open '{name}': {e}"))
            }
        };
        let bytes = match bytes {
            Ok(bytes) => bytes,
            Err(error) => return self.fail(1, &error).await,
        };
        match unpack(&files, &directory, &bytes, self.now()) {
            Ok(names) if has('v') => self.print(names.join("\n") + "\n").await,
            Ok(_) => 0,
            Err(error) => {
                // The reader may be gone.
                let _ = self.io.stderr.write(format!("{error}\n").as_bytes()).await;
                1
            }
        }
    }

    async fn written(&self, name: &str, done: Result<(), FileError>) -> i32 {
        match done {
            Ok(()) => 0,
            Err(error) => self.fail(1, &format!("{name}: {error}")).await,
        }
    }
}
