//! Tenants that take turns.

use kubewright_workqueue::{AddOptions, Tenant, WorkQueue};

use crate::drained;

fn queue() -> WorkQueue<(&'static str, u32)> {
    WorkQueue::builder()
        .fair_by(|(tenant, _): &(&str, u32)| Tenant::named(tenant))
        .build()
}

#[test]
fn a_busy_tenant_does_not_hold_up_a_calm_one() {
    let queue = queue();
    for n in 0..1000 {
        queue.add(("busy", n));
    }
    queue.add(("calm", 0));
    queue.add(("calm", 1));
    let order = drained(&queue);
    assert_eq!(
        order[..5],
        [
            ("busy", 0),
            ("calm", 0),
            ("busy", 1),
            ("calm", 1),
            ("busy", 2)
        ]
    );
    assert_eq!(order.len(), 1002);
}

#[test]
fn priority_comes_before_turns() {
    let queue = queue();
    queue.add(("a", 0));
    queue.add_with(("b", 0), AddOptions::new().priority(1));
    queue.add_with(("b", 1), AddOptions::new().priority(1));
    assert_eq!(drained(&queue), [("b", 0), ("b", 1), ("a", 0)]);
}

#[test]
fn a_raised_key_leaves_the_turns_of_its_old_level() {
    let queue = queue();
    for n in 0..3 {
        queue.add(("a", n));
    }
    queue.add(("b", 0));
    queue.add_with(("b", 0), AddOptions::new().priority(1));
    queue.add(("b", 1));
    assert_eq!(
        drained(&queue),
        [("b", 0), ("a", 0), ("b", 1), ("a", 1), ("a", 2)]
    );
    assert!(queue.is_empty());
}
