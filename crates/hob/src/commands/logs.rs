//! `hob logs`: shows the daemon's log. Reads the file itself, so that it works when the daemon is
//! broken.

use crate::context::CommandContext;
use crate::failure::{CommandFailure, ExitStatus};
use crate::render::text::{one_line, pad};
use crate::render::{ScreenStyle, TextTone, time};
use crate::tree::help_text::examples;
use hob_kit::logging::LogLine;
use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The lines shown without `--lines`.
const DEFAULT_LINES: usize = 50;
/// The time between two checks for new lines.
const POLL_INTERVAL: Duration = Duration::from_millis(200);

/// Shows the daemon's log.
///
/// Works without a daemon, also when the daemon is broken. `hob config set log.level debug` makes the
/// log more detailed.
#[derive(Debug, clap::Args)]
#[command(after_help = examples(&["hob logs", "hob logs -n 500", "hob logs --follow --json"]))]
pub struct LogsArgs {
    /// Keeps printing new lines.
    #[arg(long, short)]
    follow: bool,
    /// The number of lines to show; 50 if missing.
    #[arg(long, short = 'n', value_name = "N")]
    lines: Option<usize>,
}

pub async fn run(context: &CommandContext, args: LogsArgs) -> Result<(), CommandFailure> {
    let path = context.host.home.log_file();
    let LogsArgs { follow, lines } = args;
    let count = lines.unwrap_or(DEFAULT_LINES);
    if !path.exists() && !follow {
        let sentence = format!("There is no log yet at {}.", path.display());
        return Err(
            CommandFailure::new(ExitStatus::NotFound, "NOT_FOUND", sentence)
                .next("The daemon writes one when it runs: hob up"),
        );
    }
    let (last, mut tail) = LogTail::open(path, count).map_err(|error| unreadable(&error))?;
    for line in last {
        print(context, &line)?;
    }
    if !follow {
        return Ok(());
    }
    loop {
        context.terminal.flush()?;
        tokio::time::sleep(POLL_INTERVAL).await;
        for line in tail.read_new_lines().map_err(|error| unreadable(&error))? {
            print(context, &line)?;
        }
    }
}

fn unreadable(error: &io::Error) -> CommandFailure {
    CommandFailure::failed(format!("The log cannot be read: {error}."))
}

/// A read position in the log that survives log rotation.
struct LogTail {
    path: PathBuf,
    reader: Option<BufReader<File>>,
    /// The start of a line that is not fully written yet.
    partial: String,
}

impl LogTail {
    /// Returns the last `count` lines and the position after them.
    fn open(path: PathBuf, count: usize) -> io::Result<(VecDeque<String>, LogTail)> {
        let mut last = VecDeque::new();
        // The current file may hold too few lines right after a rotation.
        let older = older_file(&path);
        let mut tail = LogTail {
            path,
            reader: None,
            partial: String::new(),
        };
        let lines = tail.read_new_lines()?;
        if lines.len() < count
            && let Ok(file) = File::open(older)
        {
            keep_last(
                &mut last,
                count,
                BufReader::new(file).lines().map_while(Result::ok),
            );
        }
        keep_last(&mut last, count, lines.into_iter());
        Ok((last, tail))
    }

    /// Reads the lines added since the last call.
    fn read_new_lines(&mut self) -> io::Result<Vec<String>> {
        // The old file is read to its end first: lines may have been added before the rotation.
        let mut lines = self.read_available()?;
        if self.was_replaced() {
            self.reader = None;
            lines.extend(self.read_available()?);
        }
        Ok(lines)
    }

    fn read_available(&mut self) -> io::Result<Vec<String>> {
        if self.reader.is_none() {
            match File::open(&self.path) {
                Ok(file) => self.reader = Some(BufReader::new(file)),
                Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
                Err(error) => return Err(error),
            }
        }
        let mut lines = Vec::new();
        let Some(reader) = &mut self.reader else {
            return Ok(lines);
        };
        while reader.read_line(&mut self.partial)? > 0 {
            if self.partial.ends_with('\n') {
                lines.push(std::mem::take(&mut self.partial).trim_end().to_owned());
            }
        }
        Ok(lines)
    }

    fn was_replaced(&self) -> bool {
        let open = self
            .reader
            .as_ref()
            .and_then(|reader| reader.get_ref().metadata().ok());
        // Rotation renames the open file, so the path then names another inode.
        let named = std::fs::metadata(&self.path).ok();
        match (open, named) {
            (Some(open), Some(named)) => open.ino() != named.ino() || open.dev() != named.dev(),
            _ => false,
        }
    }
}

fn older_file(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".1");
    name.into()
}

fn keep_last(last: &mut VecDeque<String>, count: usize, lines: impl Iterator<Item = String>) {
    for line in lines {
        last.push_back(line);
        if last.len() > count {
            last.pop_front();
        }
    }
}

fn print(context: &CommandContext, line: &str) -> Result<(), CommandFailure> {
    let terminal = &context.terminal;
    if terminal.json {
        return Ok(terminal.line(line)?);
    }
    Ok(terminal.line(format_line(line, terminal.screen()))?)
}

fn format_line(line: &str, screen: &ScreenStyle) -> String {
    let Ok(line) = serde_json::from_str::<LogLine>(line) else {
        return one_line(line);
    };
    let tone = match line.level.as_str() {
        "error" => TextTone::Bad,
        "warn" => TextTone::Warning,
        _ => TextTone::Quiet,
    };
    format!(
        "{} {} {}  {}",
        time::local(line.at, screen),
        screen.paint(tone, &pad(&one_line(&line.level), 5)),
        one_line(&line.message),
        screen.paint(TextTone::Quiet, &one_line(&line.target)),
    )
}
