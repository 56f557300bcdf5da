//! The results of all runs.

use std::fmt;

use super::{Perturbation, saved::SideBySide};

/// The results of a story under perturbations.
///
/// ```
/// # use k8s_openapi::api::core::v1::ConfigMap;
/// # use kubewright_controller::{
/// #     Action, Context, Controller, Manager, ManagerBuilder, ManagerError, Request, Result,
/// # };
/// use kubewright_testing::{World, perturb};
///
/// # fn program(manager: ManagerBuilder) -> Result<Manager, ManagerError> {
/// #     let manager = manager.build()?;
/// #     Controller::for_::<ConfigMap>().build(&manager, reconcile)?;
/// #     Ok(manager)
/// # }
/// # async fn reconcile(_: Context, _: Request) -> Result<Action> {
/// #     Ok(Action::done())
/// # }
/// // The story does not create the ConfigMap that the invariant requires.
/// let report = perturb(program, |_: World| async {})
///     .invariant("colours", |state| match state.get("configmaps", "default/colours") {
///         Some(_) => Ok(()),
///         None => Err("there are none".into()),
///     })
///     .explore();
/// assert!(!report.is_success());
/// assert_eq!(report.failures[0].reason, "colours: there are none");
/// ```
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// The number of writes in the undisturbed run.
    pub writes: usize,
    /// The number of steps of the story.
    pub steps: usize,
    /// The perturbations that the program survived.
    pub survived: Vec<Perturbation>,
    /// The survived perturbations that never took effect, because the run took another course.
    pub missed: Vec<Perturbation>,
    /// The failures.
    pub failures: Vec<Failure>,
    /// The timelines of the objects that differ.
    pub(super) timelines: Vec<(Perturbation, Vec<SideBySide>)>,
}

/// A run with a wrong outcome.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// The perturbation; `None` for a failure of the undisturbed run.
    pub perturbation: Option<Perturbation>,
    /// The differences from the undisturbed run, or the reason why the run did not end.
    pub reason: String,
}

impl Report {
    /// Returns whether the program survived all perturbations.
    pub fn is_success(&self) -> bool {
        self.failures.is_empty()
    }

    pub(super) fn measured(&mut self, writes: usize, steps: usize) {
        self.writes = writes;
        self.steps = steps;
    }

    pub(super) fn survived(&mut self, perturbation: Perturbation, struck: bool) {
        self.survived.push(perturbation);
        if !struck {
            self.missed.push(perturbation);
        }
    }

    pub(super) fn failed(&mut self, perturbation: Option<Perturbation>, reason: String) {
        self.failures.push(Failure {
            perturbation,
            reason,
        });
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (survived, failed) = (self.survived.len(), self.failures.len());
        let (writes, steps) = (self.writes, self.steps);
        write!(
            f,
            "{survived} perturbations survived, {failed} failed ({writes} writes, {steps} steps)"
        )?;
        for failure in &self.failures {
            write!(f, "\n{failure}")?;
        }
        Ok(())
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.perturbation {
            None => write!(f, "- undisturbed: {}", self.reason),
            Some(perturbation) => write!(
                f,
                "- {perturbation}: {}\n  reproduce it with .only(Perturbation::{perturbation:?})",
                self.reason
            ),
        }
    }
}
