//! What the driver is to do.

use crate::cards::Question;
use crate::screens::Screen;
use hob_wire::RunId;
use hob_wire::rooms::agent::{AgentAllowParams, AgentResolveParams, AgentRunParams};
use hob_wire::rooms::onboard::OnboardChooseParams;
use hob_wire::rooms::permission::PermissionAnswerParams;

/// A thing to do outside of the model.
#[derive(Clone, Debug)]
pub enum Effect {
    /// Leave; running work goes on.
    Quit,
    /// Give the terminal back until the shell resumes the program.
    Suspend,
    /// Write every cell again.
    Redraw,
    /// Capture or release the mouse.
    CaptureMouse(bool),
    /// Call the daemon; the reply is an event.
    Call(Request),
    /// Follow this session's blocks instead of the former one's.
    Follow(String),
    /// Read older blocks.
    ReadOlder,
    /// Open a text in the person's editor.
    Edit(String),
    /// Put a text on the clipboard.
    Copy(String),
    /// Show a text in the person's pager.
    Page(String),
    /// List the files of the workspace.
    ListFiles,
    /// Keep these messages for the next start.
    KeepHistory,
    /// Tell a person who looks elsewhere.
    Notify(String),
}

/// A call to the daemon.
#[derive(Clone, Debug)]
pub enum Request {
    /// Marks the connection as one that shows questions.
    Attend,
    Run(Box<AgentRunParams>),
    /// Stops the runs of a session.
    Stop(String),
    StopRun(RunId),
    Answer(Box<Question>, Box<PermissionAnswerParams>),
    Resolve(Box<Question>, Box<AgentResolveParams>),
    Allow(Box<Question>, AgentAllowParams),
    /// Every question without an answer.
    Questions,
    RunStatus(String),
    SessionCost(String),
    /// What a screen lists.
    Screen(Screen),
    /// Copies a session into a new one.
    Fork(String),
    StartService(String),
    StopService(String),
    OnboardOptions {
        state_only: bool,
    },
    OnboardChoose(Box<OnboardChooseParams>),
}
