//! Printers of the `batch` group.

use kubewright_machinery::json::Read;
use serde_json::Value;

use super::columns::{AGE, CONTAINERS, IMAGES, NAME, SELECTOR, boolean, integer, text};
use super::text::{containers, selector};
use super::{PrintOptions, Printer, age, fields, row};

/// The printer of a kind of this group.
pub(super) fn printer(kind: &str) -> Option<&'static Printer> {
    Some(match kind {
        "CronJob" => &CRON_JOB,
        "Job" => &JOB,
        _ => return None,
    })
}

static CRON_JOB: Printer = Printer::new(
    &[
        NAME,
        text("Schedule", "When jobs are started, in cron notation."),
        text("Timezone", "The time zone of the schedule."),
        boolean("Suspend", "Whether no more jobs are started for now."),
        integer("Active", "How many jobs are running."),
        text("Last Schedule", "How long ago a job was last started."),
        AGE,
        CONTAINERS,
        IMAGES,
        SELECTOR,
    ],
    cron_job,
);

static JOB: Printer = Printer::new(
    &[
        NAME,
        text("Status", "The state of the job in one word."),
        text(
            "Completions",
            "How many pods succeeded, of how many that must.",
        ),
        text("Duration", "How long the job took, or has been running."),
        AGE,
        CONTAINERS,
        IMAGES,
        SELECTOR,
    ],
    job,
);

fn cron_job(object: &Value, options: &PrintOptions) -> Vec<Value> {
    let (spec, status) = (&object["spec"], &object["status"]);
    let suspended = match spec["suspend"].as_bool() {
        Some(true) => "True",
        Some(false) => "False",
        None => "<unset>",
    };
    let last_schedule = &status["lastScheduleTime"];
    let last_schedule = if last_schedule.is_string() {
        age::since(last_schedule, options)
    } else {
        "<none>".to_owned()
    };
    let job = &spec["jobTemplate"]["spec"];
    let (names, images) = containers(&job["template"]["spec"]["containers"]);
    row![
        fields::name(object),
        spec["schedule"].text(),
        spec["timeZone"].as_str().unwrap_or("<none>"),
        suspended,
        fields::count(&status["active"]),
        last_schedule,
        age::of(object, options),
        names,
        images,
        selector(&job["selector"]),
    ]
}

fn job(object: &Value, options: &PrintOptions) -> Vec<Value> {
    let spec = &object["spec"];
    let (names, images) = containers(&spec["template"]["spec"]["containers"]);
    row![
        fields::name(object),
        status(object),
        completions(object),
        duration(&object["status"], options),
        age::of(object, options),
        names,
        images,
        selector(&spec["selector"]),
    ]
}

fn status(job: &Value) -> &'static str {
    let conditions = &job["status"]["conditions"];
    if fields::is_condition_true(conditions, "Complete") {
        "Complete"
    } else if fields::is_condition_true(conditions, "Failed") {
        "Failed"
    } else if fields::is_deleting(job) {
        "Terminating"
    } else if fields::is_condition_true(conditions, "Suspended") {
        "Suspended"
    } else if fields::is_condition_true(conditions, "FailureTarget") {
        "FailureTarget"
    } else if fields::is_condition_true(conditions, "SuccessCriteriaMet") {
        "SuccessCriteriaMet"
    } else {
        "Running"
    }
}

fn completions(job: &Value) -> String {
    let succeeded = job["status"]["succeeded"].int();
    match (
        job["spec"]["completions"].as_i64(),
        job["spec"]["parallelism"].int(),
    ) {
        (Some(wanted), _) => format!("{succeeded}/{wanted}"),
        (None, parallelism) if parallelism > 1 => format!("{succeeded}/1 of {parallelism}"),
        (None, _) => format!("{succeeded}/1"),
    }
}

fn duration(status: &Value, options: &PrintOptions) -> String {
    match (
        age::time(&status["startTime"]),
        age::time(&status["completionTime"]),
    ) {
        (None, _) => String::new(),
        (Some(start), None) => age::since_time(start, options),
        (Some(start), Some(end)) => age::between(start, end),
    }
}
