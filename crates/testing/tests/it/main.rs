//! `TestCluster` through its public API: clients, forks, faults, managers, perturbations.

mod access;
mod clients;
mod cron;
mod findings;
mod ledger;
mod maintenance;
mod managers;
mod nodes;
mod perturbations;
mod snapshot;
