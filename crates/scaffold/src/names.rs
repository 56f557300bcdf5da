//! Validates the names of projects, groups, versions and kinds.

use std::fmt;

use kubewright_machinery::validation::names::{
    is_dns1035_label, is_dns1123_label, is_dns1123_subdomain,
};

use crate::{
    Error,
    import_crd::words::{is_keyword, singular},
};

/// The types that generated code refers to by these names.
const RUST_TYPES: [&str; 27] = [
    "Action",
    "Api",
    "Box",
    "Clone",
    "Condition",
    "Context",
    "Controller",
    "CustomResource",
    "Debug",
    "Default",
    "Deserialize",
    "Error",
    "Manager",
    "Operator",
    "Option",
    "PartialEq",
    "Patch",
    "PatchParams",
    "PostParams",
    "Request",
    "Result",
    "Schema",
    "Serialize",
    "Some",
    "String",
    "TestCluster",
    "Vec",
];

/// The crates that every program or every scaffolded project uses.
const CRATES: [&str; 14] = [
    "alloc",
    "core",
    "k8s-openapi",
    "kube",
    "kubewright",
    "kubewright-operator",
    "proc-macro",
    "schemars",
    "serde",
    "serde-json",
    "std",
    "test",
    "tokio",
    "tracing",
];

/// The directories that cargo creates next to programs.
const CARGO_DIRECTORIES: [&str; 4] = ["build", "deps", "examples", "incremental"];

/// A kind as users write it, such as `crew/v1/Captain`.
///
/// ```
/// use kubewright_scaffold::Gvk;
///
/// let captain = Gvk::parse("crew/v1/Captain")?;
/// assert_eq!(captain.kind, "Captain");
/// assert!(Gvk::parse("crew/v1/captain").is_err());
/// # Ok::<(), kubewright_scaffold::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Gvk {
    /// The group without the domain; empty for the core group.
    pub group: String,
    /// The version.
    pub version: String,
    /// The kind.
    pub kind: String,
}

impl Gvk {
    /// Parses `group/version/Kind`, or `version/Kind` for the core group.
    ///
    /// # Errors
    ///
    /// Fails if the text has another form, or if a part is not valid.
    pub fn parse(text: &str) -> Result<Gvk, Error> {
        let parts: Vec<&str> = text.split('/').collect();
        let (group, version, kind) = match parts[..] {
            [group, version, kind] => (group, version, kind),
            [version, kind] => ("", version, kind),
            _ => {
                return Err(Error::new(
                    format_args!("{text:?} does not name a kind"),
                    "write it as group/version/Kind, such as crew/v1/Captain",
                ));
            }
        };
        check_version(version)?;
        check_kind(kind)?;
        Ok(Gvk {
            group: group.to_owned(),
            version: version.to_owned(),
            kind: kind.to_owned(),
        })
    }
}

impl fmt::Display for Gvk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.group.is_empty() {
            true => write!(f, "{}/{}", self.version, self.kind),
            false => write!(f, "{}/{}/{}", self.group, self.version, self.kind),
        }
    }
}

/// Checks the name of a project, which is also the name of a package and part of namespaces.
pub(crate) fn check_project(name: &str) -> Result<(), Error> {
    if !is_dns1123_label(name).is_empty() || !name.starts_with(|c: char| c.is_ascii_lowercase()) {
        return Err(Error::new(
            format_args!("{name:?} cannot be the name of a project"),
            "use small letters, digits and dashes, and begin with a letter",
        ));
    }
    let taken = if is_keyword(name) {
        "a Rust keyword"
    } else if CRATES.contains(&name) {
        "the name of a crate that every project uses"
    } else if CARGO_DIRECTORIES.contains(&name) {
        "the name of a directory that cargo creates"
    } else {
        return Ok(());
    };
    Err(Error::new(
        format_args!("{name:?} is {taken}"),
        "choose another with --project-name",
    ))
}

/// Checks a domain, such as `example.com`.
pub(crate) fn check_domain(domain: &str) -> Result<(), Error> {
    match is_dns1123_subdomain(domain).is_empty() {
        true => Ok(()),
        false => Err(Error::new(
            format_args!("{domain:?} is not a domain"),
            "use small letters, digits, dashes and dots, such as example.com",
        )),
    }
}

/// Checks a group without its domain, such as `crew`.
pub(crate) fn check_group(group: &str) -> Result<(), Error> {
    match is_dns1123_subdomain(group).is_empty()
        && group.starts_with(|c: char| c.is_ascii_lowercase())
    {
        true => Ok(()),
        false => Err(Error::new(
            format_args!("{group:?} cannot be a group"),
            "use small letters, digits and dashes, and begin with a letter, such as crew",
        )),
    }
}

/// Checks a version, such as `v1`, `v1alpha1` or `v2beta3`.
pub(crate) fn check_version(version: &str) -> Result<(), Error> {
    let number = |text: &str| {
        text.starts_with(|c: char| ('1'..='9').contains(&c))
            && text.chars().all(|c| c.is_ascii_digit())
    };
    let good = version.strip_prefix('v').is_some_and(|rest| {
        let parts = ["alpha", "beta"]
            .into_iter()
            .find_map(|level| rest.split_once(level));
        match parts {
            Some((major, minor)) => number(major) && number(minor),
            None => number(rest),
        }
    });
    match good {
        true => Ok(()),
        false => Err(Error::new(
            format_args!("{version:?} is not a version"),
            "use one such as v1, v1alpha1 or v2beta3",
        )),
    }
}

/// Checks a kind, such as `Captain`.
pub(crate) fn check_kind(kind: &str) -> Result<(), Error> {
    let letters = kind.chars().all(|c| c.is_ascii_alphanumeric());
    let lower = kind.to_ascii_lowercase();
    if !kind.starts_with(|c: char| c.is_ascii_uppercase())
        || !letters
        || !is_dns1035_label(&lower).is_empty()
    {
        return Err(Error::new(
            format_args!("{kind:?} cannot be a kind"),
            "begin with a capital, and use letters and digits only, 63 at most, such as Captain",
        ));
    }
    if kind == "Self" {
        return Err(Error::new(
            format_args!("{kind:?} is a Rust keyword"),
            "choose another kind",
        ));
    }
    if RUST_TYPES.contains(&kind) {
        return Err(Error::new(
            format_args!("the kind {kind:?} would hide another type of that name"),
            "choose another kind",
        ));
    }
    Ok(())
}

/// Checks the name of a subresource.
pub(crate) fn check_subresource(name: &str) -> Result<(), Error> {
    let good = name.starts_with(|c: char| c.is_ascii_lowercase())
        && name.len() <= 63
        && name
            .chars()
            .all(|c| c.is_ascii_lowercase() || c.is_ascii_digit());
    match good {
        false => Err(Error::new(
            format_args!("{name:?} cannot be the name of a subresource"),
            "use small letters and digits, and begin with a letter",
        )),
        true if matches!(name, "status" | "scale") => Err(Error::new(
            format_args!("{name:?} follows from the type"),
            "use `status` or `scale` of #[kube(...)]",
        )),
        true => Ok(()),
    }
}

/// Checks a plural, such as `captains`.
pub(crate) fn check_plural(plural: &str) -> Result<(), Error> {
    match is_dns1035_label(plural).is_empty() {
        true => Ok(()),
        false => Err(Error::new(
            format_args!("{plural:?} cannot be a plural"),
            "use small letters and digits, such as captains",
        )),
    }
}

/// Returns the usual plural of a kind: `policies` for `Policy`, `addresses` for `Address`.
pub(crate) fn plural(kind: &str) -> String {
    let one = kind.to_ascii_lowercase();
    let before_y = one.len() >= 2 && !one[..one.len() - 1].ends_with(['a', 'e', 'i', 'o', 'u']);
    let sibilant = ["s", "x", "z", "ch", "sh"]
        .iter()
        .any(|end| one.ends_with(end));
    if one.ends_with('y') && before_y {
        format!("{}ies", &one[..one.len() - 1])
    } else if sibilant && singular(&one) == one {
        format!("{one}es")
    } else if one.ends_with('s') {
        one
    } else if sibilant {
        format!("{one}es")
    } else {
        format!("{one}s")
    }
}

/// Returns the module name for a name, such as `captain` or `networking_k8s_io`.
pub(crate) fn module(name: &str) -> String {
    crate::import_crd::words::field(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_have_their_usual_plurals() {
        let cases = [
            ("Captain", "captains"),
            ("Policy", "policies"),
            ("Gateway", "gateways"),
            ("Address", "addresses"),
            ("Ingress", "ingresses"),
            ("Box2", "box2s"),
            ("Mesh", "meshes"),
            ("Status", "statuses"),
        ];
        for (kind, many) in cases {
            assert_eq!(plural(kind), many);
        }
    }

    #[test]
    fn names_that_are_not_allowed_say_what_to_write() {
        let sentence = |result: Result<(), Error>| result.unwrap_err().to_string();
        assert_eq!(
            sentence(check_kind("captain")),
            "\"captain\" cannot be a kind; begin with a capital, and use letters and digits only, 63 at most, such as Captain"
        );
        assert_eq!(
            sentence(check_version("1")),
            "\"1\" is not a version; use one such as v1, v1alpha1 or v2beta3"
        );
        for bad in [
            "v",
            "v0",
            "v1alpha",
            "v1gamma1",
            "V1",
            "v1-1",
            "",
            "v1alpha1beta1",
        ] {
            assert!(check_version(bad).is_err(), "{bad}");
        }
        for good in ["v1", "v10", "v1alpha1", "v2beta12"] {
            assert!(check_version(good).is_ok(), "{good}");
        }
        for bad in ["", "Crew", "crew_1", "-a", "a..b", "1a", "été"] {
            assert!(check_group(bad).is_err(), "{bad}");
        }
        for bad in [
            "", "Op", "my_op", "1op", "a.b", "core", "-x", "fn", "self", "crate", "type", "deps",
            "kube",
        ] {
            assert!(check_project(bad).is_err(), "{bad}");
        }
        assert_eq!(
            sentence(check_project("fn")),
            "\"fn\" is a Rust keyword; choose another with --project-name"
        );
        assert_eq!(
            sentence(check_kind("Self")),
            "\"Self\" is a Rust keyword; choose another kind"
        );
        assert!(check_kind("Option").is_err());
        assert!(check_kind("Été").is_err());
        assert!(check_plural("Captains").is_err());
        assert!(check_domain("exa mple").is_err());
    }

    #[test]
    fn kinds_are_read_with_and_without_a_group() {
        let crew = Gvk::parse("crew/v1/Captain").unwrap();
        assert_eq!(
            (crew.group.as_str(), crew.to_string().as_str()),
            ("crew", "crew/v1/Captain")
        );
        assert_eq!(Gvk::parse("v1/Pod").unwrap().group, "");
        assert!(Gvk::parse("Captain").is_err());
        assert!(Gvk::parse("a/b/c/d").is_err());
    }
}
