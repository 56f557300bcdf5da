//! `kubewright create webhook` and `kubewright add webhook`: scaffold webhooks for a kind.

use clap::Args;
use kubewright_scaffold::{AddWebhook, Error};

use super::target::target;
use crate::{
    output::PlanArgs,
    project::{kubebuilder::Kubebuilder, project},
};

#[derive(Args)]
pub(crate) struct Webhook {
    /// Group, version and kind: of the project, or a built-in one such as v1/Pod; or use --group, --version and --kind
    #[arg(value_name = "GROUP/VERSION/KIND")]
    gvk: Option<String>,

    /// API group: without the domain for a kind of the project, e.g. crew
    #[arg(long)]
    group: Option<String>,

    /// API version, e.g. v1; the hub if objects are converted
    #[arg(long)]
    version: Option<String>,

    /// Kind, e.g. Captain
    #[arg(long)]
    kind: Option<String>,

    /// Scaffold a webhook that sets defaults
    #[arg(long)]
    defaulting: bool,

    /// Scaffold a webhook that validates
    #[arg(long)]
    programmatic_validation: bool,

    /// Scaffold conversion between the version and others
    #[arg(long)]
    conversion: bool,

    /// Versions to convert from and to [default: all other versions of the kind]
    #[arg(long, value_name = "VERSIONS", value_delimiter = ',')]
    spoke: Vec<String>,

    /// Name of the module [default: the kind in lower case]
    #[arg(long)]
    name: Option<String>,

    /// Overwrite existing files
    #[arg(long)]
    force: bool,

    #[command(flatten)]
    other: Other,

    #[command(flatten)]
    kubebuilder: Kubebuilder,

    #[command(flatten)]
    plan: PlanArgs,
}

/// Flags of kubebuilder that have no place here.
#[derive(Args)]
struct Other {
    #[arg(long, hide = true)]
    plural: Option<String>,
    #[arg(long, hide = true)]
    defaulting_path: Option<String>,
    #[arg(long, hide = true)]
    validation_path: Option<String>,
    #[arg(long, hide = true)]
    external_api_path: Option<String>,
    #[arg(long, hide = true)]
    external_api_domain: Option<String>,
    #[arg(long, hide = true)]
    external_api_module: Option<String>,
}

impl Webhook {
    pub(crate) fn run(self) -> anyhow::Result<()> {
        self.kubebuilder.check()?;
        self.other.check()?;
        let target = target(self.gvk, self.group, self.version, self.kind)?;
        let add = AddWebhook {
            target,
            name: self.name,
            defaulting: self.defaulting,
            validation: self.programmatic_validation,
            conversion: self.conversion,
            spokes: self.spoke,
            force: self.force,
        };
        self.plan.carry_out(&add.plan(&project()?)?, "cargo test")
    }
}

impl Other {
    fn check(&self) -> Result<(), Error> {
        if self.plural.is_some() {
            return Err(Error::new(
                "the plural of a kind is known",
                "leave out --plural",
            ));
        }
        if self.defaulting_path.is_some() || self.validation_path.is_some() {
            return Err(Error::new(
                "the path of a webhook is set in code",
                "leave out --defaulting-path and --validation-path, and use Webhook::at",
            ));
        }
        let external = [
            &self.external_api_path,
            &self.external_api_domain,
            &self.external_api_module,
        ];
        match external.iter().any(|flag| flag.is_some()) {
            false => Ok(()),
            true => Err(Error::new(
                "types of other projects are imported as Rust types",
                "leave out --external-api-*, and import them with `kubewright import crd`",
            )),
        }
    }
}
