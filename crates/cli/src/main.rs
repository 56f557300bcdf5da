//! The `kubewright` tool.

fn main() {}
