//! `TestCluster` as its users see it: clients, forks, faults, managers, perturbations.

mod access;
mod clients;
mod maintenance;
mod managers;
mod nodes;
mod perturbations;
