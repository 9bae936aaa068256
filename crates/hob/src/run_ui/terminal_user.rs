//! The person at the terminal: one key or one line of theirs, even when stdin is something else.
//!
//! Invariants: keys pressed before an answer was asked for never are one; the terminal is as it
//! was when an answer is given or the question is dropped; Ctrl-C stays a signal.

use crate::terminal::Terminal;
use rustix::fs::{Mode, OFlags};
use rustix::termios::{LocalModes, OptionalActions, QueueSelector, Termios};
use std::io::{self, IsTerminal};
use std::os::fd::OwnedFd;
use std::time::Duration;
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;
use tokio::time::Instant;

/// Bytes of one answer; a terminal hands over at most a line of 4 KiB.
const ANSWER_BYTES_MAX: usize = 4_096;

/// Keys that a hasty person presses before the first is read; more is a paste.
const KEYS_AT_ONCE_MAX: usize = 3;

/// How long nothing is typed before a person is taken to have stopped typing.
const PAUSE: Duration = Duration::from_millis(250);
/// How long a pause is waited for; a key that is held down makes none.
const PAUSE_WAIT_MAX: Duration = Duration::from_secs(5);

/// A terminal with somebody at it.
#[derive(Debug)]
pub struct Person {
    terminal: AsyncFd<OwnedFd>,
}

impl Person {
    /// The person who reads stderr and types on the same terminal, if there is one.
    pub fn find() -> Option<Person> {
        if !io::stderr().is_terminal() {
            return None;
        }
        let flags = OFlags::RDWR | OFlags::NONBLOCK | OFlags::CLOEXEC | OFlags::NOCTTY;
        let file = rustix::fs::open("/dev/tty", flags, Mode::empty()).ok()?;
        #[expect(
            deprecated,
            reason = "its successor is unsafe for types that may change their descriptor; an OwnedFd cannot"
        )]
        let terminal = AsyncFd::with_interest(file, Interest::READABLE).ok()?;
        Some(Person { terminal })
    }

    /// Shows `prompt` and waits for one of `keys`; others are not heard. A person who is typing
    /// when the question comes types at something else, so the prompt appears when they pause.
    pub async fn key(&self, prompt: &str, keys: &[char]) -> io::Result<char> {
        let _restored = self.heed()?;
        self.pause().await?;
        self.press(prompt, keys).await
    }

    /// The same for a person who was asked already and wanted to see more.
    pub async fn next_key(&self, prompt: &str, keys: &[char]) -> io::Result<char> {
        let _restored = self.heed()?;
        self.press(prompt, keys).await
    }

    /// Hands over keys as they are pressed, and forgets what was typed before.
    fn heed(&self) -> io::Result<Modes<'_>> {
        Modes::set(&self.terminal, |modes| {
            modes.local_modes -= LocalModes::ICANON | LocalModes::ECHO;
        })
    }

    async fn press(&self, prompt: &str, keys: &[char]) -> io::Result<char> {
        Terminal::prompt(prompt);
        loop {
            let bytes = self.read().await?;
            if bytes.is_empty() {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            let text = String::from_utf8_lossy(&bytes);
            if let Some(key) = pressed(&text, keys) {
                return Ok(key);
            }
        }
    }

    /// Waits for a line; `None` when the person ends the input instead.
    pub async fn line(&self) -> io::Result<Option<String>> {
        let _restored = Modes::set(&self.terminal, |modes| {
            modes.local_modes |= LocalModes::ICANON | LocalModes::ECHO;
        })?;
        let bytes = self.read().await?;
        let text = String::from_utf8_lossy(&bytes);
        Ok((!bytes.is_empty()).then(|| text.trim().to_owned()))
    }

    /// Waits until nothing was typed for a moment, and forgets what was.
    async fn pause(&self) -> io::Result<()> {
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

/// The first of `keys` in what a terminal handed over. An arrow or a paste is no answer.
fn pressed(text: &str, keys: &[char]) -> Option<char> {
    if text.starts_with('\u{1b}') || text.chars().count() > KEYS_AT_ONCE_MAX {
        return None;
    }
    let mut letters = text.chars().map(|letter| letter.to_ascii_lowercase());
    letters.find(|letter| keys.contains(letter))
}

/// The terminal's modes, changed until this is dropped.
struct Modes<'t> {
    terminal: &'t AsyncFd<OwnedFd>,
    former: Termios,
}

impl<'t> Modes<'t> {
    fn set(terminal: &'t AsyncFd<OwnedFd>, change: impl FnOnce(&mut Termios)) -> io::Result<Self> {
        let former = rustix::termios::tcgetattr(terminal.get_ref())?;
        let mut wanted = former.clone();
        change(&mut wanted);
        // Flushing forgets what was typed before the question.
        rustix::termios::tcsetattr(terminal.get_ref(), OptionalActions::Flush, &wanted)?;
        rustix::termios::tcflush(terminal.get_ref(), QueueSelector::IFlush)?;
        Ok(Modes { terminal, former })
    }
}

impl Drop for Modes<'_> {
    fn drop(&mut self) {
        // A terminal that is gone needs no modes.
        let _ =
            rustix::termios::tcsetattr(self.terminal.get_ref(), OptionalActions::Now, &self.former);
    }
}

#[cfg(test)]
#[path = "person_tests.rs"]
mod tests;
