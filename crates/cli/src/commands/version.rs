//! `kubewright version`: the versions of the tool and of Kubernetes.

use clap::Args;
use kubewright_apiserver::VersionInfo;
use serde_json::json;

use crate::output::{Output, say};

#[derive(Args)]
pub(crate) struct Version {
    #[command(flatten)]
    output: Output,
}

impl Version {
    pub(crate) fn run(self) -> anyhow::Result<()> {
        let tool = env!("CARGO_PKG_VERSION");
        let server = VersionInfo::default();
        let kubernetes = server.git_version.trim_start_matches('v');
        let kubernetes = kubernetes.split('+').next().unwrap_or_default();
        let platform = &server.platform;
        if self.output.is_json() {
            return self.output.value(&json!({
                "kubewright": tool,
                "kubernetes": kubernetes,
                "platform": platform,
            }));
        }
        say(&format!(
            "kubewright: {tool}\nkubernetes: {kubernetes}\nplatform:   {platform}\n"
        ))
    }
}
