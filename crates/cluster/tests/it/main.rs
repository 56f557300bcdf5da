//! Clusters as programs use them.

mod data_dir;
#[cfg(target_os = "linux")]
mod full_disk;
mod lab;
mod maintenance;
#[cfg(all(unix, feature = "workloads"))]
mod managers;
#[cfg(feature = "workloads")]
mod metrics;
#[cfg(all(unix, feature = "workloads"))]
mod real_programs;
#[cfg(unix)]
mod secret_file;
mod service_accounts;
mod shutdown;
mod start;
#[cfg(all(unix, feature = "workloads"))]
mod traces;
