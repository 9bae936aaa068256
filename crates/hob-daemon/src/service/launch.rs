//! One start of a service: its needs, the program, a port, the process.
//!
//! Invariants: a service starts only when all its needs are ready; a cancelled start leaves nothing
//! running; a server that already answers on a fixed port is used as it is, if it belongs to the
//! user or to one whom the user trusts with it.

use super::ServiceContext;
use super::probe::HealthCheck;
use super::settings;
use hob_core::service::dependency_order;
use hob_exec::peer::access::ListeningService;
use hob_exec::{Child, ExecError, OutputMode, ResourceLimits, SandboxMode, SpawnPlan};
use hob_kit::secret::Secret;
use hob_services::{
    CatalogService, FoundService, PortChoice, ServiceDescriptor, ServiceKind, StartValues, trust,
};
use std::ffi::{OsStr, OsString};
use std::net::{Ipv4Addr, TcpListener};
use std::os::unix::fs::DirBuilderExt;
use std::path::PathBuf;
use std::sync::Arc;
use tokio_util::sync::CancellationToken;

/// Random bytes of a service's password.
const PASSWORD_BYTES: usize = 24;
/// Open files of a service, which needs more of them than a command.
const OPEN_FILES: u64 = 16_384;
/// Output bytes kept of each stream; the log has the rest.
const KEPT_BYTES: usize = 4 * 1024;

/// A running service.
#[derive(Clone, Debug)]
pub(super) struct RunningService {
    /// None if hob did not start it.
    pub(super) child: Option<Arc<Child>>,
    pub(super) port: Option<u16>,
    /// The base address, without a path.
    pub(super) url: Option<String>,
    pub(super) password: Option<Secret>,
    pub(super) health_check: Option<HealthCheck>,
    /// The name of the program that was found, for people.
    pub(super) what: Option<String>,
}

/// The result of a start.
#[derive(Debug)]
pub(super) enum LaunchOutcome {
    Started(Box<RunningService>),
    Adopted(Box<RunningService>),
    /// There is nothing to start.
    Absent(String),
    /// It cannot start with its present definition.
    Refused(String),
    /// It failed this time; another attempt may succeed.
    Failed(String),
    /// It was cancelled, and nothing of it runs.
    CalledOff,
}

/// Starts a service. `found` is a fresh search result, if there is one.
pub(super) async fn launch(
    context: Arc<ServiceContext>,
    service: Arc<CatalogService>,
    found: Option<FoundService>,
    cancel: CancellationToken,
) -> LaunchOutcome {
    let descriptor = &service.descriptor;
    let prepared = tokio::select! {
        biased;
        () = cancel.cancelled() => return LaunchOutcome::CalledOff,
        prepared = prepare(&context, &service, found) => prepared,
    };
    let start = match prepared {
        Ok(start) => start,
        Err(end) => return end,
    };
    // From here on there may be a process, so a cancel must wait for its end.
    let PreparedLaunch { plan, mut live } = start;
    let child = match context.spawner.spawn(plan).await {
        Ok(child) => child,
        Err(error) => return not_started(descriptor, &error),
    };
    // A cancel that came during the spawn was not seen by the select above.
    if cancel.is_cancelled() {
        // Its exit does not matter.
        let _ = child.cancel().await;
        return LaunchOutcome::CalledOff;
    }
    live.child = Some(Arc::new(child));
    LaunchOutcome::Started(Box::new(live))
}

/// A process that is ready to be spawned.
struct PreparedLaunch {
    plan: SpawnPlan,
    live: RunningService,
}

async fn prepare(
    context: &Arc<ServiceContext>,
    service: &CatalogService,
    found: Option<FoundService>,
) -> Result<PreparedLaunch, LaunchOutcome> {
    let descriptor = &service.descriptor;
    wait_for_needs(context, descriptor)
        .await
        .map_err(LaunchOutcome::Refused)?;
    let found = match found {
        Some(found) => found,
        None => find_startable(context, service).await,
    };
    let command = match found {
        FoundService::Missing { why } => return Err(LaunchOutcome::Absent(why)),
        FoundService::Running { url, what, .. } => return Err(adopt(url, what)),
        command @ FoundService::Command { .. } => command,
    };
    let port = settings::port(&context.settings(), descriptor);
    if let (PortChoice::Fixed(port), ServiceKind::Http) = (port, descriptor.kind) {
        check_fixed_port(context, descriptor, port).await?;
    }
    let port =
        match port {
            PortChoice::None => None,
            PortChoice::Fixed(port) => Some(port),
            PortChoice::Free => Some(free_port().map_err(|error| {
                LaunchOutcome::Failed(format!("There is no free port: {error}."))
            })?),
        };
    build_plan(context, descriptor, command, port)
}

/// Waits until all services that it needs are ready.
async fn wait_for_needs(
    context: &Arc<ServiceContext>,
    descriptor: &ServiceDescriptor,
) -> Result<(), String> {
    if descriptor.needs.is_empty() {
        return Ok(());
    }
    let all = context.registry().needs();
    dependency_order::start_order(&descriptor.name, &all)
        .map_err(|disorder| disorder.sentence())?;
    let ready = descriptor
        .needs
        .iter()
        .map(|need| context.start_and_wait(need));
    let ready = futures_util::future::try_join_all(ready).await;
    ready.map(|_| ()).map_err(|(need, why)| {
        format!(
            "'{}' needs '{need}', which is not ready: {why}",
            descriptor.name
        )
    })
}

/// Finds the program to start, or a running server to use.
pub(super) async fn find_startable(
    context: &ServiceContext,
    service: &CatalogService,
) -> FoundService {
    let descriptor = &service.descriptor;
    let (system, processor) = (std::env::consts::OS, std::env::consts::ARCH);
    // A service for another platform counts as missing, with the reason.
    if let Some(why) = descriptor.guard.refusal(system, processor) {
        return FoundService::Missing { why };
    }
    let deps = &context.deps;
    if let Some(find) = service.shipped.and_then(|entry| entry.find) {
        let settings = context.settings();
        return find(&context.place(&settings)).await;
    }
    let environment = descriptor.env.iter();
    let pairs = environment.map(|(name, value)| (name.into(), value.into()));
    FoundService::Command {
        argv: descriptor.command.iter().map(OsString::from).collect(),
        env: pairs.collect(),
        cwd: deps.home.service(&descriptor.name),
        what: descriptor.about.clone(),
        model: None,
        modest: false,
    }
}

/// Builds the outcome for a running server that hob did not start.
fn adopt(url: String, what: String) -> LaunchOutcome {
    let after = url.rsplit_once(':');
    let port = after.and_then(|(_, port)| port.trim_end_matches('/').parse().ok());
    let health_check = HealthCheck {
        url: format!("{}/", url.trim_end_matches('/')),
        login: None,
        lenient: true,
    };
    LaunchOutcome::Adopted(Box::new(RunningService {
        child: None,
        port,
        url: Some(url),
        password: None,
        health_check: Some(health_check),
        what: Some(what),
    }))
}

/// Checks a fixed port. If it is taken, a healthy server there is used and any other is an error.
async fn check_fixed_port(
    context: &ServiceContext,
    descriptor: &ServiceDescriptor,
    port: u16,
) -> Result<(), LaunchOutcome> {
    // The port is free if it can be bound. The listener is dropped at once.
    if TcpListener::bind((Ipv4Addr::LOCALHOST, port)).is_ok() {
        return Ok(());
    }
    let dir = context.deps.home.service(&descriptor.name);
    let filling = filling(context, &dir, Some(port), None);
    let health = descriptor.health.as_ref();
    let health_check = health.and_then(|health| HealthCheck::from_health(health, &filling));
    // A program of an untrusted user is not asked anything.
    let (settings, name) = (context.settings(), &descriptor.name);
    if let Err(distrust) = trust::check_found_server(&local(port), &settings, name).await
        && distrust.is_foreign()
    {
        return Err(LaunchOutcome::Refused(distrust.sentence));
    }
    // A service with a login is not adopted: hob does not know the password of that process.
    if let Some(health_check) = health_check.filter(|_| descriptor.login.is_none())
        && health_check
            .is_healthy(
                &context.deps.http,
                trust::trusted_users(&settings, name),
                descriptor.liveness.timeout,
            )
            .await
    {
        return Err(LaunchOutcome::Adopted(Box::new(RunningService {
            child: None,
            port: Some(port),
            url: Some(local(port)),
            password: None,
            health_check: Some(health_check),
            what: None,
        })));
    }
    Err(LaunchOutcome::Failed(format!(
        "Port {port} is taken by another program, which does not answer like this service. End that program, or give the service another port."
    )))
}

fn build_plan(
    context: &ServiceContext,
    descriptor: &ServiceDescriptor,
    command: FoundService,
    port: Option<u16>,
) -> Result<PreparedLaunch, LaunchOutcome> {
    let FoundService::Command {
        argv,
        env,
        cwd,
        what,
        ..
    } = command
    else {
        return Err(LaunchOutcome::Failed(
            "There is nothing to start.".to_owned(),
        ));
    };
    let deps = &context.deps;
    let dir = deps.home.service(&descriptor.name);
    // Private, because the service keeps its data here.
    let mut maker = std::fs::DirBuilder::new();
    if let Err(error) = maker.recursive(true).mode(0o700).create(&dir) {
        let why = format!("Its folder '{}' cannot be created: {error}.", dir.display());
        return Err(LaunchOutcome::Failed(why));
    }
    let password = descriptor.login.as_ref().map(|_| {
        let password = deps.randomness.hex(PASSWORD_BYTES);
        // Masked before the process starts, because it may print its own password.
        deps.mask.add(&password);
        Secret::new(password)
    });
    let filling = filling(context, &dir, port, password.as_ref());
    let argv = argv.iter().map(|word| filling.fill(word)).collect();
    let cwd = PathBuf::from(filling.fill(cwd.as_os_str()));
    let reason = "a service that a person described or installed";
    let mut plan = SpawnPlan::new(argv, cwd, SandboxMode::Unsandboxed { reason });
    let given = port.map(|port| (OsString::from("PORT"), OsString::from(port.to_string())));
    let pairs = env.iter();
    let pairs = pairs.map(|(name, value)| (name.clone(), filling.fill(value)));
    // Of two values the later one counts, so the descriptor may set a `PORT` of its own.
    plan.env = given.into_iter().chain(pairs).collect();
    plan.output_mode = OutputMode::Lines;
    plan.grace = descriptor.stop;
    plan.limits = limits(descriptor);
    plan.listener_service = Some(ListeningService {
        name: descriptor.name.clone(),
        listeners: descriptor.listen.clone(),
    });
    let health = descriptor.health.as_ref();
    let health_check = health.and_then(|health| HealthCheck::from_health(health, &filling));
    let login = descriptor.login.clone().zip(password.clone());
    let live = RunningService {
        child: None,
        port,
        url: port.map(local),
        password,
        health_check: health_check.map(|health_check| HealthCheck {
            login,
            ..health_check
        }),
        what: Some(what).filter(|what| !what.is_empty()),
    };
    Ok(PreparedLaunch { plan, live })
}

fn limits(descriptor: &ServiceDescriptor) -> ResourceLimits {
    let given = descriptor.limits;
    let usual = ResourceLimits::default();
    ResourceLimits {
        processes: given.processes.unwrap_or(usual.processes),
        open_files: given.open_files.unwrap_or(OPEN_FILES),
        memory_bytes: given.memory_bytes,
        // No limit: a model is larger than any file that a command should write.
        file_bytes: u64::MAX,
        kept_output_bytes: KEPT_BYTES,
        ..usual
    }
}

fn filling<'a>(
    context: &'a ServiceContext,
    dir: &'a std::path::Path,
    port: Option<u16>,
    password: Option<&'a Secret>,
) -> StartValues<'a> {
    StartValues {
        port,
        home: context.deps.home.root(),
        dir,
        password: password.map(Secret::expose),
    }
}

/// Returns a port that is free now. If another program takes it first, the service does not become
/// ready and its restart gets another port.
fn free_port() -> std::io::Result<u16> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    Ok(listener.local_addr()?.port())
}

fn local(port: u16) -> String {
    format!("http://127.0.0.1:{port}")
}

fn not_started(descriptor: &ServiceDescriptor, error: &ExecError) -> LaunchOutcome {
    match error {
        ExecError::NotFound(_) => {
            let program = descriptor.command.first().map_or("", String::as_str);
            let shown = OsStr::new(program).display();
            LaunchOutcome::Refused(format!(
                "{error} Install '{shown}', or change the command of '{}'.",
                descriptor.name
            ))
        }
        ExecError::Cwd { .. } | ExecError::Policy(_) | ExecError::Unenforceable { .. } => {
            LaunchOutcome::Refused(error.to_string())
        }
        ExecError::Start(_)
        | ExecError::Lost
        | ExecError::TooMany { .. }
        | ExecError::StdinClosed => LaunchOutcome::Failed(error.to_string()),
    }
}
