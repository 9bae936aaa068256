//! The state of the terminal while the UI has it, and its way back.
//!
//! Invariants: the terminal is restored on drop, on a panic and before the program is suspended, each
//! time in the reverse order; restoring twice changes nothing.

use rustix::termios::{OptionalActions, Termios, tcgetattr, tcsetattr};
use std::io::{self, Write};
use std::sync::{Mutex, Once, PoisonError};

/// The alternate screen; no wrapping at the edge; pastes and focus are reported; the wheel is no
/// arrow key; the title is kept.
const KEEP_TITLE: &str = "\u{1b}[22;2t";
const ENTER: &str = "\u{1b}[?1049h\u{1b}[?7l\u{1b}[?2004h\u{1b}[?1004h\u{1b}[?1007l";
const LEAVE: &str = "\u{1b}[0m\u{1b}[?2026l\u{1b}[?1007h\u{1b}[?1004l\u{1b}[?2004l\u{1b}[?7h\u{1b}[?25h\u{1b}[?1049l\u{1b}[23;2t";
const MOUSE_ON: &str = "\u{1b}[?1000h\u{1b}[?1006h";
const MOUSE_OFF: &str = "\u{1b}[?1006l\u{1b}[?1000l";
/// Keys that a plain terminal cannot tell apart are reported as themselves.
const KEYS_ON: &str = "\u{1b}[>1u";
const KEYS_OFF: &str = "\u{1b}[<u";

/// What must be undone. A std mutex: it is held for one write, never across an await. It is global,
/// because a panic has no other way to it.
static ACTIVE: Mutex<Option<ActiveModes>> = Mutex::new(None);
static PANIC_HOOK: Once = Once::new();

struct ActiveModes {
    former: Termios,
    has_screen: bool,
    has_mouse: bool,
    has_key_reports: bool,
}

/// The terminal while the UI has it.
#[derive(Debug)]
pub(super) struct TerminalGuard {
    captures_mouse: bool,
    reports_keys: bool,
}

impl TerminalGuard {
    /// Switches to single keys without echo. The screen is not touched yet.
    pub(super) fn raw() -> io::Result<TerminalGuard> {
        PANIC_HOOK.call_once(|| {
            let former = std::panic::take_hook();
            std::panic::set_hook(Box::new(move |info| {
                restore();
                former(info);
            }));
        });
        let guard = TerminalGuard {
            captures_mouse: false,
            reports_keys: false,
        };
        set_raw()?;
        Ok(guard)
    }

    /// Takes the screen.
    pub(super) fn enter(&mut self, captures_mouse: bool, reports_keys: bool) -> io::Result<()> {
        self.captures_mouse = captures_mouse;
        self.reports_keys = reports_keys;
        let mut out = String::new();
        if let Some(modes) = &mut *ACTIVE.lock().unwrap_or_else(PoisonError::into_inner) {
            // What is put on a stack is put there once.
            if !std::mem::replace(&mut modes.has_screen, true) {
                out.push_str(KEEP_TITLE);
            }
            if reports_keys && !std::mem::replace(&mut modes.has_key_reports, true) {
                out.push_str(KEYS_ON);
            }
            modes.has_mouse = captures_mouse;
        }
        out.push_str(ENTER);
        if captures_mouse {
            out.push_str(MOUSE_ON);
        }
        write_all(out.as_bytes())
    }

    pub(super) fn capture_mouse(&mut self, is_on: bool) -> io::Result<()> {
        self.captures_mouse = is_on;
        if let Some(modes) = &mut *ACTIVE.lock().unwrap_or_else(PoisonError::into_inner) {
            modes.has_mouse = is_on;
        }
        let order = if is_on { MOUSE_ON } else { MOUSE_OFF };
        write_all(order.as_bytes())
    }

    /// Gives the terminal back for a while.
    #[expect(
        clippy::unused_self,
        reason = "only who has the terminal may give it back"
    )]
    pub(super) fn release(&self) {
        restore();
    }

    /// Takes it again, as it was, also after somebody else changed it.
    pub(super) fn take_back(&mut self) -> io::Result<()> {
        set_raw()?;
        self.enter(self.captures_mouse, self.reports_keys)
    }
}

impl Drop for TerminalGuard {
    fn drop(&mut self) {
        restore();
    }
}

/// Writes bytes to the terminal at once.
pub(super) fn write_all(bytes: &[u8]) -> io::Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(bytes)?;
    out.flush()
}

/// Sets the modes; those from before are kept once.
fn set_raw() -> io::Result<()> {
    let former = tcgetattr(io::stdin())?;
    let mut raw = former.clone();
    raw.make_raw();
    let mut active = ACTIVE.lock().unwrap_or_else(PoisonError::into_inner);
    active.get_or_insert(ActiveModes {
        former,
        has_screen: false,
        has_mouse: false,
        has_key_reports: false,
    });
    tcsetattr(io::stdin(), OptionalActions::Now, &raw)?;
    Ok(())
}

fn restore() {
    let active = ACTIVE.lock().unwrap_or_else(PoisonError::into_inner).take();
    let Some(modes) = active else {
        return;
    };
    let mut out = String::new();
    if modes.has_mouse {
        out.push_str(MOUSE_OFF);
    }
    if modes.has_key_reports {
        out.push_str(KEYS_OFF);
    }
    if modes.has_screen {
        out.push_str(LEAVE);
    }
    // A closed terminal has nothing to restore.
    let _ = write_all(out.as_bytes());
    let _ = tcsetattr(io::stdin(), OptionalActions::Flush, &modes.former);
}
