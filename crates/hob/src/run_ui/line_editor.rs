//! Line input of a chat: typed with editing and history, or piped in by a script.
//!
//! Invariant: a paste of several lines is one text, never several requests.

use crate::failure::CommandFailure;
use rustyline::config::Configurer;
use rustyline::error::ReadlineError;
use rustyline::{Config, DefaultEditor};
use std::io::{BufRead, IsTerminal};
use std::path::{Path, PathBuf};

/// The most lines of the history.
const HISTORY_LINES_MAX: usize = 1_000;
/// The prompt of a continuation line.
const MORE: &str = "… ";
/// The longest line of a script: it bounds a stream without line breaks.
const LINE_BYTES_MAX: u64 = 2 * 1_024 * 1_024;

/// One input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LineInput {
    Text(String),
    /// Ctrl-C.
    Interrupted,
    /// Ctrl-D, or the end of the input.
    End,
}

/// The source of input lines.
#[derive(Debug)]
pub struct LineEditor {
    /// `None` while a line is being typed, and always for a script.
    typing: Option<DefaultEditor>,
    history: PathBuf,
    is_script: bool,
}

impl LineEditor {
    pub fn open(history: PathBuf) -> Result<LineEditor, CommandFailure> {
        let is_script = !std::io::stdin().is_terminal();
        let typing = if is_script {
            None
        } else {
            Some(open(&history).map_err(|error| unusable(&error))?)
        };
        Ok(LineEditor {
            typing,
            history,
            is_script,
        })
    }

    /// Returns true when stdin is not a terminal.
    pub fn is_script(&self) -> bool {
        self.is_script
    }

    /// Waits for the next text on a blocking thread, so that events are still handled.
    pub async fn next(&mut self, prompt: &str) -> Result<LineInput, CommandFailure> {
        if self.is_script {
            let read = tokio::task::spawn_blocking(read_script).await;
            return read.map_err(|error| unusable(&error))?;
        }
        let Some(mut editor) = self.typing.take() else {
            return Ok(LineInput::End);
        };
        let (prompt, history) = (prompt.to_owned(), self.history.clone());
        let read = tokio::task::spawn_blocking(move || {
            let entered = read_person(&mut editor, &prompt, &history);
            (editor, entered)
        });
        let (editor, entered) = read.await.map_err(|error| unusable(&error))?;
        self.typing = Some(editor);
        entered.map_err(|error| unusable(&error))
    }
}

fn open(history: &Path) -> Result<DefaultEditor, ReadlineError> {
    let config = Config::builder()
        .history_ignore_dups(true)?
        // A paste of several lines stays one text.
        .bracketed_paste(true)
        .build();
    let mut editor = DefaultEditor::with_config(config)?;
    editor.set_max_history_size(HISTORY_LINES_MAX)?;
    // The first chat of a home has no history.
    let _ = editor.load_history(history);
    Ok(editor)
}

fn read_person(
    editor: &mut DefaultEditor,
    prompt: &str,
    history: &Path,
) -> Result<LineInput, ReadlineError> {
    let mut text = String::new();
    loop {
        let prompt = if text.is_empty() { prompt } else { MORE };
        let line = match editor.readline(prompt) {
            Ok(line) => line,
            Err(ReadlineError::Interrupted) => return Ok(LineInput::Interrupted),
            Err(ReadlineError::Eof) => return Ok(LineInput::End),
            Err(error) => return Err(error),
        };
        let Some(begun) = line.strip_suffix('\\') else {
            text.push_str(&line);
            break;
        };
        text.push_str(begun);
        text.push('\n');
    }
    if !text.trim().is_empty() {
        editor.add_history_entry(text.as_str())?;
        // A history that cannot be written must not end the chat.
        let _ = editor.append_history(history);
    }
    Ok(LineInput::Text(text))
}

fn read_script() -> Result<LineInput, CommandFailure> {
    let mut line = String::new();
    let mut stdin = std::io::Read::take(std::io::stdin().lock(), LINE_BYTES_MAX);
    let read = stdin.read_line(&mut line);
    let read =
        read.map_err(|error| CommandFailure::usage(format!("Stdin cannot be read: {error}.")))?;
    if read == 0 {
        return Ok(LineInput::End);
    }
    Ok(LineInput::Text(line))
}

fn unusable(error: &impl std::fmt::Display) -> CommandFailure {
    CommandFailure::failed(format!("The terminal cannot be read: {error}."))
}
