//! Commands that change the shell itself, such as `cd` and `export`.

use std::time::Duration;

use super::{Call, NAMES, nested};
use crate::shell::run::Flow;

/// Runs a builtin. Returns `None` if the command is not one.
pub(super) async fn run(call: &mut Call<'_>) -> Option<Flow> {
    let rest: Vec<&str> = call.rest.iter().map(String::as_str).collect();
    let mut status = 0;
    let flow = match (call.name, &rest[..]) {
        (":", _) => Flow::Next,
        ("exit", rest) => {
            let code = rest.first().and_then(|code| code.parse().ok());
            Flow::Exit(code.unwrap_or(call.shell.status) & 0xff)
        }
        ("return", rest) => {
            let code = rest.first().and_then(|code| code.parse().ok());
            status = code.unwrap_or(call.shell.status);
            Flow::Return
        }
        ("break" | "continue", rest) => {
            let levels = rest.first().and_then(|text| text.parse().ok()).unwrap_or(1);
            match call.name {
                "break" => Flow::Break(levels),
                _ => Flow::Continue(levels),
            }
        }
        ("cd", rest) => {
            let to = rest
                .first()
                .map_or_else(|| call.shell.variable("HOME"), |to| (*to).to_owned());
            let path = call.path(&to);
            match call.shell.world.files.entry(&path) {
                Ok(entry) if entry.is_directory() => {
                    call.shell.directory = crate::files::join(&path);
                }
                Ok(_) => {
                    status = call
                        .fail(1, &format!("can't cd to {to}: Not a directory"))
                        .await
                }
                Err(e) => status = call.fail(1, &format!("can't cd to {to}: {e}")).await,
            }
            Flow::Next
        }
        ("export" | "local", rest) => {
            for word in rest {
                let (name, value) = word
                    .split_once('=')
                    .map_or((*word, None), |(n, v)| (n, Some(v)));
                if let Some(value) = value {
                    call.shell.set(name, value.to_owned());
                }
                if call.name == "export" {
                    call.shell.exported.insert(name.to_owned());
                }
            }
            Flow::Next
        }
        ("unset", rest) => {
            for name in rest {
                call.shell.variables.remove(*name);
                call.shell.exported.remove(*name);
                call.shell.functions.remove(*name);
            }
            Flow::Next
        }
        ("set", rest) => {
            set(call, rest);
            Flow::Next
        }
        ("shift", rest) => {
            let count = rest.first().and_then(|text| text.parse().ok()).unwrap_or(1);
            let parameters = &mut call.shell.parameters;
            parameters.drain(..parameters.len().min(count));
            Flow::Next
        }
        ("trap", rest) => {
            if let [action, signals @ ..] = rest {
                let mut traps = call.shell.world.traps.lock();
                for signal in signals {
                    let signal = match signal.trim_start_matches("SIG") {
                        "15" => "TERM",
                        "0" => "EXIT",
                        other => other,
                    };
                    match *action {
                        "-" => drop(traps.remove(signal)),
                        action => {
                            let trap = call.shell.trap(action);
                            traps.insert(signal.to_owned(), trap);
                        }
                    }
                }
            }
            Flow::Next
        }
        ("wait", _) => {
            for mut job in std::mem::take(&mut call.shell.jobs) {
                status = (&mut job.0).await.unwrap_or(1);
            }
            Flow::Next
        }
        ("read", rest) => {
            status = read(call, rest).await;
            Flow::Next
        }
        ("eval", rest) => return Some(call.shell.nested(&rest.join(" "), call.io).await),
        ("exec", []) => Flow::Next,
        ("exec", _) => {
            let flow = again(call, call.rest).await;
            match flow {
                Flow::Next => Flow::Exit(call.shell.status),
                flow => flow,
            }
        }
        ("command", ["-v", name, ..]) | ("type" | "which", [name, ..]) => {
            status = match NAMES.contains(name) || call.shell.functions.contains_key(*name) {
                true => call.print(format!("/bin/{name}\n")).await,
                false => 1,
            };
            Flow::Next
        }
        ("command", _) => return Some(again(call, call.rest).await),
        (".", [file, ..]) => {
            match call.shell.world.files.read(&call.path(file)) {
                Ok(bytes) => {
                    let text = String::from_utf8_lossy(&bytes).into_owned();
                    let flow = call.shell.nested(&text, call.io).await;
                    return Some(if flow == Flow::Return {
                        Flow::Next
                    } else {
                        flow
                    });
                }
                Err(e) => status = call.fail(1, &format!("can't open {file}: {e}")).await,
            }
            Flow::Next
        }
        ("sh" | "bash" | "ash", _) => return Some(shell(call).await),
        ("xargs", _) => return Some(xargs(call).await),
        ("env", _) => {
            let mut rest = call.rest;
            let mut inner = call.shell.subshell();
            while let Some((name, value)) = rest.first().and_then(|word| word.split_once('=')) {
                inner.set(name, value.to_owned());
                inner.exported.insert(name.to_owned());
                rest = &rest[1..];
            }
            if rest.is_empty() {
                let exported = inner.exported.iter();
                let lines: String = exported
                    .filter_map(|name| Some(format!("{name}={}\n", inner.variables.get(name)?)))
                    .collect();
                status = call.print(lines).await;
            } else {
                let (name, rest) = (&rest[0], &rest[1..]);
                let flow = super::again(&mut inner, name, rest, call.io).await;
                status = if let Flow::Exit(code) = flow {
                    code
                } else {
                    inner.status
                };
            }
            Flow::Next
        }
        ("sleep", rest) => {
            status = sleep(call, rest).await;
            Flow::Next
        }
        ("pause", _) => std::future::pending().await,
        _ => return None,
    };
    if !matches!(flow, Flow::Exit(_)) {
        call.shell.status = status;
    }
    Some(flow)
}

/// Runs the arguments as a command.
async fn again(call: &mut Call<'_>, words: &[String]) -> Flow {
    match words.split_first() {
        Some((name, rest)) => super::again(call.shell, name, rest, call.io).await,
        None => Flow::Next,
    }
}

fn set(call: &mut Call<'_>, rest: &[&str]) {
    let mut rest = rest.iter();
    while let Some(word) = rest.next() {
        let is_on = word.starts_with('-');
        let letters = match word.strip_prefix(['-', '+']) {
            Some("-") => {
                call.shell.parameters = rest.by_ref().map(|word| (*word).to_owned()).collect();
                return;
            }
            Some("o") => match rest.next() {
                Some(&"errexit") => "e",
                Some(&"nounset") => "u",
                Some(&"xtrace") => "x",
                _ => "",
            },
            Some(letters) => letters,
            None => {
                let all = std::iter::once(word).chain(rest.by_ref());
                call.shell.parameters = all.map(|word| (*word).to_owned()).collect();
                return;
            }
        };
        for letter in letters.chars() {
            match letter {
                'e' => call.shell.options.errexit = is_on,
                'u' => call.shell.options.nounset = is_on,
                'x' => call.shell.options.xtrace = is_on,
                // `set -eo pipefail`: the option's name follows.
                'o' => drop(rest.next()),
                _ => {}
            }
        }
    }
}

async fn read(call: &mut Call<'_>, names: &[&str]) -> i32 {
    let names: Vec<&str> = names
        .iter()
        .copied()
        .filter(|name| !name.starts_with('-'))
        .collect();
    let line = match call.io.stdin.line().await {
        Ok(line) => line,
        Err(error) => return call.fail(1, &error.to_string()).await,
    };
    let is_end = !line.ends_with(b"\n");
    let text = String::from_utf8_lossy(&line);
    let mut rest = text.trim();
    for (i, name) in names.iter().enumerate() {
        let (value, after) = match i + 1 == names.len() {
            true => (rest, ""),
            false => rest.split_once(char::is_whitespace).unwrap_or((rest, "")),
        };
        call.shell.set(name, value.to_owned());
        rest = after.trim_start();
    }
    i32::from(is_end)
}

/// Runs a nested shell: a script in an argument, in a file, or on standard input.
async fn shell(call: &mut Call<'_>) -> Flow {
    let mut rest = call.rest;
    let mut options = call.shell.options;
    (options.errexit, options.nounset, options.xtrace) = (false, false, false);
    let (mut has_script, mut is_interactive) = (false, false);
    while let Some(word) = rest.first().filter(|word| word.starts_with('-')) {
        has_script |= word.contains('c');
        is_interactive |= word.contains('i');
        options.errexit |= word.contains('e') && !word.starts_with("--");
        options.nounset |= word.contains('u');
        options.xtrace |= word.contains('x');
        rest = &rest[1..];
    }
    let before = std::mem::replace(&mut call.shell.options, options);
    let flow = match (has_script, rest) {
        (true, [script, rest @ ..]) => {
            let name = rest.first().map_or(call.path, String::as_str);
            let parameters = rest.get(1..).unwrap_or_default();
            Box::pin(nested(call.shell, name, script, parameters, call.io)).await
        }
        (false, [file, rest @ ..]) => match call.shell.world.files.read(&call.path(file)) {
            Ok(bytes) => {
                let text = String::from_utf8_lossy(&bytes).into_owned();
                Box::pin(nested(call.shell, file, &text, rest, call.io)).await
            }
            Err(error) => {
                call.shell.status = call.fail(2, &format!("can't open '{file}': {error}")).await;
                Flow::Next
            }
        },
        _ => Box::pin(interactive(call, is_interactive)).await,
    };
    call.shell.options = before;
    flow
}

/// Runs the lines of standard input, each as soon as it arrives.
async fn interactive(call: &mut Call<'_>, _is_interactive: bool) -> Flow {
    let mut inner = call.shell.subshell();
    let mut text = String::new();
    loop {
        let line = call.io.stdin.line().await.unwrap_or_default();
        let is_end = line.is_empty();
        text.push_str(&String::from_utf8_lossy(&line));
        // A command may continue on the next line.
        if !is_end
            && (text.trim_end().ends_with('\\') || !crate::shell::understands(&text))
            && text.len() < 1 << 20
        {
            continue;
        }
        if !text.trim().is_empty() {
            let flow = inner.nested(&text, call.io).await;
            text.clear();
            if let Flow::Exit(code) = flow {
                call.shell.status = code;
                return Flow::Next;
            }
        }
        if is_end {
            call.shell.status = inner.status;
            return Flow::Next;
        }
    }
}

async fn xargs(call: &mut Call<'_>) -> Flow {
    let (options, mut words) = call.options("nPI");
    let each = options
        .iter()
        .find(|(letter, _)| matches!(letter, 'n' | 'I'));
    let replaced = options
        .iter()
        .find(|(letter, _)| *letter == 'I')
        .map(|(_, name)| name.clone());
    if words.is_empty() {
        words.push("echo".to_owned());
    }
    let input = call.io.stdin.all().await.unwrap_or_default();
    let input = String::from_utf8_lossy(&input).into_owned();
    let arguments: Vec<String> = input.split_whitespace().map(str::to_owned).collect();
    let count = each
        .and_then(|(_, text)| text.parse().ok())
        .unwrap_or(1usize)
        .max(1);
    let groups: Vec<&[String]> = match each.is_some() {
        true => arguments.chunks(count).collect(),
        false => vec![&arguments],
    };
    for group in groups {
        let mut all = words.clone();
        match &replaced {
            Some(name) => {
                for word in &mut all {
                    *word = word.replace(name.as_str(), &group.join(" "));
                }
            }
            None => all.extend(group.iter().cloned()),
        }
        let flow = again(call, &all).await;
        if flow != Flow::Next {
            return flow;
        }
    }
    Flow::Next
}

/// Sleeps by the clock of the cluster.
async fn sleep(call: &Call<'_>, times: &[&str]) -> i32 {
    let mut sum = Duration::ZERO;
    if times.is_empty() {
        return call.fail(1, "missing operand").await;
    }
    for text in times {
        if matches!(*text, "infinity" | "inf") {
            std::future::pending::<()>().await;
        }
        match crate::image::duration(text) {
            Some(time) => sum = sum.saturating_add(time),
            None => return call.fail(1, &format!("invalid number '{text}'")).await,
        }
    }
    // Longer than any cluster runs.
    tokio::time::sleep(sum.min(Duration::from_secs(1 << 32))).await;
    0
}
