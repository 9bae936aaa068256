//! One start: what it needs, what there is to start, a port, the process.
//!
//! Invariants: nothing runs before all it needs is ready; a start that is called off leaves
//! nothing running; what already answers on a fixed port is used as it is, if it belongs to the
//! person or to a user they trust with it.

use super::Shared;
use super::probe::Checkup;
use super::settings;
use hob_core::service::order;
use hob_exec::peer::access::ListeningService;
use hob_exec::{Child, ExecError, Feed, Limits, Plan, Walls};
use hob_kit::failpoint;
use hob_kit::secret::Secret;
use hob_services::{Descriptor, Filling, Found, Kind, Port, Shelved, trust};
use std::ffi::{OsStr, OsString};
use std::net::{Ipv4Addr, TcpListener};
use std::os::unix::fs::DirBuilderExt;
use std::path::PathBuf;
use std::sync::Arc;
use tokio_util::sync::CancellationToken;

/// Random bytes of a password.
const PASSWORD_BYTES: usize = 24;
/// A service holds more files open than a command does.
const OPEN_FILES: u64 = 16_384;
/// Of each stream beside the log.
const KEPT_BYTES: usize = 4 * 1024;

/// A service that runs.
#[derive(Clone, Debug)]
pub(super) struct Live {
    /// Missing when it is somebody else's.
    pub(super) child: Option<Arc<Child>>,
    pub(super) port: Option<u16>,
    /// Without a path.
    pub(super) url: Option<String>,
    pub(super) password: Option<Secret>,
    pub(super) checkup: Option<Checkup>,
    /// What was found, for people.
    pub(super) what: Option<String>,
}

/// How a start went.
#[derive(Debug)]
pub(super) enum Launched {
    Started(Box<Live>),
    Adopted(Box<Live>),
    /// There is nothing to start.
    Absent(String),
    /// It will not start like this.
    Refused(String),
    /// It did not start this time.
    Failed(String),
    /// It was called off, and nothing of it runs.
    CalledOff,
}

/// Starts a service. `found` is what a moment ago was there to start.
pub(super) async fn launch(
    shared: Arc<Shared>,
    shelved: Arc<Shelved>,
    found: Option<Found>,
    off: CancellationToken,
) -> Launched {
    let descriptor = &shelved.descriptor;
    let prepared = tokio::select! {
        biased;
        () = off.cancelled() => return Launched::CalledOff,
        prepared = prepare(&shared, &shelved, found) => prepared,
    };
    let start = match prepared {
        Ok(start) => start,
        Err(end) => return end,
    };
    // From here on there may be a process, so it is called off only with its end.
    let Start { plan, mut live } = start;
    let child = match shared.parts.spawner.spawn(plan).await {
        Ok(child) => child,
        Err(error) => return not_started(descriptor, &error),
    };
    if off.is_cancelled() {
        // How it ended matters to nobody.
        let _ = child.cancel().await;
        return Launched::CalledOff;
    }
    live.child = Some(Arc::new(child));
    Launched::Started(Box::new(live))
}

/// A process that is about to be.
struct Start {
    plan: Plan,
    live: Live,
}

async fn prepare(
    shared: &Arc<Shared>,
    shelved: &Shelved,
    found: Option<Found>,
) -> Result<Start, Launched> {
    let descriptor = &shelved.descriptor;
    if !failpoint::broken(25) {
        needs(shared, descriptor).await.map_err(Launched::Refused)?;
    }
    let found = match found {
        Some(found) => found,
        None => find(shared, shelved).await,
    };
    let command = match found {
        Found::Missing { why } => return Err(Launched::Absent(why)),
        Found::Running { url, what, .. } => return Err(adopt(url, what)),
        command @ Found::Command { .. } => command,
    };
    let port = settings::port(&shared.settings(), descriptor);
    if let (Port::Fixed(port), Kind::Http) = (port, descriptor.kind) {
        already_there(shared, descriptor, port).await?;
    }
    let port = match port {
        Port::None => None,
        Port::Fixed(port) => Some(port),
        Port::Free => Some(
            free_port()
                .map_err(|error| Launched::Failed(format!("There is no free port: {error}.")))?,
        ),
    };
    plan(shared, descriptor, command, port)
}

/// Waits until all that it needs is ready.
async fn needs(shared: &Arc<Shared>, descriptor: &Descriptor) -> Result<(), String> {
    if descriptor.needs.is_empty() {
        return Ok(());
    }
    let all = shared.roll().needs();
    order::starting(&descriptor.name, &all).map_err(|disorder| disorder.sentence())?;
    let ready = descriptor.needs.iter().map(|need| shared.ready(need));
    let ready = futures_util::future::try_join_all(ready).await;
    ready.map(|_| ()).map_err(|(need, why)| {
        format!(
            "'{}' needs '{need}', which is not ready: {why}",
            descriptor.name
        )
    })
}

/// What there is to start.
pub(super) async fn find(shared: &Shared, shelved: &Shelved) -> Found {
    let descriptor = &shelved.descriptor;
    let (system, processor) = (std::env::consts::OS, std::env::consts::ARCH);
    if let Some(why) = descriptor.guard.refusal(system, processor) {
        return Found::Missing { why };
    }
    let parts = &shared.parts;
    if let Some(find) = shelved.entry.and_then(|entry| entry.find) {
        let settings = shared.settings();
        return find(&shared.place(&settings)).await;
    }
    let environment = descriptor.env.iter();
    let pairs = environment.map(|(name, value)| (name.into(), value.into()));
    Found::Command {
        argv: descriptor.command.iter().map(OsString::from).collect(),
        env: pairs.collect(),
        cwd: parts.home.service(&descriptor.name),
        what: descriptor.about.clone(),
        model: None,
        modest: false,
    }
}

/// One that runs and is not ours, as it was found.
fn adopt(url: String, what: String) -> Launched {
    let after = url.rsplit_once(':');
    let port = after.and_then(|(_, port)| port.trim_end_matches('/').parse().ok());
    let checkup = Checkup {
        url: format!("{}/", url.trim_end_matches('/')),
        login: None,
        lenient: true,
    };
    Launched::Adopted(Box::new(Live {
        child: None,
        port,
        url: Some(url),
        password: None,
        checkup: Some(checkup),
        what: Some(what),
    }))
}

/// Whether something answers on the fixed port: if it is well it is used, otherwise it is in the
/// way.
async fn already_there(
    shared: &Shared,
    descriptor: &Descriptor,
    port: u16,
) -> Result<(), Launched> {
    if TcpListener::bind((Ipv4Addr::LOCALHOST, port)).is_ok() {
        return Ok(());
    }
    let dir = shared.parts.home.service(&descriptor.name);
    let filling = filling(shared, &dir, Some(port), None);
    let health = descriptor.health.as_ref();
    let checkup = health.and_then(|health| Checkup::of(health, &filling));
    // Another user's program is not asked what it is.
    let (settings, name) = (shared.settings(), &descriptor.name);
    if let Err(distrust) = trust::check_found(&local(port), &settings, name).await
        && distrust.is_foreign()
    {
        return Err(Launched::Refused(distrust.sentence));
    }
    // One with a password of its own is nobody's to use.
    if let Some(checkup) = checkup.filter(|_| descriptor.login.is_none())
        && checkup
            .ask(
                &shared.parts.http,
                trust::trusted_users(&settings, name),
                descriptor.liveness.timeout,
            )
            .await
    {
        return Err(Launched::Adopted(Box::new(Live {
            child: None,
            port: Some(port),
            url: Some(local(port)),
            password: None,
            checkup: Some(checkup),
            what: None,
        })));
    }
    Err(Launched::Failed(format!(
        "Port {port} is taken by another program, which does not answer as this service does. End that program, or give the service another port."
    )))
}

fn plan(
    shared: &Shared,
    descriptor: &Descriptor,
    command: Found,
    port: Option<u16>,
) -> Result<Start, Launched> {
    let Found::Command {
        argv,
        env,
        cwd,
        what,
        ..
    } = command
    else {
        return Err(Launched::Failed("There is nothing to start.".to_owned()));
    };
    let parts = &shared.parts;
    let dir = parts.home.service(&descriptor.name);
    let mut maker = std::fs::DirBuilder::new();
    if let Err(error) = maker.recursive(true).mode(0o700).create(&dir) {
        let why = format!("Its folder '{}' cannot be made: {error}.", dir.display());
        return Err(Launched::Failed(why));
    }
    let password = descriptor.login.as_ref().map(|_| {
        let password = parts.dice.hex(PASSWORD_BYTES);
        parts.mask.add(&password);
        Secret::new(password)
    });
    let filling = filling(shared, &dir, port, password.as_ref());
    let argv = argv.iter().map(|word| filling.fill(word)).collect();
    let cwd = PathBuf::from(filling.fill(cwd.as_os_str()));
    let reason = "a service that a person described or installed";
    let mut plan = Plan::new(argv, cwd, Walls::Unsandboxed { reason });
    let given = port.map(|port| (OsString::from("PORT"), OsString::from(port.to_string())));
    let pairs = env.iter();
    let pairs = pairs.map(|(name, value)| (name.clone(), filling.fill(value)));
    plan.env = given.into_iter().chain(pairs).collect();
    plan.feed = Feed::Lines;
    plan.grace = descriptor.stop;
    plan.limits = limits(descriptor);
    plan.listening = Some(ListeningService {
        name: descriptor.name.clone(),
        listeners: descriptor.listen.clone(),
    });
    let health = descriptor.health.as_ref();
    let checkup = health.and_then(|health| Checkup::of(health, &filling));
    let login = descriptor.login.clone().zip(password.clone());
    let live = Live {
        child: None,
        port,
        url: port.map(local),
        password,
        checkup: checkup.map(|checkup| Checkup { login, ..checkup }),
        what: Some(what).filter(|what| !what.is_empty()),
    };
    Ok(Start { plan, live })
}

fn limits(descriptor: &Descriptor) -> Limits {
    let given = descriptor.limits;
    let usual = Limits::default();
    Limits {
        processes: given.processes.unwrap_or(usual.processes),
        open_files: given.open_files.unwrap_or(OPEN_FILES),
        memory_bytes: given.memory_bytes,
        // A model is larger than any file a command should write.
        file_bytes: u64::MAX,
        kept_output_bytes: KEPT_BYTES,
        ..usual
    }
}

fn filling<'a>(
    shared: &'a Shared,
    dir: &'a std::path::Path,
    port: Option<u16>,
    password: Option<&'a Secret>,
) -> Filling<'a> {
    Filling {
        port,
        home: shared.parts.home.root(),
        dir,
        password: password.map(Secret::expose),
    }
}

/// A port that is free this moment. Another program may take it before the service does; then it
/// is not ready, and gets another one.
fn free_port() -> std::io::Result<u16> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    Ok(listener.local_addr()?.port())
}

fn local(port: u16) -> String {
    format!("http://127.0.0.1:{port}")
}

fn not_started(descriptor: &Descriptor, error: &ExecError) -> Launched {
    match error {
        ExecError::NotFound(_) => {
            let program = descriptor.command.first().map_or("", String::as_str);
            let shown = OsStr::new(program).display();
            Launched::Refused(format!(
                "{error} Install '{shown}', or change the command of '{}'.",
                descriptor.name
            ))
        }
        ExecError::Cwd { .. } | ExecError::Policy(_) | ExecError::Unenforceable { .. } => {
            Launched::Refused(error.to_string())
        }
        ExecError::Start(_)
        | ExecError::Lost
        | ExecError::TooMany { .. }
        | ExecError::StdinClosed => Launched::Failed(error.to_string()),
    }
}
