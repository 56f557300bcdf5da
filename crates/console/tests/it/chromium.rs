//! A real browser, driven by playwright-core.
//!
//! `KUBEWRIGHT_BROWSER` names the program of a Chromium (default: `chromium` in the path), and
//! `KUBEWRIGHT_BROWSER_MODULES` a folder `node_modules` with `playwright-core` and `axe-core`. With `KUBEWRIGHT_SCREENSHOTS`
//! pictures of the pages are written into that folder, and with `ONLY` scenarios are chosen by a part of their name.

use std::{
    env,
    path::{Path, PathBuf},
    process::Command,
};

/// The programs that scenarios need.
pub(crate) struct Chromium {
    browser: PathBuf,
    modules: String,
}

impl Chromium {
    /// Finds the programs, or prints what is missing.
    pub(crate) fn find() -> Option<Self> {
        let browser = env::var_os("KUBEWRIGHT_BROWSER").unwrap_or_else(|| "chromium".into());
        let browser = in_path(Path::new(&browser));
        let modules = env::var("KUBEWRIGHT_BROWSER_MODULES");
        let modules = modules.unwrap_or_else(|_| "node_modules".to_owned());
        let runs = |program: &Path| Command::new(program).arg("--version").output().is_ok();
        let missing = if !runs(Path::new("node")) {
            "node is not installed".to_owned()
        } else if !runs(&browser) {
            format!("{} is not installed", browser.display())
        } else if !Path::new(&modules).join("playwright-core").is_dir() {
            "KUBEWRIGHT_BROWSER_MODULES names no folder with playwright-core".to_owned()
        } else {
            return Some(Self { browser, modules });
        };
        println!("skipped: the console in a browser: {missing}");
        None
    }

    /// Plays the scenarios of a file in `browser/` on a console.
    ///
    /// Panics with the output if one of them fails.
    pub(crate) fn play(&self, scenarios: &str, url: &str, variables: &[(&str, &str)]) {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../console/browser");
        let ended = Command::new("node")
            .arg(format!("{folder}/run.mjs"))
            .env("SCENARIOS", format!("{folder}/{scenarios}"))
            .env("CONSOLE_URL", url)
            .env("BROWSER", &self.browser)
            .env("MODULES", &self.modules)
            .envs(variables.iter().copied())
            .output()
            .unwrap();
        let (out, err) = (
            String::from_utf8_lossy(&ended.stdout),
            String::from_utf8_lossy(&ended.stderr),
        );
        println!("{out}");
        assert!(ended.status.success(), "{out}\n{err}");
    }
}

/// Returns the path of a program: playwright-core needs one.
fn in_path(program: &Path) -> PathBuf {
    let directories = env::var_os("PATH").unwrap_or_default();
    let mut candidates = env::split_paths(&directories).map(|directory| directory.join(program));
    let found = candidates.find(|candidate| candidate.is_file());
    found.unwrap_or_else(|| program.to_owned())
}
