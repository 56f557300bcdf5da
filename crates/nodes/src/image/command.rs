//! Behaviors from commands: `sleep`, `true`, `false`, and scripts of `sh -c` that consist of `echo`, `sleep`, `exit`, `true` and
//! `false`; and from annotations.

use std::time::Duration;

use crate::behavior::Behavior;

/// Returns the behavior of a command; `None` if the command is not supported.
pub(super) fn behavior(command: &[String], args: &[String]) -> Option<Behavior> {
    let words: Vec<&str> = command.iter().chain(args).map(String::as_str).collect();
    let (program, rest) = words.split_first()?;
    match (program.rsplit('/').next()?, rest) {
        ("sh" | "bash" | "ash", ["-c" | "-ec" | "-ce" | "-xc", script, ..]) => run(script),
        _ => run_words(&words),
    }
}

/// Parses an annotation: `exit 1`, `exit 0 after 30s`, `run`, or a script.
pub(super) fn annotation(text: &str) -> Option<Behavior> {
    if text.trim() == "run" {
        return Some(Behavior::runs());
    }
    run(text)
}

fn run_words(words: &[&str]) -> Option<Behavior> {
    let mut outcome = Outcome::default();
    outcome.step(words)?;
    Some(outcome.behavior())
}

fn run(script: &str) -> Option<Behavior> {
    let mut outcome = Outcome::default();
    for line in script.split(['\n', ';']) {
        for command in line.split("&&") {
            let words = words(command)?;
            let words: Vec<&str> = words.iter().map(String::as_str).collect();
            if words.is_empty() {
                continue;
            }
            outcome.step(&words)?;
            if outcome.has_ended {
                return Some(outcome.behavior());
            }
        }
    }
    Some(outcome.behavior())
}

#[derive(Default)]
struct Outcome {
    time: Duration,
    code: i32,
    lines: Vec<String>,
    has_ended: bool,
    never_ends: bool,
}

impl Outcome {
    fn step(&mut self, words: &[&str]) -> Option<()> {
        let (program, rest) = words.split_first()?;
        self.code = 0;
        match (program.rsplit('/').next()?, rest) {
            // The shell handles its options.
            ("echo", [word, ..]) if word.starts_with('-') => return None,
            ("echo", rest) => self.lines.push(rest.join(" ")),
            ("true" | ":", _) => {}
            ("false", _) => self.code = 1,
            ("sleep", ["infinity" | "inf"]) | ("pause", []) => {
                (self.never_ends, self.has_ended) = (true, true);
            }
            ("sleep", [time]) => self.time = self.time.checked_add(duration(time)?)?,
            ("exit", []) => self.has_ended = true,
            ("exit", [code, rest @ ..]) => {
                self.code = code.parse().ok()?;
                self.has_ended = true;
                if let ["after", time] = rest {
                    self.time = duration(time)?;
                } else if !rest.is_empty() {
                    return None;
                }
            }
            _ => return None,
        }
        Some(())
    }

    fn behavior(self) -> Behavior {
        let behavior = match self.never_ends {
            true => Behavior::runs(),
            false => Behavior::exits(self.code & 0xff).after(self.time),
        };
        behavior.logs(self.lines)
    }
}

/// Splits a command into words. Returns `None` if a shell would expand or redirect anything.
fn words(command: &str) -> Option<Vec<String>> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quote = None;
    for character in command.chars() {
        match (quote, character) {
            (Some(open), c) if c == open => quote = None,
            (None, '\'' | '"') => {
                quote = Some(character);
                word.get_or_insert_default();
            }
            (Some('"') | None, '$' | '`' | '\\') => return None,
            (None, '|' | '>' | '<' | '&' | '(' | ')' | '*' | '[') => return None,
            (None, c) if c.is_whitespace() => words.extend(word.take()),
            (_, c) => word.get_or_insert_default().push(c),
        }
    }
    if quote.is_some() {
        return None;
    }
    words.extend(word);
    Some(words)
}

/// Parses `30`, `0.5`, `30s`, `5m` or `1h`.
pub(crate) fn duration(text: &str) -> Option<Duration> {
    let (number, unit) = match text.find(|c: char| c.is_ascii_alphabetic()) {
        Some(at) => text.split_at(at),
        None => (text, "s"),
    };
    let unit = match unit {
        "ms" => 0.001,
        "s" => 1.0,
        "m" => 60.0,
        "h" => 3600.0,
        "d" => 86_400.0,
        _ => return None,
    };
    let seconds = number.parse::<f64>().ok()? * unit;
    Duration::try_from_secs_f64(seconds).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::behavior::Run;

    /// The seconds until a command exits, and its exit code.
    type Exit = (u64, i32);

    fn of(command: &[&str]) -> Option<(Option<Exit>, Vec<String>)> {
        let command: Vec<String> = command.iter().map(|w| (*w).to_owned()).collect();
        let behavior = behavior(&command, &[])?;
        let end = match behavior.run {
            Run::Exit { after, code } => Some((after.as_secs(), code)),
            _ => None,
        };
        Some((end, behavior.logs))
    }

    #[test]
    fn simple_commands_have_behaviors() {
        assert_eq!(of(&["sleep", "5m"]), Some((Some((300, 0)), vec![])));
        assert_eq!(of(&["/bin/false"]), Some((Some((0, 1)), vec![])));
        assert_eq!(of(&["sleep", "infinity"]), Some((None, vec![])));
        let script = "echo 'a  b' c; sleep 2 && exit 7; echo never";
        let said = vec!["a  b c".to_owned()];
        assert_eq!(of(&["/bin/sh", "-c", script]), Some((Some((2, 7)), said)));
    }

    #[test]
    fn commands_with_expansions_have_the_default_behavior() {
        for script in [
            "exit $CODE",
            "echo a > b",
            "while true; do sleep 1; done",
            "echo 'a",
            "echo -n a",
        ] {
            assert_eq!(of(&["sh", "-c", script]), None, "{script}");
        }
        assert_eq!(of(&["nginx", "-g", "daemon off"]), None);
    }

    #[test]
    fn annotations_set_behaviors() {
        let behavior = annotation("exit 3 after 90s").unwrap();
        assert!(matches!(behavior.run, Run::Exit { after, code: 3 } if after.as_secs() == 90));
        assert!(matches!(annotation("run").unwrap().run, Run::Forever));
    }
}
