//! The program: flags, logs, probes, metrics and leader election come with `main_with_flags`.

use std::process::ExitCode;

fn main() -> ExitCode {
    kubewright::operator::main_with_flags(env!("CARGO_PKG_NAME"), webapp_operator::register)
}
