//! Reads keys on a thread of its own, so that nothing else ever delays them.
//!
//! Invariants: no timer runs while nobody types; while the reader rests, it reads nothing, so another
//! program can have the terminal.

use crate::actions::{Key, KeyCode};
use crate::model::MouseAction;
use crossterm::event::{
    Event, KeyCode as Code, KeyEvent, KeyEventKind, KeyModifiers, MouseButton, MouseEvent,
    MouseEventKind,
};
use rustix::process::{Signal, getpid, kill_process};
use std::io;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;
use tokio::sync::mpsc;

/// The events that wait for the loop; a reader of a full queue waits.
const EVENTS_MAX: usize = 1_024;
/// The longest wait until the reader rests.
const REST_WAIT: Duration = Duration::from_millis(500);

/// What came from the terminal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Input {
    Key(Key),
    Paste(String),
    Mouse(MouseAction),
    Resize(u16, u16),
    Focus(bool),
    /// The terminal is gone.
    Closed,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ReaderState {
    Reading,
    RestWanted,
    Resting,
}

/// The state of the reader. A std mutex: it is held for a look, never across an await.
#[derive(Debug)]
struct ReaderGate {
    state: Mutex<ReaderState>,
    changed: Condvar,
}

/// The reader's thread.
#[derive(Debug)]
pub(super) struct InputReader {
    gate: Arc<ReaderGate>,
}

impl InputReader {
    /// Starts to read.
    pub(super) fn start() -> io::Result<(InputReader, mpsc::Receiver<Input>)> {
        let (sender, receiver) = mpsc::channel(EVENTS_MAX);
        let gate = Arc::new(ReaderGate {
            state: Mutex::new(ReaderState::Reading),
            changed: Condvar::new(),
        });
        let of_thread = Arc::clone(&gate);
        std::thread::Builder::new()
            .name("input".to_owned())
            .spawn(move || read_until_closed(&of_thread, &sender))?;
        Ok((InputReader { gate }, receiver))
    }

    /// Waits until the reader leaves the terminal alone.
    pub(super) fn rest(&self) {
        self.set(ReaderState::RestWanted);
        // It waits for a key or for a change of size, so it is told of one.
        let _ = kill_process(getpid(), Signal::WINCH);
        let state = self
            .gate
            .state
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let waiting = |state: &mut ReaderState| *state == ReaderState::RestWanted;
        let waited = self
            .gate
            .changed
            .wait_timeout_while(state, REST_WAIT, waiting);
        drop(waited);
    }

    pub(super) fn go_on(&self) {
        self.set(ReaderState::Reading);
    }

    fn set(&self, state: ReaderState) {
        *self
            .gate
            .state
            .lock()
            .unwrap_or_else(PoisonError::into_inner) = state;
        self.gate.changed.notify_all();
    }
}

fn read_until_closed(gate: &ReaderGate, sender: &mpsc::Sender<Input>) {
    loop {
        let mut state = gate.state.lock().unwrap_or_else(PoisonError::into_inner);
        while *state != ReaderState::Reading {
            *state = ReaderState::Resting;
            gate.changed.notify_all();
            state = gate
                .changed
                .wait(state)
                .unwrap_or_else(PoisonError::into_inner);
        }
        drop(state);
        let input = match crossterm::event::read() {
            Ok(event) => input_of(event),
            Err(_) => Some(Input::Closed),
        };
        let is_last = input == Some(Input::Closed);
        if let Some(input) = input
            && sender.blocking_send(input).is_err()
        {
            return;
        }
        if is_last {
            return;
        }
    }
}

fn input_of(event: Event) -> Option<Input> {
    match event {
        Event::Key(event) => key_of(event).map(Input::Key),
        Event::Paste(text) => Some(Input::Paste(text)),
        Event::Resize(columns, rows) => Some(Input::Resize(columns, rows)),
        Event::FocusGained => Some(Input::Focus(true)),
        Event::FocusLost => Some(Input::Focus(false)),
        Event::Mouse(event) => mouse_of(event).map(Input::Mouse),
    }
}

fn key_of(event: KeyEvent) -> Option<Key> {
    if event.kind == KeyEventKind::Release {
        return None;
    }
    let code = match event.code {
        Code::Char(letter) => KeyCode::Char(letter),
        Code::Enter => KeyCode::Enter,
        Code::Tab | Code::BackTab => KeyCode::Tab,
        Code::Esc => KeyCode::Esc,
        Code::Backspace => KeyCode::Backspace,
        Code::Delete => KeyCode::Delete,
        Code::Up => KeyCode::Up,
        Code::Down => KeyCode::Down,
        Code::Left => KeyCode::Left,
        Code::Right => KeyCode::Right,
        Code::Home => KeyCode::Home,
        Code::End => KeyCode::End,
        Code::PageUp => KeyCode::PageUp,
        Code::PageDown => KeyCode::PageDown,
        Code::F(number) => KeyCode::F(number),
        _ => return None,
    };
    let held = |modifier| event.modifiers.contains(modifier);
    Some(Key {
        code,
        ctrl: held(KeyModifiers::CONTROL),
        alt: held(KeyModifiers::ALT),
        shift: held(KeyModifiers::SHIFT) || event.code == Code::BackTab,
    })
}

fn mouse_of(event: MouseEvent) -> Option<MouseAction> {
    match event.kind {
        MouseEventKind::ScrollUp => Some(MouseAction::WheelUp),
        MouseEventKind::ScrollDown => Some(MouseAction::WheelDown),
        MouseEventKind::Down(MouseButton::Left) => Some(MouseAction::Press {
            column: usize::from(event.column),
            row: usize::from(event.row),
        }),
        _ => None,
    }
}
