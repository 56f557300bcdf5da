//! `kubewright demo` from outside.

use crate::{
    chromium::Chromium,
    console::url,
    process::{PATIENCE, Process},
    server::{Folder, kubewright},
};

#[test]
fn demo_once_plays_the_script_and_checks_it() {
    let folder = Folder::new();
    let mut command = kubewright();
    command.current_dir(folder.path()).args(["demo", "--once"]);
    let (output, status) = Process::start(command, None).finish();
    assert_eq!(status.code(), Some(0), "{output}");
    for line in [
        "2/12 The annotation creates an Ingress",
        "$ kubectl annotate service web ingress/http=true",
        "watch      default/web    services updated",
        "ok example.com/ routes to web:80",
        "ok example.com/ routes to web:8080",
        "ok the Ingress is deleted",
        "error: Ingress default/shop is not controlled by the Service: it is left alone",
        "is forbidden: exceeded quota: no-ingresses",
        "reconcile  default/api    backoff           -> created",
        "ok 8 pods are ready: 4 on node-1, 4 on node-2",
        "ok its ReplicaSet has created store-",
        "! node-2 loses power",
        "ok 8 pods are ready on node-1",
        "12 of 12 steps succeeded",
    ] {
        assert!(output.contains(line), "no {line:?} in\n{output}");
    }
    assert!(!output.contains("FAILED"), "{output}");
    assert!(!output.contains('\x1b'), "escapes outside a terminal");
    let left = std::fs::read_dir(folder.path()).expect("a folder").count();
    assert_eq!(left, 0, "files left behind");
}

#[cfg(unix)]
#[test]
fn the_demo_can_be_joined_and_stopped() {
    let folder = Folder::new();
    let mut command = kubewright();
    command.current_dir(folder.path()).arg("demo");
    let mut process = Process::start(command, None);
    let output = process.output_until(PATIENCE, |text| text.contains("/12 "));
    let join = "join in: kubectl --kubeconfig kubewright-demo.kubeconfig get services,ingresses";
    assert!(output.contains(join), "{output}");
    let kubeconfig = folder.path().join("kubewright-demo.kubeconfig");
    let text = std::fs::read_to_string(&kubeconfig).expect("a kubeconfig");
    assert!(text.contains("https://127.0.0.1:"), "{text}");
    let (output, status) = process.signal("TERM");
    assert_eq!(status.code(), Some(0), "{output}");
    assert!(
        output.ends_with("kubewright demo has stopped\n"),
        "{output}"
    );
    assert!(
        !kubeconfig.exists(),
        "a kubeconfig of a server that is gone"
    );
}

#[test]
fn the_demo_is_watched_in_a_browser() {
    let Some(chromium) = Chromium::find() else {
        return;
    };
    let folder = Folder::new();
    let mut command = kubewright();
    command.current_dir(folder.path()).arg("demo");
    let mut process = Process::start(command, None);
    chromium.play("demo.mjs", &url(&mut process), &[]);
    let (output, status) = process.signal("TERM");
    assert_eq!(status.code(), Some(0), "{output}");
}

#[test]
fn a_demo_that_cannot_write_its_kubeconfig_is_refused() {
    let folder = Folder::new();
    let in_the_way = folder.path().join("kubewright-demo.kubeconfig");
    std::fs::create_dir(&in_the_way).expect("a directory");
    let mut command = kubewright();
    command
        .current_dir(folder.path())
        .args(["demo", "--port", "0"]);
    let (output, status) = Process::start(command, None).finish();
    assert_eq!(status.code(), Some(2), "{output}");
    assert!(
        output.starts_with("error: cannot write kubewright-demo.kubeconfig"),
        "{output}"
    );
}

#[test]
fn a_demo_on_a_port_that_is_taken_is_refused() {
    let folder = Folder::new();
    let taken = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = taken.local_addr().expect("an address").port().to_string();
    let mut command = kubewright();
    command
        .current_dir(folder.path())
        .args(["demo", "--port", &port]);
    let (output, status) = Process::start(command, None).finish();
    assert_eq!(status.code(), Some(2), "{output}");
    assert!(output.contains("choose another port"), "{output}");
}
