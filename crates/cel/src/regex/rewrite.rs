//! Rewrites a pattern of Go as a pattern of the `regex` crate.

use super::class;

/// The error, and the part of the pattern that it is about.
pub(super) type PatternError = (&'static str, String);

/// The deepest nesting of groups.
const MAX_NESTING: usize = 200;

/// A pattern of the `regex` crate.
pub(super) struct Rewritten {
    pub(super) text: String,
    /// An estimate of the number of states of its compiled form.
    pub(super) weight: usize,
}

/// The treatment of the names of character classes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Classes {
    /// They are taken to exist.
    Assumed,
    /// Those that do not exist are errors.
    Checked,
}

/// The largest count of a repetition, and of repetitions inside of each other together.
const MAX_REPEAT: u32 = 1_000;

/// The product of nested repetition counts so far.
struct Counts {
    /// The repetition count of the last item.
    last: u32,
    /// The most of the innermost group, then of those around it.
    groups: Vec<u32>,
    /// The weight of the last item.
    last_weight: usize,
    /// The weights of the outermost group and of those in it so far.
    weights: Vec<usize>,
}

impl Counts {
    /// Something that repeats nothing.
    fn plain(&mut self) {
        self.last = 1;
    }

    fn weigh(&mut self, weight: usize) {
        self.last_weight = weight;
        if let Some(group) = self.weights.last_mut() {
            *group = group.saturating_add(weight);
        }
    }

    fn open(&mut self) {
        self.settle();
        self.groups.push(1);
        self.weights.push(0);
    }

    fn close(&mut self) {
        self.settle();
        self.last = self.groups.pop().unwrap_or(1);
        self.settle();
        let weight = self.weights.pop().unwrap_or_default();
        self.weigh(weight);
    }

    /// Records a repetition of the last item; returns whether the total is within the limit.
    fn repeat(&mut self, count: u32) -> bool {
        let copies = usize::try_from(count.saturating_sub(1)).unwrap_or(usize::MAX);
        self.weigh(self.last_weight.saturating_mul(copies));
        self.last = match count {
            0 => 1,
            count => self.last.saturating_mul(count),
        };
        self.settle();
        self.last <= MAX_REPEAT
    }

    /// Makes the group no smaller than the last thing in it.
    fn settle(&mut self) {
        if let Some(group) = self.groups.last_mut() {
            *group = self.last.max(*group);
        }
    }
}

/// The weights of a class of characters, and of one that Unicode defines: their UTF-8 takes that many states.
const CLASS_WEIGHT: usize = 10;
const UNICODE_WEIGHT: usize = 300;

/// A repetition operator.
struct Repeat {
    length: usize,
    /// The count of `{2}`, `{1,2}` and `{2,}`.
    count: Option<u32>,
}

pub(super) fn rewrite(pattern: &str, classes: Classes) -> Result<Rewritten, PatternError> {
    let mut out = String::with_capacity(pattern.len() + 16);
    let mut rest = pattern;
    let mut open = 0usize;
    // Whether there is something to repeat, and the repetition that was last.
    let mut repeatable = false;
    let mut last_repeat: Option<&str> = None;
    let mut counts = Counts {
        last: 1,
        groups: vec![1],
        last_weight: 0,
        weights: vec![0],
    };
    while let Some(c) = rest.chars().next() {
        let after = &rest[c.len_utf8()..];
        let repeat = repeat(rest)?;
        if let Some(Repeat { length, count }) = repeat {
            if !repeatable {
                return Err((
                    "missing argument to repetition operator",
                    rest[..length].into(),
                ));
            }
            if let Some(last) = last_repeat {
                let both = format!("{last}{}", &rest[..length]);
                return Err(("invalid nested repetition operator", both));
            }
            let lazy = usize::from(rest[length..].starts_with('?'));
            if count.is_some_and(|count| !counts.repeat(count)) {
                return Err(("invalid repeat count", rest[..length + lazy].into()));
            }
            out.push_str(&rest[..length + lazy]);
            last_repeat = Some(&rest[..length + lazy]);
            rest = &rest[length + lazy..];
            continue;
        }
        last_repeat = None;
        if !matches!(c, '(' | ')' | '|') {
            counts.plain();
        }
        match c {
            '(' => {
                let length = group(rest)?;
                if !rest[..length].ends_with(')') {
                    open += 1;
                    if open > MAX_NESTING {
                        return Err(("expression nests too deeply", pattern.into()));
                    }
                    counts.open();
                }
                out.push_str(&rest[..length]);
                rest = &rest[length..];
                repeatable = false;
                continue;
            }
            ')' => {
                if open == 0 {
                    return Err(("unexpected )", pattern.into()));
                }
                open -= 1;
                counts.close();
                out.push(')');
                repeatable = true;
            }
            '|' => {
                out.push('|');
                repeatable = false;
            }
            '[' => {
                rest = class::class(rest, classes, &mut out)?;
                counts.weigh(CLASS_WEIGHT);
                repeatable = true;
                continue;
            }
            '\\' => {
                let before = out.len();
                let escaped = rest;
                rest = escape(rest, classes, &mut out)?;
                counts.weigh(match escaped.as_bytes().get(1) {
                    Some(b'p' | b'P') => UNICODE_WEIGHT,
                    Some(b'd' | b'D' | b's' | b'S' | b'w' | b'W') => CLASS_WEIGHT,
                    // The length of the text that is quoted.
                    Some(b'Q') => out.len() - before,
                    _ => 1,
                });
                repeatable = true;
                continue;
            }
            '.' | '^' | '$' => {
                out.push(c);
                counts.weigh(CLASS_WEIGHT);
                repeatable = true;
            }
            c => {
                class::literal(c, &mut out);
                counts.weigh(c.len_utf8());
                repeatable = true;
            }
        }
        rest = after;
    }
    if open > 0 {
        return Err(("missing closing )", pattern.into()));
    }
    let weight = counts.weights.first().copied().unwrap_or_default();
    Ok(Rewritten { text: out, weight })
}

/// The repetition operator at the start, if there is one.
fn repeat(text: &str) -> Result<Option<Repeat>, PatternError> {
    if text.starts_with(['*', '+', '?']) {
        return Ok(Some(Repeat {
            length: 1,
            count: None,
        }));
    }
    if !text.starts_with('{') {
        return Ok(None);
    }
    // No count is longer than `{1000,1000}`, and one that is too large is rejected whatever its length.
    let digits = |c: char| c.is_ascii_digit() || c == ',';
    let Some(end) = text[1..].find(|c| !digits(c)).map(|end| end + 1) else {
        return Ok(None);
    };
    if !text[end..].starts_with('}') {
        return Ok(None);
    }
    let inner = &text[1..end];
    let (low, high) = match inner.split_once(',') {
        Some((low, "")) => (low, None),
        Some((low, high)) => (low, Some(high)),
        None => (inner, Some(inner)),
    };
    let count = |digits: &str| {
        let plain = !digits.is_empty()
            && digits.bytes().all(|b| b.is_ascii_digit())
            && (digits.len() == 1 || !digits.starts_with('0'));
        plain.then(|| digits.parse::<u32>().unwrap_or(u32::MAX))
    };
    let Some(low) = count(low) else {
        return Ok(None);
    };
    let high = match high.map(count) {
        None => None,
        Some(None) => return Ok(None),
        Some(high) => high,
    };
    if low > MAX_REPEAT || high.is_some_and(|high| high > MAX_REPEAT || high < low) {
        return Err(("invalid repeat count", text[..=end].into()));
    }
    Ok(Some(Repeat {
        length: end + 1,
        count: Some(high.unwrap_or(low)),
    }))
}

/// The length of what opens a group: `(`, `(?:`, `(?i)`, `(?P<name>`.
fn group(text: &str) -> Result<usize, PatternError> {
    let Some(inner) = text.strip_prefix("(?") else {
        return Ok(1);
    };
    let unsupported = |length: usize| {
        let part = text.get(..length).unwrap_or(text);
        Err(("invalid or unsupported Perl syntax", part.into()))
    };
    let name = inner.strip_prefix("P<").or_else(|| {
        inner
            .strip_prefix('<')
            .filter(|n| !n.starts_with(['=', '!']))
    });
    if let Some(name) = name {
        let start = text.len() - name.len();
        let Some(length) = name.find('>') else {
            return Err(("invalid named capture", text.into()));
        };
        let valid = |c: char| c.is_alphanumeric() || c == '_';
        if length == 0 || !name[..length].chars().all(valid) {
            return Err(("invalid named capture", text[..start + length + 1].into()));
        }
        return Ok(start + length + 1);
    }
    let mut minus = false;
    for (at, c) in inner.char_indices() {
        match c {
            'i' | 'm' | 's' | 'U' => {}
            '-' if !minus => minus = true,
            ':' | ')' => return Ok(2 + at + 1),
            c => return unsupported(2 + at + c.len_utf8()),
        }
    }
    Err(("missing argument to repetition operator", "?".into()))
}

/// Rewrites the escape at the start and gives what follows.
fn escape<'p>(text: &'p str, classes: Classes, out: &mut String) -> Result<&'p str, PatternError> {
    let inner = &text[1..];
    if let Some(quoted) = inner.strip_prefix('Q') {
        let (quoted, rest) = match quoted.find("\\E") {
            Some(end) => (&quoted[..end], &quoted[end + 2..]),
            None => (quoted, ""),
        };
        quoted.chars().for_each(|c| class::literal(c, out));
        return Ok(rest);
    }
    let Some(c) = inner.chars().next() else {
        return Err(("trailing backslash at end of expression", String::new()));
    };
    let rest = &inner[c.len_utf8()..];
    match c {
        'A' | 'z' => {
            out.push('\\');
            out.push(c);
            Ok(rest)
        }
        'b' | 'B' => {
            out.push_str(if c == 'b' { "(?-u:\\b)" } else { "(?-u:\\B)" });
            Ok(rest)
        }
        'd' | 'D' | 's' | 'S' | 'w' | 'W' => {
            out.push('[');
            class::perl(c, out);
            out.push(']');
            Ok(rest)
        }
        'p' | 'P' => class::unicode(text, classes, out),
        _ => {
            let (c, rest) = class::escaped(text)?;
            class::literal(c, out);
            Ok(rest)
        }
    }
}
