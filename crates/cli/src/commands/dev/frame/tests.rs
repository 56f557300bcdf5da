//! The live view at several sizes.

use crate::{
    commands::dev::{
        event::DevEvent,
        screen::{Screen, View as Form},
    },
    operator::endpoint::Controllers,
};

use super::*;

const LONG: &str = "error: cannot create the Deployment \"web\" in the namespace \"shop\": deployments.apps \"web\" is forbidden: \
                    exceeded quota: small, requested: count/deployments.apps=1, used: 2, limited: 2";

fn screen() -> Screen {
    let screen = Screen::new(Form::Live, Style::Plain, "crew-operator");
    screen.show(DevEvent::Cluster {
        server: "https://127.0.0.1:6443".into(),
        flags: "--kubeconfig target/kubewright/kubeconfig".into(),
        console: None,
    });
    screen.show(DevEvent::Running {
        pid: 77,
        address: "127.0.0.1:1".into(),
        build_seconds: 2.0,
        since_saved_seconds: None,
    });
    screen
}

fn reconcile(key: String, result: &str, failed: bool) -> DevEvent {
    DevEvent::Reconcile {
        controller: "captain".into(),
        key,
        trigger: "captains added".into(),
        result: result.into(),
        seconds: 0.0015,
        failed,
    }
}

fn drawn(screen: &Screen, lines: usize, columns: usize) -> Vec<String> {
    let view = screen.lines(Size { lines, columns });
    assert!(view.len() <= lines, "{} of {lines}: {view:#?}", view.len());
    let widest = view.iter().map(|line| super::columns(line)).max();
    assert!(widest <= Some(columns), "{view:#?}");
    view
}

#[test]
fn recent_events_fill_the_height_of_the_terminal() {
    let screen = screen();
    for n in 0..100 {
        screen.show(reconcile(format!("default/a{n}"), "done", false));
    }
    for lines in [10, 24, 50, 90] {
        let view = drawn(&screen, lines, 120);
        assert_eq!(view.len(), lines);
        assert!(view[lines - 1].contains("default/a99 "), "{view:#?}");
    }
    let view = drawn(&screen, 90, 120);
    assert!(
        view.iter().any(|line| line.contains("default/a40 ")),
        "{view:#?}"
    );
}

#[test]
fn no_message_is_cut_before_its_text() {
    let screen = screen();
    screen.show(reconcile("shop/web".into(), LONG, true));
    let controllers: Controllers = serde_json::from_value(serde_json::json!({"controllers": [{
        "name": "captain", "runs": 1, "failures": 1,
        "keys": [{"key": "shop/web", "lastResult": LONG, "dueInSeconds": 3.0}],
    }]}))
    .unwrap();
    screen.controllers(controllers);
    for columns in [60, 80, 120, 200] {
        let view = drawn(&screen, 40, columns);
        let text = view
            .join(" ")
            .split_whitespace()
            .collect::<Vec<_>>()
            .join(" ");
        let failing = text.find("FAILING").unwrap();
        assert!(
            text[..failing + 150].contains("cannot create the Deployment"),
            "{text}"
        );
        assert!(text[failing..].contains("exceeded quota: small"), "{text}");
    }
    let view = drawn(&screen, 40, 200).join("\n");
    assert!(view.contains("limited: 2; retried in 3 s"), "{view}");
    assert!(view.contains("limited: 2, took 1.5 ms"), "{view}");
}

#[test]
fn one_failure_is_one_line_however_often_it_is_retried() {
    let screen = screen();
    for _ in 0..5 {
        screen.show(reconcile("shop/web".into(), "error: no", true));
        screen.show(DevEvent::Log {
            level: "WARN".into(),
            target: "kubewright_controller::controller::work".into(),
            line: "reconcile failed error=no".into(),
        });
    }
    let view = drawn(&screen, 30, 120);
    let told: Vec<&String> = view
        .iter()
        .filter(|line| line.contains("error: no"))
        .collect();
    assert_eq!(told.len(), 1, "{view:#?}");
    assert!(told[0].ends_with("took 1.5 ms (5 times)"), "{told:?}");
}

#[test]
fn the_errors_of_the_compiler_use_the_height_and_the_rest_is_counted() {
    let screen = screen();
    let said: Vec<String> = (1..=100).map(|n| format!("error on line {n}")).collect();
    screen.show(DevEvent::Broken {
        said: said.join("\n"),
    });
    let view = drawn(&screen, 50, 100);
    assert!(
        view.iter().any(|line| line == "  error on line 38"),
        "{view:#?}"
    );
    assert!(
        view.iter()
            .any(|line| line.contains("more lines; `cargo check` shows all"))
    );
    let last = view.last().unwrap();
    assert!(
        last.contains("broken    the operator does not compile"),
        "{view:#?}"
    );
    drawn(&screen, 12, 30);
}

#[test]
fn the_progress_of_a_build_is_in_the_view() {
    let screen = screen();
    screen.show(DevEvent::Building {
        why: "first build, which takes longest".into(),
    });
    screen.show(DevEvent::Progress {
        done: 112,
        total: Some(218),
        now: "Compiling kube-client v5.0.0".into(),
    });
    let view = drawn(&screen, 24, 120).join("\n");
    assert!(
        view.contains(
            "first build, which takes longest; 112 of 218 crates, Compiling kube-client v5.0.0"
        ),
        "{view}"
    );
}
