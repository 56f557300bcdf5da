//! Environment variables from files in volumes of the pod (`fileKeyRef`).

use serde::Deserialize;

use super::{
    plan::{ContainerPlan, Plan},
    state::PodState,
};
use crate::files::{Kind, absolute};

/// A key of an environment file in a volume.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct FileKeyRef {
    volume_name: String,
    path: String,
    key: String,
    optional: bool,
}

/// A line of an environment file that is malformed.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
enum EnvFileError {
    #[error("line {0}: missing '='")]
    NoAssignment(usize),
    #[error("line {0}: malformed variable name")]
    Name(usize),
    #[error("line {0}: value must be enclosed in single quotes")]
    Unquoted(usize),
    #[error("line {0}: unclosed single quote")]
    Unclosed(usize),
    #[error("line {0}: unexpected content after closing quote")]
    Trailing(usize),
}

impl PodState {
    /// Returns the value of a key of an environment file. It is `None` if an optional key has no value.
    ///
    /// # Errors
    ///
    /// Returns the message of a kubelet if the file is missing or malformed, or if a required key has no value.
    pub(crate) fn file_value(
        &self,
        plan: &Plan,
        wanted: &FileKeyRef,
    ) -> Result<Option<String>, String> {
        let FileKeyRef {
            volume_name, key, ..
        } = wanted;
        if !plan.spec.volumes.iter().any(|v| v.name == *volume_name) {
            return Err(format!(
                "cannot find the volume \"{volume_name}\" referenced by FileKeyRef"
            ));
        }
        let volumes = self.volumes.as_ref();
        let volume = volumes.and_then(|volumes| volumes.lock().get(volume_name).cloned());
        let bytes = volume.and_then(|volume| {
            let tree = volume.lock();
            match &tree.get(&absolute("/", &wanted.path)).ok()?.kind {
                Kind::File(bytes) => Some(bytes.clone()),
                _ => None,
            }
        });
        let unreadable = || "couldn't parse env file".to_owned();
        let bytes = bytes.ok_or_else(unreadable)?;
        let value = value(&String::from_utf8_lossy(&bytes), key).map_err(|error| {
            tracing::debug!(%error, pod = %plan.key, path = wanted.path, "malformed environment file");
            unreadable()
        })?;
        match value.is_empty() {
            false => Ok(Some(value)),
            true if wanted.optional => Ok(None),
            true => Err(format!(
                "environment variable key \"{key}\" not found in file \"/var/lib/kubelet/pods/{}/volumes/kubernetes.io~empty-dir/{volume_name}/{}\"",
                plan.uid, wanted.path
            )),
        }
    }

    /// Returns why a variable of a container has no value in its environment file.
    pub(super) fn file_error(&self, plan: &Plan, container: &ContainerPlan) -> Option<String> {
        let variables = container.raw.env.iter();
        let mut keys = variables.filter_map(|env| env.value_from.file_key_ref.as_ref());
        keys.find_map(|wanted| self.file_value(plan, wanted).err())
    }
}

/// Returns the value of a variable in an environment file, or an empty one if the file does not set it. Lines after the variable
/// are not read.
fn value(text: &str, key: &str) -> Result<String, EnvFileError> {
    let blank = [' ', '\t'];
    let mut lines = text.lines().zip(1..);
    while let Some((line, number)) = lines.next() {
        let line = line.trim_start_matches(blank);
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let assignment = line.split_once('=');
        let (name, value) = assignment.ok_or(EnvFileError::NoAssignment(number))?;
        if name.is_empty() || name.ends_with(blank) {
            return Err(EnvFileError::Name(number));
        }
        // As in a shell, a blank after the equals sign ends an empty value.
        if value.starts_with(blank) {
            match name == key {
                true => return Ok(String::new()),
                false => continue,
            }
        }
        let quoted = value.strip_prefix('\'');
        let mut rest = quoted.ok_or(EnvFileError::Unquoted(number))?;
        let mut content = String::new();
        let mut last = number;
        let after = loop {
            if let Some((inside, after)) = rest.split_once('\'') {
                content.push_str(inside);
                break after.trim_start_matches(blank);
            }
            content.push_str(rest);
            content.push('\n');
            (rest, last) = lines.next().ok_or(EnvFileError::Unclosed(number))?;
        };
        if !after.is_empty() && !after.starts_with('#') {
            return Err(EnvFileError::Trailing(last));
        }
        if name == key {
            return Ok(content);
        }
    }
    Ok(String::new())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_of_environment_files_are_in_single_quotes() {
        let text = "# comment\n\n  A='1' # first\nB='two\nlines'\nC= 'x'\nD='$A'\n";
        assert_eq!(value(text, "A").as_deref(), Ok("1"));
        assert_eq!(value(text, "B").as_deref(), Ok("two\nlines"));
        assert_eq!(value(text, "C").as_deref(), Ok(""));
        assert_eq!(value(text, "D").as_deref(), Ok("$A"));
        assert_eq!(value(text, "E").as_deref(), Ok(""));
    }

    #[test]
    fn malformed_environment_files_are_rejected() {
        for (text, error) in [
            ("A", EnvFileError::NoAssignment(1)),
            ("\nA ='1'", EnvFileError::Name(2)),
            ("='1'", EnvFileError::Name(1)),
            ("A=1", EnvFileError::Unquoted(1)),
            ("A='1\n2\n", EnvFileError::Unclosed(1)),
            ("A='1\n2' x", EnvFileError::Trailing(2)),
        ] {
            assert_eq!(value(text, "A"), Err(error), "{text:?}");
        }
    }
}
