//! `test`, `[`, `[[` and `expr`.

use super::Call;
use crate::{files::Kind, shell::pattern};

impl Call<'_> {
    pub(super) async fn test(&mut self) -> i32 {
        let mut words: Vec<&str> = self.rest.iter().map(String::as_str).collect();
        if self.name == "expr" {
            return self.expr(&words).await;
        }
        let end = match self.name {
            "[" => Some("]"),
            "[[" => Some("]]"),
            _ => None,
        };
        if let Some(end) = end
            && words.pop() != Some(end)
        {
            return self.fail(2, &format!("missing {end}")).await;
        }
        match self.any(&words) {
            Ok(holds) => i32::from(!holds),
            Err(error) => self.fail(2, &error).await,
        }
    }

    fn any(&self, words: &[&str]) -> Result<bool, String> {
        match words.iter().position(|word| matches!(*word, "-o" | "||")) {
            Some(at) if at > 0 => Ok(self.all(&words[..at])? | self.any(&words[at + 1..])?),
            _ => self.all(words),
        }
    }

    fn all(&self, words: &[&str]) -> Result<bool, String> {
        match words.iter().position(|word| matches!(*word, "-a" | "&&")) {
            Some(at) if at > 0 => Ok(self.one(&words[..at])? & self.all(&words[at + 1..])?),
            _ => self.one(words),
        }
    }

    fn one(&self, words: &[&str]) -> Result<bool, String> {
        match words {
            [] => Ok(false),
            [text] => Ok(!text.is_empty()),
            ["!", rest @ ..] => Ok(!self.one(rest)?),
            [operator, operand] => self.unary(operator, operand),
            [left, operator, right] => binary(left, operator, right),
            [_, other, ..] => Err(format!("{other}: unknown operand")),
        }
    }

    fn unary(&self, operator: &str, operand: &str) -> Result<bool, String> {
        let files = &self.shell.world.files;
        let path = self.path(operand);
        let entry = match operand.is_empty() {
            true => None,
            false => files.entry(&path).ok(),
        };
        Ok(match operator {
            "-n" => !operand.is_empty(),
            "-z" => operand.is_empty(),
            "-e" | "-r" | "-w" => entry.is_some(),
            "-x" => entry.is_some_and(|entry| entry.mode & 0o111 != 0),
            "-f" => entry.is_some_and(|entry| matches!(entry.kind, Kind::File(_))),
            "-d" => entry.is_some_and(|entry| entry.is_directory()),
            "-s" => entry.is_some_and(|entry| entry.size() > 0),
            "-L" | "-h" => files
                .own_entry(&path)
                .is_ok_and(|e| matches!(e.kind, Kind::Link(_))),
            "-t" | "-p" | "-S" | "-b" | "-c" => false,
            other => return Err(format!("{other}: unknown operand")),
        })
    }

    async fn expr(&self, words: &[&str]) -> i32 {
        let found = match words {
            ["length", text] => Ok(text.chars().count().to_string()),
            [text, ":", pattern] => {
                // Only literal regular expressions are supported.
                let length = if text.starts_with(pattern) {
                    pattern.chars().count()
                } else {
                    0
                };
                Ok(length.to_string())
            }
            [
                left,
                operator @ ("=" | "!=" | "<" | ">" | "<=" | ">="),
                right,
            ] => {
                let is_number = left.parse::<i64>().is_ok() && right.parse::<i64>().is_ok();
                match is_number {
                    true => compute(words),
                    false => {
                        binary(left, operator, right).map(|holds| i32::from(holds).to_string())
                    }
                }
            }
            [text] => Ok((*text).to_owned()),
            _ => compute(words),
        };
        match found {
            Ok(text) => {
                let is_null = text.is_empty() || text == "0";
                let printed = self.print(format!("{text}\n")).await;
                if printed != 0 {
                    printed
                } else {
                    i32::from(is_null)
                }
            }
            Err(error) => self.fail(2, &error).await,
        }
    }
}

fn compute(words: &[&str]) -> Result<String, String> {
    let text: Vec<&str> = words
        .iter()
        .map(|word| if *word == "=" { "==" } else { *word })
        .collect();
    let value = crate::shell::arithmetic::compute(&text.join(" "), &|_| String::new());
    value
        .map(|value| value.to_string())
        .map_err(|_| "syntax error".to_owned())
}

fn binary(left: &str, operator: &str, right: &str) -> Result<bool, String> {
    let numbers = || {
        let number = |text: &str| {
            let parsed = text.trim().parse::<i64>();
            parsed.map_err(|_| format!("{text}: bad number"))
        };
        Ok::<_, String>((number(left)?, number(right)?))
    };
    Ok(match operator {
        "=" => left == right,
        // In double brackets, the right side is a pattern.
        "==" => left == right || pattern::matches(right, left),
        "!=" => left != right,
        "<" => left < right,
        ">" => left > right,
        "-eq" => numbers().map(|(a, b)| a == b)?,
        "-ne" => numbers().map(|(a, b)| a != b)?,
        "-lt" => numbers().map(|(a, b)| a < b)?,
        "-le" => numbers().map(|(a, b)| a <= b)?,
        "-gt" => numbers().map(|(a, b)| a > b)?,
        "-ge" => numbers().map(|(a, b)| a >= b)?,
        other => return Err(format!("{other}: unknown operand")),
    })
}
