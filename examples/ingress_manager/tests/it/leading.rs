//! With leader election, one of several processes is active.

use kubewright_controller::leader_election::ElectionConfig;

use crate::target::{Running, Target};

fn candidate(target: &Target, identity: &str) -> Running {
    let election = ElectionConfig::new("ingress-manager", &target.namespace).identity(identity);
    let manager = target.manager().leader_election(election).build();
    Running::start(manager.expect("a manager"))
}

#[tokio::test]
async fn the_next_leader_continues_where_the_last_one_stopped() {
    let target = Target::start().await;
    let first = candidate(&target, "first");
    first.manager.elected().await;
    let second = candidate(&target, "second");
    target.create("web", true, 80).await;
    target.leads_to("web", 80).await;
    let runs = |running: &Running| running.manager.debug_controllers()["leading"].clone();
    assert_eq!(runs(&first), true);
    assert_eq!(runs(&second), false);

    first.stop().await;
    target.annotate("web", None).await;
    second.manager.elected().await;
    target.gone("web").await;
    second.stop().await;
    target.clean_up().await;
}
