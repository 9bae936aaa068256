//! The person at the terminal: reads a key or a line from `/dev/tty`, even when stdin is piped.
//!
//! Invariants: keys pressed before the prompt never answer it; the terminal modes are restored when
//! an answer is given or the question is dropped; Ctrl-C stays a signal.

use crate::terminal::Terminal;
use rustix::fs::{Mode, OFlags};
use rustix::termios::{LocalModes, OptionalActions, QueueSelector, Termios};
use std::io::{self, IsTerminal};
use std::os::fd::OwnedFd;
use std::time::Duration;
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;
use tokio::time::Instant;

/// The most bytes of one answer; a terminal delivers lines of at most 4 KiB.
const ANSWER_BYTES_MAX: usize = 4_096;

/// The most keys of one read that count as typed; more is a paste.
const KEYS_AT_ONCE_MAX: usize = 3;

/// The silence after which the person has stopped typing.
const PAUSE: Duration = Duration::from_millis(250);
/// The longest wait for that silence; a key held down never makes one.
const PAUSE_WAIT_MAX: Duration = Duration::from_secs(5);

/// A terminal with somebody at it.
#[derive(Debug)]
pub struct TerminalUser {
    terminal: AsyncFd<OwnedFd>,
}

impl TerminalUser {
    /// Opens the controlling terminal if stderr is a terminal.
    pub fn find() -> Option<TerminalUser> {
        if !io::stderr().is_terminal() {
            return None;
        }
        // NOCTTY: opening a terminal must not change the controlling terminal of this process.
        let flags = OFlags::RDWR | OFlags::NONBLOCK | OFlags::CLOEXEC | OFlags::NOCTTY;
        let file = rustix::fs::open("/dev/tty", flags, Mode::empty()).ok()?;
        #[expect(
            deprecated,
            reason = "its successor is unsafe for types that may change their descriptor; an OwnedFd cannot"
        )]
        let terminal = AsyncFd::with_interest(file, Interest::READABLE).ok()?;
        Some(TerminalUser { terminal })
    }

    /// Shows `prompt` and waits for one of `keys`; others are ignored. A person who is typing when the
    /// question comes does not mean the question, so the prompt waits for a pause.
    pub async fn key(&self, prompt: &str, keys: &[char]) -> io::Result<char> {
        let _restored = self.enter_key_mode()?;
        self.wait_for_pause().await?;
        self.read_key(prompt, keys).await
    }

    /// Asks again without waiting for a pause, after the details were shown.
    pub async fn next_key(&self, prompt: &str, keys: &[char]) -> io::Result<char> {
        let _restored = self.enter_key_mode()?;
        self.read_key(prompt, keys).await
    }

    /// Switches to unbuffered input without echo and discards earlier input.
    fn enter_key_mode(&self) -> io::Result<TerminalModeGuard<'_>> {
        TerminalModeGuard::set(&self.terminal, |modes| {
            modes.local_modes -= LocalModes::ICANON | LocalModes::ECHO;
        })
    }

    async fn read_key(&self, prompt: &str, keys: &[char]) -> io::Result<char> {
        Terminal::prompt(prompt);
        loop {
            let bytes = self.read().await?;
            // An empty read is a hang-up: nobody can answer any more.
            if bytes.is_empty() {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            let text = String::from_utf8_lossy(&bytes);
            if let Some(key) = find_key(&text, keys) {
                return Ok(key);
            }
        }
    }

    /// Waits for a line; `None` at the end of input (Ctrl-D).
    pub async fn line(&self) -> io::Result<Option<String>> {
        let _restored = TerminalModeGuard::set(&self.terminal, |modes| {
            modes.local_modes |= LocalModes::ICANON | LocalModes::ECHO;
        })?;
        let bytes = self.read().await?;
        let text = String::from_utf8_lossy(&bytes);
        Ok((!bytes.is_empty()).then(|| text.trim().to_owned()))
    }

    /// Shows `prompt` and waits for a line that is not shown, such as a key; `None` at the end of
    /// input.
    pub async fn secret_line(&self, prompt: &str) -> io::Result<Option<String>> {
        let _restored = TerminalModeGuard::set(&self.terminal, |modes| {
            modes.local_modes |= LocalModes::ICANON;
            modes.local_modes -= LocalModes::ECHO | LocalModes::ECHONL;
        })?;
        // After the modes are set: what is typed at the prompt must not be shown or dropped.
        Terminal::prompt(prompt);
        let bytes = self.read().await?;
        let text = String::from_utf8_lossy(&bytes);
        Ok((!bytes.is_empty()).then(|| text.trim().to_owned()))
    }

    /// Waits until nothing is typed for a moment, and discards the input.
    async fn wait_for_pause(&self) -> io::Result<()> {
        let until = Instant::now() + PAUSE_WAIT_MAX;
        while let Ok(typed) = tokio::time::timeout(PAUSE, self.read()).await {
            typed?;
            if Instant::now() >= until {
                break;
            }
        }
        Ok(())
    }

    async fn read(&self) -> io::Result<Vec<u8>> {
        let mut buffer = vec![0; ANSWER_BYTES_MAX];
        let read = self.terminal.async_io(Interest::READABLE, |file| {
            Ok(rustix::io::read(file, buffer.as_mut_slice())?)
        });
        let length = read.await?;
        buffer.truncate(length);
        Ok(buffer)
    }
}

/// The first of `keys` in one read. Escape sequences (arrows) and pastes never answer.
fn find_key(text: &str, keys: &[char]) -> Option<char> {
    if text.starts_with('\u{1b}') || text.chars().count() > KEYS_AT_ONCE_MAX {
        return None;
    }
    let mut letters = text.chars().map(|letter| letter.to_ascii_lowercase());
    letters.find(|letter| keys.contains(letter))
}

/// Changed terminal modes, restored on drop.
struct TerminalModeGuard<'t> {
    terminal: &'t AsyncFd<OwnedFd>,
    former: Termios,
}

impl<'t> TerminalModeGuard<'t> {
    fn set(terminal: &'t AsyncFd<OwnedFd>, change: impl FnOnce(&mut Termios)) -> io::Result<Self> {
        let former = rustix::termios::tcgetattr(terminal.get_ref())?;
        let mut wanted = former.clone();
        change(&mut wanted);
        // Flushing discards keys from before the question: they must not answer it.
        rustix::termios::tcsetattr(terminal.get_ref(), OptionalActions::Flush, &wanted)?;
        rustix::termios::tcflush(terminal.get_ref(), QueueSelector::IFlush)?;
        Ok(TerminalModeGuard { terminal, former })
    }
}

impl Drop for TerminalModeGuard<'_> {
    fn drop(&mut self) {
        // A closed terminal has no modes to restore.
        let _ =
            rustix::termios::tcsetattr(self.terminal.get_ref(), OptionalActions::Now, &self.former);
    }
}

#[cfg(test)]
#[path = "terminal_user_tests.rs"]
mod tests;
