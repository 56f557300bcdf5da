//! Integer arithmetic, for `$((…))`.

/// The maximum depth.
const DEEPEST: usize = 50;

/// Evaluates an expression. Variables that are not numbers count as 0.
pub(super) fn compute(text: &str, lookup: &dyn Fn(&str) -> String) -> Result<i64, String> {
    let mut parser = Parser {
        rest: text,
        lookup,
        depth: 0,
    };
    if parser.next().is_none() {
        return Ok(0);
    }
    let value = parser.binary(0)?;
    match parser.next() {
        None => Ok(value),
        Some(_) => Err(format!("arithmetic syntax error: {:?}", text.trim())),
    }
}

struct Parser<'a> {
    rest: &'a str,
    lookup: &'a dyn Fn(&str) -> String,
    depth: usize,
}

/// The operators by increasing precedence. Within a level, longer ones come first.
const LEVELS: [&[&str]; 10] = [
    &["||"],
    &["&&"],
    &["|"],
    &["^"],
    &["&"],
    &["==", "!="],
    &["<=", ">=", "<", ">"],
    &["<<", ">>"],
    &["+", "-"],
    &["*", "/", "%"],
];

impl Parser<'_> {
    fn next(&mut self) -> Option<char> {
        self.rest = self.rest.trim_start();
        self.rest.chars().next()
    }

    fn operator(&mut self, level: usize) -> Option<&'static str> {
        self.next();
        let found = LEVELS[level]
            .iter()
            .find(|op| self.rest.starts_with(**op))?;
        // The operator is a prefix of a longer one on another level.
        let is_longer = LEVELS
            .iter()
            .flat_map(|ops| ops.iter())
            .any(|op| op.len() > found.len() && self.rest.starts_with(op));
        if is_longer {
            return None;
        }
        self.rest = &self.rest[found.len()..];
        Some(found)
    }

    fn binary(&mut self, level: usize) -> Result<i64, String> {
        if level == LEVELS.len() {
            return self.unary();
        }
        let mut left = self.binary(level + 1)?;
        while let Some(op) = self.operator(level) {
            let right = self.binary(level + 1)?;
            left = apply(op, left, right)?;
        }
        Ok(left)
    }

    fn unary(&mut self) -> Result<i64, String> {
        self.depth += 1;
        if self.depth > DEEPEST {
            return Err("arithmetic expression is nested too deeply".to_owned());
        }
        let first = self.next().ok_or("arithmetic syntax error")?;
        let value = match first {
            '(' => {
                self.rest = &self.rest[1..];
                let value = self.binary(0)?;
                if self.next() != Some(')') {
                    return Err("arithmetic syntax error: missing )".to_owned());
                }
                self.rest = &self.rest[1..];
                value
            }
            '-' | '+' | '!' | '~' => {
                self.rest = &self.rest[1..];
                let value = self.unary()?;
                match first {
                    '-' => value.wrapping_neg(),
                    '!' => i64::from(value == 0),
                    '~' => !value,
                    _ => value,
                }
            }
            _ => self.operand()?,
        };
        self.depth -= 1;
        Ok(value)
    }

    fn operand(&mut self) -> Result<i64, String> {
        let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let end = self.rest.find(|c| !is_part(c)).unwrap_or(self.rest.len());
        let (word, rest) = self.rest.split_at(end);
        if word.is_empty() {
            return Err("arithmetic syntax error".to_owned());
        }
        self.rest = rest;
        if word.starts_with(|c: char| c.is_ascii_digit()) {
            return number(word).ok_or_else(|| format!("bad number: {word}"));
        }
        Ok(number((self.lookup)(word).trim()).unwrap_or(0))
    }
}

fn number(text: &str) -> Option<i64> {
    if let Some(hex) = text.strip_prefix("0x") {
        return i64::from_str_radix(hex, 16).ok();
    }
    match text.strip_prefix('0').filter(|rest| !rest.is_empty()) {
        Some(octal) => i64::from_str_radix(octal, 8).ok(),
        None => text.parse().ok(),
    }
}

fn apply(op: &str, left: i64, right: i64) -> Result<i64, String> {
    let divided = |result: Option<i64>| result.ok_or_else(|| "divide by zero".to_owned());
    Ok(match op {
        "||" => i64::from(left != 0 || right != 0),
        "&&" => i64::from(left != 0 && right != 0),
        "|" => left | right,
        "^" => left ^ right,
        "&" => left & right,
        "==" => i64::from(left == right),
        "!=" => i64::from(left != right),
        "<=" => i64::from(left <= right),
        ">=" => i64::from(left >= right),
        "<" => i64::from(left < right),
        ">" => i64::from(left > right),
        "<<" => left.wrapping_shl(right as u32),
        ">>" => left.wrapping_shr(right as u32),
        "+" => left.wrapping_add(right),
        "-" => left.wrapping_sub(right),
        "*" => left.wrapping_mul(right),
        "/" => divided(left.checked_div(right))?,
        _ => divided(left.checked_rem(right))?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn expressions_are_evaluated() {
        let lookup = |name: &str| if name == "n" { "7" } else { "" }.to_owned();
        let compute = |text: &str| compute(text, &lookup);
        for (text, value) in [
            ("1 + 2 * 3", 7),
            ("(1+2)*3", 9),
            ("n % 4 == 3 && missing == 0", 1),
            ("-2 - -3", 1),
            ("1 << 4 | 0x0f", 31),
            ("10 >= 9", 1),
            ("010", 8),
            ("", 0),
        ] {
            assert_eq!(compute(text), Ok(value), "{text}");
        }
        assert_eq!(compute("1/0").unwrap_err(), "divide by zero");
        for wrong in ["1 +", "1 2", ")", "(1", "1 = 2"] {
            assert!(compute(wrong).is_err(), "{wrong}");
        }
        for deep in ["(".repeat(10_000), "-".repeat(10_000)] {
            assert!(compute(&deep).is_err());
        }
    }
}
