//! Commands of people to controllers: pause, resume, enqueue.

use std::{sync::Arc, time::Duration};

use kubewright_controller::{Action, CommandError, Context, ControllerCommand, Manager, Request};
use kubewright_testing::TestCluster;
use tokio::sync::Notify;

use crate::{
    managing::Managed,
    reconciling::{Ran, triggered},
};

#[tokio::test(start_paused = true)]
async fn a_paused_controller_starts_nothing_and_continues_with_what_came_meanwhile() {
    let cluster = TestCluster::start().await;
    let manager = Manager::new(cluster.client());
    let ran = Ran::default();
    let (noted, begun, finish) = (
        ran.clone(),
        Arc::new(Notify::new()),
        Arc::new(Notify::new()),
    );
    let (begins, finishes) = (begun.clone(), finish.clone());
    let controller = triggered()
        .max_concurrent_reconciles(2)
        .build(&manager, move |_: Context, request: Request| {
            let (ran, begins, finishes) = (noted.clone(), begins.clone(), finishes.clone());
            async move {
                if request.name() == "slow" {
                    begins.notify_one();
                    finishes.notified().await;
                }
                ran.note(&request);
                Ok(Action::done())
            }
        })
        .unwrap();
    let managed = Managed::start(&manager);
    controller.trigger(Request::new("default", "slow"));
    begun.notified().await;
    let triggered = || "triggered".to_owned();
    let pause = ControllerCommand::Pause {
        controller: triggered(),
    };
    manager.command(&pause).unwrap();
    let enqueue = ControllerCommand::Enqueue {
        controller: triggered(),
        key: "default/a".into(),
    };
    manager.command(&enqueue).unwrap();
    manager.command(&enqueue).unwrap();
    // What runs already ends, and both workers then have nothing to do.
    finish.notify_one();
    let unsettled = manager.settled(Duration::from_secs(60)).await.unwrap_err();
    assert!(
        unsettled
            .to_string()
            .contains("1 queued, 0 running, paused"),
        "{unsettled}"
    );
    assert_eq!(ran.all(), ["default/slow"]);
    assert!(controller.status().paused);

    let resume = ControllerCommand::Resume {
        controller: triggered(),
    };
    manager.command(&resume).unwrap();
    managed.settled().await;
    assert_eq!(ran.all(), ["default/slow", "default/a"]);
    managed.stop().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_paused_controller_stops_with_its_manager() {
    let cluster = TestCluster::start().await;
    let manager = Manager::new(cluster.client());
    let controller = triggered()
        .build(&manager, |_: Context, _: Request| async {
            Ok(Action::done())
        })
        .unwrap();
    controller.pause();
    controller.trigger(Request::new("default", "a"));
    let managed = Managed::start(&manager);
    managed.stop().await.unwrap();
    assert_eq!(controller.status().runs, 0);
}

#[tokio::test]
async fn commands_name_a_controller_and_a_key() {
    let cluster = TestCluster::start().await;
    let manager = Manager::new(cluster.client());
    let _controller = triggered()
        .build(&manager, |_: Context, _: Request| async {
            Ok(Action::done())
        })
        .unwrap();
    let enqueue = |controller: &str, key: &str| {
        manager.command(&ControllerCommand::Enqueue {
            controller: controller.into(),
            key: key.into(),
        })
    };
    assert_eq!(enqueue("triggered", "node-1"), Ok(()));
    for key in ["", "/", "a/", "/a", "a/b/c"] {
        assert_eq!(
            enqueue("triggered", key),
            Err(CommandError::InvalidKey(key.into()))
        );
    }
    let unknown = CommandError::UnknownController("other".into());
    assert_eq!(enqueue("other", "a"), Err(unknown));
}
