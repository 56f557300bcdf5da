//! Flags as Go programs take them: `--name=value`, `--name value`, `--switch`, `--switch=false`.

use std::{fmt::Write, str::FromStr};

use kubewright_machinery::{go, time::parse_duration};

/// A flag of a program.
pub(super) struct Flag {
    pub(super) name: &'static str,
    pub(super) form: Form,
    pub(super) effect: Effect,
}

/// The form of a flag.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// Needs a value.
    Value,
    /// Is true without a value.
    Switch,
}

/// The effect of a flag.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Effect {
    /// As in the program of that name.
    Used,
    /// None, because the configured part does not exist here and makes no difference to tests.
    Ignored,
    /// None, for this reason.
    IgnoredBecause(&'static str),
    /// None, since the behaviour is that of this default. Another value is an error.
    Fixed(&'static str),
    /// An error, because it asks for a behaviour that is missing.
    Unsupported,
}

/// The flags of a command line.
#[derive(Debug, Default)]
pub(super) struct Flags {
    values: Vec<(&'static str, String)>,
    /// Sentences about flags that have no effect.
    pub(super) warnings: Vec<String>,
}

/// Returns flags that need a value.
pub(super) const fn values<const N: usize>(effect: Effect, names: [&'static str; N]) -> [Flag; N] {
    flags(Form::Value, effect, names)
}

/// Returns flags that are true without a value.
pub(super) const fn switches<const N: usize>(
    effect: Effect,
    names: [&'static str; N],
) -> [Flag; N] {
    flags(Form::Switch, effect, names)
}

/// Returns flags that need a value, which must be the default.
pub(super) const fn fixed<const N: usize>(
    form: Form,
    defaults: [(&'static str, &'static str); N],
) -> [Flag; N] {
    let mut flags = flags(form, Effect::Ignored, [""; N]);
    let mut i = 0;
    while i < N {
        (flags[i].name, flags[i].effect) = (defaults[i].0, Effect::Fixed(defaults[i].1));
        i += 1;
    }
    flags
}

const fn flags<const N: usize>(form: Form, effect: Effect, names: [&'static str; N]) -> [Flag; N] {
    let mut flags = [const {
        Flag {
            name: "",
            form: Form::Value,
            effect: Effect::Ignored,
        }
    }; N];
    let mut i = 0;
    while i < N {
        flags[i] = Flag {
            name: names[i],
            form,
            effect,
        };
        i += 1;
    }
    flags
}

impl Flags {
    /// Parses a command line.
    ///
    /// # Errors
    ///
    /// Returns the message of the program for an unknown flag, a missing value or an argument that is not a flag, and one of ours for a
    /// flag that is not supported.
    pub(super) fn parse<'t>(
        program: &str,
        table: impl Fn(&str) -> Option<&'t Flag>,
        arguments: &[String],
    ) -> Result<Self, String> {
        let mut flags = Self::default();
        let mut rest = arguments.iter();
        while let Some(argument) = rest.next() {
            let Some(flag) = argument.strip_prefix('-').filter(|rest| !rest.is_empty()) else {
                let given = go::quote(argument);
                return Err(format!(
                    "{} does not take any arguments, got [{given}]",
                    go::quote(program)
                ));
            };
            let flag = flag.strip_prefix('-').unwrap_or(flag);
            let (name, value) = match flag.split_once('=') {
                Some((name, value)) => (name, Some(value)),
                None => (flag, None),
            };
            let known = table(name).ok_or_else(|| format!("unknown flag: --{name}"))?;
            let value = match (value, known.form) {
                (Some(value), _) => value.to_owned(),
                (None, Form::Switch) => "true".to_owned(),
                (None, Form::Value) => rest
                    .next()
                    .cloned()
                    .ok_or_else(|| format!("flag needs an argument: --{name}"))?,
            };
            flags.add(known, value)?;
        }
        Ok(flags)
    }

    fn add(&mut self, flag: &Flag, value: String) -> Result<(), String> {
        let name = flag.name;
        if flag.form == Form::Switch {
            go_bool(&value).map_err(|why| invalid(name, &value, why))?;
        }
        match flag.effect {
            Effect::Used => self.values.push((name, value)),
            Effect::Unsupported if value.is_empty() || value == "false" => {}
            Effect::Unsupported => {
                return Err(format!(
                    "--{name} is not supported by kubewright: the behaviour that it configures is missing; omit the flag, or run \
                     this test with the real program"
                ));
            }
            Effect::Ignored => self
                .warnings
                .push(format!("--{name} has no effect in kubewright")),
            Effect::IgnoredBecause(why) => self
                .warnings
                .push(format!("--{name} has no effect in kubewright: {why}")),
            Effect::Fixed(default) if is_same(&value, default) => {}
            Effect::Fixed(_) => {
                return Err(format!(
                    "--{name}={value} is not supported by kubewright, which behaves as by default; omit the flag, or run this test \
                     with the real program"
                ));
            }
        }
        Ok(())
    }

    /// Returns the last value of a flag, unless it is empty.
    pub(super) fn last(&self, name: &str) -> Option<&str> {
        self.all(name).last().filter(|value| !value.is_empty())
    }

    /// Returns the values of a flag that may be repeated.
    pub(super) fn all(&self, name: &str) -> impl Iterator<Item = &str> {
        self.values
            .iter()
            .filter(move |(given, _)| *given == name)
            .map(|(_, value)| value.as_str())
    }

    /// Returns the values of a flag that may be repeated and whose values are separated by commas.
    pub(super) fn list(&self, name: &str) -> impl Iterator<Item = &str> {
        let parts = self.all(name).flat_map(|value| value.split(','));
        parts.map(str::trim).filter(|part| !part.is_empty())
    }

    /// Returns a switch, or its default.
    pub(super) fn switch(&self, name: &str, default: bool) -> bool {
        let given = self.last(name).map(go_bool);
        given.and_then(Result::ok).unwrap_or(default)
    }

    /// Returns the last value of a flag, parsed.
    ///
    /// # Errors
    ///
    /// Returns a message that names the flag if the value cannot be parsed.
    pub(super) fn parsed<T: FromStr>(&self, name: &str) -> Result<Option<T>, String>
    where
        T::Err: std::fmt::Display,
    {
        let Some(value) = self.last(name) else {
            return Ok(None);
        };
        match value.parse() {
            Ok(parsed) => Ok(Some(parsed)),
            Err(e) => Err(invalid(name, value, e)),
        }
    }
}

/// Returns the message for a value that a flag cannot have.
pub(super) fn invalid(name: &str, value: &str, why: impl std::fmt::Display) -> String {
    format!(
        "invalid argument {} for \"--{name}\" flag: {why}",
        go::quote(value)
    )
}

/// Returns a help text in the form of Go programs, which envtest searches for flags.
pub(super) fn help<'t>(about: &str, flags: impl Iterator<Item = &'t Flag>) -> String {
    let mut text = format!("{about}\n\nFlags:\n");
    for flag in flags {
        let form = match flag.form {
            Form::Value => " string",
            Form::Switch => "",
        };
        let effect = match flag.effect {
            Effect::Used => "",
            Effect::Ignored | Effect::IgnoredBecause(_) => "   (no effect)",
            Effect::Fixed(_) => "   (only the default)",
            Effect::Unsupported => "   (not supported)",
        };
        // Writing to a string cannot fail.
        let _ = writeln!(text, "      --{}{form}{effect}", flag.name);
    }
    text
}

/// Returns whether a value is the default, in any form.
fn is_same(value: &str, default: &str) -> bool {
    let same_bool = matches!((go_bool(value), go_bool(default)), (Ok(a), Ok(b)) if a == b);
    let same_duration =
        matches!((parse_duration(value), parse_duration(default)), (Ok(a), Ok(b)) if a == b);
    value == default || same_bool || same_duration
}

/// Parses a bool as Go does. The error is that of Go.
pub(super) fn go_bool(text: &str) -> Result<bool, String> {
    match text {
        "1" | "t" | "T" | "true" | "TRUE" | "True" => Ok(true),
        "0" | "f" | "F" | "false" | "FALSE" | "False" => Ok(false),
        _ => Err(format!(
            "strconv.ParseBool: parsing {}: invalid syntax",
            go::quote(text)
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    static VALUES: [Flag; 2] = values(Effect::Used, ["name", "list"]);
    static SWITCHES: [Flag; 1] = switches(Effect::Used, ["on"]);
    static IGNORED: [Flag; 1] = values(Effect::Ignored, ["etcd-prefix"]);
    static MISSING: [Flag; 1] = values(Effect::Unsupported, ["oidc-issuer-url"]);
    static FIXED: [Flag; 1] = fixed(Form::Value, [("event-ttl", "1h0m0s")]);
    static FIXED_SWITCHES: [Flag; 1] = fixed(Form::Switch, [("lookup", "true")]);

    fn parse(line: &str) -> Result<Flags, String> {
        let table = |name: &str| {
            let mut all = VALUES
                .iter()
                .chain(&SWITCHES)
                .chain(&IGNORED)
                .chain(&MISSING)
                .chain(&FIXED)
                .chain(&FIXED_SWITCHES);
            all.find(|flag| flag.name == name)
        };
        let arguments: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        Flags::parse("program", table, &arguments)
    }

    #[test]
    fn values_follow_an_equals_sign_or_a_space() {
        let flags = parse("--name=a --list x,y --list=z -name b --on").unwrap();
        assert_eq!(flags.last("name"), Some("b"));
        assert_eq!(flags.list("list").collect::<Vec<_>>(), ["x", "y", "z"]);
        assert!(flags.switch("on", false));
        assert!(flags.warnings.is_empty());
        assert!(!parse("--on=false").unwrap().switch("on", true));
        assert!(parse("").unwrap().switch("on", true));
    }

    #[test]
    fn errors_are_those_of_a_go_program() {
        assert_eq!(parse("--nope").unwrap_err(), "unknown flag: --nope");
        assert_eq!(
            parse("--name").unwrap_err(),
            "flag needs an argument: --name"
        );
        let positional = "\"program\" does not take any arguments, got [\"x\"]";
        assert_eq!(parse("x").unwrap_err(), positional);
        let bool = "invalid argument \"maybe\" for \"--on\" flag: strconv.ParseBool: parsing \"maybe\": invalid syntax";
        assert_eq!(parse("--on=maybe").unwrap_err(), bool);
    }

    #[test]
    fn a_flag_without_effect_is_a_warning_and_a_missing_behaviour_an_error() {
        let flags = parse("--etcd-prefix=/x").unwrap();
        assert_eq!(
            flags.warnings,
            ["--etcd-prefix has no effect in kubewright"]
        );
        let error = parse("--oidc-issuer-url=https://example.com").unwrap_err();
        assert!(
            error.starts_with("--oidc-issuer-url is not supported"),
            "{error}"
        );
        assert!(parse("--oidc-issuer-url=").is_ok());
    }

    #[test]
    fn a_default_that_cannot_be_changed_may_be_given() {
        for line in [
            "--event-ttl=1h0m0s",
            "--event-ttl=60m",
            "--lookup",
            "--lookup=1",
        ] {
            assert!(
                parse(line).is_ok_and(|flags| flags.warnings.is_empty()),
                "{line}"
            );
        }
        for line in ["--event-ttl=1m", "--lookup=false"] {
            let error = parse(line).unwrap_err();
            let expected = format!("{line} is not supported by kubewright");
            assert!(error.starts_with(&expected), "{error}");
        }
    }
}
