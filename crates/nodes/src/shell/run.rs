//! Execution of scripts: lists, pipelines, conditions, loops.

use std::sync::Arc;

use futures_util::{FutureExt, future::BoxFuture, future::join_all};

use super::{
    Job, Shell, pattern,
    stdio::{Reader, Stdio, Writer},
    syntax::{Body, Command, Item, Joint, Mode, Pipeline, Redirect, Script, Word},
};
use crate::files::absolute;

/// The exit code of a command that writes to a closed pipe.
pub(super) const BROKEN_PIPE: i32 = 141;

/// The number of commands that run before the task yields.
const STRETCH: u32 = 1000;

/// The largest number of background jobs.
const MOST_JOBS: usize = 64;

/// The maximum depth of nested commands. Each level takes up to 50 KB of stack in a debug build.
const DEEPEST: u32 = 16;

/// The control flow after a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Flow {
    Next,
    Break(u32),
    Continue(u32),
    Return,
    Exit(i32),
}

impl Shell {
    pub(super) fn script<'a>(
        &'a mut self,
        script: &'a Script,
        io: &'a Stdio,
    ) -> BoxFuture<'a, Flow> {
        async move {
            for item in script {
                let flow = match item.is_background {
                    true => self.background(item, io).await,
                    false => self.item(item, io).await,
                };
                if flow != Flow::Next {
                    return flow;
                }
            }
            Flow::Next
        }
        .boxed()
    }

    /// Runs an item in the background.
    async fn background(&mut self, item: &Arc<Item>, io: &Stdio) -> Flow {
        self.jobs.retain(|job| !job.0.is_finished());
        if self.jobs.len() >= MOST_JOBS {
            return self
                .complain(io, "cannot fork: Resource temporarily unavailable")
                .await;
        }
        let (mut shell, item) = (self.subshell(), item.clone());
        let io = Stdio {
            stdin: Reader::empty(),
            ..io.clone()
        };
        // Boxed, because it may start jobs itself.
        let job = async move {
            match shell.item(&item, &io).await {
                Flow::Exit(code) => code,
                _ => shell.status,
            }
        };
        self.jobs.push(Job(tokio::spawn(job.boxed())));
        self.status = 0;
        Flow::Next
    }

    async fn item(&mut self, item: &Item, io: &Stdio) -> Flow {
        let has_more = !item.rest.is_empty();
        let mut flow = self.pipeline(&item.first, io, has_more).await;
        for (i, (joint, pipeline)) in item.rest.iter().enumerate() {
            if flow != Flow::Next {
                return flow;
            }
            let runs = (*joint == Joint::And) == (self.status == 0);
            if runs {
                flow = self.pipeline(pipeline, io, i + 1 < item.rest.len()).await;
            }
        }
        flow
    }

    async fn pipeline(&mut self, pipeline: &Pipeline, io: &Stdio, is_tested: bool) -> Flow {
        let flow = match &pipeline.commands[..] {
            [only] => self.command(only, io).await,
            commands => {
                self.status = self.stages(commands, io).await;
                Flow::Next
            }
        };
        if pipeline.is_negated {
            self.status = i32::from(self.status == 0);
        } else if flow == Flow::Next
            && self.options.errexit
            && self.tested == 0
            && !is_tested
            && self.status != 0
        {
            return Flow::Exit(self.status);
        }
        flow
    }

    /// Runs the commands of a pipeline concurrently, each reading the output of the one before it.
    async fn stages(&mut self, commands: &[Command], io: &Stdio) -> i32 {
        let mut stages = Vec::new();
        let mut stdin = io.stdin.clone();
        for (i, command) in commands.iter().enumerate() {
            let mut own = Stdio {
                stdin,
                ..io.clone()
            };
            stdin = Reader::empty();
            if i + 1 < commands.len() {
                let (writer, reader) = tokio::io::duplex(1 << 16);
                own.stdout = Writer::new(writer);
                stdin = Reader::new(reader);
            }
            let mut shell = self.subshell();
            stages.push(async move {
                let flow = shell.command(command, &own).await;
                drop(own);
                match flow {
                    Flow::Exit(code) => code,
                    _ => shell.status,
                }
            });
        }
        join_all(stages).await.pop().unwrap_or_default()
    }

    pub(super) fn command<'a>(
        &'a mut self,
        command: &'a Command,
        io: &'a Stdio,
    ) -> BoxFuture<'a, Flow> {
        async move {
            if self.steps.is_multiple_of(STRETCH) {
                // A script that never waits must let other tasks run, and time pass.
                tokio::time::sleep(std::time::Duration::from_millis(1)).await;
            }
            self.steps = self.steps.wrapping_add(1);
            if self.depth >= DEEPEST {
                self.complain(io, "maximum recursion depth exceeded").await;
                return Flow::Exit(2);
            }
            let io = match self.redirected(&command.redirects, io).await {
                Ok(io) => io,
                Err(error) => return self.complain(io, &error).await,
            };
            self.depth += 1;
            let flow = self.body(&command.body, &io).await;
            self.depth -= 1;
            match self.status == BROKEN_PIPE && flow == Flow::Next {
                true => Flow::Exit(BROKEN_PIPE),
                false => flow,
            }
        }
        .boxed()
    }

    async fn body(&mut self, body: &Body, io: &Stdio) -> Flow {
        match body {
            Body::Simple { assignments, words } => self.simple(assignments, words, io).await,
            Body::If {
                branches,
                otherwise,
            } => {
                for (condition, body) in branches {
                    let flow = self.condition(condition, io).await;
                    if flow != Flow::Next {
                        return flow;
                    }
                    if self.status == 0 {
                        return self.script(body, io).await;
                    }
                }
                self.status = 0;
                self.script(otherwise, io).await
            }
            Body::Loop {
                until,
                condition,
                body,
            } => {
                let mut status = 0;
                loop {
                    let flow = self.condition(condition, io).await;
                    if flow != Flow::Next {
                        return flow;
                    }
                    if (self.status == 0) == *until {
                        self.status = status;
                        return Flow::Next;
                    }
                    let flow = self.script(body, io).await;
                    status = self.status;
                    if let Some(flow) = leaves(flow) {
                        return flow;
                    }
                }
            }
            Body::For { name, words, body } => {
                let values = match words {
                    None => self.parameters.clone(),
                    Some(words) => match self.arguments(words, io).await {
                        Ok(values) => values,
                        Err(error) => return self.complain(io, &error).await,
                    },
                };
                self.status = 0;
                for value in values {
                    self.set(name, value);
                    let flow = self.script(body, io).await;
                    if let Some(flow) = leaves(flow) {
                        return flow;
                    }
                }
                Flow::Next
            }
            Body::Case { word, arms } => self.case(word, arms, io).await,
            Body::Group(script) => self.script(script, io).await,
            Body::Subshell(script) => {
                let mut shell = self.subshell();
                let flow = shell.script(script, io).await;
                self.status = match flow {
                    Flow::Exit(code) => code,
                    _ => shell.status,
                };
                Flow::Next
            }
            Body::Function { name, body } => {
                self.functions.insert(name.clone(), body.clone());
                self.status = 0;
                Flow::Next
            }
        }
    }

    /// Runs commands whose failure does not end the script (`set -e`).
    async fn condition(&mut self, script: &Script, io: &Stdio) -> Flow {
        self.tested += 1;
        let flow = self.script(script, io).await;
        self.tested -= 1;
        flow
    }

    async fn case(&mut self, word: &Word, arms: &[(Vec<Word>, Script)], io: &Stdio) -> Flow {
        let text = match self.text(word, io).await {
            Ok(text) => text,
            Err(error) => return self.complain(io, &error).await,
        };
        self.status = 0;
        for (patterns, script) in arms {
            for pattern in patterns {
                match self.pattern(pattern, io).await {
                    Ok(pattern) if pattern::matches(&pattern, &text) => {
                        return self.script(script, io).await;
                    }
                    Ok(_) => {}
                    Err(error) => return self.complain(io, &error).await,
                }
            }
        }
        Flow::Next
    }

    async fn simple(&mut self, assignments: &[(String, Word)], words: &[Word], io: &Stdio) -> Flow {
        let arguments = match self.arguments(words, io).await {
            Ok(arguments) => arguments,
            Err(error) => return self.complain(io, &error).await,
        };
        let mut values = Vec::new();
        if arguments.is_empty() {
            // A substitution in an assignment sets the exit code.
            self.status = 0;
        }
        for (name, word) in assignments {
            match self.text(word, io).await {
                Ok(value) => values.push((name.clone(), value)),
                Err(error) => return self.complain(io, &error).await,
            }
        }
        let Some((name, rest)) = arguments.split_first() else {
            for (name, value) in values {
                self.set(&name, value);
            }
            return Flow::Next;
        };
        if self.options.xtrace {
            let line = format!("+ {}\n", arguments.join(" "));
            // The reader may be gone.
            let _ = io.stderr.write(line.as_bytes()).await;
        }
        let before: Vec<(String, Option<String>)> = values
            .iter()
            .map(|(name, _)| (name.clone(), self.variables.get(name).cloned()))
            .collect();
        for (name, value) in values {
            self.exported.insert(name.clone());
            self.set(&name, value);
        }
        let flow = self.call(name, rest, io).await;
        for (name, value) in before {
            match value {
                Some(value) => self.set(&name, value),
                None => {
                    self.variables.remove(&name);
                    self.exported.remove(&name);
                }
            }
        }
        flow
    }

    /// Calls a function or a command.
    async fn call(&mut self, name: &str, rest: &[String], io: &Stdio) -> Flow {
        if let Some(body) = self.functions.get(name).cloned() {
            return self.function(&body, rest, io).await;
        }
        super::commands::run(self, name, rest, io).await
    }

    async fn function(&mut self, body: &Arc<Command>, rest: &[String], io: &Stdio) -> Flow {
        let before = std::mem::replace(&mut self.parameters, rest.to_vec());
        let flow = self.command(body, io).await;
        self.parameters = before;
        match flow {
            Flow::Return => Flow::Next,
            flow => flow,
        }
    }

    /// Runs another script in this shell.
    pub(super) async fn nested(&mut self, text: &str, io: &Stdio) -> Flow {
        let script = match super::parse::parse(text) {
            Ok(script) => script,
            Err(error) => {
                self.complain(io, &error.to_string()).await;
                self.status = 2;
                return Flow::Next;
            }
        };
        self.script(&script, io).await
    }

    /// Returns the streams after redirection.
    async fn redirected(&mut self, redirects: &[Redirect], io: &Stdio) -> Result<Stdio, String> {
        let mut own = io.clone();
        for redirect in redirects {
            let target = self.text(&redirect.target, io).await?;
            let clock = self.world.clock.clone();
            let path = absolute(&self.directory, &target);
            let failed = |e| format!("can't open {target}: {e}");
            let created = |e| format!("can't create {target}: {e}");
            let writer = match (redirect.mode, target.as_str()) {
                (Mode::Read, "/dev/null") => {
                    own.stdin = Reader::empty();
                    continue;
                }
                (Mode::Read, _) => {
                    let bytes = self.world.files.read(&path).map_err(failed)?;
                    own.stdin = Reader::new(std::io::Cursor::new(bytes.to_vec()));
                    continue;
                }
                (Mode::Same, "1") => own.stdout.clone(),
                (Mode::Same, "2") => own.stderr.clone(),
                (Mode::Same, "0") => continue,
                (Mode::Same, "-") => Writer::nowhere(),
                (Mode::Same, other) => return Err(format!("{other}: bad file descriptor")),
                (_, "/dev/null") => Writer::nowhere(),
                (_, "/dev/stdout" | "/proc/1/fd/1" | "/dev/fd/1") => own.stdout.clone(),
                (_, "/dev/stderr" | "/proc/1/fd/2" | "/dev/fd/2") => own.stderr.clone(),
                (mode, _) => {
                    let append = mode == Mode::Append;
                    let files = self.world.files.clone();
                    files.write(&path, b"", append, clock()).map_err(created)?;
                    Writer::file(files, path, clock)
                }
            };
            match redirect.descriptor {
                1 => own.stdout = writer,
                2 => own.stderr = writer,
                u8::MAX => (own.stdout, own.stderr) = (writer.clone(), writer),
                other => return Err(format!("{other}: bad file descriptor")),
            }
        }
        Ok(own)
    }

    /// Prints an error of the shell itself.
    pub(super) async fn complain(&mut self, io: &Stdio, error: &str) -> Flow {
        // The reader may be gone.
        let _ = io
            .stderr
            .write(format!("{}: {error}\n", self.name).as_bytes())
            .await;
        self.status = 1;
        Flow::Next
    }
}

/// Returns the flow of the enclosing script, if the loop ends.
fn leaves(flow: Flow) -> Option<Flow> {
    match flow {
        Flow::Next | Flow::Continue(0 | 1) => None,
        Flow::Break(0 | 1) => Some(Flow::Next),
        Flow::Break(levels) => Some(Flow::Break(levels - 1)),
        Flow::Continue(levels) => Some(Flow::Continue(levels - 1)),
        flow => Some(flow),
    }
}
