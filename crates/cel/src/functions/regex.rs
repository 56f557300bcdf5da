//! `matches`, `find` and `findAll`.

use crate::regex::Regex;
use crate::value::{EvalError, EvalResult, Value};

use super::{Implementation, Registry, no_such_overload};

pub(super) fn declare(r: &mut Registry) {
    r.global("matches", "matches", "string string", "bool", None);
    r.member("matches", "matches_string", "string string", "bool", None);
    r.shared("matches", matches);
    r.member(
        "find",
        "string_find_string",
        "string string",
        "string",
        find as Implementation,
    );
    r.member(
        "findAll",
        "string_find_all_string",
        "string string",
        "list(string)",
        find_all as Implementation,
    );
    r.member(
        "findAll",
        "string_find_all_string_int",
        "string string int",
        "list(string)",
        find_all as Implementation,
    );
}

/// The kind of search.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Search {
    Matches,
    Find,
    FindAll,
}

impl Search {
    pub(crate) fn of(function: &str) -> Option<Self> {
        match function {
            "matches" => Some(Self::Matches),
            "find" => Some(Self::Find),
            "findAll" => Some(Self::FindAll),
            _ => None,
        }
    }

    /// The call with a pattern that is compiled already.
    pub(crate) fn run<'a>(self, regex: &Regex, args: &[Value<'a>]) -> EvalResult<'a> {
        let Some(Value::String(text)) = args.first() else {
            return no_such_overload();
        };
        match self {
            Self::Matches => Ok(Value::Bool(regex.is_match(text))),
            Self::Find => Ok(Value::text(regex.find(text).unwrap_or_default())),
            Self::FindAll => {
                let most = match args.get(2) {
                    None => usize::MAX,
                    Some(Value::Int(n)) => usize::try_from(*n).unwrap_or(usize::MAX),
                    Some(_) => return no_such_overload(),
                };
                let found = regex.find_all(text).take(most);
                Ok(Value::strings(found))
            }
        }
    }
}

fn matches<'a>(args: &[Value<'a>]) -> EvalResult<'a> {
    match args {
        [Value::String(_), Value::String(pattern)] => {
            let regex = Regex::compile(pattern).map_err(EvalError::new)?;
            Search::Matches.run(&regex, args)
        }
        [Value::String(_), _] => no_such_overload(),
        [Value::Timestamp(_) | Value::Duration(_), _] => no_such_overload(),
        _ => Err(EvalError::new("no such overload: matches")),
    }
}

fn find<'a>(args: &[Value<'a>]) -> EvalResult<'a> {
    search(Search::Find, args)
}

fn find_all<'a>(args: &[Value<'a>]) -> EvalResult<'a> {
    search(Search::FindAll, args)
}

fn search<'a>(search: Search, args: &[Value<'a>]) -> EvalResult<'a> {
    let Some(Value::String(pattern)) = args.get(1) else {
        return no_such_overload();
    };
    let regex =
        Regex::compile(pattern).map_err(|why| EvalError::new(format!("Illegal regex: {why}")))?;
    search.run(&regex, args)
}
