//! `hob service logs`: the last lines of a service, and those that follow.
//!
//! Invariant: no line is shown twice; a daemon that restarts is found again, and the lines go on.

use super::Desk;
use crate::failure::Failure;
use crate::render::services;
use crate::terminal::Terminal;
use hob_client::{Item, LinkState, Subscription};
use hob_wire::Topic;
use hob_wire::rooms::service::{Logs, LogsParams, ServiceLine, ServiceLog};

/// Lines that are asked for where some are missing.
const CATCH_UP: u32 = 1_000;

pub(super) async fn run(desk: &Desk<'_>, lines: u32, follow: bool) -> Result<(), Failure> {
    // An alias is not what events name.
    let name = desk.found().await?.name;
    let mut place = Place {
        desk,
        name,
        number: 0,
        at: 0,
    };
    if !follow {
        return place.print_last(lines).await;
    }
    // Subscribed before the past is read, so that nothing falls in between.
    let topics = [ServiceLog::SPEC.topic];
    let mut stream = desk.client.subscribe(Subscription::to(topics)).await?;
    let mut link = stream.state();
    place.print_last(lines).await?;
    loop {
        desk.context.terminal.flush()?;
        tokio::select! {
            item = stream.next() => match item {
                Some(Ok(Item::Event(event))) => {
                    let told = event.read::<ServiceLog>();
                    if let Some(told) = told.filter(|told| told.name == place.name) {
                        place.told(&told.line).await?;
                    }
                }
                Some(Ok(Item::Gap(_))) => {}
                Some(Err(error)) => return Err(error.into()),
                None => return Ok(()),
            },
            Ok(()) = link.changed() => {
                let state = *link.borrow_and_update();
                match state {
                    LinkState::Searching => Terminal::note("The daemon is away; waiting for it."),
                    LinkState::Connected => {
                        Terminal::note("The daemon is back.");
                        place.resume().await?;
                    }
                    LinkState::Ended => {}
                }
            }
        }
    }
}

/// Where the reader is.
struct Place<'d> {
    desk: &'d Desk<'d>,
    name: String,
    /// The last line shown.
    number: u64,
    at: u64,
}

impl Place<'_> {
    async fn print_last(&mut self, lines: u32) -> Result<(), Failure> {
        if lines == 0 {
            return Ok(());
        }
        for line in self.read(lines, None).await? {
            self.print(&line)?;
        }
        Ok(())
    }

    /// A line as it was printed; lines that came too fast to be told are asked for.
    async fn told(&mut self, line: &ServiceLine) -> Result<(), Failure> {
        if line.number <= self.number {
            return Ok(());
        }
        if self.number > 0 && line.number > self.number + 1 {
            let missing = self.read(CATCH_UP, Some(self.number)).await?;
            for line in missing.iter().filter(|it| it.number > self.number) {
                // Borrowed by the filter, so the place moves on below.
                self.desk.print(line)?;
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

    /// Goes on with another daemon, which counts anew: what is newer than the last line shown.
    async fn resume(&mut self) -> Result<(), Failure> {
        let newer_than = self.at;
        self.number = 0;
        for line in self.read(CATCH_UP, None).await? {
            if line.at > newer_than {
                self.print(&line)?;
            } else {
                self.number = line.number;
            }
        }
        Ok(())
    }

    async fn read(&self, lines: u32, after: Option<u64>) -> Result<Vec<ServiceLine>, Failure> {
        let params = LogsParams {
            name: self.name.clone(),
            lines: Some(lines),
            after,
        };
        let read = self.desk.client.call_again::<Logs>(&params).await?;
        Ok(read.lines)
    }

    fn print(&mut self, line: &ServiceLine) -> Result<(), Failure> {
        self.number = line.number;
        self.at = line.at;
        self.desk.print(line)
    }
}

impl Desk<'_> {
    fn print(&self, line: &ServiceLine) -> Result<(), Failure> {
        let terminal = &self.context.terminal;
        if terminal.json {
            return Ok(terminal.document(line)?);
        }
        Ok(terminal.line(services::log_line(line, terminal.screen()))?)
    }
}
