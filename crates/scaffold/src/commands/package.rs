//! [`Package`]: the entries of `[package]` in `Cargo.toml` that `new` and `edit` set.

use toml_edit::{Array, DocumentMut, Item, value};

use crate::Error;

/// Descriptive entries of `[package]` in `Cargo.toml`. Entries that are not given stay as they are.
///
/// ```
/// use kubewright_scaffold::{License, Package};
///
/// let package = Package {
///     repository: Some("github.com/acme/crew".into()),
///     license: Some(License::parse("apache2")?),
///     owner: Some("Acme".into()),
/// };
/// assert_eq!(package.license, Some(License::Expression("Apache-2.0".into())));
/// # Ok::<(), kubewright_scaffold::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Package {
    /// The repository: a URL, or a path such as `github.com/acme/crew`, as Go modules are named.
    pub repository: Option<String>,
    /// The license.
    pub license: Option<License>,
    /// The owner, who is listed as the author.
    pub owner: Option<String>,
}

/// The license of a package.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum License {
    /// No license is granted.
    None,
    /// An SPDX expression, such as `Apache-2.0`.
    Expression(String),
}

impl License {
    /// Parses a license in the words of kubebuilder (`apache2`, `copyright`, `none`) or as an SPDX expression.
    ///
    /// # Errors
    ///
    /// Fails if the text is neither.
    pub fn parse(text: &str) -> Result<License, Error> {
        match text {
            "apache2" => Ok(License::Expression("Apache-2.0".to_owned())),
            "none" | "copyright" => Ok(License::None),
            text => {
                let known = |c: char| c.is_ascii_alphanumeric() || "-.+() ".contains(c);
                match text.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '(')
                    && text.chars().all(known)
                {
                    true => Ok(License::Expression(text.to_owned())),
                    false => Err(Error::new(
                        format_args!("{text:?} is not a license"),
                        "use apache2, copyright, none, or an SPDX expression such as MIT",
                    )),
                }
            }
        }
    }
}

impl Package {
    /// Reports whether there is nothing to set.
    pub(super) fn is_empty(&self) -> bool {
        *self == Package::default()
    }

    /// Returns a manifest with these entries.
    pub(super) fn applied_to(&self, manifest: &str) -> Result<String, Error> {
        if self.is_empty() {
            return Ok(manifest.to_owned());
        }
        let broken = || Error::new("Cargo.toml has no [package]", "correct it");
        let mut document: DocumentMut = manifest.parse().map_err(|_| broken())?;
        let package = document
            .get_mut("package")
            .and_then(Item::as_table_mut)
            .ok_or_else(broken)?;
        if let Some(owner) = &self.owner {
            if owner.trim().is_empty() || owner.chars().any(char::is_control) {
                return Err(Error::new(
                    format_args!("{owner:?} cannot be an owner"),
                    "write a name, such as --owner 'Acme Inc.'",
                ));
            }
            package["authors"] = value(Array::from_iter([owner.as_str()]));
        }
        match &self.license {
            None => {}
            Some(License::None) => drop(package.remove("license")),
            Some(License::Expression(expression)) => package["license"] = value(expression),
        }
        if let Some(repository) = &self.repository {
            package["repository"] = value(url(repository)?);
        }
        Ok(document.to_string())
    }
}

/// Returns the URL of a repository.
fn url(repository: &str) -> Result<String, Error> {
    let visible = |c: char| c.is_ascii_graphic() && !matches!(c, '"' | '\\');
    if repository.is_empty() || !repository.chars().all(visible) {
        return Err(Error::new(
            format_args!("{repository:?} is not a repository"),
            "write its URL, or a path such as github.com/acme/crew",
        ));
    }
    Ok(match repository.contains("://") {
        true => repository.to_owned(),
        false => format!("https://{repository}"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_are_set_and_the_rest_of_the_manifest_stays() {
        let manifest = "[package]\nname = \"crew\" # mine\nlicense = \"MIT\"\n\n[dependencies]\n";
        let package = Package {
            repository: Some("tutorial.example.com/project".into()),
            license: Some(License::parse("apache2").unwrap()),
            owner: Some("Acme \"Ships\"".into()),
        };
        assert_eq!(
            package.applied_to(manifest).unwrap(),
            "[package]\nname = \"crew\" # mine\nlicense = \"Apache-2.0\"\nauthors = ['Acme \"Ships\"']\n\
             repository = \"https://tutorial.example.com/project\"\n\n[dependencies]\n"
        );
        let none = Package {
            license: Some(License::None),
            ..Package::default()
        };
        assert!(!none.applied_to(manifest).unwrap().contains("license"));
        assert_eq!(
            Package::default().applied_to("not TOML").unwrap(),
            "not TOML"
        );
    }

    #[test]
    fn entries_that_make_no_sense_are_refused() {
        for wrong in ["", "Apache\n2", "\"MIT\"", "-MIT"] {
            assert!(License::parse(wrong).is_err(), "{wrong:?}");
        }
        let of = |repository: &str| Package {
            repository: Some(repository.into()),
            ..Package::default()
        };
        for wrong in ["", "a b", "a\"b"] {
            assert!(of(wrong).applied_to("[package]\n").is_err(), "{wrong:?}");
        }
    }
}
