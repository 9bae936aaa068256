//! Formats local services: the list, one service, its log, and installations. Pure.

use super::table::TextTable;
use super::text::{
    bytes, count_noun, label, one_line, pad, prose_line, safe_lines, truncate, width, wrap,
};
use super::{ScreenStyle, TextTone, time};
use hob_wire::rooms::service::{
    InstallPlan, InstallProgress, InstallState, LastExit, ManagedService, ServiceInstallResult,
    ServiceListResult, ServiceLogLine, ServiceMetrics, ServiceState, ServiceStatus,
    ServiceUninstallResult,
};
use hob_wire::rooms::tool::OutputStream;

/// The samples of `hob service metrics`; `--json` has all.
const SAMPLES_SHOWN: usize = 20;
/// The columns of a progress bar.
const BAR: usize = 20;
/// The columns of a progress line beside its text: step, bar, percent, sizes.
const BAR_LINE_REST: usize = 62;

/// The list of services, then the problems of their files.
pub fn list(found: &ServiceListResult, screen: &ScreenStyle) -> Vec<String> {
    let mut table = TextTable::new()
        .column("NAME")
        .column("STATE")
        .number("PORT")
        .lesser()
        .number("PID")
        .lesser()
        .number("RESTARTS")
        .lesser()
        .column("ABOUT");
    let is_broken = |name: &str| found.broken.iter().any(|broken| broken.name == name);
    for service in &found.services {
        let status = &service.status;
        // A service whose file is broken may still run: it was started before.
        if status.state == ServiceState::Stopped && is_broken(&status.name) {
            continue;
        }
        table.row(vec![
            one_line(&status.name),
            state(service).to_owned(),
            number(status.port),
            number(status.pid),
            match status.restarts {
                0 => String::new(),
                restarts => restarts.to_string(),
            },
            one_line(about(service)),
        ]);
    }
    let runs = |name: &str| {
        let mut all = found.services.iter();
        all.any(|it| it.status.name == name && it.status.state != ServiceState::Stopped)
    };
    for broken in found.broken.iter().filter(|broken| !runs(&broken.name)) {
        let mut row = vec![one_line(&broken.name), "broken".to_owned()];
        row.resize(5, String::new());
        row.push("its file cannot be read; see below".to_owned());
        table.row(row);
    }
    let mut lines = if table.is_empty() {
        vec!["There are no services.".to_owned()]
    } else {
        table.lines(screen)
    };
    let under_way = found
        .services
        .iter()
        .filter_map(|it| it.installation.as_ref());
    for progress in under_way.filter(|it| it.state == InstallState::Running) {
        let name = one_line(&progress.name);
        let line = format!("{name} is being installed: `hob service install {name}` shows it.");
        lines.push(screen.paint(TextTone::Quiet, &line));
    }
    for problem in &found.problems {
        let room = screen.width.unwrap_or(usize::MAX);
        let wrapped = wrap(&one_line(problem), room);
        lines.extend(wrapped.iter().map(|it| screen.paint(TextTone::Warning, it)));
    }
    lines
}

/// The state of a service, for the table.
fn state(service: &ManagedService) -> &'static str {
    match service.status.state {
        ServiceState::Stopped if service.installed => "stopped",
        ServiceState::Stopped if service.installable => "not installed",
        ServiceState::Stopped => "not here",
        ServiceState::Running if service.adopted => "running (found)",
        other => other.name(),
    }
}

/// The reason of the state where that matters, else the description.
fn about(service: &ManagedService) -> &str {
    let status = &service.status;
    let trouble = matches!(status.state, ServiceState::Backoff | ServiceState::Failed);
    let why = status.detail.as_deref().filter(|_| trouble);
    why.and_then(|why| why.lines().next())
        .unwrap_or(&service.about)
}

/// All details of a service; its last log lines are below the reason.
/// The last samples of a service, the newest last.
pub fn metrics(found: &ServiceMetrics, screen: &ScreenStyle) -> Vec<String> {
    if found.samples.is_empty() {
        let name = one_line(&found.name);
        return vec![format!(
            "No samples of {name}: it did not run, or hob did not start it."
        )];
    }
    let mut table = TextTable::new()
        .column("TIME")
        .number("CPU")
        .number("MEMORY")
        .number("PROCESSES");
    let shown = found.samples.len().saturating_sub(SAMPLES_SHOWN);
    for sample in &found.samples[shown..] {
        let cpu = sample.cpu_millis.map_or_else(String::new, |millis| {
            format!("{}.{} %", millis / 10, millis % 10)
        });
        table.row(vec![
            time::clock(sample.at, screen),
            cpu,
            bytes(sample.memory_bytes),
            sample.processes.to_string(),
        ]);
    }
    table.lines(screen)
}

pub fn status(status: &ServiceStatus, screen: &ScreenStyle) -> Vec<String> {
    let tone = match status.state {
        ServiceState::Running => TextTone::Good,
        ServiceState::Failed => TextTone::Bad,
        ServiceState::Backoff => TextTone::Warning,
        _ => TextTone::Quiet,
    };
    let mut rows = vec![
        ("name", one_line(&status.name)),
        ("state", screen.paint(tone, status.state.name())),
    ];
    rows.extend(status.pid.map(|pid| ("pid", pid.to_string())));
    rows.extend(status.port.map(|port| ("port", port.to_string())));
    rows.push(("restarts", status.restarts.to_string()));
    rows.extend(
        status
            .last_exit
            .as_ref()
            .map(|exit| ("lastExit", last_exit(exit))),
    );
    let named = rows.iter().map(|(name, _)| width(&label(name))).max();
    let columns = named.unwrap_or(0);
    let mut lines: Vec<String> = rows
        .iter()
        .map(|(name, value)| format!("{}  {value}", pad(&label(name), columns)))
        .collect();
    let detail = status.detail.as_deref().unwrap_or_default();
    let room = screen.width.unwrap_or(usize::MAX);
    let detail = safe_lines(detail).into_iter();
    lines.extend(detail.flat_map(|line| wrap(&line, room)));
    lines
}

/// The result of a start, stop or restart, in one sentence.
pub fn now(status: &ServiceStatus, screen: &ScreenStyle) -> Vec<String> {
    let name = one_line(&status.name);
    let (tone, words) = match status.state {
        ServiceState::Running => {
            let port = status.port.map(|port| format!(" at port {port}"));
            let pid = status.pid.map(|pid| format!(" (pid {pid})"));
            let place = [port, pid].into_iter().flatten().collect::<String>();
            (TextTone::Good, format!("{name} runs{place}."))
        }
        ServiceState::Stopped => (TextTone::Good, format!("{name} is stopped.")),
        ServiceState::Starting => (TextTone::Quiet, format!("{name} is starting.")),
        ServiceState::Stopping => (TextTone::Quiet, format!("{name} is stopping.")),
        ServiceState::Backoff => (
            TextTone::Warning,
            format!("{name} ended and is being restarted."),
        ),
        ServiceState::Failed => (TextTone::Bad, format!("{name} failed.")),
    };
    vec![screen.paint(tone, &words)]
}

/// A log line of a service with its time.
pub fn log_line(line: &ServiceLogLine, screen: &ScreenStyle) -> String {
    let at = time::clock(line.at, screen);
    let mark = match line.stream {
        OutputStream::Stdout => screen.paint(TextTone::Quiet, &at),
        OutputStream::Stderr => screen.paint(TextTone::Warning, &at),
    };
    format!("{mark}  {}", prose_line(&line.text))
}

/// An installation plan: each step with its size, then the folder and the licences.
pub fn plan(installing: &ServiceInstallResult, screen: &ScreenStyle) -> Vec<String> {
    let plan = &installing.plan;
    let mut lines = Vec::new();
    for (index, step) in plan.steps.iter().enumerate() {
        let size = match (step.done, step.bytes) {
            (true, _) => " (done)".to_owned(),
            (false, Some(size)) => format!(" ({})", bytes(size)),
            (false, None) => String::new(),
        };
        let text = format!("{}{size}", one_line(&step.about));
        let room = screen.width.map_or(usize::MAX, |it| it.saturating_sub(5));
        for (at, piece) in wrap(&text, room).iter().enumerate() {
            let mark = match at {
                0 => format!("{}.", index + 1),
                _ => String::new(),
            };
            lines.push(format!("  {mark:<2} {piece}"));
        }
    }
    lines.extend(indented(&sizes(plan), screen));
    lines.extend(indented(
        &format!("Into {}.", one_line(&plan.folder)),
        screen,
    ));
    if !plan.licences.is_empty() {
        let licences = one_line(&plan.licences.join("; "));
        lines.extend(indented(&format!("Licences: {licences}."), screen));
    }
    lines
}

/// The download and disk sizes of a plan.
pub fn sizes(plan: &InstallPlan) -> String {
    format!(
        "{} to download, {} on disk.",
        bytes(plan.download_bytes),
        bytes(plan.disk_bytes)
    )
}

fn indented(text: &str, screen: &ScreenStyle) -> Vec<String> {
    let room = screen.width.map_or(usize::MAX, |it| it.saturating_sub(2));
    let wrapped = wrap(text, room).into_iter();
    wrapped.map(|line| format!("  {line}")).collect()
}

/// The progress of an installation on one line.
pub fn progress(progress: &InstallProgress, screen: &ScreenStyle) -> String {
    let place = format!("{}/{}", progress.step.min(progress.steps), progress.steps);
    let about = one_line(&progress.about);
    if progress.bytes_total == 0 {
        let line = format!("{place} {about}");
        return screen
            .width
            .map_or(line.clone(), |room| truncate(&line, room.saturating_sub(1)));
    }
    let done = progress.bytes_done.min(progress.bytes_total);
    let percent = u128::from(done) * 100 / u128::from(progress.bytes_total);
    let filled = usize::try_from(u128::from(done) * BAR as u128 / u128::from(progress.bytes_total));
    let filled = filled.unwrap_or(0).min(BAR);
    let bar = format!("{}{}", "█".repeat(filled), "░".repeat(BAR - filled));
    let room = screen
        .width
        .map_or(40, |it| it.saturating_sub(BAR_LINE_REST).clamp(8, 40));
    format!(
        "{place} {} {} {percent:>3}%  {} of {}",
        pad(&truncate(&about, room), room),
        screen.paint(TextTone::Good, &bar),
        bytes(done),
        bytes(progress.bytes_total)
    )
}

pub fn uninstalled(gone: &ServiceUninstallResult, _: &ScreenStyle) -> Vec<String> {
    let name = one_line(&gone.name);
    vec![format!(
        "Removed the installation of {name}; freed {}.",
        bytes(gone.freed_bytes)
    )]
}

/// The last log lines of a failed service.
pub fn last_lines(lines: &[ServiceLogLine]) -> String {
    let shown: Vec<String> = lines.iter().map(|line| prose_line(&line.text)).collect();
    match shown.len() {
        0 => String::new(),
        many => format!(
            "Its last {}:\n    {}",
            count_noun(many as u64, "line"),
            shown.join("\n    ")
        ),
    }
}

fn last_exit(exit: &LastExit) -> String {
    match exit {
        LastExit::Code(code) => format!("code {code}"),
        LastExit::Signal(name) => one_line(name),
    }
}

fn number<N: ToString>(number: Option<N>) -> String {
    number.map(|number| number.to_string()).unwrap_or_default()
}

#[cfg(test)]
#[path = "services_tests.rs"]
mod tests;
