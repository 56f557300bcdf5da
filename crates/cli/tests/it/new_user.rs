//! The path of a new user to a reconciled object: `new`, `create api`, an edit, `generate`, `test`, `dev`, the sample
//! applied, a mistake, its correction, `add version`, `remove`; and `install` with `run` on a real server.
//!
//! It compiles a project, so it runs with `KUBEWRIGHT_TEST_SCAFFOLD` set only. `KUBEWRIGHT_TEST_KUBECONFIG` names a real server for
//! the last part.
#![cfg(unix)]

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
    time::{Duration, Instant},
};

use kube::config::{KubeConfigOptions, Kubeconfig};
use serde_json::Value;

use crate::{
    process::Process,
    projects::Place,
    shown::{assert_shown, assert_shown_in_any_order, shown},
    skipped,
    whole_projects::{alone, lock},
};

/// Compiling on a busy machine takes its time.
const PATIENCE: Duration = Duration::from_secs(900);

const SAMPLE: &str = "config/samples/shop_v1_order.yaml";
const TYPES: &str = "src/api/shop/v1/order.rs";
const NEW_TYPES: &str = "src/api/shop/v2/order.rs";
const CONVERSION: &str = "src/api/shop/v2/order_from_v1.rs";
const CONTROLLER: &str = "src/controller/order.rs";

/// A project with a kind, worked on a little.
struct Project {
    place: Place,
    began: Instant,
}

impl Project {
    fn new(domain: &str) -> Self {
        let began = Instant::now();
        let place = Place::new();
        place.done(&format!("new shop-operator --domain {domain}"));
        let place = place.within("shop-operator");
        lock(&place);
        place.done("create api --group shop --version v1 --kind Order");
        let project = Self { place, began };
        project.edit(TYPES, "pub foo: Option<String>", "pub item: Option<String>");
        project.edit(
            CONTROLLER,
            "the cluster matches the spec",
            "it is on its way",
        );
        project
    }

    fn path(&self, path: &str) -> PathBuf {
        self.place.path().join(path)
    }

    #[track_caller]
    fn edit(&self, path: &str, from: &str, to: &str) {
        let path = self.path(path);
        let text = fs::read_to_string(&path).unwrap();
        assert!(text.contains(from), "{}: no {from:?}", path.display());
        fs::write(&path, text.replacen(from, to, 1)).unwrap();
    }

    /// Another version of the kind, where a field has another name, and others are the same.
    fn add_version(&self, same: &str) {
        self.place.done("add version v2 --from v1 --kind Order");
        self.edit(NEW_TYPES, "pub item: ", "pub article: ");
        for (version, fields) in [
            ("v2", "article: old.spec.item"),
            ("v1", "item: old.spec.article"),
        ] {
            let spec = format!("spec: {version}::OrderSpec {{ {fields}, {same} }}");
            self.edit(CONVERSION, "spec: copy_fields(&old.spec)?", &spec);
        }
    }

    /// Prints the elapsed time.
    fn note(&self, what: &str) {
        let seconds = self.began.elapsed().as_secs_f64();
        println!("{seconds:>7.1} s  {what}");
    }
}

/// Returns the lines that a page shows below a command, with the names of this project.
fn documented(page: &str, command: &str) -> Vec<String> {
    let names = [
        ("/crew-", "/shop-operator-"),
        ("crew", "shop"),
        ("captain", "order"),
        ("Captain", "Order"),
        ("the cluster matches the spec", "it is on its way"),
    ];
    let lines = shown(page, command).into_iter();
    lines
        .map(|line| {
            let renamed = names
                .iter()
                .fold(line, |line, (from, to)| line.replace(from, to));
            narrow(&renamed)
        })
        .collect()
}

/// Returns a text whose columns have the width of their contents: that of a column depends on the names.
fn narrow(text: &str) -> String {
    let mut narrow = text.to_owned();
    while narrow.contains("  ") {
        narrow = narrow.replace("  ", " ");
    }
    narrow
}

/// Waits for a new line of a running command, and returns the output up to it.
#[track_caller]
fn line(process: &mut Process, after: usize, wanted: &str) -> String {
    let enough = |text: &str| text[after..].lines().any(|line| line.contains(wanted));
    let text = process.output_until(PATIENCE, enough);
    assert!(enough(&text), "no {wanted:?} in:\n{text}");
    text
}

fn is_ready(why: &Value) -> bool {
    let conditions = why["conditions"].as_array();
    conditions.is_some_and(|all| {
        all.iter()
            .any(|it| it["type"] == "Ready" && it["status"] == "True")
    })
}

/// Polls until a condition holds.
#[track_caller]
fn until(what: &str, mut look: impl FnMut() -> bool) {
    let began = Instant::now();
    while !look() {
        assert!(began.elapsed() < PATIENCE, "not so for long: {what}");
        std::thread::sleep(Duration::from_millis(100));
    }
}

/// Returns the answer of a server, or nothing if it is an error.
pub(crate) fn got(kubeconfig: &Path, path: &str) -> Option<Value> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(async {
        let file = Kubeconfig::read_from(kubeconfig).unwrap();
        let options = KubeConfigOptions::default();
        let config = kube::Config::from_custom_kubeconfig(file, &options).await;
        let client = kube::Client::try_from(config.unwrap()).unwrap();
        let request = http::Request::get(path).body(Vec::new()).unwrap();
        client.request(request).await.ok()
    })
}

/// Applies a file with kubectl, or where there is none, with the tool.
fn apply(project: &Project, file: &str, kubeconfig: &Path) {
    let kubectl = std::env::var_os("KUBECTL").unwrap_or_else(|| "kubectl".into());
    let applied = Command::new(kubectl)
        .args(["apply", "-f", file, "--kubeconfig"])
        .arg(kubeconfig)
        .current_dir(project.place.path())
        .output();
    match applied {
        Ok(output) => {
            let said = String::from_utf8_lossy(&output.stderr).into_owned();
            assert!(output.status.success(), "{said}");
        }
        Err(_) => {
            skipped("kubectl: it is not there; the tool applies the object");
            let kubeconfig = kubeconfig.display();
            let line = format!("deploy --file {file} --kubeconfig {kubeconfig}");
            project.place.done(&line);
        }
    }
}

#[test]
fn a_new_user_gets_from_nothing_to_a_reconciled_object() {
    let Some(_alone) = alone() else { return };
    let project = Project::new("example.com");
    let place = &project.place;
    project.note("made and edited");

    place.done("generate");
    assert!(project.path("config/crd/bases").is_dir());
    assert_eq!(place.done("generate --check"), "everything is up to date\n");
    project.note("generated");

    let tests = place.json("test");
    assert_eq!(tests["succeeded"], true, "{tests}");
    assert!(tests["passed"].as_u64() >= Some(1), "{tests}");
    project.note("tested");

    let kubeconfig = project.path("target/kubewright/kubeconfig");
    let mut dev = Process::start(place.command("dev"), None);
    let first = develop(&project, &mut dev, &kubeconfig);
    correct_a_mistake(&project, &mut dev);
    develop_another_version(&project, &mut dev, &kubeconfig);
    let (text, status) = dev.signal("INT");
    assert!(status.success(), "{text}");
    let alive = |pid: &str| Path::new("/proc").join(pid).exists();
    let last = text.rsplit("process ").next().unwrap().split(' ').next();
    assert!(
        !alive(&first) && !alive(last.unwrap()),
        "no process is left"
    );
    assert!(!kubeconfig.exists());

    let tests = place.json("test");
    assert_eq!(tests["succeeded"], true, "{tests}");
    let named = |name: &str| {
        tests["tests"]
            .as_array()
            .unwrap()
            .iter()
            .any(|it| it["name"] == name)
    };
    assert!(named("order_round_trips_between_v1_and_v2"), "{tests}");
    project.note("tested with another version");
    let kept = place.refused("remove version v2 --kind Order");
    assert!(kept.contains("has work in it"), "{kept}");
    place.done("remove version v2 --kind Order --force");
    place.done("remove api Order --force");
    assert_eq!(place.json("list")["resources"], serde_json::json!([]));
    project.note("removed");
}

/// Checks that the operator runs and the sample exists, and that another object is reconciled. Returns the process of
/// the operator.
fn develop(project: &Project, dev: &mut Process, kubeconfig: &Path) -> String {
    let place = &project.place;
    let text = line(dev, 0, "running   process");
    line(dev, 0, "applied   order/");
    let pid = text.split("process ").nth(1).unwrap().split(' ').next();
    let pid = pid.unwrap().to_owned();
    project.note("developing");

    let text = line(dev, 0, "orders updated ");
    let page = documented("docs/book/src/start.md", "kubewright dev");
    assert_shown_in_any_order(&page, &narrow(&text));
    let why = narrow(&place.done("why order/order-sample"));
    let page = documented("README.md", "kubewright why captain/captain-sample");
    assert_shown(&page, &why);
    project.edit(CONTROLLER, "it is on its way", "it is under way");
    let text = line(dev, text.len(), "orders updated ");
    let page = documented("README.md", "kubewright dev");
    assert_shown_in_any_order(&page, &narrow(&text));
    project.note("saved");

    let sample = fs::read_to_string(project.path(SAMPLE)).unwrap();
    let mine = sample
        .replace("order-sample", "mine")
        .replace("item: example", "item: a book");
    assert!(mine.contains("name: mine"), "{mine}");
    assert!(mine.contains("a book"), "{mine}");
    fs::write(project.path("mine.yaml"), mine).unwrap();
    apply(project, "mine.yaml", kubeconfig);
    until("mine is ready", || is_ready(&place.json("why order/mine")));
    let why = place.json("why order/mine");
    assert_eq!(why["conditions"][0]["message"], "it is under way", "{why}");
    assert_eq!(why["controllers"][0]["lastResult"], "done", "{why}");
    let top = place.json("top");
    let reconciles = top["controllers"][0]["reconciles"].as_f64();
    assert!(reconciles >= Some(2.0), "{top}");
    let explained = place.done("explain order.spec.item");
    assert!(explained.contains("FIELD: item <string>"), "{explained}");
    project.note("reconciled");
    pid
}

/// A compile error leaves the old operator running; the fixed one runs on the same cluster with its state.
fn correct_a_mistake(project: &Project, dev: &mut Process) {
    let place = &project.place;
    let uid = place.json("tree order/mine")["uid"].clone();
    let before = dev.output_until(Duration::ZERO, |_| true).len();
    let (right, wrong) = ("Ok(Action::done())\n}\n", "Ok(Action::gone())\n}\n");
    project.edit(CONTROLLER, right, wrong);
    line(dev, before, "broken   ");
    let text = line(dev, before, "gone");
    place.json("top");
    project.note("broken");

    let before = text.len();
    project.edit(
        TYPES,
        "pub item: Option<String>,",
        "pub item: Option<String>,\n    /// How many.\n    #[serde(default)]\n    pub copies: u32,",
    );
    project.edit(CONTROLLER, wrong, right);
    project.edit(CONTROLLER, "it is under way", "it has arrived");
    let text = line(dev, before, "after the change");
    let configured = "orders.shop.example.com configured";
    assert!(text[before..].contains(configured), "{text}");
    until("mine was looked at again", || {
        let why = place.json("why order/mine");
        why["conditions"][0]["message"] == "it has arrived"
    });
    assert_eq!(place.json("tree order/mine")["uid"], uid);
    let explained = place.done("explain order.spec");
    assert!(explained.contains("copies\t<integer>"), "{explained}");
    let mut saved = text.lines().filter(|it| it.contains("after the change"));
    project.note(saved.next_back().unwrap_or_default());
}

/// Adds another version of the kind while the operator runs, and reads existing objects through it.
fn develop_another_version(project: &Project, dev: &mut Process, kubeconfig: &Path) {
    let before = dev.output_until(Duration::ZERO, |_| true).len();
    project.add_version("copies: old.spec.copies");
    line(dev, before, "after the change");
    let of = |version: &str, name: &str| {
        let namespace = format!("/apis/shop.example.com/{version}/namespaces/default");
        got(kubeconfig, &format!("{namespace}/orders/{name}"))
    };
    until("mine is seen through the new version", || {
        of("v2", "mine").is_some_and(|it| it["spec"]["article"] == "a book")
    });
    let yours = "apiVersion: shop.example.com/v2\nkind: Order\nmetadata: {name: yours}\nspec: {article: a pen}\n";
    fs::write(project.path("yours.yaml"), yours).unwrap();
    apply(project, "yours.yaml", kubeconfig);
    let stored = of("v1", "yours").unwrap();
    assert_eq!(stored["spec"]["item"], "a pen", "{stored}");
    assert_eq!(stored["spec"]["article"], Value::Null, "{stored}");
    until("yours is ready", || {
        is_ready(&project.place.json("why order/yours"))
    });
    project.note("developed another version");
}

#[test]
fn the_same_operator_runs_on_a_real_server() {
    let Some(kubeconfig) = std::env::var_os("KUBEWRIGHT_TEST_KUBECONFIG") else {
        return skipped("`install` and `run` on a real server: set KUBEWRIGHT_TEST_KUBECONFIG");
    };
    let Some(_alone) = alone() else { return };
    let kubeconfig = PathBuf::from(kubeconfig);
    // Others may have such objects too.
    let domain = format!("real{}.example.com", std::process::id());
    let project = Project::new(&domain);
    project.add_version("");
    let place = &project.place;
    let flag = format!("--kubeconfig {}", kubeconfig.display());
    let installed = place.json(&format!("install {flag}"));
    assert_eq!(installed["objects"].as_array().unwrap().len(), 1);
    assert_eq!(installed["objects"][0]["action"], "created");
    project.note("installed on a real server");

    let mut command = place.command(&format!("run {flag}"));
    command.args(["--", "--metrics-bind-address=127.0.0.1:0"]);
    command.arg("--health-probe-bind-address=0");
    let mut run = Process::start(command, None);
    line(&mut run, 0, "starts");
    apply(&project, SAMPLE, &kubeconfig);
    let object = format!("order.shop.{domain}/order-sample");
    until("the sample is ready", || {
        is_ready(&place.json(&format!("why {object} {flag}")))
    });
    project.note("reconciled on a real server");
    let sample = fs::read_to_string(project.path(SAMPLE)).unwrap();
    fs::write(
        project.path(SAMPLE),
        sample.replace("spec: {}", "spec: {item: a book}"),
    )
    .unwrap();
    apply(&project, SAMPLE, &kubeconfig);
    let path = format!("/apis/shop.{domain}/v2/namespaces/default/orders/order-sample");
    until("the sample is seen through the new version", || {
        got(&kubeconfig, &path).is_some_and(|it| it["spec"]["article"] == "a book")
    });
    project.note("converted for a real server");
    let (text, status) = run.signal("TERM");
    assert!(status.success(), "{text}");
    project.note("stopped");
    // Servers with much to clean up take their time.
    let gone = place.json(&format!("uninstall {flag} --timeout 15m"));
    assert_eq!(gone["objects"][0]["action"], "deleted");
    project.note("uninstalled");
}
