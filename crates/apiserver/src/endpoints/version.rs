//! `/version`: the Kubernetes version that this server behaves like, and its own.
//!
//! The keys are those of kube-apiserver. The version starts with the Kubernetes version and names this server in its build
//! metadata.

use bytes::Bytes;
use serde::Serialize;

/// The response of `/version`.
///
/// ```
/// use kubewright_apiserver::VersionInfo;
///
/// let version = VersionInfo { git_commit: "0a1b2c3".into(), ..VersionInfo::default() };
/// assert!(version.git_version.starts_with("v1.36."));
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct VersionInfo {
    /// The major version: `1`.
    pub major: String,
    /// The minor version: `36`.
    pub minor: String,
    /// The major version whose behaviour is emulated.
    pub emulation_major: String,
    /// The minor version whose behaviour is emulated.
    pub emulation_minor: String,
    /// The minimum major version that components may have.
    pub min_compatibility_major: String,
    /// The minimum minor version that components may have.
    pub min_compatibility_minor: String,
    /// A semantic version, prefixed with `v`.
    pub git_version: String,
    /// The commit of the build.
    pub git_commit: String,
    /// Whether the working tree of the build had changes.
    pub git_tree_state: String,
    /// The time of the build.
    pub build_date: String,
    /// The version of the language.
    pub go_version: String,
    /// The compiler.
    pub compiler: String,
    /// Operating system and architecture: `linux/amd64`.
    pub platform: String,
}

impl Default for VersionInfo {
    fn default() -> Self {
        Self {
            major: "1".into(),
            minor: "36".into(),
            emulation_major: "1".into(),
            emulation_minor: "36".into(),
            min_compatibility_major: "1".into(),
            min_compatibility_minor: "35".into(),
            git_version: concat!("v1.36.3+kubewright-", env!("CARGO_PKG_VERSION")).into(),
            git_commit: String::new(),
            git_tree_state: String::new(),
            build_date: "1970-01-01T00:00:00Z".into(),
            go_version: "none (rust)".into(),
            compiler: "rustc".into(),
            platform: platform(),
        }
    }
}

impl VersionInfo {
    /// Returns the document as indented JSON.
    pub fn document(&self) -> Bytes {
        serde_json::to_vec_pretty(self)
            .expect("a version is plain data")
            .into()
    }
}

/// Returns operating system and architecture by the names that Kubernetes uses.
fn platform() -> String {
    let os = match std::env::consts::OS {
        "macos" => "darwin",
        os => os,
    };
    let arch = match std::env::consts::ARCH {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        "x86" => "386",
        "powerpc64" => "ppc64le",
        arch => arch,
    };
    format!("{os}/{arch}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_and_their_order_are_those_of_the_real_server() {
        let text = String::from_utf8(VersionInfo::default().document().to_vec()).unwrap();
        let keys: Vec<&str> = text
            .lines()
            .filter_map(|line| line.split('"').nth(1))
            .collect();
        assert_eq!(
            keys,
            [
                "major",
                "minor",
                "emulationMajor",
                "emulationMinor",
                "minCompatibilityMajor",
                "minCompatibilityMinor",
                "gitVersion",
                "gitCommit",
                "gitTreeState",
                "buildDate",
                "goVersion",
                "compiler",
                "platform",
            ]
        );
        assert!(text.starts_with("{\n  \"major\": \"1\",\n"), "{text}");
    }

    #[test]
    fn the_version_is_semantic_and_says_kubernetes_1_36() {
        let version = VersionInfo::default().git_version;
        let (core, build) = version.strip_prefix('v').unwrap().split_once('+').unwrap();
        let numbers: Vec<u32> = core.split('.').map(|n| n.parse().unwrap()).collect();
        assert_eq!(numbers[..2], [1, 36]);
        assert_eq!(numbers.len(), 3);
        assert!(
            build
                .bytes()
                .all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'.')
        );
        assert!(build.starts_with("kubewright-"));
    }
}
