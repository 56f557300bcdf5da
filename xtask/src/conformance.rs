//! `conformance [OPTIONS]`: compares a server with recorded answers of kube-apiserver.
//!
//! Options are passed through unchanged; `conformance/README.md` describes them.

use crate::cargo;

pub(crate) fn run(args: &[String]) -> anyhow::Result<()> {
    let runner = ["run", "-q", "-p", "kubewright-conformance", "--"];
    cargo::run(runner.into_iter().chain(args.iter().map(String::as_str)))
}
