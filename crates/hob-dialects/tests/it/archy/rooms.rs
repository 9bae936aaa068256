//! Fake terminals and a fake desktop. A command ends as its text says, or when the test lets it.

use crate::house::House;
use hob_bus::Room;
use hob_kit::randomness::Randomness;
use hob_wire::id::CommandId;
use hob_wire::rooms::desktop::{
    self, DesktopEntry, DesktopFindResult, DesktopLaunchResult, DesktopProgramResult, SystemInfo,
};
use hob_wire::rooms::terminal::{
    self, CommandOrigin, CommandState, TerminalCancelResult, TerminalCaptureResult,
    TerminalCloseResult, TerminalCommand, TerminalExecuteResult, TerminalInfo, TerminalKeysResult,
    TerminalListResult, TerminalOpenResult, TerminalState,
};
use hob_wire::{ErrorCode, Method, WireError};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::sync::watch;

/// What a test sees and changes.
pub(crate) struct Rooms {
    state: Mutex<State>,
    /// Counted up whenever something changes.
    changed: watch::Sender<u64>,
}

#[derive(Default)]
struct State {
    terminals: BTreeMap<String, TerminalInfo>,
    commands: Vec<TerminalCommand>,
    windows: BTreeMap<String, u32>,
    display: bool,
    /// Methods with what they were asked for, as they came.
    calls: Vec<String>,
}

impl Rooms {
    pub(crate) fn move_in(house: &House) -> Arc<Rooms> {
        let rooms = Arc::new(Rooms {
            state: Mutex::default(),
            changed: watch::Sender::new(0),
        });
        rooms.state.lock().unwrap().display = true;
        house.bus.serve(terminals(&rooms)).unwrap();
        house.bus.serve(desktop(&rooms)).unwrap();
        rooms
    }

    pub(crate) fn calls(&self) -> Vec<String> {
        self.state.lock().unwrap().calls.clone()
    }

    pub(crate) fn without_display(&self) {
        self.state.lock().unwrap().display = false;
    }

    /// What was typed into a session, in its order.
    pub(crate) fn typed(&self, session: &str) -> Vec<String> {
        let state = self.state.lock().unwrap();
        let ours = state.commands.iter().filter(|it| it.terminal == session);
        ours.filter_map(|it| it.command.clone()).collect()
    }

    /// Lets every command end that waits for this.
    pub(crate) fn release(&self) {
        let mut state = self.state.lock().unwrap();
        for command in &mut state.commands {
            if !command.state.is_final() {
                finish(command, 0);
            }
        }
        for terminal in state.terminals.values_mut() {
            (terminal.state, terminal.running) = (TerminalState::Idle, None);
        }
        drop(state);
        self.changed.send_modify(|count| *count += 1);
    }

    /// Waits until a command is held.
    pub(crate) async fn until_held(&self) {
        let mut changed = self.changed.subscribe();
        let held = |state: &State| state.commands.iter().any(|it| !it.state.is_final());
        while !held(&self.state.lock().unwrap()) {
            changed.changed().await.unwrap();
        }
    }

    fn execute(
        &self,
        params: terminal::TerminalExecuteParams,
    ) -> Result<TerminalExecuteResult, WireError> {
        let name = params.name.unwrap_or_default();
        if name.contains('.') {
            return Err(wrong(ErrorCode::InvalidParams, "That is no name."));
        }
        let mut state = self.state.lock().unwrap();
        let terminal = state
            .terminals
            .entry(name.clone())
            .or_insert_with(|| blank(&name));
        let lines = params.command.into_iter().chain(params.commands);
        let made: Vec<_> = lines.map(|line| begun(&name, &line)).collect();
        if let Some(held) = made.iter().find(|it| !it.state.is_final()) {
            (terminal.state, terminal.running) = (TerminalState::Busy, Some(held.id));
        }
        state.commands.extend(made.iter().cloned());
        drop(state);
        self.changed.send_modify(|count| *count += 1);
        Ok(TerminalExecuteResult {
            name,
            commands: made,
        })
    }

    async fn command(
        &self,
        params: terminal::TerminalCommandParams,
    ) -> Result<TerminalCommand, WireError> {
        let mut changed = self.changed.subscribe();
        let found = || {
            let state = self.state.lock().unwrap();
            let found = state.commands.iter().find(|it| it.id == params.id).cloned();
            found.ok_or_else(|| wrong(ErrorCode::NotFound, "There is no such command."))
        };
        let ended = async {
            while !found()?.state.is_final() {
                changed.changed().await.unwrap();
            }
            Ok::<(), WireError>(())
        };
        let wait = Duration::from_millis(params.wait_ms.unwrap_or_default());
        if let Ok(failed) = tokio::time::timeout(wait, ended).await {
            failed?;
        }
        found()
    }

    fn capture(
        &self,
        params: &terminal::TerminalCaptureParams,
    ) -> Result<TerminalCaptureResult, WireError> {
        let name = params.name.clone().unwrap_or_default();
        let state = self.state.lock().unwrap();
        if !state.terminals.contains_key(&name) {
            return Err(wrong(ErrorCode::NotFound, "There is no such terminal."));
        }
        let ours = state.commands.iter().filter(|it| it.terminal == name);
        let text = ours.filter_map(|it| it.output.clone()).collect::<String>();
        Ok(TerminalCaptureResult {
            name,
            lines: params.lines.unwrap_or_default(),
            text,
            columns: 120,
            rows: 30,
            cursor_column: 0,
            cursor_row: 0,
            full_screen: false,
            past_lines: 0,
        })
    }

    fn open(&self, params: terminal::TerminalOpenParams) -> Result<TerminalOpenResult, WireError> {
        let name = params.name.unwrap_or_default();
        let mut state = self.state.lock().unwrap();
        if !state.display {
            return Err(wrong(ErrorCode::ServiceUnavailable, "There is no display."));
        }
        let opened = !state.windows.contains_key(&name) || params.another;
        *state.windows.entry(name.clone()).or_default() += u32::from(opened);
        let windows = state.windows[&name];
        let terminal = state
            .terminals
            .entry(name.clone())
            .or_insert_with(|| blank(&name));
        terminal.attached = windows;
        Ok(TerminalOpenResult {
            program: params.program.unwrap_or_else(|| "foot".to_owned()),
            name,
            opened,
            windows,
        })
    }

    fn close(
        &self,
        params: terminal::TerminalCloseParams,
    ) -> Result<TerminalCloseResult, WireError> {
        let name = params.name.unwrap_or_default();
        let mut state = self.state.lock().unwrap();
        let windows = state.windows.remove(&name).unwrap_or_default();
        let Some(terminal) = state.terminals.get_mut(&name) else {
            return Err(wrong(ErrorCode::NotFound, "There is no such terminal."));
        };
        terminal.attached = 0;
        if !params.windows_only {
            terminal.state = TerminalState::Closed;
        }
        Ok(TerminalCloseResult {
            name,
            windows,
            terminal: !params.windows_only,
        })
    }
}

fn terminals(rooms: &Arc<Rooms>) -> Room {
    let room = Room::new("terminal");
    let room = answer::<terminal::Execute>(room, rooms, Rooms::execute);
    let room = answer::<terminal::Capture>(room, rooms, |rooms, params| rooms.capture(&params));
    let room = answer::<terminal::Open>(room, rooms, Rooms::open);
    let room = answer::<terminal::Close>(room, rooms, Rooms::close);
    let room = answer::<terminal::Keys>(room, rooms, |_, params| {
        let name = params.name.unwrap_or_default();
        Ok(TerminalKeysResult { name })
    });
    let room = answer::<terminal::Cancel>(room, rooms, |rooms, params| {
        let state = rooms.state.lock().unwrap();
        let running = state.commands.iter().filter(|it| !it.state.is_final());
        let ended = running.map(|it| it.id).collect();
        drop(state);
        rooms.release();
        let name = params.name.unwrap_or_default();
        Ok(TerminalCancelResult { name, ended })
    });
    let room = answer::<terminal::List>(room, rooms, |rooms, _| {
        let state = rooms.state.lock().unwrap();
        Ok(TerminalListResult {
            terminals: state.terminals.values().cloned().collect(),
            socket: "/nowhere".to_owned(),
            tmux: None,
            problem: None,
        })
    });
    let rooms = Arc::clone(rooms);
    room.method::<terminal::Command, _, _>(move |_, params| {
        let rooms = Arc::clone(&rooms);
        async move { rooms.command(params).await }
    })
}

fn desktop(rooms: &Arc<Rooms>) -> Room {
    let room = Room::new("desktop");
    let room = answer::<desktop::Program>(room, rooms, |_, params| {
        // As the room does: no program has such a name.
        let name = &params.program;
        if name.trim().is_empty() || name.contains('\0') || name.len() > 4_096 {
            return Err(wrong(ErrorCode::InvalidParams, "That is no name."));
        }
        let found = params.program == "ls";
        Ok(DesktopProgramResult {
            program: params.program,
            found,
            path: found.then(|| "/bin/ls".to_owned()),
        })
    });
    let room = answer::<desktop::Find>(room, rooms, |_, params| {
        let entry = entries().into_iter().find(|it| it.id == params.name);
        Ok(DesktopFindResult { entry })
    });
    let room = answer::<desktop::Launch>(room, rooms, |rooms, params| {
        if !rooms.state.lock().unwrap().display {
            return Err(wrong(ErrorCode::ServiceUnavailable, "There is no display."));
        }
        let entry = entries().into_iter().find(|it| it.id == params.entry);
        let entry = entry.ok_or_else(|| wrong(ErrorCode::NotFound, "There is none."))?;
        Ok(DesktopLaunchResult { entry })
    });
    answer::<desktop::System>(room, rooms, |_, _| {
        Ok(SystemInfo {
            os: "Arch Linux".to_owned(),
            kernel: "6.9".to_owned(),
            hostname: "box".to_owned(),
            architecture: "x86_64".to_owned(),
            user: "me".to_owned(),
            shell: "/bin/bash".to_owned(),
            processors: 4,
            memory_bytes: 8 << 30,
            memory_available_bytes: 4 << 30,
            uptime_seconds: 3_700,
            load: [0.5, 0.25, 0.0],
            display: Some("wayland".to_owned()),
            terminals: vec!["gnome-terminal".to_owned(), "xterm".to_owned()],
        })
    })
}

fn entries() -> Vec<DesktopEntry> {
    let entry = |id: &str, terminal: bool| DesktopEntry {
        id: id.to_owned(),
        file: format!("/usr/share/applications/{id}.desktop"),
        name: id.to_uppercase(),
        generic_name: None,
        exec: format!("/usr/bin/{id}"),
        terminal,
    };
    vec![entry("firefox", false), entry("htop", true)]
}

fn answer<M: Method>(
    room: Room,
    rooms: &Arc<Rooms>,
    handle: impl Fn(&Rooms, M::Params) -> Result<M::Result, WireError> + Clone + Send + Sync + 'static,
) -> Room {
    let rooms = Arc::clone(rooms);
    room.method::<M, _, _>(move |call, params| {
        let (rooms, handle) = (Arc::clone(&rooms), handle.clone());
        async move {
            assert_eq!(call.surface, "archy");
            let told = serde_json::to_string(&params).unwrap();
            let name = M::SPEC.name;
            rooms
                .state
                .lock()
                .unwrap()
                .calls
                .push(format!("{name} {told}"));
            handle(&rooms, params)
        }
    })
}

/// A command whose words say how it ends; `hold` does when it is let.
fn begun(terminal: &str, line: &str) -> TerminalCommand {
    let code = line
        .strip_prefix("exit ")
        .and_then(|code| code.parse().ok());
    let mut command = TerminalCommand {
        id: CommandId(Randomness::system().uuid(1)),
        terminal: terminal.to_owned(),
        by: CommandOrigin::Client,
        output: Some(format!("ran {line}\n")),
        command: Some(line.to_owned()),
        reason: None,
        state: CommandState::Running,
        exit_code: None,
        duration_ms: None,
        queued_at: 1,
        started_at: Some(1),
        ended_at: None,
        output_bytes: 0,
        recorded: None,
        truncated: false,
        detail: None,
    };
    if line != "hold" {
        finish(&mut command, code.unwrap_or_default());
    }
    command
}

fn finish(command: &mut TerminalCommand, code: i32) {
    command.state = CommandState::Done;
    command.exit_code = Some(code);
    command.duration_ms = Some(5);
}

fn blank(name: &str) -> TerminalInfo {
    TerminalInfo {
        name: name.to_owned(),
        state: TerminalState::Idle,
        detail: None,
        shell: "bash".to_owned(),
        folder: Some("/srv/work".to_owned()),
        pid: None,
        columns: 120,
        rows: 30,
        queued: 0,
        running: None,
        attached: 0,
        created_at: 1,
    }
}

fn wrong(code: ErrorCode, message: &str) -> WireError {
    WireError::new(code, message)
}
