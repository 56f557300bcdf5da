//! [`Profile`]: the components that run beside the API server.

use std::{fmt, str::FromStr};

use kubewright_builtin_controllers::Controllers;

/// The components of a cluster that run beside the API server.
///
/// ```
/// use kubewright_cluster::Profile;
///
/// let profile: Profile = "controllers".parse().unwrap();
/// assert_eq!(profile, Profile::Controllers);
/// assert_eq!(Profile::default().to_string(), "bare");
/// assert!("everything".parse::<Profile>().is_err());
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Profile {
    /// `bare`: the controllers that every cluster needs, for namespaces, garbage collection, service accounts and certificates.
    #[default]
    Bare,
    /// `controllers`: all controllers, including those of workloads. Pods are created, but do not run.
    Controllers,
    /// `full`: all controllers, a scheduler, and simulated nodes that run pods.
    Full,
}

/// An unknown profile.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown profile {name:?}: use bare, controllers or full")]
pub struct UnknownProfile {
    /// The unknown name.
    pub name: String,
}

impl Profile {
    /// All profiles.
    pub const ALL: [Self; 3] = [Self::Bare, Self::Controllers, Self::Full];

    /// Returns the name of the profile.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Bare => "bare",
            Self::Controllers => "controllers",
            Self::Full => "full",
        }
    }

    /// Returns the built-in controllers of the profile.
    pub fn controllers(self) -> Controllers {
        match self {
            Self::Bare => Controllers::default(),
            Self::Controllers | Self::Full => Controllers::all(),
        }
    }
}

impl FromStr for Profile {
    type Err = UnknownProfile;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        let found = Self::ALL
            .into_iter()
            .find(|profile| profile.as_str() == name);
        found.ok_or_else(|| UnknownProfile {
            name: name.to_owned(),
        })
    }
}

impl fmt::Display for Profile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
