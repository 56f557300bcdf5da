//! Commands that read, transform and print text.

use std::time::Duration;

use regex::{Regex, RegexBuilder};

use super::Call;
use crate::shell::run::BROKEN_PIPE;

/// The size limit of a compiled regular expression, in bytes.
const MOST_EXPRESSION: usize = 1 << 20;

/// The interval at which a followed file is polled.
const LOOK_AGAIN: Duration = Duration::from_millis(500);

impl Call<'_> {
    pub(super) async fn text(&mut self) -> i32 {
        match self.name {
            "cat" => self.cat().await,
            "tee" => self.tee().await,
            "seq" => self.seq().await,
            "yes" => loop {
                let code = self.print("y\n").await;
                if code != 0 {
                    return code;
                }
            },
            "tail" => self.tail().await,
            "grep" => self.grep().await,
            "sed" => self.sed().await,
            "tr" => self.tr().await,
            "head" if self.options("nc").1.is_empty() => self.head().await,
            "head" | "wc" | "sort" | "uniq" | "cut" => self.lines().await,
            _ => 1,
        }
    }

    /// Returns the contents of the named files, or of standard input, and the exit code so far.
    pub(super) async fn inputs(&self, files: &[String]) -> (Vec<(String, Vec<u8>)>, i32) {
        let (mut found, mut code) = (Vec::new(), 0);
        let stdin = ["-".to_owned()];
        for name in if files.is_empty() { &stdin[..] } else { files } {
            if name == "-" || name == "/dev/stdin" {
                match self.io.stdin.all().await {
                    Ok(bytes) => found.push(("-".to_owned(), bytes)),
                    Err(error) => code = self.fail(1, &error.to_string()).await,
                }
                continue;
            }
            match self.shell.world.files.read(&self.path(name)) {
                Ok(bytes) => found.push((name.clone(), bytes.to_vec())),
                Err(error) => code = self.fail(1, &format!("can't open '{name}': {error}")).await,
            }
        }
        (found, code)
    }

    async fn cat(&self) -> i32 {
        let (_, files) = self.options("");
        if files.is_empty() || files == ["-"] {
            loop {
                match self.io.stdin.chunk().await {
                    Ok(bytes) if bytes.is_empty() => return 0,
                    Ok(bytes) => match self.print(bytes).await {
                        0 => {}
                        code => return code,
                    },
                    Err(error) => return self.fail(1, &error.to_string()).await,
                }
            }
        }
        let (inputs, code) = self.inputs(&files).await;
        for (_, bytes) in inputs {
            match self.print(bytes).await {
                0 => {}
                code => return code,
            }
        }
        code
    }

    async fn tee(&self) -> i32 {
        let (options, files) = self.options("");
        let append = options.iter().any(|(letter, _)| *letter == 'a');
        let bytes = self.io.stdin.all().await.unwrap_or_default();
        let mut code = self.print(&bytes).await;
        for name in files {
            let written =
                self.shell
                    .world
                    .files
                    .write(&self.path(&name), &bytes, append, self.now());
            if let Err(error) = written {
                code = self.fail(1, &format!("{name}: {error}")).await;
            }
        }
        code
    }

    async fn seq(&self) -> i32 {
        let numbers: Option<Vec<i64>> = self.rest.iter().map(|text| text.parse().ok()).collect();
        let (first, step, last) = match numbers.as_deref() {
            Some([last]) => (1, 1, *last),
            Some([first, last]) => (*first, 1, *last),
            Some([first, step, last]) if *step != 0 => (*first, *step, *last),
            _ => return self.fail(1, "invalid number").await,
        };
        let mut number = first;
        while if step > 0 {
            number <= last
        } else {
            number >= last
        } {
            match self.print(format!("{number}\n")).await {
                0 => {}
                code => return code,
            }
            let Some(next) = number.checked_add(step) else {
                break;
            };
            number = next;
        }
        0
    }

    /// Prints the start of standard input, without reading further.
    async fn head(&self) -> i32 {
        let (options, _) = self.options("nc");
        let digits = options.iter().map(|(letter, _)| *letter);
        let digits: String = digits.filter(char::is_ascii_digit).collect();
        let value = |wanted: char| {
            let found = options.iter().find(|(letter, _)| *letter == wanted);
            found.and_then(|(_, value)| value.parse::<usize>().ok())
        };
        let mut bytes = value('c').unwrap_or(usize::MAX);
        let mut lines = match value('c') {
            Some(_) => usize::MAX,
            None => value('n').or(digits.parse().ok()).unwrap_or(10),
        };
        while lines > 0 && bytes > 0 {
            let line = self.io.stdin.line().await.unwrap_or_default();
            if line.is_empty() {
                break;
            }
            let part = &line[..line.len().min(bytes)];
            match self.print(part).await {
                0 => {}
                code => return code,
            }
            bytes -= part.len();
            lines -= 1;
        }
        0
    }

    async fn tail(&self) -> i32 {
        let (options, files) = self.options("nc");
        // `-5` is short for `-n 5`.
        let digits: String = options
            .iter()
            .map(|(letter, _)| *letter)
            .filter(char::is_ascii_digit)
            .collect();
        let (mut lines, mut bytes) = (digits.parse().ok().map(|n: usize| (n, false)), None);
        for (letter, value) in &options {
            let from_start = value.starts_with('+');
            let Some(number) = value.trim_start_matches(['+', '-']).parse().ok() else {
                continue;
            };
            match letter {
                'n' => lines = Some((number, from_start)),
                'c' => bytes = Some((number, from_start)),
                _ => {}
            }
        }
        let (inputs, mut code) = self.inputs(&files).await;
        for (_, text) in &inputs {
            let start = match (bytes, lines.unwrap_or((10, false))) {
                (Some((number, true)), _) => number.saturating_sub(1).min(text.len()),
                (Some((number, false)), _) => text.len().saturating_sub(number),
                (None, (number, from_start)) => {
                    let mut starts: Vec<usize> = vec![0];
                    starts.extend(
                        text.iter()
                            .enumerate()
                            .filter(|(_, b)| **b == b'\n')
                            .map(|(at, _)| at + 1),
                    );
                    starts.retain(|start| *start < text.len());
                    let at = match from_start {
                        true => number.saturating_sub(1),
                        false => starts.len().saturating_sub(number),
                    };
                    starts.get(at).copied().unwrap_or(text.len())
                }
            };
            match self.print(&text[start..]).await {
                0 => {}
                failed => code = failed,
            }
        }
        let follows = options
            .iter()
            .any(|(letter, _)| matches!(letter, 'f' | 'F'));
        match (follows, files.first()) {
            (true, Some(name)) if name == "/dev/null" => std::future::pending().await,
            (true, Some(name)) => {
                self.follow(name, inputs.first().map_or(0, |(_, text)| text.len()))
                    .await
            }
            _ => code,
        }
    }

    async fn follow(&self, name: &str, mut seen: usize) -> i32 {
        let path = self.path(name);
        loop {
            tokio::time::sleep(LOOK_AGAIN).await;
            let bytes = self.shell.world.files.read(&path).unwrap_or_default();
            seen = seen.min(bytes.len());
            if bytes.len() > seen && self.print(&bytes[seen..]).await != 0 {
                return BROKEN_PIPE;
            }
            seen = bytes.len();
        }
    }

    /// Compiles a regular expression, or prints an error.
    async fn expression(&self, text: &str, is_extended: bool, no_case: bool) -> Option<Regex> {
        let text = match is_extended {
            true => text.to_owned(),
            false => extended(text),
        };
        let built = RegexBuilder::new(&text)
            .case_insensitive(no_case)
            .size_limit(MOST_EXPRESSION)
            .build();
        match built {
            Ok(expression) => Some(expression),
            Err(_) => {
                self.error(&format!("bad regex '{text}'")).await;
                None
            }
        }
    }

    async fn grep(&self) -> i32 {
        let (options, mut words) = self.options("emABC");
        let has = |wanted: char| options.iter().any(|(letter, _)| *letter == wanted);
        let given = options
            .iter()
            .find(|(letter, _)| *letter == 'e')
            .map(|(_, text)| text.clone());
        let pattern = match given {
            Some(pattern) => pattern,
            None if words.is_empty() => return self.fail(2, "no pattern").await,
            None => words.remove(0),
        };
        let pattern = if has('F') {
            regex::escape(&pattern)
        } else {
            pattern
        };
        let Some(expression) = self
            .expression(&pattern, has('E') || has('F'), has('i'))
            .await
        else {
            return 2;
        };
        let (inputs, code) = self.inputs(&words).await;
        let (mut found, mut printed) = (0, String::new());
        for (name, bytes) in &inputs {
            let mut count = 0;
            for (number, line) in String::from_utf8_lossy(bytes).lines().enumerate() {
                if expression.is_match(line) == has('v') {
                    continue;
                }
                count += 1;
                if has('q') || has('c') || has('l') {
                    continue;
                }
                if words.len() > 1 && !has('h') {
                    printed.push_str(&format!("{name}:"));
                }
                if has('n') {
                    printed.push_str(&format!("{}:", number + 1));
                }
                match has('o') {
                    true => expression
                        .find_iter(line)
                        .for_each(|m| printed.push_str(&format!("{}\n", m.as_str()))),
                    false => printed.push_str(&format!("{line}\n")),
                }
            }
            if has('c') {
                printed.push_str(&format!("{count}\n"));
            } else if has('l') && count > 0 {
                printed.push_str(&format!("{name}\n"));
            }
            found += count;
        }
        match self.print(printed).await {
            0 if code != 0 => 2,
            0 => i32::from(found == 0),
            code => code,
        }
    }

    /// Substitutes text: `s/…/…/` with the flags `g` and `i`.
    async fn sed(&self) -> i32 {
        let (options, mut words) = self.options("e");
        let is_extended = options
            .iter()
            .any(|(letter, _)| matches!(letter, 'E' | 'r'));
        let in_place = options.iter().any(|(letter, _)| *letter == 'i');
        let given = options
            .iter()
            .find(|(letter, _)| *letter == 'e')
            .map(|(_, text)| text.clone());
        let script = match given {
            Some(script) => script,
            None if words.is_empty() => return self.fail(1, "no script").await,
            None => words.remove(0),
        };
        let unsupported = format!("unsupported command {script}");
        let Some(separator) = script
            .strip_prefix('s')
            .and_then(|rest| rest.chars().next())
        else {
            return self.fail(1, &unsupported).await;
        };
        let parts: Vec<&str> = script[1 + separator.len_utf8()..]
            .split(separator)
            .collect();
        let [pattern, replacement, flags] = parts[..] else {
            return self.fail(1, &unsupported).await;
        };
        let Some(expression) = self
            .expression(pattern, is_extended, flags.contains('i'))
            .await
        else {
            return 1;
        };
        let replacement = references(replacement);
        let (inputs, mut code) = self.inputs(&words).await;
        for (name, bytes) in inputs {
            let text = String::from_utf8_lossy(&bytes);
            let changed: String = text
                .split_inclusive('\n')
                .map(|line| match flags.contains('g') {
                    true => expression.replace_all(line, replacement.as_str()),
                    false => expression.replace(line, replacement.as_str()),
                })
                .collect();
            if in_place && name != "-" {
                let written = self.shell.world.files.write(
                    &self.path(&name),
                    changed.as_bytes(),
                    false,
                    self.now(),
                );
                if let Err(error) = written {
                    code = self.fail(1, &format!("{name}: {error}")).await;
                }
                continue;
            }
            match self.print(changed).await {
                0 => {}
                failed => code = failed,
            }
        }
        code
    }

    async fn tr(&self) -> i32 {
        let (options, words) = self.options("");
        let deletes = options.iter().any(|(letter, _)| *letter == 'd');
        let from = words.first().map(|set| set_of(set)).unwrap_or_default();
        let to = words.get(1).map(|set| set_of(set)).unwrap_or_default();
        let input = self.io.stdin.all().await.unwrap_or_default();
        let text: String = String::from_utf8_lossy(&input)
            .chars()
            .filter_map(|c| match from.iter().position(|f| *f == c) {
                Some(_) if deletes => None,
                Some(at) => Some(to.get(at).or(to.last()).copied().unwrap_or(c)),
                None => Some(c),
            })
            .collect();
        self.print(text).await
    }

    async fn lines(&self) -> i32 {
        let (options, files) = self.options(match self.name {
            "head" => "nc",
            "cut" => "dfc",
            "sort" => "kt",
            _ => "",
        });
        let has = |wanted: char| options.iter().any(|(letter, _)| *letter == wanted);
        let value = |wanted: char| {
            let found = options.iter().find(|(letter, _)| *letter == wanted);
            found.map(|(_, value)| value.as_str())
        };
        let digits: String = options
            .iter()
            .map(|(letter, _)| *letter)
            .filter(char::is_ascii_digit)
            .collect();
        let (inputs, code) = self.inputs(&files).await;
        let mut printed = String::new();
        for (name, bytes) in &inputs {
            let text = String::from_utf8_lossy(bytes);
            let mut lines: Vec<&str> = text.split_inclusive('\n').collect();
            match self.name {
                "head" => {
                    if let Some(bytes) = value('c').and_then(|n| n.parse::<usize>().ok()) {
                        printed.extend(text.chars().take(bytes));
                        continue;
                    }
                    let number = value('n')
                        .and_then(|n| n.parse().ok())
                        .or(digits.parse().ok());
                    printed.extend(lines.into_iter().take(number.unwrap_or(10)));
                }
                "wc" => {
                    let counts = [
                        ('l', bytes.iter().filter(|byte| **byte == b'\n').count()),
                        ('w', text.split_whitespace().count()),
                        ('c', bytes.len()),
                    ];
                    let wanted = counts
                        .iter()
                        .filter(|(letter, _)| has(*letter) || options.is_empty());
                    let mut columns: Vec<String> =
                        wanted.map(|(_, count)| count.to_string()).collect();
                    if name != "-" {
                        columns.push(name.clone());
                    }
                    printed.push_str(&format!("{}\n", columns.join(" ")));
                }
                "sort" => {
                    let number = |line: &&str| {
                        line.trim()
                            .split(' ')
                            .next()
                            .and_then(|n| n.parse::<i64>().ok())
                    };
                    match has('n') {
                        true => lines.sort_by_key(|line| number(line)),
                        false => lines.sort_unstable(),
                    }
                    if has('r') {
                        lines.reverse();
                    }
                    if has('u') {
                        lines.dedup();
                    }
                    lines.iter().for_each(|line| {
                        printed.push_str(&format!("{}\n", line.trim_end_matches('\n')))
                    });
                }
                "uniq" => {
                    let mut groups: Vec<(usize, &str)> = Vec::new();
                    for line in lines {
                        match groups.last_mut() {
                            Some((count, last)) if *last == line => *count += 1,
                            _ => groups.push((1, line)),
                        }
                    }
                    for (count, line) in groups {
                        if has('c') {
                            printed.push_str(&format!("{count:7} "));
                        }
                        printed.push_str(line);
                    }
                }
                _ => {
                    let delimiter = value('d').and_then(|d| d.chars().next()).unwrap_or('\t');
                    let fields = ranges(value('f').or(value('c')).unwrap_or("1-"));
                    for line in lines {
                        let line = line.trim_end_matches('\n');
                        let is_wanted = |at: usize| {
                            fields
                                .iter()
                                .any(|(first, last)| (*first..=*last).contains(&at))
                        };
                        let kept: Vec<String> = match has('c') {
                            true => vec![
                                line.chars()
                                    .enumerate()
                                    .filter(|(i, _)| is_wanted(i + 1))
                                    .map(|(_, c)| c)
                                    .collect(),
                            ],
                            false => {
                                let parts = line.split(delimiter).enumerate();
                                parts
                                    .filter(|(i, _)| is_wanted(i + 1))
                                    .map(|(_, part)| part.to_owned())
                                    .collect()
                            }
                        };
                        printed.push_str(&kept.join(&delimiter.to_string()));
                        printed.push('\n');
                    }
                }
            }
        }
        match self.print(printed).await {
            0 => code,
            code => code,
        }
    }
}

/// Translates a basic regular expression into an extended one, where the roles of escaped characters are swapped.
fn extended(basic: &str) -> String {
    let mut out = String::new();
    let mut chars = basic.chars();
    while let Some(c) = chars.next() {
        match c {
            '\\' => match chars.next() {
                Some(c @ ('(' | ')' | '{' | '}' | '|' | '+' | '?')) => out.push(c),
                Some(c) => out.extend(['\\', c]),
                None => out.push('\\'),
            },
            '(' | ')' | '{' | '}' | '|' | '+' | '?' => out.extend(['\\', c]),
            c => out.push(c),
        }
    }
    out
}

/// Translates the replacement of `sed` into that of the `regex` crate: `\1` is `${1}`, and `&` is `${0}`.
fn references(text: &str) -> String {
    let mut out = String::new();
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        match c {
            '$' => out.push_str("$$"),
            '&' => out.push_str("${0}"),
            '\\' => match chars.next() {
                Some(digit) if digit.is_ascii_digit() => out.push_str(&format!("${{{digit}}}")),
                Some('n') => out.push('\n'),
                Some(c) => out.push(c),
                None => {}
            },
            c => out.push(c),
        }
    }
    out
}

/// Returns the characters of a set such as `a-z`.
fn set_of(text: &str) -> Vec<char> {
    let text = text.replace("[:upper:]", "A-Z").replace("[:lower:]", "a-z");
    let text = text
        .replace("[:digit:]", "0-9")
        .replace("\\n", "\n")
        .replace("\\t", "\t");
    let chars: Vec<char> = text.chars().collect();
    let mut set = Vec::new();
    let mut i = 0;
    while i < chars.len() {
        if i + 2 < chars.len()
            && chars[i + 1] == '-'
            && chars[i].is_ascii()
            && chars[i + 2].is_ascii()
        {
            set.extend(chars[i]..=chars[i + 2]);
            i += 3;
        } else {
            set.push(chars[i]);
            i += 1;
        }
    }
    set
}

/// Parses ranges such as `1,3-5,7-`.
fn ranges(text: &str) -> Vec<(usize, usize)> {
    let parse = |text: &str, default| {
        if text.is_empty() {
            Some(default)
        } else {
            text.parse().ok()
        }
    };
    text.split(',')
        .filter_map(|part| match part.split_once('-') {
            Some((first, last)) => Some((parse(first, 1)?, parse(last, usize::MAX)?)),
            None => part.parse().ok().map(|number| (number, number)),
        })
        .collect()
}
