//! `BENCHMARKS.md`, generated from the results.

#[cfg(test)]
mod tests;

use std::{collections::BTreeMap, fmt::Write as _};

use crate::{
    results::{Outcome, Results, Section, median},
    rows::shown,
};

/// The status of the targets of all sections.
#[derive(Default)]
pub(crate) struct Verdicts {
    pub(crate) met: usize,
    /// Describes the missed targets.
    pub(crate) missed: Vec<String>,
    /// The number of targets without a figure.
    pub(crate) open: usize,
}

/// Formats the whole document.
pub(crate) fn document(results: &Results) -> String {
    let (quick, full): (Vec<_>, Vec<_>) = results.sections.iter().partition(|s| s.quick);
    let mut out = String::from(
        "# Benchmarks\n\n\
         Written by `cargo xtask bench`; every figure comes from a run of it, and none is edited. \
         [bench/README.md](bench/README.md) says what is done and how to read it.\n\n\
         A cell holds the median of the rounds, the least and the most, and how many times better the first column is. \
         A contestant that loses one object scores nothing; one that could not run is named with the reason.\n\n",
    );
    machine(&mut out, results);
    if !full.is_empty() {
        summary(&mut out, &full);
    }
    for section in &full {
        out += &self::section(section, results);
    }
    if !quick.is_empty() {
        out += "# Quick runs\n\nSmall sizes and one round: they show that a case runs, not how fast. Targets are for full sizes.\n\n";
    }
    for section in &quick {
        out += &self::section(section, results);
    }
    out.truncate(out.trim_end().len());
    out.push('\n');
    out
}

/// Formats one section.
pub(crate) fn section(section: &Section, results: &Results) -> String {
    let mut out = format!(
        "## {}: {}\n\n{}\n\n",
        section.case, section.title, section.what
    );
    let rounds = match section.rounds {
        1 => "1 round".to_owned(),
        n => format!("{n} rounds"),
    };
    let _ = write!(
        out,
        "{}, {rounds}, {} s.",
        section.taken,
        shown(section.seconds.round())
    );
    let latest = results.sections.iter().max_by_key(|s| &s.taken);
    if latest.is_some_and(|latest| latest.machine != section.machine) {
        let _ = write!(out, " On another machine: {}.", section.machine);
    }
    out += "\n\n";
    if let Some(reason) = &section.broken {
        let _ = writeln!(out, "**Broke off**: {}\n", cell_text(reason));
    }
    table(&mut out, section);
    for outcome in &section.outcomes {
        if let Some(reason) = &outcome.absent {
            let what = if reason.starts_with("scores nothing") {
                ""
            } else {
                "absent: "
            };
            let _ = writeln!(out, "- **{}** {what}{}", outcome.name, cell_text(reason));
        }
    }
    for note in &section.notes {
        let _ = writeln!(out, "- {note}");
    }
    if !out.ends_with("\n\n") {
        out.push('\n');
    }
    out
}

/// Counts the targets of these sections.
pub(crate) fn verdicts(sections: &[&Section]) -> Verdicts {
    let mut found = Verdicts::default();
    for section in sections {
        for row in &section.rows {
            for target in &row.targets {
                match target.met(row, section) {
                    Some(true) => found.met += 1,
                    Some(false) => found.missed.push(format!(
                        "{}: {} {}",
                        section.case,
                        row.label,
                        target.shown()
                    )),
                    None => found.open += 1,
                }
            }
        }
    }
    found
}

fn summary(out: &mut String, sections: &[&Section]) {
    let Verdicts { met, missed, open } = verdicts(sections);
    let all = met + missed.len() + open;
    let _ = write!(out, "**Targets: {met} of {all} met");
    if open > 0 {
        let _ = write!(out, ", {open} not measured");
    }
    out.push_str("**.");
    if !missed.is_empty() {
        out.push_str(" Missed:\n");
        for line in missed {
            let _ = write!(out, "\n- {line}");
        }
    }
    out.push_str("\n\n");
}

fn machine(out: &mut String, results: &Results) {
    let Some(latest) = results.sections.iter().max_by_key(|s| &s.taken) else {
        return;
    };
    let mut versions: BTreeMap<&str, &str> = BTreeMap::new();
    for section in &results.sections {
        versions.extend(section.versions.iter().map(|(k, v)| (&**k, &**v)));
    }
    let versions: Vec<String> = versions.iter().map(|(k, v)| format!("{k} {v}")).collect();
    let _ = writeln!(out, "| | |\n|---|---|\n| machine | {} |", latest.machine);
    let _ = writeln!(out, "| versions | {} |\n", versions.join(", "));
}

fn table(out: &mut String, section: &Section) {
    let present: Vec<&Outcome> = section
        .outcomes
        .iter()
        .filter(|outcome| outcome.absent.is_none())
        .collect();
    if present.is_empty() {
        return;
    }
    let limits = section.rows.iter().any(|row| row.limit.is_some());
    let mut heads = vec![String::new()];
    heads.extend(present.iter().map(|outcome| outcome.name.clone()));
    if limits {
        heads.push("limit".to_owned());
    }
    heads.extend(["target".to_owned(), "met".to_owned()]);
    let columns = heads.len();
    line(out, &heads);
    let figures = vec!["--:".to_owned(); columns - 3];
    line(
        out,
        &[vec!["---".to_owned()], figures, vec!["---".to_owned(); 2]].concat(),
    );
    for row in &section.rows {
        let mut cells = vec![label(&row.label, &row.unit)];
        // Ratios are relative to the first column, if it has a figure.
        let ours = section.outcomes.first().and_then(|o| o.figure(&row.key));
        for (at, outcome) in present.iter().enumerate() {
            let figures = outcome.figures.get(&row.key).map_or(&[][..], Vec::as_slice);
            let mut cell = spread(figures);
            let ratio = ours.zip(median(figures)).filter(|_| at > 0);
            if let Some(ratio) = ratio.and_then(|(ours, other)| row.ratio(ours, other)) {
                let _ = write!(cell, " **{}x**", shown(ratio));
            }
            cells.push(cell);
        }
        if limits {
            cells.push(row.limit.map_or(String::new(), shown));
        }
        let targets = row.targets.iter();
        cells.push(targets.map(|t| t.shown()).collect::<Vec<_>>().join("; "));
        let verdicts = row.targets.iter().map(|t| match t.met(row, section) {
            Some(true) => "yes",
            Some(false) => "**no**",
            None => "not measured",
        });
        cells.push(verdicts.collect::<Vec<_>>().join("; "));
        line(out, &cells);
    }
    for (name, unit, scale, of) in [
        (
            "processor time in all",
            "s",
            1.0,
            cpu as fn(&Outcome) -> &[f64],
        ),
        ("peak memory", "MB", 1e6, peak),
    ] {
        if present.iter().all(|outcome| of(outcome).is_empty()) {
            continue;
        }
        let mut cells = vec![label(name, unit)];
        for outcome in &present {
            let scaled: Vec<f64> = of(outcome).iter().map(|figure| figure / scale).collect();
            cells.push(spread(&scaled));
        }
        cells.resize(columns, String::new());
        line(out, &cells);
    }
    out.push('\n');
}

fn cpu(outcome: &Outcome) -> &[f64] {
    &outcome.cpu_seconds
}

fn peak(outcome: &Outcome) -> &[f64] {
    &outcome.peak_bytes
}

fn label(name: &str, unit: &str) -> String {
    if unit.is_empty() {
        name.to_owned()
    } else {
        format!("{name}, {unit}")
    }
}

/// Formats the median and the range.
fn spread(figures: &[f64]) -> String {
    let Some(middle) = median(figures) else {
        return String::new();
    };
    if figures.len() == 1 {
        return shown(middle);
    }
    let least = figures.iter().copied().fold(f64::INFINITY, f64::min);
    let most = figures.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    format!("{} ({}–{})", shown(middle), shown(least), shown(most))
}

fn line(out: &mut String, cells: &[String]) {
    for cell in cells {
        let _ = write!(out, "| {} ", cell_text(cell));
    }
    out.push_str("|\n");
}

/// Escapes a text for a table cell.
fn cell_text(text: &str) -> String {
    text.replace('|', "\\|").replace(['\n', '\r'], " ")
}
