//! The state of the terminal UI, and how events change it. Pure: [`update`] does no I/O and reads no
//! clock; it returns effects for the driver.
//!
//! - [`Event`]: keys, changes of blocks, news of the daemon, replies
//! - [`Effect`], [`Request`]: what the driver is to do
//! - `keys` turns keys into actions, `actions` carries them out, `news` and `replies` take in what
//!   the daemon says
//!
//! Invariants: no event panics, in whatever order events come; text from outside is filtered before
//! it becomes a cell.

mod actions;
mod effect;
mod event;
mod keys;
mod news;
mod onboard_state;
mod overlay;
mod replies;

pub use effect::{Effect, Request};
pub use event::{Event, Failure, LinkState, MouseAction, News, Reply};
pub use onboard_state::OnboardState;
pub use overlay::Overlay;
pub(crate) use overlay::palette_rows;

use crate::actions::Keymap;
use crate::cards::Cards;
use crate::composer::Composer;
use crate::screens::{ListState, Screen};
use crate::text::Role;
use crate::theme::Theme;
use crate::transcript::Transcript;
use hob_wire::RunId;
use hob_wire::rooms::agent::{AgentRunParams, Cost, RunState};

/// The time that a notice is shown.
const NOTICE_MS: u64 = 6_000;
/// The time in which a second Ctrl-C leaves.
const LEAVE_MS: u64 = 1_500;
/// The pause between two frames of a moving mark: four a second, so that nothing flickers.
const MOTION_MS: u64 = 250;
/// The pause between two frames if the person wants less motion.
const REDUCED_MOTION_MS: u64 = 1_000;

/// What the UI is started with.
#[derive(Clone, Debug)]
pub struct Start {
    /// The parameters that every message shares: session, folder, model.
    pub run: AgentRunParams,
    /// The folder as people write it.
    pub folder: Option<String>,
    pub version: String,
    pub theme: Theme,
    pub keymap: Keymap,
    pub history: Vec<String>,
    pub size: (usize, usize),
    pub mouse: bool,
    pub reduced_motion: bool,
    /// The seconds that local time is ahead of UTC.
    pub zone_seconds: i64,
    /// Letters that make the keys of requests unique.
    pub key_seed: String,
    /// A sentence that is shown first.
    pub notice: Option<String>,
}

/// A run of the session that has not ended.
#[derive(Clone, Debug, PartialEq)]
pub struct ActiveRun {
    pub id: RunId,
    pub state: RunState,
    pub model: Option<String>,
    pub step: u32,
    /// When it was first seen, by the UI's clock.
    pub since: u64,
    /// A person stopped it; the daemon has not said that it ended.
    pub is_stopping: bool,
}

/// A sentence in the status line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Notice {
    pub text: String,
    pub role: Role,
    until: u64,
}

/// What a line that a person types is for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SearchLine {
    pub query: String,
    pub is_found: bool,
}

#[derive(Debug)]
pub struct Model {
    pub(crate) run_params: AgentRunParams,
    pub(crate) folder: Option<String>,
    pub(crate) version: String,
    pub(crate) theme: Theme,
    pub(crate) keymap: Keymap,
    pub(crate) size: (usize, usize),
    pub(crate) zone_seconds: i64,
    pub(crate) transcript: Transcript,
    pub(crate) composer: Composer,
    pub(crate) cards: Cards,
    pub(crate) run: Option<ActiveRun>,
    pub(crate) cost: Cost,
    /// The tokens of the last call to the model.
    pub(crate) context_tokens: Option<u64>,
    pub(crate) screen: Screen,
    pub(crate) list: ListState,
    pub(crate) onboard: OnboardState,
    pub(crate) overlay: Option<Overlay>,
    pub(crate) search: Option<SearchLine>,
    pub(crate) notice: Option<Notice>,
    pub(crate) link: LinkState,
    pub(crate) captures_mouse: bool,
    reduced_motion: bool,
    has_focus: bool,
    files: Option<Vec<String>>,
    key_seed: String,
    requests: u64,
    pub(crate) now: u64,
    /// The time of day, in milliseconds since 1970.
    pub(crate) wall_ms: u64,
    last_key_at: u64,
    /// A second Ctrl-C until then leaves.
    leaves_until: u64,
    /// The name under which the model is known to answer.
    pub(crate) answering: Option<String>,
    list_reading: ListReading,
}

/// Whether the list of the screen is being read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ListReading {
    Idle,
    Reading,
    /// It changed meanwhile, so it is read again.
    ReadingStale,
}

impl Model {
    /// The UI before its first event, and what to do first.
    pub fn new(start: Start) -> (Model, Vec<Effect>) {
        let mut composer = Composer::default();
        composer.history = crate::composer::History::new(start.history);
        let session = start.run.session_key.clone();
        let mut model = Model {
            run_params: start.run,
            folder: start.folder,
            version: start.version,
            theme: start.theme,
            keymap: start.keymap,
            size: start.size,
            zone_seconds: start.zone_seconds,
            transcript: Transcript::default(),
            composer,
            cards: Cards::default(),
            run: None,
            cost: Cost::default(),
            context_tokens: None,
            screen: Screen::Chat,
            list: ListState::default(),
            onboard: OnboardState::default(),
            overlay: None,
            search: None,
            notice: None,
            link: LinkState::Connected,
            captures_mouse: start.mouse,
            reduced_motion: start.reduced_motion,
            has_focus: true,
            files: None,
            key_seed: start.key_seed,
            requests: 0,
            now: 0,
            wall_ms: 0,
            last_key_at: 0,
            leaves_until: 0,
            answering: None,
            list_reading: ListReading::Idle,
        };
        if let Some(text) = start.notice {
            model.notify(text, Role::Warning);
        }
        let mut effects = vec![
            Effect::Call(Request::Attend),
            Effect::Call(Request::OnboardOptions { state_only: true }),
            Effect::Call(Request::Questions),
        ];
        effects.extend(model.follow_session(session));
        (model, effects)
    }

    /// The key of the session that is shown.
    pub fn session(&self) -> &str {
        &self.run_params.session_key
    }

    /// The text that leaves the screen with the person: the tail of the conversation.
    pub fn farewell(&mut self, rows_max: usize) -> Vec<crate::text::Row> {
        self.transcript.tail(rows_max)
    }

    pub fn theme(&self) -> Theme {
        self.theme
    }

    /// The messages to keep for the next start.
    pub fn history(&self) -> &[String] {
        self.composer.history.messages()
    }

    /// Returns true if keys answer a question.
    pub fn has_question_keys(&self) -> bool {
        self.cards.has_keys()
    }

    /// The time until the screen changes without an event; `None` if it never does.
    pub fn next_tick_ms(&self) -> Option<u64> {
        let motion = match (&self.run, self.has_focus) {
            // Nobody looks: a second is often enough.
            (Some(_), false) => Some(REDUCED_MOTION_MS),
            (Some(_), true) if self.reduced_motion => Some(REDUCED_MOTION_MS),
            (Some(_), true) => Some(MOTION_MS),
            (None, _) => self.onboard.waits().then_some(REDUCED_MOTION_MS),
        };
        let until = |at: u64| at.saturating_sub(self.now).max(1);
        let notice = self.notice.as_ref().map(|notice| until(notice.until));
        let arms = self
            .cards
            .arms_at(self.last_key_at)
            .filter(|_| self.composer.is_empty())
            .map(until);
        [motion, notice, arms].into_iter().flatten().min()
    }

    /// The number of the current frame of a moving mark.
    pub(crate) fn motion_frame(&self) -> u64 {
        self.now / MOTION_MS
    }

    pub(crate) fn notify(&mut self, text: impl Into<String>, role: Role) {
        self.notice = Some(Notice {
            text: text.into(),
            role,
            until: self.now + NOTICE_MS,
        });
    }

    /// A key that makes a request one request however often it is sent.
    fn request_key(&mut self) -> String {
        self.requests += 1;
        format!("{}-{}", self.key_seed, self.requests)
    }

    /// Shows another session.
    fn follow_session(&mut self, session: String) -> Vec<Effect> {
        self.transcript.clear();
        self.run = None;
        self.cost = Cost::default();
        self.context_tokens = None;
        self.search = None;
        self.run_params.session_key.clone_from(&session);
        vec![
            Effect::Follow(session.clone()),
            Effect::Call(Request::RunStatus(session.clone())),
            Effect::Call(Request::SessionCost(session)),
        ]
    }

    /// Shows a screen and reads what it needs.
    fn show(&mut self, screen: Screen) -> Vec<Effect> {
        self.overlay = None;
        if self.screen != screen {
            self.list = ListState::default();
        }
        self.screen = screen;
        match screen {
            Screen::Chat => Vec::new(),
            Screen::Onboard => vec![Effect::Call(Request::OnboardOptions { state_only: false })],
            _ => self.read_list(),
        }
    }

    /// Reads the list of the screen, at most once at a time.
    fn read_list(&mut self) -> Vec<Effect> {
        if !self.screen.is_list() {
            return Vec::new();
        }
        if self.list_reading != ListReading::Idle {
            self.list_reading = ListReading::ReadingStale;
            return Vec::new();
        }
        self.list_reading = ListReading::Reading;
        vec![Effect::Call(Request::Screen(self.screen))]
    }
}

/// Changes the state by one event and returns what to do.
pub fn update(model: &mut Model, event: Event) -> Vec<Effect> {
    match event {
        Event::Time { now, wall_ms } => {
            model.now = model.now.max(now);
            model.wall_ms = wall_ms;
            model.tick()
        }
        Event::Key { key, is_pasted } => model.press(key, is_pasted),
        Event::Paste(text) => {
            model.last_key_at = model.now;
            model.paste(&text);
            Vec::new()
        }
        Event::Mouse(action) => model.mouse(action),
        Event::Resize(columns, rows) => {
            model.size = (columns, rows);
            Vec::new()
        }
        Event::Focus(has_focus) => {
            model.has_focus = has_focus;
            Vec::new()
        }
        Event::Blocks(update) => {
            model.transcript.apply(update);
            Vec::new()
        }
        Event::Link(state) => model.link_changed(state),
        Event::News(news) => model.take_news(news),
        Event::Reply(reply) => model.take_reply(*reply),
        Event::Files(files) => {
            model.files = Some(files);
            model.offer_completion();
            Vec::new()
        }
        Event::Edited(Ok(text)) => {
            model.composer.set_text(&text);
            Vec::new()
        }
        Event::Edited(Err(why)) | Event::Trouble(why) => {
            model.notify(why, Role::Bad);
            Vec::new()
        }
        Event::Done(text) => {
            model.notify(text, Role::Quiet);
            Vec::new()
        }
    }
}

impl Model {
    fn tick(&mut self) -> Vec<Effect> {
        if self.notice.as_ref().is_some_and(|it| it.until <= self.now) {
            self.notice = None;
        }
        let arms_at = self.cards.arms_at(self.last_key_at);
        if self.composer.is_empty() && arms_at.is_some_and(|at| at <= self.now) {
            self.cards.arm();
        }
        if self.onboard.asks_again(self.now) {
            return vec![Effect::Call(Request::OnboardOptions { state_only: true })];
        }
        Vec::new()
    }
}

#[cfg(test)]
#[path = "../model_tests.rs"]
pub(crate) mod tests_support;
