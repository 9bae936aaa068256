//! Formats the catalogue of models, downloads and their plans. Pure.

use super::table::TextTable;
use super::text::{bytes, one_line, truncate, wrap};
use super::{ScreenStyle, TextTone};
use hob_wire::rooms::model_files::{
    CatalogModelInfo, DownloadState, ModelCatalogResult, ModelDeleteResult, ModelDownload,
    ModelDownloadsResult, ModelPullResult,
};

/// The columns of a progress bar.
const BAR: usize = 20;

/// The catalogue: first what fits this machine.
pub fn catalog(found: &ModelCatalogResult, screen: &ScreenStyle) -> Vec<String> {
    let mut table = TextTable::new()
        .column("NAME")
        .number("SIZE")
        .number("MEMORY")
        .column("TOOLS")
        .column("HERE")
        .column("LICENCE")
        .column("ABOUT");
    for model in &found.models {
        table.row(vec![
            one_line(&model.name),
            bytes(model.bytes),
            bytes(model.memory_bytes),
            yes_no(model.tools).to_owned(),
            here(model).to_owned(),
            one_line(&model.licence),
            one_line(&model.about),
        ]);
    }
    let mut lines = table.lines(screen);
    let machine = format!(
        "This machine has {} of memory and {} free on the disk of the models. Sizes are those last recorded; the hub says the real ones.",
        bytes(found.memory_bytes),
        bytes(found.disk_free_bytes)
    );
    let room = screen.width.unwrap_or(usize::MAX);
    let quiet = wrap(&machine, room).into_iter();
    lines.extend(quiet.map(|line| screen.paint(TextTone::Quiet, &line)));
    let best = found.models.iter().find(|model| model.fits);
    lines.extend(best.map(|best| {
        screen.paint(
            TextTone::Command,
            &format!("hob model pull {}", one_line(&best.name)),
        )
    }));
    lines
}

fn here(model: &CatalogModelInfo) -> &'static str {
    match (model.fetched, model.fits) {
        (true, _) => "fetched",
        (false, true) => "fits",
        (false, false) => "too large",
    }
}

fn yes_no(yes: bool) -> &'static str {
    if yes { "yes" } else { "no" }
}

/// The plan of a download, for the question.
pub fn plan(planned: &ModelPullResult, screen: &ScreenStyle) -> Vec<String> {
    let plan = &planned.plan;
    let size = match (plan.bytes, plan.bytes_done) {
        (Some(size), 0) => format!(", {}", bytes(size)),
        (Some(size), done) => format!(", {} ({} are here)", bytes(size), bytes(done)),
        (None, _) => String::new(),
    };
    let mut texts = vec![
        format!(
            "{}{size}, from {}.",
            one_line(&plan.file),
            one_line(&plan.from)
        ),
        format!("Into {}.", one_line(&plan.folder)),
    ];
    texts.extend(
        plan.licence
            .as_deref()
            .map(|licence| format!("Licence: {}.", one_line(licence))),
    );
    let tools = plan.tools.map(|tools| if tools { "can" } else { "cannot" });
    texts.extend(tools.map(|can| format!("It {can} use tools.")));
    let sha256 = plan.sha256.as_deref();
    texts.extend(sha256.map(|sha256| format!("SHA-256: {}.", one_line(sha256))));
    if sha256.is_some() {
        texts.push(
            "It becomes `local`. The server that runs it is installed too, if it is missing."
                .to_owned(),
        );
    } else {
        texts.push("It becomes `local`.".to_owned());
    }
    let mut lines: Vec<_> = texts
        .iter()
        .flat_map(|text| indented(text, screen))
        .collect();
    for warning in &plan.warnings {
        let shown = indented(&one_line(warning), screen).into_iter();
        lines.extend(shown.map(|line| screen.paint(TextTone::Warning, &line)));
    }
    lines
}

/// The progress of a download on one line: bar, percent, sizes, rate and remaining time.
pub fn progress(progress: &ModelDownload, screen: &ScreenStyle) -> String {
    let name = one_line(&progress.name);
    let (done, total) = (progress.bytes_done, progress.bytes_total);
    let line = if total == 0 {
        format!("{name}  {}", progress.state.name())
    } else {
        let part = u128::from(done.min(total));
        let percent = part * 100 / u128::from(total);
        let filled = usize::try_from(part * BAR as u128 / u128::from(total)).unwrap_or(0);
        let bar = format!("{}{}", "█".repeat(filled), "░".repeat(BAR - filled));
        let rest = match progress.state {
            DownloadState::Verifying => "  verifying".to_owned(),
            _ => rate(progress),
        };
        format!(
            "{bar} {percent:>3}%  {} of {}{rest}  {name}",
            bytes(done),
            bytes(total)
        )
    };
    // The last column stays empty, so that no terminal wraps the line.
    screen
        .width
        .map_or(line.clone(), |room| truncate(&line, room.saturating_sub(1)))
}

fn rate(progress: &ModelDownload) -> String {
    let rate = progress.bytes_per_second;
    let rate = rate.map(|rate| format!("  {}/s", bytes(rate)));
    let left = progress.seconds_left;
    let left = left.map(|left| format!("  {} left", duration(left)));
    [rate, left].into_iter().flatten().collect()
}

/// `45 s`, `3 min 20 s`, `2 h 5 min`.
fn duration(seconds: u64) -> String {
    match seconds {
        0..60 => format!("{seconds} s"),
        60..3_600 => format!("{} min {} s", seconds / 60, seconds % 60),
        _ => format!("{} h {} min", seconds / 3_600, seconds % 3_600 / 60),
    }
}

/// What a stopped download kept.
pub fn kept(stopped: &ModelDownload) -> String {
    let name = one_line(&stopped.name);
    match stopped.bytes_total {
        0 => format!("Stopped fetching {name}."),
        total => format!(
            "Stopped fetching {name} at {} of {}.",
            bytes(stopped.bytes_done),
            bytes(total)
        ),
    }
}

/// The end of a pull.
pub fn done(fetched: &ModelDownload, screen: &ScreenStyle) -> Vec<String> {
    let name = one_line(&fetched.name);
    if let Some(message) = &fetched.message {
        return vec![screen.paint(TextTone::Warning, &one_line(message))];
    }
    vec![
        format!("{name} is here and is `local` now."),
        screen.paint(
            TextTone::Command,
            "hob ask --model local \"How do I find large files?\"",
        ),
    ]
}

/// Fetched models and unfinished downloads.
pub fn downloads(found: &ModelDownloadsResult, screen: &ScreenStyle) -> Vec<String> {
    let mut lines = Vec::new();
    if found.downloads.is_empty() {
        lines.push("No model was fetched yet. See what fits: hob model catalog".to_owned());
    } else {
        let mut table = TextTable::new()
            .column("NAME")
            .column("STATE")
            .number("SIZE")
            .column("LOCAL")
            .column("SOURCE");
        for download in &found.downloads {
            table.row(vec![
                one_line(&download.name),
                state(download),
                bytes(download.bytes_total),
                if download.local { "yes" } else { "" }.to_owned(),
                one_line(&download.source),
            ]);
        }
        lines.extend(table.lines(screen));
    }
    let room = screen.width.unwrap_or(usize::MAX);
    let unfinished =
        |it: &&ModelDownload| matches!(it.state, DownloadState::Partial | DownloadState::Failed);
    for download in found.downloads.iter().filter(unfinished) {
        if let Some(message) = &download.message {
            let text = format!("{}: {}", one_line(&download.name), one_line(message));
            let wrapped = wrap(&text, room).into_iter();
            lines.extend(wrapped.map(|line| screen.paint(TextTone::Warning, &line)));
        }
        let command = format!("hob model pull {}", one_line(&download.source));
        lines.push(format!(
            "Continue: {}",
            screen.paint(TextTone::Command, &command)
        ));
    }
    for problem in &found.problems {
        let wrapped = wrap(&one_line(problem), room).into_iter();
        lines.extend(wrapped.map(|line| screen.paint(TextTone::Warning, &line)));
    }
    lines
}

/// The state with the percentage of an unfinished download.
fn state(download: &ModelDownload) -> String {
    let name = download.state.name();
    let total = download.bytes_total;
    match download.state {
        DownloadState::Complete => name.to_owned(),
        _ if total == 0 => name.to_owned(),
        _ => {
            let percent = u128::from(download.bytes_done.min(total)) * 100 / u128::from(total);
            format!("{name} {percent}%")
        }
    }
}

/// A download that was stopped.
pub fn aborted(stopped: &ModelDownload, screen: &ScreenStyle) -> Vec<String> {
    let command = format!("hob model pull {}", one_line(&stopped.source));
    vec![
        kept(stopped),
        format!("Continue: {}", screen.paint(TextTone::Command, &command)),
    ]
}

pub fn deleted(deleted: &ModelDeleteResult, _: &ScreenStyle) -> Vec<String> {
    let name = one_line(&deleted.name);
    let mut lines = vec![format!(
        "Deleted {name}; freed {}.",
        bytes(deleted.freed_bytes)
    )];
    if deleted.was_local {
        lines.push("It was `local`; hob looks for another model when one is needed.".to_owned());
    }
    lines
}

fn indented(text: &str, screen: &ScreenStyle) -> Vec<String> {
    let room = screen.width.map_or(usize::MAX, |it| it.saturating_sub(2));
    let wrapped = wrap(text, room).into_iter();
    wrapped.map(|line| format!("  {line}")).collect()
}

#[cfg(test)]
#[path = "model_files_tests.rs"]
mod tests;
