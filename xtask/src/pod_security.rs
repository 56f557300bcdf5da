//! `cargo xtask pod-security`: packs upstream's example pods for the Pod Security Standards into one file of tests.
//!
//! The module `k8s.io/pod-security-admission` has a pod for every level, version and check, as thousands of files of which
//! few differ. The packed file has each distinct pod once, after a comment that says where it passes and where it fails:
//! `# restricted fail 0-24 26`.
//!
//! Needs the Go toolchain and its module proxy.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};
use flate2::{Compression, write::GzEncoder};

/// The module, at the release of the catalog.
const MODULE: &str = "k8s.io/pod-security-admission@v0.36.4";
/// The file, from the root of the workspace.
const PACKED: &str = "crates/kube-apiserver/tests/it/recorded/pod_security.yaml.gz";

/// The minor versions of a pod, by level and outcome.
type Places = BTreeMap<(String, String), BTreeSet<u32>>;

/// Runs the chore.
pub(crate) fn run(args: &[String]) -> Result<()> {
    ensure!(args.is_empty(), "unknown arguments {args:?}");
    let pods = collect(&download()?.join("test/testdata"))?;
    let mut text = format!("# The pods of test/testdata in {MODULE}, Apache-2.0.\n");
    for (pod, places) in &pods {
        text.push_str("---\n");
        for ((level, outcome), minors) in places {
            writeln!(text, "# {level} {outcome}{}", ranges(minors))?;
        }
        text.push_str(pod);
    }
    let mut packed = GzEncoder::new(Vec::new(), Compression::best());
    packed.write_all(text.as_bytes())?;
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("..")
        .join(PACKED);
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    fs::write(&path, packed.finish()?)?;
    println!("{PACKED}: {} pods", pods.len());
    Ok(())
}

/// Returns the folder of the module.
fn download() -> Result<PathBuf> {
    let output = Command::new("go")
        .args(["mod", "download", "-json", MODULE])
        .output()
        .context("needs the Go toolchain (`go`) in the path")?;
    let answer: serde_json::Value = serde_json::from_slice(&output.stdout)?;
    match answer["Dir"].as_str() {
        Some(folder) => Ok(folder.into()),
        None => bail!("cannot download {MODULE}: {}", answer["Error"]),
    }
}

/// Returns the pods of `<level>/v1.<minor>/<outcome>/*.yaml`, and their places.
fn collect(root: &Path) -> Result<BTreeMap<String, Places>> {
    let mut pods = BTreeMap::<String, Places>::new();
    for level in ["baseline", "restricted"] {
        for version in children(&root.join(level))? {
            let name = name(&version);
            let minor = name.strip_prefix("v1.").context("not a version")?.parse()?;
            for outcome in ["pass", "fail"] {
                for file in children(&version.join(outcome))? {
                    let places = pods.entry(fs::read_to_string(file)?).or_default();
                    let key = (level.to_owned(), outcome.to_owned());
                    places.entry(key).or_default().insert(minor);
                }
            }
        }
    }
    Ok(pods)
}

fn children(folder: &Path) -> Result<Vec<PathBuf>> {
    let entries = fs::read_dir(folder).with_context(|| folder.display().to_string())?;
    entries.map(|entry| Ok(entry?.path())).collect()
}

fn name(path: &Path) -> String {
    let name = path.file_name().unwrap_or_default();
    name.to_string_lossy().into_owned()
}

/// Returns numbers as ranges: ` 0-3 5`.
fn ranges(numbers: &BTreeSet<u32>) -> String {
    let mut text = String::new();
    let mut numbers = numbers.iter().copied().peekable();
    while let Some(first) = numbers.next() {
        let mut last = first;
        while let Some(next) = numbers.next_if_eq(&(last + 1)) {
            last = next;
        }
        text += &match first == last {
            true => format!(" {first}"),
            false => format!(" {first}-{last}"),
        };
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_that_follow_one_another_are_a_range() {
        assert_eq!(ranges(&[0, 1, 2, 5, 7, 8].into()), " 0-2 5 7-8");
        assert_eq!(ranges(&BTreeSet::new()), "");
    }
}
