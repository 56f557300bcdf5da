//! `kubewright completion`: what a shell needs to complete the tool's words.

use clap::{Args, Command};
use clap_complete::{Shell, generate};

use super::planned::say;

#[derive(Args)]
pub(crate) struct Completion {
    /// The shell: source what is printed, or put it where the shell looks for completions.
    shell: Shell,
}

impl Completion {
    pub(crate) fn run(self, mut command: Command) -> anyhow::Result<()> {
        let mut script = Vec::new();
        generate(self.shell, &mut command, "kubewright", &mut script);
        say(&String::from_utf8(script)?)
    }
}
