//! The commands of the shell.

mod agnhost;
mod archive;
mod awk;
mod builtin;
mod dd;
mod dump;
mod http;
mod list;
mod manage;
mod names;
mod sysctl;
mod system;
mod test;
mod text;

use futures_util::{FutureExt, future::BoxFuture};

use super::{
    NOT_FOUND, Shell,
    run::{BROKEN_PIPE, Flow},
    stdio::Stdio,
};
use crate::files::absolute;

/// The names of all commands.
pub(super) const NAMES: &[&str] = &[
    ":", ".", "[", "[[", "agnhost", "ash", "awk", "bash", "basename", "break", "cat", "cd",
    "chmod", "chown", "command", "continue", "cp", "curl", "cut", "date", "dd", "dig", "dirname",
    "echo", "env", "eval", "exec", "exit", "export", "expr", "false", "find", "getent", "grep",
    "head", "hexdump", "hostname", "id", "ip", "kill", "local", "ln", "ls", "mkdir", "mktemp",
    "mount", "mv", "nc", "netstat", "nproc", "nslookup", "pause", "printenv", "printf", "ps",
    "pwd", "read", "readlink", "return", "rm", "rmdir", "sed", "seq", "set", "sh", "shift",
    "sleep", "sort", "stat", "sync", "sysctl", "tail", "tar", "tee", "test", "touch", "tr", "trap",
    "true", "type", "umask", "uname", "uniq", "unset", "wait", "wc", "wget", "which", "whoami",
    "xargs", "yes",
];

/// A command being executed.
pub(super) struct Call<'a> {
    pub(super) shell: &'a mut Shell,
    pub(super) name: &'a str,
    /// The name as it was written, which may be a path.
    pub(super) path: &'a str,
    pub(super) rest: &'a [String],
    pub(super) io: &'a Stdio,
}

/// Runs a command.
pub(super) async fn run(shell: &mut Shell, name: &str, rest: &[String], io: &Stdio) -> Flow {
    let short = name.rsplit('/').next().unwrap_or_default();
    let is_script = !NAMES.contains(&short) || name.contains('/') && !is_standard(name);
    if is_script {
        return script(shell, name, rest, io).await;
    }
    let mut call = Call {
        shell: &mut *shell,
        name: short,
        path: name,
        rest,
        io,
    };
    if let Some(flow) = builtin::run(&mut call).await {
        return flow;
    }
    let code = call.program().await;
    shell.status = code;
    Flow::Next
}

/// Runs a command on behalf of another one.
pub(super) fn again<'a>(
    shell: &'a mut Shell,
    name: &'a str,
    rest: &'a [String],
    io: &'a Stdio,
) -> BoxFuture<'a, Flow> {
    run(shell, name, rest, io).boxed()
}

/// Reports whether a directory is one that contains the commands.
fn is_standard(path: &str) -> bool {
    if path == "/agnhost" {
        return true;
    }
    let directory = path.rsplit_once('/').map_or("", |(directory, _)| directory);
    matches!(
        directory,
        "/bin" | "/usr/bin" | "/sbin" | "/usr/sbin" | "/usr/local/bin"
    )
}

/// Runs a script in a file.
async fn script(shell: &mut Shell, name: &str, rest: &[String], io: &Stdio) -> Flow {
    let path = absolute(&shell.directory, name);
    let found = match name.contains('/') {
        true => shell.world.files.read(&path).ok(),
        false => None,
    };
    let Some(bytes) = found else {
        shell.complain(io, &format!("{name}: not found")).await;
        shell.status = NOT_FOUND;
        return Flow::Next;
    };
    let is_executable = shell
        .world
        .files
        .entry(&path)
        .is_ok_and(|e| e.mode & 0o111 != 0);
    let Some(text) = std::str::from_utf8(&bytes).ok().filter(|_| is_executable) else {
        shell
            .complain(io, &format!("{name}: Permission denied"))
            .await;
        shell.status = 126;
        return Flow::Next;
    };
    nested(shell, name, text, rest, io).await
}

/// Runs a script in a subshell.
pub(super) async fn nested(
    shell: &mut Shell,
    name: &str,
    text: &str,
    rest: &[String],
    io: &Stdio,
) -> Flow {
    let mut inner = shell.subshell();
    inner
        .variables
        .retain(|name, _| shell.exported.contains(name));
    inner.functions.clear();
    inner.tested = 0;
    inner.name = name.to_owned();
    inner.parameters = rest.to_vec();
    shell.status = match inner.nested(text, io).await {
        Flow::Exit(code) => code,
        _ => inner.status,
    };
    Flow::Next
}

impl Call<'_> {
    // Scripts nest, so the futures of commands are boxed: the stack holds one for each level.
    async fn program(&mut self) -> i32 {
        match self.name {
            "cat" | "head" | "tail" | "wc" | "grep" | "sort" | "uniq" | "cut" | "tr" | "tee"
            | "sed" | "seq" | "yes" => Box::pin(self.text()).await,
            "ls" | "find" | "stat" | "readlink" => Box::pin(self.list()).await,
            "touch" | "mkdir" | "rm" | "rmdir" | "mv" | "cp" | "ln" | "chmod" | "chown"
            | "mktemp" => Box::pin(self.manage()).await,
            "awk" => Box::pin(self.awk()).await,
            "dd" => Box::pin(self.dd()).await,
            "sysctl" => Box::pin(self.sysctl()).await,
            "tar" => Box::pin(self.tar()).await,
            "wget" | "curl" | "nc" => Box::pin(self.http()).await,
            "hexdump" => Box::pin(self.hexdump()).await,
            "agnhost" => Box::pin(self.agnhost()).await,
            "dig" | "getent" | "nslookup" => Box::pin(self.names()).await,
            "test" | "[" | "[[" | "expr" => Box::pin(self.test()).await,
            _ => Box::pin(self.system()).await,
        }
    }

    /// Prints to standard output, and returns the exit code.
    pub(super) async fn print(&self, text: impl AsRef<[u8]>) -> i32 {
        match self.io.stdout.write(text.as_ref()).await {
            Ok(()) => 0,
            Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => BROKEN_PIPE,
            Err(error) => {
                self.error(&format!("write error: {error}")).await;
                1
            }
        }
    }

    /// Prints an error, prefixed with the name of the command.
    pub(super) async fn error(&self, text: &str) {
        let line = format!("{}: {text}\n", self.name);
        // The reader may be gone.
        let _ = self.io.stderr.write(line.as_bytes()).await;
    }

    /// Prints an error and returns an exit code.
    pub(super) async fn fail(&self, code: i32, text: &str) -> i32 {
        self.error(text).await;
        code
    }

    pub(super) fn path(&self, path: &str) -> Vec<String> {
        absolute(&self.shell.directory, path)
    }

    pub(super) fn now(&self) -> jiff::Timestamp {
        (self.shell.world.clock)()
    }

    /// Splits the arguments into options and the rest. See [`split`].
    pub(super) fn options(&self, with_value: &str) -> (Vec<(char, String)>, Vec<String>) {
        split(self.rest, with_value)
    }
}

/// Splits arguments into the letters of options and the rest. `with_value` lists the letters that take a value.
pub(super) fn split(arguments: &[String], with_value: &str) -> (Vec<(char, String)>, Vec<String>) {
    let (mut options, mut others) = (Vec::new(), Vec::new());
    let mut rest = arguments.iter();
    while let Some(argument) = rest.next() {
        if argument == "--" {
            others.extend(rest.by_ref().cloned());
            break;
        }
        let letters = argument
            .strip_prefix('-')
            .filter(|l| !l.is_empty() && !l.starts_with('-'));
        let Some(letters) = letters else {
            match argument.starts_with("--") {
                // Long options are ignored.
                true => options.push(('-', argument.clone())),
                false => others.push(argument.clone()),
            }
            continue;
        };
        for (at, letter) in letters.char_indices() {
            if !with_value.contains(letter) {
                options.push((letter, String::new()));
                continue;
            }
            let value = &letters[at + letter.len_utf8()..];
            let value = match value.is_empty() {
                true => rest.next().cloned().unwrap_or_default(),
                false => value.to_owned(),
            };
            options.push((letter, value));
            break;
        }
    }
    (options, others)
}
