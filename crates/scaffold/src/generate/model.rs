//! Access to the CustomResourceDefinitions of a [`Model`].

use kubewright_operator::{Model, ModelError};
use serde_json::Value;

use crate::Error;

/// Reads the model that an operator printed.
///
/// # Errors
///
/// Fails if the text is not a model, or one of another version.
pub fn read_model(text: &str) -> Result<Model, Error> {
    Model::from_json(text).map_err(|e| {
        let advice = match e {
            ModelError::Json(_) => {
                "let main.rs call kubewright::operator::main, and print nothing before it"
            }
            ModelError::Version(_) => "use a tool and a kubewright dependency of the same version",
        };
        Error::new(e, advice)
    })
}

/// Returns each version of each kind.
pub(super) fn kinds(model: &Model) -> impl Iterator<Item = Kind<'_>> {
    model.definitions().flat_map(|crd| {
        let versions = crd["spec"]["versions"].as_array();
        versions
            .into_iter()
            .flatten()
            .map(move |version| Kind { crd, version })
    })
}

/// A version of a kind.
#[derive(Clone, Copy, Debug)]
pub(super) struct Kind<'a> {
    pub(super) crd: &'a Value,
    pub(super) version: &'a Value,
}

impl<'a> Kind<'a> {
    pub(super) fn group(&self) -> &'a str {
        text(&self.crd["spec"]["group"])
    }

    pub(super) fn version(&self) -> &'a str {
        text(&self.version["name"])
    }

    pub(super) fn kind(&self) -> &'a str {
        text(&self.crd["spec"]["names"]["kind"])
    }

    pub(super) fn served(&self) -> bool {
        self.version["served"] == true
    }

    pub(super) fn api_version(&self) -> String {
        format!("{}/{}", self.group(), self.version())
    }

    /// Returns the schema of the objects.
    pub(super) fn schema(&self) -> &'a Value {
        &self.version["schema"]["openAPIV3Schema"]
    }
}

/// Returns the string, or an empty one if the value is not a string.
pub(super) fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_error_says_what_to_do() {
        let error = read_model(r#"{"model": 1, "name": "a"}"#).unwrap_err();
        assert_eq!(
            error.to_string(),
            "the operator uses version 1 of the description, and this program reads version 2; use a tool and a kubewright \
             dependency of the same version"
        );
    }
}
