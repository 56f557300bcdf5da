//! `kubewright envtest`: a directory that controller-runtime's envtest accepts as `KUBEBUILDER_ASSETS`.
//!
//! The directory holds `kube-apiserver`, `etcd` and `kubectl`, which are links to this program: it is the [`Asset`] whose name it is
//! called by. `kube-apiserver` is a cluster without controllers behind kube-apiserver's flags, `etcd` only answers health checks, and
//! `kubectl` is the one that is installed.
//!
//! | module | contents |
//! |---|---|
//! | `flags` | flags as Go programs take them |
//! | `apiserver` | the program `kube-apiserver` |
//! | `apiserver_flags` | the flags of kube-apiserver and their effect here |
//! | `apiserver_options` | the options of a cluster that these flags ask for |
//! | `feature_gates` | the feature gates and their defaults |
//! | `runtime_config` | the API versions that may be enabled or disabled |
//! | `etcd` | the program `etcd` |
//! | `kubectl` | the program `kubectl` |

mod apiserver;
mod apiserver_flags;
mod apiserver_options;
mod etcd;
mod feature_gates;
mod flags;
mod kubectl;
mod runtime_config;

use std::{
    ffi::OsString,
    fs, io,
    path::{Path, PathBuf},
};

use clap::Args;
use kubewright_scaffold::Error;
use serde_json::json;

use crate::output::{Output, say_line};

#[derive(Args)]
pub(crate) struct Envtest {
    /// Directory to create; pass it to Go tests as KUBEBUILDER_ASSETS
    #[arg(long, value_name = "DIR")]
    dir: PathBuf,

    #[command(flatten)]
    output: Output,
}

/// A program of envtest that this program replaces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Asset {
    KubeApiserver,
    Etcd,
    Kubectl,
}

impl Asset {
    const ALL: [Self; 3] = [Self::KubeApiserver, Self::Etcd, Self::Kubectl];

    fn name(self) -> &'static str {
        match self {
            Self::KubeApiserver => "kube-apiserver",
            Self::Etcd => "etcd",
            Self::Kubectl => "kubectl",
        }
    }

    /// Returns the asset that this program was called as.
    pub(crate) fn called(program: Option<&OsString>) -> Option<Self> {
        let stem = Path::new(program?).file_stem()?;
        Self::ALL.into_iter().find(|asset| stem == asset.name())
    }

    /// Runs the program with these arguments.
    pub(crate) fn run(self, arguments: Vec<OsString>) -> anyhow::Result<()> {
        let text = |arguments: Vec<OsString>| -> Vec<String> {
            let lossy = |argument: OsString| argument.to_string_lossy().into_owned();
            arguments.into_iter().map(lossy).collect()
        };
        match self {
            Self::KubeApiserver => apiserver::run(&text(arguments)),
            Self::Etcd => etcd::run(&text(arguments)),
            Self::Kubectl => kubectl::run(arguments),
        }
    }
}

impl Envtest {
    pub(crate) fn run(self) -> anyhow::Result<()> {
        let program = std::env::current_exe()
            .map_err(|e| Error::new(format_args!("cannot find this program: {e}"), "retry"))?;
        let made = fs::create_dir_all(&self.dir).and_then(|()| self.dir.canonicalize());
        let directory = made.map_err(|e| Error::io("create", &self.dir, &e))?;
        let mut files = Vec::new();
        for asset in Asset::ALL {
            let path = directory.join(asset.name());
            place(&program, &path, asset)?;
            files.push(path.display().to_string());
        }
        let directory = directory.display();
        say_line(&match self.output.is_json() {
            true => json!({"directory": directory.to_string(), "files": files}).to_string(),
            false => format!("export KUBEBUILDER_ASSETS={directory}"),
        })
    }
}

/// Links an asset to this program. A file that is not such a link stays as it is.
fn place(program: &Path, path: &Path, asset: Asset) -> Result<(), Error> {
    match fs::symlink_metadata(path) {
        Ok(found) if found.is_symlink() => {
            fs::remove_file(path).map_err(|e| Error::io("replace", path, &e))?;
        }
        // Whoever has put a kubectl there wants to use it.
        Ok(_) if asset == Asset::Kubectl => return Ok(()),
        Ok(_) => {
            let problem = format_args!("{} exists and is not a link", path.display());
            return Err(Error::new(problem, "remove it, or choose another --dir"));
        }
        Err(e) if e.kind() == io::ErrorKind::NotFound => {}
        Err(e) => return Err(Error::io("inspect", path, &e)),
    }
    link(program, path).map_err(|e| Error::io("create", path, &e))
}

#[cfg(unix)]
fn link(program: &Path, path: &Path) -> io::Result<()> {
    std::os::unix::fs::symlink(program, path)
}

#[cfg(not(unix))]
fn link(program: &Path, path: &Path) -> io::Result<()> {
    fs::copy(program, path.with_extension("exe")).map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_of_the_program_selects_the_asset() {
        let called = |name: &str| Asset::called(Some(&OsString::from(name)));
        assert_eq!(called("/tmp/a/kube-apiserver"), Some(Asset::KubeApiserver));
        assert_eq!(called("etcd"), Some(Asset::Etcd));
        assert_eq!(called("kubectl.exe"), Some(Asset::Kubectl));
        assert_eq!(called("/usr/bin/kubewright"), None);
        assert_eq!(Asset::called(None), None);
    }
}
