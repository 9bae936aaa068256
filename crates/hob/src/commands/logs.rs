//! `hob logs`: the daemon's log, read from its file, so that it can be read when the daemon is
//! what broke.

use crate::context::Context;
use crate::failure::{Exit, Failure};
use crate::render::words::{one_line, pad};
use crate::render::{Screen, Tone, moment};
use crate::tree::text;
use clap::{Arg, ArgAction, ArgMatches, Command, value_parser};
use hob_kit::logging::LogLine;
use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Lines shown unless told.
const LINES: usize = 50;
/// Between two looks for new lines.
const LOOK: Duration = Duration::from_millis(200);

pub fn command() -> Command {
    Command::new("logs")
        .about("Shows the daemon's log")
        .long_about(
            "Works without a daemon, also when it is the daemon that broke. `hob config set log.level debug` makes it say \
             more.",
        )
        .after_help(text::examples(&[
            "hob logs".to_owned(),
            "hob logs -n 500".to_owned(),
            "hob logs --follow --json".to_owned(),
        ]))
        .arg(
            Arg::new("follow")
                .long("follow")
                .short('f')
                .action(ArgAction::SetTrue)
                .help("Goes on with lines as they are added"),
        )
        .arg(
            Arg::new("lines")
                .long("lines")
                .short('n')
                .value_name("N")
                .value_parser(value_parser!(usize))
                .help("How many of the last lines; 50 when missing"),
        )
}

pub async fn run(context: &Context, matches: &ArgMatches) -> Result<(), Failure> {
    let path = context.world.home.log_file();
    let follow = matches.get_flag("follow");
    let count = matches.get_one::<usize>("lines").copied().unwrap_or(LINES);
    if !path.exists() && !follow {
        let sentence = format!("There is no log yet at {}.", path.display());
        return Err(Failure::new(Exit::NotFound, "NOT_FOUND", sentence)
            .next("The daemon writes one when it runs: hob up"));
    }
    let (last, mut tail) = Tail::open(path, count).map_err(|error| unreadable(&error))?;
    for line in last {
        print(context, &line)?;
    }
    if !follow {
        return Ok(());
    }
    loop {
        context.terminal.flush()?;
        tokio::time::sleep(LOOK).await;
        for line in tail.fresh().map_err(|error| unreadable(&error))? {
            print(context, &line)?;
        }
    }
}

fn unreadable(error: &io::Error) -> Failure {
    Failure::failed(format!("The log cannot be read: {error}."))
}

/// A place in the log that survives its rotation.
struct Tail {
    path: PathBuf,
    reader: Option<BufReader<File>>,
    /// A line whose end is not written yet.
    partial: String,
}

impl Tail {
    /// The last `count` lines, and the place after them.
    fn open(path: PathBuf, count: usize) -> io::Result<(VecDeque<String>, Tail)> {
        let mut last = VecDeque::new();
        // Most of the time the newest file has enough; a fresh one after a rotation may not.
        let older = older_file(&path);
        let mut tail = Tail {
            path,
            reader: None,
            partial: String::new(),
        };
        let lines = tail.fresh()?;
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

    /// Lines added since the last look.
    fn fresh(&mut self) -> io::Result<Vec<String>> {
        let mut lines = self.read_on()?;
        if self.was_replaced() {
            self.reader = None;
            lines.extend(self.read_on()?);
        }
        Ok(lines)
    }

    fn read_on(&mut self) -> io::Result<Vec<String>> {
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

fn print(context: &Context, line: &str) -> Result<(), Failure> {
    let terminal = &context.terminal;
    if terminal.json {
        return Ok(terminal.line(line)?);
    }
    Ok(terminal.line(drawn(line, terminal.screen()))?)
}

fn drawn(line: &str, screen: &Screen) -> String {
    let Ok(line) = serde_json::from_str::<LogLine>(line) else {
        return one_line(line);
    };
    let tone = match line.level.as_str() {
        "error" => Tone::Bad,
        "warn" => Tone::Warning,
        _ => Tone::Quiet,
    };
    format!(
        "{} {} {}  {}",
        moment::local(line.at, screen),
        screen.paint(tone, &pad(&one_line(&line.level), 5)),
        one_line(&line.message),
        screen.paint(Tone::Quiet, &one_line(&line.target)),
    )
}
