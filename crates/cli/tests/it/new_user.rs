//! What a new user does, from nothing to a reconciled object: `new`, `create api`, an edit, `generate`, `test`, `dev`, an object
//! applied, a mistake, its correction, `add version`, `remove`; and `install` with `run` on a real server.
//!
//! It compiles a project, so it runs with `KUBEWRIGHT_TEST_SCAFFOLD` set only; it does so in the target directory of this workspace,
//! so that what is built already is not built again. `KUBEWRIGHT_TEST_KUBECONFIG` names a real server for the last part.
#![cfg(unix)]

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Output},
    sync::{Mutex, PoisonError},
    time::{Duration, Instant},
};

use serde_json::Value;

use crate::{process::Process, server::kubewright, skipped};

/// Compiling on a busy machine takes its time.
const PATIENCE: Duration = Duration::from_secs(900);

/// One project after the other: they share the target directory, and one compiler keeps the machine busy.
static ONE: Mutex<()> = Mutex::new(());

/// A project in a directory of its own, outside of this workspace.
struct Project {
    root: PathBuf,
    began: Instant,
}

impl Project {
    /// With a kind.
    fn new(name: &str) -> Self {
        let project = Self::empty(name);
        project.done("create api --group shop --version v1 --kind Order");
        project
    }

    fn empty(name: &str) -> Self {
        let began = Instant::now();
        let parent = std::env::temp_dir().join(format!("kubewright-{name}-{}", std::process::id()));
        fs::create_dir_all(&parent).unwrap();
        let new = ["new", name, "--domain", "example.com"];
        succeeded(&new, kubewright().args(new).current_dir(&parent));
        let project = Self {
            root: parent.join(name),
            began,
        };
        // The versions that are built already.
        let lock = concat!(env!("CARGO_MANIFEST_DIR"), "/../../Cargo.lock");
        fs::copy(lock, project.root.join("Cargo.lock")).unwrap();
        project
    }

    fn command(&self, line: &str) -> Command {
        let target = Path::new(env!("CARGO_BIN_EXE_kubewright"));
        let mut command = kubewright();
        command
            .args(line.split_whitespace())
            .current_dir(&self.root)
            .env("CARGO_TARGET_DIR", target.ancestors().nth(2).unwrap())
            .env("KUBECONFIG", "/no/such/kubeconfig");
        command
    }

    #[track_caller]
    fn done(&self, line: &str) -> String {
        succeeded(&[line], &mut self.command(line))
    }

    #[track_caller]
    fn json(&self, line: &str) -> Value {
        serde_json::from_str(&self.done(&format!("{line} -o json"))).unwrap()
    }

    #[track_caller]
    fn edit(&self, path: &str, from: &str, to: &str) {
        let path = self.root.join(path);
        let text = fs::read_to_string(&path).unwrap();
        assert!(text.contains(from), "{}: no {from:?}", path.display());
        fs::write(&path, text.replace(from, to)).unwrap();
    }

    /// Says how long it has been.
    fn note(&self, what: &str) {
        let seconds = self.began.elapsed().as_secs_f64();
        println!("{seconds:>7.1} s  {what}");
    }
}

impl Drop for Project {
    fn drop(&mut self) {
        if let Some(parent) = self.root.parent() {
            _ = fs::remove_dir_all(parent);
        }
    }
}

#[track_caller]
fn succeeded(line: &[&str], command: &mut Command) -> String {
    let Output {
        status,
        stdout,
        stderr,
    } = command.output().unwrap();
    let said = String::from_utf8_lossy(&stderr);
    assert!(status.success(), "{line:?}: {said}");
    String::from_utf8(stdout).unwrap()
}

/// Waits for a line of a running `dev` that was not there before, and gives what was written until then.
#[track_caller]
fn line(dev: &mut Process, after: usize, wanted: &str) -> String {
    let enough = |text: &str| text[after..].lines().any(|line| line.contains(wanted));
    let text = dev.output_until(PATIENCE, enough);
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

/// Looks again and again, as people do.
#[track_caller]
fn until(what: &str, mut look: impl FnMut() -> bool) {
    let began = Instant::now();
    while !look() {
        assert!(began.elapsed() < PATIENCE, "not so for long: {what}");
        std::thread::sleep(Duration::from_millis(100));
    }
}

fn wanted() -> bool {
    let wanted = std::env::var_os("KUBEWRIGHT_TEST_SCAFFOLD").is_some();
    if !wanted {
        skipped("the path of a new user: it compiles a project; set KUBEWRIGHT_TEST_SCAFFOLD=1");
    }
    wanted
}

const SAMPLE: &str = "config/samples/shop_v1_order.yaml";
const TYPES: &str = "src/api/shop/v1/order.rs";
const CONTROLLER: &str = "src/controller/order.rs";

#[test]
fn a_new_user_gets_from_nothing_to_a_reconciled_object() {
    if !wanted() {
        return;
    }
    let _one = ONE.lock().unwrap_or_else(PoisonError::into_inner);
    let project = Project::new("shop-operator");
    project.edit(TYPES, "pub foo: Option<String>", "pub item: Option<String>");
    project.edit(CONTROLLER, "all is as the spec says", "it is on its way");
    project.note("made and edited");

    if project
        .command("generate --help")
        .output()
        .unwrap()
        .status
        .success()
    {
        project.done("generate");
        assert!(project.root.join("config/crd/bases").is_dir());
        project.done("generate --check");
        project.note("generated");
    } else {
        skipped("`generate`: the tool has no such command yet");
    }
    let tests = project.json("test");
    assert_eq!(tests["succeeded"], true, "{tests}");
    assert!(tests["passed"].as_u64() >= Some(1), "{tests}");
    project.note("tested");

    develop(&project);

    project.done("add version v2 --from v1 --kind Order");
    let tests = project.json("test");
    assert_eq!(tests["succeeded"], true, "{tests}");
    project.note("tested with another version");
    project.done("remove version v2 --kind Order --force");
    project.done("remove api Order --force");
    assert_eq!(project.json("list")["resources"], serde_json::json!([]));
    project.note("removed");
}

fn develop(project: &Project) {
    let mut dev = Process::start(project.command("dev"), None);
    let text = line(&mut dev, 0, "running   process");
    line(&mut dev, 0, "applied   order/");
    line(&mut dev, 0, "reconcile order default/");
    let pid = text.split("process ").nth(1).unwrap().split(' ').next();
    let pid = pid.unwrap().to_owned();
    project.note("developing");

    // Another object, by kubectl where there is one.
    let sample = fs::read_to_string(project.root.join(SAMPLE)).unwrap();
    let mine = sample
        .replace("order-sample", "mine")
        .replace("spec: {}", "spec: {item: a book}");
    assert!(
        mine.contains("name: mine") && mine.contains("a book"),
        "{mine}"
    );
    fs::write(project.root.join("mine.yaml"), mine).unwrap();
    let kubeconfig = project.root.join("target/kubewright/kubeconfig");
    let kubectl = std::env::var_os("KUBECTL").unwrap_or_else(|| "kubectl".into());
    let applied = Command::new(kubectl)
        .args(["apply", "-f", "mine.yaml", "--kubeconfig"])
        .arg(&kubeconfig)
        .current_dir(&project.root)
        .output();
    match applied {
        Ok(output) => {
            let said = String::from_utf8_lossy(&output.stderr).into_owned();
            assert!(output.status.success(), "{said}");
        }
        Err(_) => {
            skipped("kubectl: it is not there; the tool applies the object");
            let deploy = format!(
                "deploy --file mine.yaml --kubeconfig {}",
                kubeconfig.display()
            );
            project.done(&deploy);
        }
    }
    until("mine is ready", || {
        is_ready(&project.json("why order/mine"))
    });
    let why = project.json("why order/mine");
    assert_eq!(why["conditions"][0]["message"], "it is on its way", "{why}");
    assert_eq!(why["controllers"][0]["lastResult"], "done", "{why}");
    let top = project.json("top");
    assert!(
        top["controllers"][0]["reconciles"].as_f64() >= Some(2.0),
        "{top}"
    );
    let explained = project.done("explain order.spec.item");
    assert!(explained.contains("FIELD: item <string>"), "{explained}");
    let uid = project.json("tree order/mine")["uid"].clone();
    project.note("reconciled");

    // A mistake: the old operator keeps running.
    let before = dev.output_until(Duration::ZERO, |_| true).len();
    project.edit(
        CONTROLLER,
        "Ok(Action::done())\n}\n",
        "Ok(Action::gone())\n}\n",
    );
    let text = line(&mut dev, before, "broken   ");
    let text = match text[before..].contains("gone") {
        true => text,
        false => line(&mut dev, before, "gone"),
    };
    project.json("top");
    project.note("broken");

    // Its correction, and another field: the cluster keeps its state, and knows the field.
    let before = text.len();
    project.edit(
        TYPES,
        "pub item: Option<String>,",
        "pub item: Option<String>,\n    /// How many.\n    #[serde(default)]\n    pub copies: u32,",
    );
    project.edit(CONTROLLER, "Ok(Action::gone())", "Ok(Action::done())");
    project.edit(CONTROLLER, "it is on its way", "it has arrived");
    let text = line(&mut dev, before, "after it was saved");
    assert!(
        text[before..].contains("orders.shop.example.com configured"),
        "{text}"
    );
    until("mine was looked at again", || {
        let why = project.json("why order/mine");
        why["conditions"][0]["message"] == "it has arrived"
    });
    assert_eq!(project.json("tree order/mine")["uid"], uid);
    assert!(
        project
            .done("explain order.spec")
            .contains("copies\t<integer>")
    );
    let saved = text
        .lines()
        .find(|line| line.contains("after it was saved"));
    project.note(saved.unwrap_or_default());

    let (text, status) = dev.signal("INT");
    assert!(status.success(), "{text}");
    let alive = |pid: &str| Path::new("/proc").join(pid).exists();
    let last = text.rsplit("process ").next().unwrap().split(' ').next();
    assert!(!alive(&pid) && !alive(last.unwrap()), "no process is left");
    assert!(!kubeconfig.exists());
}

#[test]
fn the_same_operator_runs_on_a_real_server() {
    let Some(kubeconfig) = std::env::var_os("KUBEWRIGHT_TEST_KUBECONFIG") else {
        return skipped("`install` and `run` on a real server: set KUBEWRIGHT_TEST_KUBECONFIG");
    };
    if !wanted() {
        return;
    }
    let _one = ONE.lock().unwrap_or_else(PoisonError::into_inner);
    let project = Project::new("real-operator");
    let flag = format!("--kubeconfig {}", PathBuf::from(kubeconfig).display());
    let installed = project.json(&format!("install {flag}"));
    assert_eq!(installed["objects"].as_array().unwrap().len(), 1);
    let mut line_ = project.command(&format!("run {flag}"));
    line_.args(["--", "--metrics-bind-address=127.0.0.1:0"]);
    line_.arg("--health-probe-bind-address=0");
    let mut run = Process::start(line_, None);
    line(&mut run, 0, "starts");
    project.done(&format!("deploy --file {SAMPLE} {flag}"));
    until("the sample is ready", || {
        // Others may have orders too.
        let object = "order.shop.example.com/order-sample";
        is_ready(&project.json(&format!("why {object} {flag}")))
    });
    let (text, status) = run.signal("TERM");
    assert!(status.success(), "{text}");
    let gone = project.json(&format!("uninstall {flag}"));
    assert_eq!(gone["objects"][0]["action"], "deleted");
    project.note("run on a real server");
}

/// The files that the pages of the tutorial show.
const TUTORIAL: [&str; 4] = [
    "src/api/web/v1/site.rs",
    "src/controller/site.rs",
    "tests/site.rs",
    "config/samples/web_v1_site.yaml",
];

#[test]
fn the_tutorial_leads_to_an_operator_whose_tests_pass() {
    if !wanted() {
        return;
    }
    let _one = ONE.lock().unwrap_or_else(PoisonError::into_inner);
    let project = Project::empty("site-operator");
    project.done("create api --group web --version v1 --kind Site");
    let pages = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/book/tutorial");
    for file in TUTORIAL {
        assert!(project.root.join(file).is_file(), "{file} was scaffolded");
        fs::copy(pages.join(file), project.root.join(file)).unwrap();
    }
    let tests = project.json("test");
    assert_eq!(tests["succeeded"], true, "{tests}");
    assert_eq!(tests["passed"], 3, "{tests}");
    project.note("the tutorial, tested");
}
