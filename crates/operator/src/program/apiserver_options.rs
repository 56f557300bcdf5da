//! The flags for audit events of aggregated APIs, and for the paths that need no authorization.

use std::path::PathBuf;

use clap::{Arg, ArgAction, ArgMatches, Command, value_parser};
use kubewright_extension_apiserver::{AuditError, AuditFlags, Delegation, ExtensionServerBuilder};

const POLICY_FILE: &str = "apiserver-audit-policy-file";
const LOG_PATH: &str = "apiserver-audit-log-path";
const LOG_MAX_SIZE: &str = "apiserver-audit-log-maxsize";
const LOG_MAX_BACKUP: &str = "apiserver-audit-log-maxbackup";
const LOG_MAX_AGE: &str = "apiserver-audit-log-maxage";
const ALWAYS_ALLOW_PATHS: &str = "apiserver-authorization-always-allow-paths";

/// The values of the flags.
pub(super) struct Options {
    audit: AuditFlags,
    always_allow_paths: Vec<String>,
}

impl Options {
    /// Adds the flags to a command.
    pub(super) fn arguments(command: Command) -> Command {
        let file = |name: &'static str, other: &'static str| {
            Arg::new(name)
                .long(name)
                .value_name("FILE")
                .value_parser(value_parser!(PathBuf))
                .requires(other)
        };
        let number = |name: &'static str, other: &'static str| {
            Arg::new(name)
                .long(name)
                .value_name("NUMBER")
                .value_parser(value_parser!(u32))
                .requires(other)
        };
        let paths = Arg::new(ALWAYS_ALLOW_PATHS)
            .long(ALWAYS_ALLOW_PATHS)
            .value_name("PATHS")
            .value_delimiter(',')
            .action(ArgAction::Append)
            .help("Paths of the aggregated APIs that need no authorization, besides those of probes. A trailing \"*\" matches any suffix");
        command.args([
            file(POLICY_FILE, LOG_PATH).help("The audit policy of the aggregated APIs"),
            file(LOG_PATH, POLICY_FILE).help("The file that audit events of the aggregated APIs are appended to"),
            number(LOG_MAX_SIZE, LOG_PATH).help("The size at which the audit log is replaced, in megabytes. By default, it is one file"),
            number(LOG_MAX_BACKUP, LOG_MAX_SIZE).help("The number of replaced audit logs that are kept. By default, all are"),
            number(LOG_MAX_AGE, LOG_MAX_SIZE).help("The number of days that replaced audit logs are kept. By default, they are not removed for their age"),
            paths,
        ])
    }

    pub(super) fn from_matches(matches: &ArgMatches) -> Self {
        let number = |name: &str| matches.get_one::<u32>(name).copied().unwrap_or_default();
        let paths = matches.get_many::<String>(ALWAYS_ALLOW_PATHS);
        Self {
            audit: AuditFlags {
                policy_file: matches.get_one(POLICY_FILE).cloned(),
                log_path: matches.get_one(LOG_PATH).cloned(),
                max_size: number(LOG_MAX_SIZE).into(),
                max_backups: number(LOG_MAX_BACKUP) as usize,
                max_age: number(LOG_MAX_AGE),
            },
            always_allow_paths: paths.into_iter().flatten().cloned().collect(),
        }
    }

    /// Returns a delegation that allows the paths.
    pub(super) fn allow_paths(&self, delegation: Delegation) -> Delegation {
        delegation.always_allow(self.always_allow_paths.iter().cloned())
    }

    /// Returns a function that adds the audit events to a server.
    ///
    /// # Errors
    ///
    /// Fails if a file cannot be used, or if the policy is invalid.
    pub(super) fn audit(
        &self,
    ) -> Result<impl FnOnce(ExtensionServerBuilder) -> ExtensionServerBuilder + use<>, AuditError>
    {
        let audit = self.audit.open()?;
        Ok(|server: ExtensionServerBuilder| match audit {
            Some((policy, log)) => server.audit(policy, log),
            None => server,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(flags: &[&str]) -> Result<Options, clap::Error> {
        let command = Options::arguments(Command::new("sky"));
        let matches = command.try_get_matches_from(["sky"].iter().chain(flags))?;
        Ok(Options::from_matches(&matches))
    }

    #[test]
    fn the_flags_are_those_of_an_extension_server() {
        let options = parse(&[
            "--apiserver-audit-policy-file=policy.yaml",
            "--apiserver-audit-log-path=audit.log",
            "--apiserver-audit-log-maxsize=100",
            "--apiserver-audit-log-maxbackup=10",
            "--apiserver-authorization-always-allow-paths=/metrics,/sky/*",
        ]);
        let options = options.unwrap();
        assert_eq!(options.audit.max_size, 100);
        assert_eq!(options.audit.log_path, Some("audit.log".into()));
        assert_eq!(options.always_allow_paths, ["/metrics", "/sky/*"]);
        assert!(parse(&["--apiserver-audit-log-path=audit.log"]).is_err());
        let audit = options.audit().err().map(|error| error.to_string());
        assert!(audit.unwrap().starts_with("policy.yaml: "));
        assert!(parse(&[]).unwrap().audit().is_ok());
    }
}
