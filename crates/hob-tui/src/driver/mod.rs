//! The loop around the model: keys, the daemon, frames.
//!
//! Invariants: keys are taken before everything else; at most one frame in [`FRAME_MS`], and none when
//! nothing changed; no timer runs while nothing moves; nothing on the way from a key to its frame
//! waits for the disk or the daemon.

mod bus_news;
mod calls;
mod frame_writer;
mod host;
mod input;
mod probe;
mod signals;
mod terminal_guard;

pub use host::{Host, HostAction, Leave, TuiEnd};

use crate::actions::{Key, KeyCode};
use crate::model::{Effect, Event, LinkState, Model, Start, update};
use crate::text::clean_line;
use crate::theme::Theme;
use crate::transcript::BlockUpdate;
use crate::view;
use data_encoding::BASE64;
use frame_writer::FrameWriter;
use futures_util::StreamExt;
use futures_util::future::BoxFuture;
use futures_util::stream::FuturesUnordered;
use hob_client::{
    ClientError, ConnectionState, EventStream, FollowItem, FollowOptions, SessionFollower,
    StreamItem, SubscribeOptions,
};
use input::{Input, InputReader};
use signals::{ProcessSignal, ProcessSignals};
use std::io;
use std::time::Duration;
use terminal_guard::{TerminalGuard, write_all};
use tokio::sync::{mpsc, watch};
use tokio::time::Instant;

/// The least time between two frames: at most sixty a second.
const FRAME_MS: u64 = 16;
/// The blocks of a page.
const PAGE_BLOCKS: u32 = 100;
/// The longest text that is copied by an order to the terminal; longer ones are dropped by many.
const COPY_BYTES_MAX: usize = 100_000;
/// The rows that are left on the normal screen.
const FAREWELL_ROWS: usize = 200;
/// More characters than this at once were not typed by a hand.
const BURST_CHARS: usize = 3;
/// The size if the terminal reports none.
const SIZE: (u16, u16) = (80, 24);

/// Runs the UI until the person leaves.
pub async fn run(host: Host, mut start: Start) -> Result<TuiEnd, String> {
    let unusable = |error: io::Error| format!("The terminal cannot be used: {error}.");
    // Before the terminal is touched: a signal at any moment restores it.
    let signals = ProcessSignals::listen().map_err(unusable)?;
    let mut guard = TerminalGuard::raw().map_err(unusable)?;
    let facts = probe::ask();
    let background = if facts.is_light {
        Theme::Light
    } else {
        Theme::Dark
    };
    start.theme = host.theme.unwrap_or(background);
    let (columns, rows) = terminal_size();
    start.size = (usize::from(columns), usize::from(rows));
    let captures_mouse = start.mouse;
    let subscription = SubscribeOptions::to(bus_news::TOPICS);
    // Before the first request: what happens meanwhile is not missed.
    let bus = host.client.subscribe(subscription).await;
    let bus = bus.map_err(|error| error.to_string())?;
    guard
        .enter(captures_mouse, facts.reports_keys)
        .map_err(unusable)?;
    let (reader, input) = InputReader::start().map_err(unusable)?;
    let (model, effects) = Model::new(start);
    let mut driver = Driver {
        link: host.client.state(),
        host,
        model,
        bus: Some(bus),
        follower: None,
        opening: None,
        calls: FuturesUnordered::new(),
        writer: FrameWriter::new(columns, rows),
        guard,
        reader,
        input,
        signals,
        is_dirty: true,
        last_frame: Instant::now() - Duration::from_millis(FRAME_MS),
        is_over: false,
        trouble: None,
    };
    driver.update_clock();
    driver.carry_out(effects);
    for letter in facts.typed.chars() {
        driver.take_keys(vec![Input::Key(Key::char(letter))]);
    }
    driver.run_until_left().await;
    Ok(driver.end())
}

/// The columns and rows of the terminal.
fn terminal_size() -> (u16, u16) {
    let size = rustix::termios::tcgetwinsize(io::stdout());
    size.map_or(SIZE, |size| match (size.ws_col, size.ws_row) {
        (0, _) | (_, 0) => SIZE,
        size => size,
    })
}

struct Driver {
    host: Host,
    model: Model,
    link: watch::Receiver<ConnectionState>,
    bus: Option<EventStream>,
    follower: Option<SessionFollower>,
    /// The follower of the session to be shown.
    opening: Option<BoxFuture<'static, Result<SessionFollower, ClientError>>>,
    calls: FuturesUnordered<BoxFuture<'static, Event>>,
    writer: FrameWriter,
    guard: TerminalGuard,
    reader: InputReader,
    input: mpsc::Receiver<Input>,
    signals: ProcessSignals,
    is_dirty: bool,
    last_frame: Instant,
    is_over: bool,
    trouble: Option<String>,
}

/// What woke the loop.
#[expect(
    clippy::large_enum_variant,
    reason = "it lives for one turn of the loop, so a box would only add an allocation"
)]
enum Wakeup {
    Input(Option<Input>),
    Signal(ProcessSignal),
    Link,
    Opened(Result<SessionFollower, ClientError>),
    Blocks(Option<Result<FollowItem, ClientError>>),
    Bus(Option<Result<StreamItem, ClientError>>),
    Call(Event),
    Time,
}

impl Driver {
    async fn run_until_left(&mut self) {
        while !self.is_over {
            self.draw_if_due();
            let wakeup = self.next_wakeup().await;
            self.update_clock();
            self.handle(wakeup);
        }
    }

    async fn next_wakeup(&mut self) -> Wakeup {
        let until = self.next_time();
        let (opening, follower) = (&mut self.opening, &mut self.follower);
        let (bus, calls) = (&mut self.bus, &mut self.calls);
        tokio::select! {
            biased;
            input = self.input.recv() => Wakeup::Input(input),
            signal = self.signals.next() => Wakeup::Signal(signal),
            // The frame before more news: a flood of them must not keep the screen still.
            () = sleep_until(until) => Wakeup::Time,
            Ok(()) = self.link.changed() => Wakeup::Link,
            opened = poll_slot(opening) => Wakeup::Opened(opened),
            item = next_blocks(follower) => Wakeup::Blocks(item),
            item = next_event(bus) => Wakeup::Bus(item),
            Some(event) = calls.next() => Wakeup::Call(event),
        }
    }

    /// The next time at which something is to be done without an event.
    fn next_time(&self) -> Option<Instant> {
        let frame = self
            .is_dirty
            .then(|| self.last_frame + Duration::from_millis(FRAME_MS));
        let tick = self.model.next_tick_ms();
        let tick = tick.map(|wait| Instant::now() + Duration::from_millis(wait));
        [frame, tick].into_iter().flatten().min()
    }

    fn handle(&mut self, wakeup: Wakeup) {
        match wakeup {
            Wakeup::Input(None | Some(Input::Closed)) => self.is_over = true,
            Wakeup::Input(Some(input)) => {
                let mut batch = vec![input];
                while let Ok(input) = self.input.try_recv() {
                    batch.push(input);
                }
                self.take_keys(batch);
            }
            Wakeup::Signal(signal) => self.take_signal(signal),
            Wakeup::Link => {
                let state = match *self.link.borrow_and_update() {
                    ConnectionState::Connected => LinkState::Connected,
                    ConnectionState::Searching => LinkState::Searching,
                    ConnectionState::Ended => LinkState::Ended,
                };
                self.apply(Event::Link(state));
            }
            Wakeup::Opened(opened) => {
                self.opening = None;
                match opened {
                    Ok(follower) => self.follower = Some(follower),
                    Err(error) => self.apply(Event::Trouble(clean_line(&error.to_string()))),
                }
            }
            Wakeup::Blocks(item) => self.take_blocks(item),
            Wakeup::Bus(item) => self.take_bus(item),
            Wakeup::Call(event) => self.apply(event),
            // A frame without a change writes nothing.
            Wakeup::Time => self.is_dirty = true,
        }
    }

    /// Takes what was typed at once. A line break with text behind it was pasted.
    fn take_keys(&mut self, batch: Vec<Input>) {
        let is_text = |input: &Input| matches!(input, Input::Key(key) if key.text().is_some());
        let is_burst = batch.iter().filter(|input| is_text(input)).count() > BURST_CHARS;
        let last_text = batch.iter().rposition(is_text).unwrap_or(0);
        for (index, input) in batch.into_iter().enumerate() {
            let event = match input {
                Input::Key(key) => {
                    let breaks = key.code == KeyCode::Enter && index < last_text;
                    let is_pasted = breaks || (is_burst && self.model.has_question_keys());
                    Event::Key { key, is_pasted }
                }
                Input::Paste(text) => Event::Paste(text),
                Input::Mouse(action) => Event::Mouse(action),
                Input::Resize(columns, rows) => {
                    self.writer.resize(columns, rows);
                    Event::Resize(usize::from(columns), usize::from(rows))
                }
                Input::Focus(has_focus) => Event::Focus(has_focus),
                Input::Closed => {
                    self.is_over = true;
                    continue;
                }
            };
            self.apply(event);
        }
    }

    fn take_blocks(&mut self, item: Option<Result<FollowItem, ClientError>>) {
        match item {
            Some(Ok(FollowItem::Blocks(changes))) => {
                if let Some(follower) = &self.follower {
                    let update = BlockUpdate::new(changes, follower.blocks());
                    self.apply(Event::Blocks(update));
                }
            }
            Some(Ok(FollowItem::Event(_) | FollowItem::Gap(_))) => {}
            Some(Err(error)) => {
                self.follower = None;
                self.apply(Event::Trouble(clean_line(&error.to_string())));
            }
            None => self.follower = None,
        }
    }

    fn take_bus(&mut self, item: Option<Result<StreamItem, ClientError>>) {
        match item {
            Some(Ok(StreamItem::Event(event))) => {
                for news in bus_news::news(&event) {
                    self.apply(Event::News(news));
                }
            }
            // What is missing is asked for again.
            Some(Ok(StreamItem::Gap(_))) => {
                let call = calls::call(&self.host.client, crate::model::Request::Questions);
                self.calls.push(call);
            }
            Some(Err(error)) => {
                self.bus = None;
                self.trouble = Some(error.to_string());
                self.apply(Event::Trouble(clean_line(&error.to_string())));
            }
            None => self.bus = None,
        }
    }

    fn take_signal(&mut self, signal: ProcessSignal) {
        match signal {
            ProcessSignal::End => self.is_over = true,
            ProcessSignal::Suspend => self.suspend(),
            // Stopped and resumed without a word: the terminal may be in any state.
            ProcessSignal::Resumed => self.take_terminal_back(),
        }
    }

    fn apply(&mut self, event: Event) {
        let effects = update(&mut self.model, event);
        self.is_dirty = true;
        self.carry_out(effects);
    }

    fn update_clock(&mut self) {
        let (now, wall_ms) = (self.host.clock)();
        let effects = update(&mut self.model, Event::Time { now, wall_ms });
        self.carry_out(effects);
    }

    fn carry_out(&mut self, effects: Vec<Effect>) {
        for effect in effects {
            self.carry_out_one(effect);
        }
    }

    fn carry_out_one(&mut self, effect: Effect) {
        match effect {
            Effect::Quit => self.is_over = true,
            Effect::Suspend => self.suspend(),
            Effect::Redraw => self.writer.renew(),
            Effect::CaptureMouse(is_on) => drop(self.guard.capture_mouse(is_on)),
            Effect::Call(request) => {
                self.calls.push(calls::call(&self.host.client, request));
            }
            Effect::Follow(session) => {
                let options = FollowOptions {
                    page_blocks: Some(PAGE_BLOCKS),
                    ..FollowOptions::to(session)
                };
                let client = self.host.client.clone();
                self.follower = None;
                self.opening = Some(Box::pin(async move { client.follow(options).await }));
            }
            Effect::ReadOlder => {
                if let Some(follower) = &mut self.follower {
                    follower.read_older();
                }
            }
            Effect::Edit(text) => {
                let edit = self.host.edit.clone();
                let edited = self.without_screen(move || edit(text));
                self.apply(Event::Edited(edited));
            }
            Effect::Page(text) => {
                let page = self.host.page.clone();
                if let Err(why) = self.without_screen(move || page(text)) {
                    self.apply(Event::Trouble(why));
                }
            }
            Effect::Copy(text) => {
                let event = copy(&text);
                self.apply(event);
            }
            Effect::ListFiles => {
                let files = self.host.files.clone();
                let listed = tokio::task::spawn_blocking(move || files(()));
                self.calls.push(Box::pin(async {
                    Event::Files(listed.await.unwrap_or_default())
                }));
            }
            Effect::KeepHistory => {
                let keep = self.host.keep_history.clone();
                let messages = self.model.history().to_vec();
                let kept = tokio::task::spawn_blocking(move || keep(messages));
                self.calls.push(Box::pin(async {
                    match kept.await {
                        Ok(Err(why)) => Event::Trouble(why),
                        _ => Event::Reply(Box::new(crate::model::Reply::Nothing)),
                    }
                }));
            }
            Effect::Notify(text) => {
                let order = format!("\u{1b}]9;{}\u{7}\u{7}", clean_line(&text));
                let _ = write_all(order.as_bytes());
            }
        }
    }

    /// Gives the terminal to another program while `work` runs.
    fn without_screen<T>(&mut self, work: impl FnOnce() -> T) -> T {
        self.reader.rest();
        self.guard.release();
        let done = work();
        self.take_terminal_back();
        self.reader.go_on();
        done
    }

    fn suspend(&mut self) {
        self.guard.release();
        signals::stop_this_process();
        self.take_terminal_back();
    }

    fn take_terminal_back(&mut self) {
        if self.guard.take_back().is_err() {
            self.is_over = true;
            return;
        }
        let (columns, rows) = terminal_size();
        self.writer.resize(columns, rows);
        self.apply(Event::Resize(usize::from(columns), usize::from(rows)));
    }

    fn draw_if_due(&mut self) {
        let due = self.last_frame + Duration::from_millis(FRAME_MS);
        if !self.is_dirty || Instant::now() < due {
            return;
        }
        self.is_dirty = false;
        self.last_frame = Instant::now();
        let mut frame = self.writer.frame();
        let caret = view::draw(&mut self.model, &mut frame);
        let title = format!("hob · {}", clean_line(self.model.session()));
        let bytes = self.writer.bytes(frame, caret, &title);
        if !bytes.is_empty() && write_all(&bytes).is_err() {
            self.is_over = true;
        }
    }

    fn end(mut self) -> TuiEnd {
        let farewell = match self.host.leave {
            Leave::Answer => {
                let rows = self.model.farewell(FAREWELL_ROWS);
                frame_writer::coloured_rows(&rows, self.model.theme())
            }
            Leave::Nothing => String::new(),
        };
        TuiEnd {
            farewell,
            session: self.model.session().to_owned(),
            trouble: self.trouble.take(),
        }
    }
}

/// Puts a text on the clipboard of the terminal that the person sits at, also over ssh.
fn copy(text: &str) -> Event {
    if text.len() > COPY_BYTES_MAX {
        return Event::Trouble(format!(
            "{} bytes are too much for the clipboard; /export shows them in the pager.",
            text.len()
        ));
    }
    let order = format!("\u{1b}]52;c;{}\u{7}", BASE64.encode(text.as_bytes()));
    match write_all(order.as_bytes()) {
        Ok(()) => Event::Done(format!(
            "{} bytes sent to the terminal's clipboard.",
            text.len()
        )),
        Err(error) => Event::Trouble(format!("The terminal cannot be written: {error}.")),
    }
}

async fn sleep_until(at: Option<Instant>) {
    match at {
        Some(at) => tokio::time::sleep_until(at).await,
        None => std::future::pending().await,
    }
}

async fn poll_slot<T>(slot: &mut Option<BoxFuture<'static, T>>) -> T {
    match slot {
        Some(future) => future.await,
        None => std::future::pending().await,
    }
}

async fn next_blocks(
    follower: &mut Option<SessionFollower>,
) -> Option<Result<FollowItem, ClientError>> {
    match follower {
        Some(follower) => follower.next().await,
        None => std::future::pending().await,
    }
}

async fn next_event(bus: &mut Option<EventStream>) -> Option<Result<StreamItem, ClientError>> {
    match bus {
        Some(bus) => bus.next().await,
        None => std::future::pending().await,
    }
}
