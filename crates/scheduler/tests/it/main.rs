//! The scheduler on a test cluster.

mod fixture;
mod placing;
mod preemption;
mod volumes;
mod waiting;
