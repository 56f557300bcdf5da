//! Passes on the version of kube that the lock file names.

fn main() {
    println!("cargo:rerun-if-changed=Cargo.lock");
    let lock = std::fs::read_to_string("Cargo.lock").unwrap_or_default();
    let version = lock
        .split_once("name = \"kube\"\nversion = \"")
        .and_then(|(_, rest)| rest.split_once('"'))
        .map_or("unknown", |(version, _)| version);
    println!("cargo:rustc-env=KUBE_VERSION={version}");
}
