//! [`Aggregated`]: a kind that the program of the project serves itself.

use std::{collections::BTreeMap, fmt};

use crate::Error;

/// A kind that the program serves itself, behind the API server of the cluster.
///
/// ```
/// use kubewright_scaffold::{Aggregated, ObjectData, SubresourceType};
///
/// let planets = Aggregated {
///     data: ObjectData::Storage,
///     subresources: [("orbit".into(), SubresourceType::Log)].into(),
/// };
/// assert_eq!(planets.data.name(), "storage");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Aggregated {
    /// The place of its objects.
    pub data: ObjectData,
    /// Its subresources, by name.
    pub subresources: BTreeMap<String, SubresourceType>,
}

/// The place of the objects of a kind that the program serves itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ObjectData {
    /// Wherever the `Storage` of the project finds them.
    Storage,
    /// The store that the flags of the program choose.
    Store,
}

/// The type of a scaffolded subresource.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SubresourceType {
    /// An object that can be read.
    Object,
    /// A stream of bytes, as of `pods/log`.
    Log,
    /// An object that can be read and replaced, as of `deployments/scale`.
    Update,
    /// An action, as of `pods/binding`.
    Create,
    /// Standard streams of a command, as of `pods/exec`.
    Exec,
    /// Connections to ports, as of `pods/portforward`.
    PortForward,
}

impl ObjectData {
    /// Returns the name used on the command line and in `operator.toml`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Storage => "storage",
            Self::Store => "store",
        }
    }

    /// Parses such a name.
    ///
    /// # Errors
    ///
    /// Fails if there is no such place.
    pub fn parse(name: &str) -> Result<Self, Error> {
        match name {
            "storage" => Ok(Self::Storage),
            "store" => Ok(Self::Store),
            other => Err(Error::new(
                format_args!("{other:?} is not a place of objects"),
                "use \"storage\" for a Storage of your own, or \"store\"",
            )),
        }
    }
}

impl SubresourceType {
    /// Returns the name used in `operator.toml`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Object => "object",
            Self::Log => "log",
            Self::Update => "update",
            Self::Create => "create",
            Self::Exec => "exec",
            Self::PortForward => "port-forward",
        }
    }

    /// Parses such a name.
    ///
    /// # Errors
    ///
    /// Fails if there is no such type.
    pub fn parse(name: &str) -> Result<Self, Error> {
        match name {
            "object" => Ok(Self::Object),
            "log" => Ok(Self::Log),
            "update" => Ok(Self::Update),
            "create" => Ok(Self::Create),
            "exec" => Ok(Self::Exec),
            "port-forward" => Ok(Self::PortForward),
            other => Err(Error::new(
                format_args!("{other:?} is not a type of subresources"),
                "use \"object\", \"update\", \"create\", \"log\", \"exec\" or \"port-forward\"",
            )),
        }
    }
}

impl fmt::Display for SubresourceType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
