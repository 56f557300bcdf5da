//! [`Finding`]: the result of a check.

use serde::Serialize;

use crate::terminal::style::Style;

/// The result of a check.
#[derive(Clone, Debug, Serialize)]
pub(in crate::commands) struct Finding {
    pub(super) what: String,
    pub(super) verdict: Verdict,
    /// The finding.
    pub(super) found: String,
    /// The advice.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(super) advice: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::commands) enum Verdict {
    Good,
    /// Something works less well without it.
    Warning,
    /// Something does not work without it.
    Bad,
}

impl Finding {
    pub(in crate::commands) fn good(what: &str, found: impl Into<String>) -> Self {
        Self::new(what, Verdict::Good, found, "")
    }

    pub(in crate::commands) fn warning(what: &str, found: impl Into<String>, advice: &str) -> Self {
        Self::new(what, Verdict::Warning, found, advice)
    }

    pub(in crate::commands) fn bad(what: &str, found: impl Into<String>, advice: &str) -> Self {
        Self::new(what, Verdict::Bad, found, advice)
    }

    pub(in crate::commands) fn new(
        what: &str,
        verdict: Verdict,
        found: impl Into<String>,
        advice: &str,
    ) -> Self {
        Self {
            what: what.to_owned(),
            verdict,
            found: found.into(),
            advice: advice.to_owned(),
        }
    }

    pub(in crate::commands) fn line(&self, style: Style) -> String {
        let mark = match self.verdict {
            Verdict::Good => style.green("ok     "),
            Verdict::Warning => style.yellow("warning"),
            Verdict::Bad => style.red("bad    "),
        };
        let advice = match self.advice.as_str() {
            "" => String::new(),
            advice => format!("; {advice}"),
        };
        format!("{mark}  {:<12} {}{advice}\n", self.what, self.found)
    }
}
