//! `kubewright completion`: a completion script for a shell.

use clap::{Args, Command};
use clap_complete::{Shell, generate};

use crate::output::say;

#[derive(Args)]
pub(crate) struct Completion {
    /// Shell to generate the script for
    shell: Shell,
}

impl Completion {
    pub(crate) fn run(self, mut command: Command) -> anyhow::Result<()> {
        let mut script = Vec::new();
        generate(self.shell, &mut command, "kubewright", &mut script);
        say(&String::from_utf8(script)?)
    }
}
