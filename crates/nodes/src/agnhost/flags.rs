//! [`Flags`]: the arguments of a subcommand.

use std::time::Duration;

use crate::image::duration;

/// The arguments of a subcommand: flags as `--name=value` or `--name value`, and the rest.
pub(crate) struct Flags<'a> {
    flags: Vec<(&'a str, Option<&'a str>)>,
    positional: Vec<&'a str>,
}

impl<'a> Flags<'a> {
    pub(crate) fn parse(arguments: &'a [String]) -> Self {
        let mut flags: Vec<(&str, Option<&str>)> = Vec::new();
        let mut positional = Vec::new();
        let mut words = arguments.iter().map(String::as_str).peekable();
        while let Some(word) = words.next() {
            let Some(flag) = word.strip_prefix('-') else {
                positional.push(word);
                continue;
            };
            let flag = flag.trim_start_matches('-');
            match flag.split_once('=') {
                Some((name, value)) => flags.push((name, Some(value))),
                None => {
                    let is_number = |word: &str| word.parse::<i64>().is_ok();
                    let value = words.next_if(|next| !next.starts_with('-') || is_number(next));
                    flags.push((flag, value));
                }
            }
        }
        Self { flags, positional }
    }

    /// Returns the value of a flag. The last one counts.
    pub(super) fn get(&self, name: &str) -> Option<&'a str> {
        let mut flags = self.flags.iter().rev();
        flags.find(|(flag, _)| *flag == name)?.1
    }

    /// Reports whether a flag is set that needs no value.
    pub(super) fn has(&self, name: &str) -> bool {
        let mut flags = self.flags.iter().rev();
        let found = flags.find(|(flag, _)| *flag == name);
        found.is_some_and(|(_, value)| *value != Some("false"))
    }

    /// Returns a port, or its default.
    pub(super) fn port(&self, name: &str, default: u16) -> u16 {
        let port = self.get(name).and_then(|port| port.parse().ok());
        port.unwrap_or(default)
    }

    /// Returns a duration in Go's form.
    pub(super) fn duration(&self, name: &str) -> Option<Duration> {
        self.get(name).and_then(duration)
    }

    /// Returns the first argument that is not a flag.
    pub(super) fn first(&self) -> Option<&'a str> {
        self.positional.first().copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_have_values_after_an_equals_sign_or_a_space() {
        let words = [
            "--port=80",
            "-t",
            "100",
            "--udp",
            "--for",
            "20s",
            "host:1",
            "--off",
            "-1",
        ];
        let words = words.map(str::to_owned);
        let flags = Flags::parse(&words);
        assert_eq!(flags.port("port", 1), 80);
        assert_eq!(flags.get("t"), Some("100"));
        assert_eq!(flags.get("udp"), None);
        assert!(flags.has("udp"));
        assert!(!flags.has("tcp"));
        assert_eq!(flags.duration("for"), Some(Duration::from_secs(20)));
        assert_eq!(flags.first(), Some("host:1"));
        assert_eq!(flags.port("other", 7), 7);
        assert_eq!(flags.get("off"), Some("-1"));
    }
}
