//! What happens to the UI.

use crate::actions::Key;
use crate::cards::Question;
use crate::screens::{Screen, ScreenData};
use crate::transcript::BlockUpdate;
use hob_wire::RunId;
use hob_wire::rooms::agent::{AgentAbortResult, RunView};
use hob_wire::rooms::cost::CostSummary;
use hob_wire::rooms::onboard::{OnboardChooseResult, OnboardOptionsResult};

/// Something that happened.
#[derive(Debug)]
pub enum Event {
    /// The time, before the events that follow. `now` never goes back.
    Time {
        now: u64,
        wall_ms: u64,
    },
    /// A key. It is pasted if more characters came with it: it sends nothing.
    Key {
        key: Key,
        is_pasted: bool,
    },
    Paste(String),
    Mouse(MouseAction),
    Resize(usize, usize),
    /// The terminal's window is looked at, or not any more.
    Focus(bool),
    Blocks(BlockUpdate),
    Link(LinkState),
    News(News),
    Reply(Box<Reply>),
    /// The files of the workspace.
    Files(Vec<String>),
    /// The editor was closed.
    Edited(Result<String, String>),
    /// An effect was carried out; a sentence for people.
    Done(String),
    Trouble(String),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MouseAction {
    WheelUp,
    WheelDown,
    Press { column: usize, row: usize },
}

/// The connection to the daemon.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LinkState {
    Connected,
    Searching,
    Ended,
}

/// An event of the daemon that changes more than blocks.
#[derive(Clone, Debug)]
pub enum News {
    Asked(Question),
    /// A permission question has an answer.
    Answered {
        id: String,
    },
    /// A call of a run ended, so it is not in doubt any more.
    CallEnded {
        run: RunId,
        call: String,
    },
    Queued {
        session: String,
        run: RunId,
    },
    Started {
        session: String,
        run: RunId,
        model: String,
    },
    Step {
        session: String,
        run: RunId,
        step: u32,
        input_tokens: u64,
        model: String,
    },
    Completed {
        session: String,
        run: RunId,
        is_success: bool,
        message: Option<String>,
    },
    /// The prompt goes to a server that was found.
    Server {
        session: String,
        text: String,
    },
    /// A list of this screen changed.
    ListChanged(Screen),
    /// The progress of an installation or a download.
    Progress(String),
}

/// The reply to a request.
#[derive(Debug)]
pub enum Reply {
    Run {
        message: String,
        /// A run was working when the message was sent.
        was_working: bool,
        result: Result<RunId, Failure>,
    },
    Stopped(Result<AgentAbortResult, Failure>),
    Answered {
        question: Box<Question>,
        result: Result<(), Failure>,
    },
    Questions(Result<Vec<Question>, Failure>),
    Status {
        session: String,
        view: Option<Box<RunView>>,
    },
    Cost {
        session: String,
        summary: Option<CostSummary>,
    },
    Screen {
        screen: Screen,
        data: Result<Box<ScreenData>, Failure>,
    },
    /// The key of the new session.
    Forked(Result<String, Failure>),
    Service(Result<String, Failure>),
    Options {
        is_state_only: bool,
        result: Result<OnboardOptionsResult, Failure>,
    },
    Chosen(Result<OnboardChooseResult, Failure>),
    Nothing,
}

/// A request that failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// The problem and what to do, for people.
    pub sentence: String,
    /// No model is configured.
    pub lacks_model: bool,
}
