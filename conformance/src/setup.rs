//! The setups of the server under test.

use std::{fmt, str::FromStr};

use anyhow::{Error, bail};

/// The way the server of a scenario file is set up. In all of them the authorization mode is RBAC if nothing else is
/// said, and there are no controllers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Setup {
    /// All admission plugins but `ServiceAccount`.
    #[default]
    Plain,
    /// All admission plugins.
    ServiceAccounts,
    /// All admission plugins but `ServiceAccount`, and all controllers.
    Controllers,
    /// The authorization mode `AlwaysDeny`.
    Deny,
}

impl Setup {
    /// All setups.
    pub const ALL: [Self; 4] = [
        Self::Plain,
        Self::ServiceAccounts,
        Self::Controllers,
        Self::Deny,
    ];

    /// Returns the name in scenario files.
    pub fn name(self) -> &'static str {
        match self {
            Self::Plain => "plain",
            Self::ServiceAccounts => "service-accounts",
            Self::Controllers => "controllers",
            Self::Deny => "deny",
        }
    }
}

impl fmt::Display for Setup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Setup {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self, Error> {
        match Self::ALL.into_iter().find(|setup| setup.name() == name) {
            Some(setup) => Ok(setup),
            None => bail!("{name:?} is not a setup"),
        }
    }
}
