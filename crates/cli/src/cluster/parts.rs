//! The flags that select what runs beside the API server of a local cluster.

use clap::{Args, ValueEnum};
use kubewright_cluster::{ClusterBuilder, Controllers, Profile, Scheduler};

/// The parts of a local cluster.
#[derive(Args, Clone)]
pub(crate) struct Parts {
    /// Parts of the cluster that run beside the API server: `bare` for the controllers of namespaces, garbage and service accounts,
    /// `controllers` for all built-in controllers, `full` for a scheduler and simulated nodes as well [default: full; bare with
    /// --controllers or objects in etcd]
    #[arg(long, value_name = "PROFILE")]
    profile: Option<Profile>,

    /// Number of simulated nodes of the profile `full`
    #[arg(long, value_name = "NUMBER", default_value_t = 2, value_parser = clap::value_parser!(u16).range(..=5000))]
    nodes: u16,

    /// Whether a scheduler of the cluster assigns pods to the simulated nodes; with `off`, yours does
    #[arg(long, value_name = "on|off", default_value = "on")]
    scheduler: Switch,

    /// Load balancers of services of the type `LoadBalancer`: `simulated` gives them addresses that pods on simulated nodes
    /// reach; with `none`, the addresses stay pending
    #[arg(long, value_name = "none|simulated", default_value = "none")]
    load_balancer: LoadBalancer,

    /// Built-in controllers to run instead of the profile's: `default`, `none`, or a list such as `*,-garbagecollector`
    #[arg(long, value_name = "LIST", allow_hyphen_values = true)]
    controllers: Option<Controllers>,
}

/// Whether a part runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Switch {
    On,
    Off,
}

/// The load balancers of services.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum LoadBalancer {
    None,
    Simulated,
}

/// The objects of a local cluster, which decide what runs by default.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Objects {
    /// Those of this cluster alone.
    Own,
    /// Those of another cluster, or shared with one: no nodes and no workloads are added to them unless the user asks for it.
    Foreign,
}

impl Parts {
    /// Adds the parts to a cluster.
    pub(crate) fn add_to(&self, builder: ClusterBuilder, objects: Objects) -> ClusterBuilder {
        let profile = self.profile(objects);
        let builder = builder.profile(profile);
        let builder = match profile {
            Profile::Full => builder.nodes(usize::from(self.nodes)),
            _ => builder,
        };
        let builder = match self.scheduler {
            Switch::Off => builder.scheduler(None::<Scheduler>),
            Switch::On => builder,
        };
        let builder = match &self.controllers {
            Some(controllers) => builder.controllers(controllers.clone()),
            None => builder,
        };
        match self.load_balancer {
            LoadBalancer::None => builder,
            LoadBalancer::Simulated => builder.load_balancers(),
        }
    }

    fn profile(&self, objects: Objects) -> Profile {
        let is_plain = self.controllers.is_none() && objects == Objects::Own;
        self.profile.unwrap_or(match is_plain {
            true => Profile::Full,
            false => Profile::Bare,
        })
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Program {
        #[command(flatten)]
        parts: Parts,
    }

    fn profile(arguments: &[&str], objects: Objects) -> Profile {
        let arguments = ["up"].iter().chain(arguments);
        Program::try_parse_from(arguments)
            .unwrap()
            .parts
            .profile(objects)
    }

    #[test]
    fn the_scheduler_can_be_turned_off() {
        let scheduler = |arguments: &[&str]| {
            let arguments = ["up"].iter().chain(arguments);
            Program::try_parse_from(arguments).map(|program| program.parts.scheduler)
        };
        assert_eq!(scheduler(&[]).unwrap(), Switch::On);
        assert_eq!(scheduler(&["--scheduler=off"]).unwrap(), Switch::Off);
        assert!(scheduler(&["--scheduler=mine"]).is_err());
    }

    #[test]
    fn clusters_run_workloads_unless_their_parts_are_chosen() {
        assert_eq!(profile(&[], Objects::Own), Profile::Full);
        assert_eq!(
            profile(&["--controllers", "none"], Objects::Own),
            Profile::Bare
        );
        assert_eq!(profile(&[], Objects::Foreign), Profile::Bare);
        let chosen = ["--profile", "full", "--controllers", "none"];
        assert_eq!(profile(&chosen, Objects::Foreign), Profile::Full);
    }
}
