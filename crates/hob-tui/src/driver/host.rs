//! What the program around the UI gives it: the daemon, the clock, and the things that only the
//! program may do, such as starting an editor.

use hob_client::Client;
use std::fmt;
use std::sync::Arc;

/// A thing done with the terminal given back, or on a thread of its own.
pub type HostAction<I, O> = Arc<dyn Fn(I) -> O + Send + Sync>;

/// The surroundings of the UI.
#[derive(Clone)]
pub struct Host {
    pub client: Client,
    /// The UI's clock, which never goes back, and the time of day; both in milliseconds.
    pub clock: Arc<dyn Fn() -> (u64, u64) + Send + Sync>,
    /// Opens a text in the person's editor and returns it.
    pub edit: HostAction<String, Result<String, String>>,
    /// Shows a text in the person's pager.
    pub page: HostAction<String, Result<(), String>>,
    /// Keeps the messages sent.
    pub keep_history: HostAction<Vec<String>, Result<(), String>>,
    /// Lists the files of the workspace.
    pub files: HostAction<(), Vec<String>>,
    /// The theme that the person set; the terminal's background decides without one.
    pub theme: Option<crate::theme::Theme>,
    /// What is left on the normal screen.
    pub leave: Leave,
}

impl fmt::Debug for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Host")
            .field("theme", &self.theme)
            .field("leave", &self.leave)
            .finish_non_exhaustive()
    }
}

/// What is left on the normal screen when the UI ends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Leave {
    /// The last question and its answer.
    #[default]
    Answer,
    Nothing,
}

/// The end of the UI.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TuiEnd {
    /// What is left on the normal screen, with colours.
    pub farewell: String,
    pub session: String,
    /// The daemon cannot be used any more: the reason.
    pub trouble: Option<String>,
}
