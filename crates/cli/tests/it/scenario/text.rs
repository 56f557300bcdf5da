//! A scenario as it stands in its file. Parsing keeps every line, so that what is parsed can be written again.

/// Comments and steps, in order.
pub(crate) struct Scenario {
    pub(crate) parts: Vec<Part>,
}

pub(crate) enum Part {
    /// A line that is no part of a step.
    Comment(String),
    Step(Step),
}

/// A command and its expected output.
#[derive(Clone, Default)]
pub(crate) struct Step {
    /// The text after `$ `.
    pub(crate) command: String,
    /// The lines up to `EOF`, if the command ends with `<<EOF`.
    pub(crate) input: Option<String>,
    /// The output, with placeholders.
    pub(crate) expected: String,
    /// The exit code of the last line, `[exit 1]`; 0 without it.
    pub(crate) exit: i32,
}

/// Splits a command into words, as a shell does with quotes and backslashes.
pub(crate) fn words(command: &str) -> Result<Vec<String>, String> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quote = None;
    let mut chars = command.chars();
    while let Some(c) = chars.next() {
        match (c, quote) {
            (c, Some(open)) if c == open => quote = None,
            ('\'' | '"', None) => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            ('\\', None | Some('"')) => word.get_or_insert_default().extend(chars.next()),
            (' ', None) => words.extend(word.take()),
            _ => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    match quote {
        Some(quote) => Err(format!("no closing {quote} in: {command}")),
        None => Ok(words),
    }
}

impl Scenario {
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let mut parts = Vec::new();
        let mut lines = text.lines().peekable();
        while let Some(line) = lines.next() {
            let Some(command) = line.strip_prefix("$ ") else {
                parts.push(Part::Comment(line.to_owned()));
                if !line.is_empty() && !line.starts_with('#') {
                    return Err(format!("neither a comment nor a command: {line}"));
                }
                continue;
            };
            let mut step = Step {
                command: command.to_owned(),
                ..Step::default()
            };
            if let Some(command) = command.strip_suffix("<<EOF") {
                step.command = command.trim_end().to_owned();
                let input = step.input.insert(String::new());
                loop {
                    match lines.next() {
                        Some("EOF") => break,
                        Some(line) => input.extend([line, "\n"]),
                        None => return Err(format!("no EOF after: {line}")),
                    }
                }
            }
            while let Some(line) =
                lines.next_if(|line| !line.starts_with("$ ") && !line.starts_with("# "))
            {
                match line
                    .strip_prefix("[exit ")
                    .and_then(|code| code.strip_suffix(']'))
                {
                    Some(code) => {
                        step.exit = code.parse().map_err(|_| format!("no exit code: {line}"))?
                    }
                    None => step.expected.extend([line, "\n"]),
                }
            }
            step.expected.truncate(step.expected.trim_end().len());
            parts.push(Part::Step(step));
        }
        Ok(Self { parts })
    }
}

impl std::fmt::Display for Scenario {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for (n, part) in self.parts.iter().enumerate() {
            match part {
                Part::Comment(line) => writeln!(f, "{line}")?,
                Part::Step(step) => {
                    write!(f, "{step}")?;
                    if n + 1 < self.parts.len() {
                        writeln!(f)?;
                    }
                }
            }
        }
        Ok(())
    }
}

impl std::fmt::Display for Step {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.input {
            Some(input) => write!(f, "$ {} <<EOF\n{input}EOF\n", self.command)?,
            None => writeln!(f, "$ {}", self.command)?,
        }
        if !self.expected.is_empty() {
            writeln!(f, "{}", self.expected)?;
        }
        if self.exit != 0 {
            writeln!(f, "[exit {}]", self.exit)?;
        }
        Ok(())
    }
}

#[test]
fn a_scenario_is_written_as_it_was_read() {
    let text = "# What for.\n\n$ cat >f <<EOF\na: 1\nEOF\n\n$ kubectl get x\nError\n\n\nmore\n[exit 1]\n\n# Then.\n$ fg\n";
    assert_eq!(Scenario::parse(text).expect("a scenario").to_string(), text);
    for wrong in ["kubectl get", "$ a <<EOF\nx", "$ a\n[exit x]"] {
        assert!(Scenario::parse(wrong).is_err(), "{wrong}");
    }
}

#[test]
fn words_are_split_as_in_a_shell() {
    let split = words(r#"A="b c" kubectl -p '{"x": "y z"}' a\ b """#).expect("words");
    assert_eq!(
        split,
        ["A=b c", "kubectl", "-p", r#"{"x": "y z"}"#, "a b", ""]
    );
    assert!(words("a 'b").is_err());
}
