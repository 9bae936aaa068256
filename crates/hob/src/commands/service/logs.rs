//! `hob service logs`: the last lines of a service's output, and new lines with `--follow`.
//!
//! Invariant: no line is shown twice, also after the daemon has restarted.

use super::ServiceCommands;
use crate::failure::CommandFailure;
use crate::render::services;
use crate::terminal::Terminal;
use hob_client::{ConnectionState, StreamItem, SubscribeOptions};
use hob_wire::EventTopic;
use hob_wire::rooms::service::{Logs, ServiceLog, ServiceLogLine, ServiceLogsParams};

/// The most lines that are read to fill a gap.
const CATCH_UP_LINES: u32 = 1_000;

pub(super) async fn run(
    commands: &ServiceCommands<'_>,
    lines: u32,
    follow: bool,
) -> Result<(), CommandFailure> {
    // Events carry the service's name, not an alias.
    let name = commands.fetch().await?.name;
    let mut follower = LogFollower {
        commands,
        name,
        number: 0,
        at: 0,
    };
    if !follow {
        return follower.print_last(lines).await;
    }
    // Subscribed before the last lines are read, so that none in between is lost.
    let topics = [ServiceLog::SPEC.topic];
    let mut stream = commands
        .client
        .subscribe(SubscribeOptions::to(topics))
        .await?;
    let mut connection = stream.state();
    follower.print_last(lines).await?;
    loop {
        commands.context.terminal.flush()?;
        tokio::select! {
            item = stream.next() => match item {
                Some(Ok(StreamItem::Event(event))) => {
                    let log = event.read::<ServiceLog>();
                    if let Some(log) = log.filter(|log| log.name == follower.name) {
                        follower.handle_line(&log.line).await?;
                    }
                }
                Some(Ok(StreamItem::Gap(_))) => {}
                Some(Err(error)) => return Err(error.into()),
                None => return Ok(()),
            },
            Ok(()) = connection.changed() => {
                let state = *connection.borrow_and_update();
                match state {
                    ConnectionState::Searching => Terminal::note("The daemon is away; waiting for it."),
                    ConnectionState::Connected => {
                        Terminal::note("The daemon is back.");
                        follower.resume().await?;
                    }
                    ConnectionState::Ended => {}
                }
            }
        }
    }
}

/// The reader's position in the output of a service.
struct LogFollower<'d> {
    commands: &'d ServiceCommands<'d>,
    name: String,
    /// The number of the last line shown.
    number: u64,
    at: u64,
}

impl LogFollower<'_> {
    async fn print_last(&mut self, lines: u32) -> Result<(), CommandFailure> {
        if lines == 0 {
            return Ok(());
        }
        for line in self.read(lines, None).await? {
            self.print(&line)?;
        }
        Ok(())
    }

    /// Prints a line from an event. Reads the lines before it if their events were skipped, as events
    /// of fast output are.
    async fn handle_line(&mut self, line: &ServiceLogLine) -> Result<(), CommandFailure> {
        if line.number <= self.number {
            return Ok(());
        }
        if self.number > 0 && line.number > self.number + 1 {
            let missing = self.read(CATCH_UP_LINES, Some(self.number)).await?;
            for line in missing.iter().filter(|it| it.number > self.number) {
                // The filter borrows `self.number`, so it is updated below.
                self.commands.print(line)?;
            }
            if let Some(last) = missing.last() {
                self.number = self.number.max(last.number);
                self.at = self.at.max(last.at);
            }
        }
        if line.number > self.number {
            self.print(line)?;
        }
        Ok(())
    }

    /// Continues after a reconnect. A new daemon restarts the line numbers, so lines newer than the
    /// last line shown are printed.
    async fn resume(&mut self) -> Result<(), CommandFailure> {
        let newer_than = self.at;
        self.number = 0;
        for line in self.read(CATCH_UP_LINES, None).await? {
            if line.at > newer_than {
                self.print(&line)?;
            } else {
                self.number = line.number;
            }
        }
        Ok(())
    }

    async fn read(
        &self,
        lines: u32,
        after: Option<u64>,
    ) -> Result<Vec<ServiceLogLine>, CommandFailure> {
        let params = ServiceLogsParams {
            name: self.name.clone(),
            lines: Some(lines),
            after,
        };
        let read = self
            .commands
            .client
            .call_with_retry::<Logs>(&params)
            .await?;
        Ok(read.lines)
    }

    fn print(&mut self, line: &ServiceLogLine) -> Result<(), CommandFailure> {
        self.number = line.number;
        self.at = line.at;
        self.commands.print(line)
    }
}

impl ServiceCommands<'_> {
    fn print(&self, line: &ServiceLogLine) -> Result<(), CommandFailure> {
        let terminal = &self.context.terminal;
        if terminal.json {
            return Ok(terminal.document(line)?);
        }
        Ok(terminal.line(services::log_line(line, terminal.screen()))?)
    }
}
