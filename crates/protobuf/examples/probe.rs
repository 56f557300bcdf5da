//! probe
use std::time::{Duration,Instant};
fn best(name: &str, mut f: impl FnMut()) {
    let mut best = Duration::MAX;
    for _ in 0..200 { let t = Instant::now(); for _ in 0..50 { f(); } best = best.min(t.elapsed() / 50); }
    println!("{name} {best:?}");
}
fn main() {
    let j = std::fs::read_to_string("/tmp/pbcap/pod.json").unwrap();
    let v: serde_json::Value = serde_json::from_str(&j).unwrap();
    let b = kubewright_protobuf::encode(&v).unwrap();
    let jb = serde_json::to_vec(&v).unwrap();
    println!("json {} pb {}", jb.len(), b.len());
    use std::hint::black_box as bb;
    if std::env::args().nth(1).is_some() { for _ in 0..150000 { bb(kubewright_protobuf::decode(bb(&b), ("v1", "Pod")).unwrap()); } return; }
    best("encode", || { bb(kubewright_protobuf::encode(bb(&v)).unwrap()); });
    best("decode", || { bb(kubewright_protobuf::decode(bb(&b), ("v1", "Pod")).unwrap()); });
    best("serde_json print", || { bb(serde_json::to_vec(bb(&v)).unwrap()); });
    best("serde_json parse", || { bb(serde_json::from_slice::<serde_json::Value>(bb(&jb)).unwrap()); });
}
