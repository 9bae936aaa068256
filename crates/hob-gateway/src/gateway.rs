//! Starts the gateway. Credentials are loaded before any listener opens, so nothing is reachable
//! unauthenticated.

use crate::authenticator::Authenticator;
use crate::http::{HttpService, HttpState};
use crate::origin::HostList;
use crate::peer_check::PeerCheck;
use crate::shared::GatewayShared;
use crate::token_cache::TokenCache;
use crate::token_refresher::TokenRefresher;
use crate::{
    address, agentloop, archy, hooks, looprunner, owner_token, peer_check, settings, tcp_listener,
    tokens, unix_listener, vargos,
};
use hob_bus::Bus;
use hob_exec::peer::PeerGuard;
use hob_kit::clock::Clock;
use hob_kit::home::Home;
use hob_kit::home_lock::HomeLock;
use hob_kit::mask::SecretMask;
use hob_kit::metrics::MetricRegistry;
use hob_kit::randomness::Randomness;
use hob_kit::settings::Settings;
use hob_kit::tasks::TaskGroup;
use hob_store::{Store, StoreError};
use hob_wire::WireError;
use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use tokio::sync::{Semaphore, watch};
use tokio_util::sync::CancellationToken;

/// The dependencies of a gateway, supplied by the daemon.
pub struct GatewayParts<'p> {
    pub bus: Bus,
    pub store: Store,
    pub settings: watch::Receiver<Arc<Settings>>,
    /// The value of `--listen`. It overrides the setting and counts as chosen by the user.
    pub listen: Option<String>,
    pub home: Home,
    /// Proof that no other daemon runs in this home, so its socket may be replaced.
    pub lock: &'p HomeLock,
    pub clock: Clock,
    pub randomness: Randomness,
    pub tasks: TaskGroup,
    pub mask: SecretMask,
    /// The metrics of the rooms, for `/metrics`.
    pub figures: MetricRegistry,
    /// Decides which programs may connect to the opt-in listeners, which need no token.
    pub peers: PeerGuard,
    /// Leaves out the room `tokens`, so that a test can register any name.
    pub bare: bool,
}

/// The reason why the gateway did not start.
#[derive(Debug, thiserror::Error)]
pub enum GatewayError {
    #[error("{0}")]
    Address(String),
    #[error(
        "hob cannot listen on {address}: {source}. Choose another address with --listen or listen.address, or leave it unset and hob finds a free port."
    )]
    Bind {
        address: SocketAddr,
        source: io::Error,
    },
    #[error("The socket '{}' cannot be created: {source}", path.display())]
    Socket { path: PathBuf, source: io::Error },
    #[error(transparent)]
    Owner(#[from] owner_token::OwnerTokenError),
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    Bus(#[from] WireError),
}

/// A running gateway.
#[derive(Debug)]
pub struct Gateway {
    address: SocketAddr,
    /// The default address, if another program uses it.
    taken: Option<SocketAddr>,
    /// The surface and address of each opt-in listener.
    dialects: Vec<(&'static str, SocketAddr)>,
    /// The path of Archy's socket, or the reason why it is not open.
    archy: Option<String>,
    socket: PathBuf,
    accepting: CancellationToken,
}

impl Gateway {
    /// Binds every listener and starts to accept.
    pub async fn start(parts: GatewayParts<'_>) -> Result<Gateway, GatewayError> {
        let addresses = ListenAddresses::from_settings(&parts)?;
        let token_cache = Arc::new(TokenCache::default());
        let token_refresher = token_refresher(&parts, &token_cache);
        let owner_version = token_refresher.load_owner()?;
        // The store leaves damaged rows out, so a damaged token never authenticates.
        for row in parts.store.list_tokens().await?.rows {
            token_cache.insert(&row.info, row.secret_hash);
        }
        if !parts.bare {
            tokens::serve(token_service(&parts, &token_cache))?;
        }

        // The main addresses are bound before any task is spawned: a taken address leaves nothing
        // running.
        let tcp = tcp_listener::bind(addresses.address, !addresses.chosen).await?;
        let address = tcp.local_addr().map_err(addresses.bind_error())?;
        let taken =
            (!addresses.chosen && address != addresses.address).then_some(addresses.address);
        let socket = parts.home.socket();
        let unix_listener = unix_listener::bind(&socket, parts.lock)?;
        let authenticator = |surface| {
            Arc::new(Authenticator::new(
                surface,
                Arc::clone(&token_cache),
                parts.clock.clone(),
            ))
        };
        let (tcp_authenticator, unix_authenticator) = (authenticator("ws"), authenticator("unix"));
        let authenticators = vec![
            Arc::clone(&tcp_authenticator),
            Arc::clone(&unix_authenticator),
        ];
        let shared = Arc::new(gateway_shared(&parts, authenticators));
        let mut dialects = Vec::new();
        for (dialect, wanted) in addresses.dialects {
            let surface = dialect.surface;
            let check = PeerCheck::new(surface, parts.peers.clone());
            let authenticator = authenticator(surface);
            let address = open_dialect(wanted, &shared, (authenticator, check), dialect).await?;
            dialects.push((surface, address));
            // The file is written after the bind: the port may be 0 in the settings.
            if surface == agentloop::SURFACE {
                let path = settings::agentloop_state_file(&parts.settings.borrow());
                let path = path.unwrap_or_else(|| parts.home.agentloop_file());
                agentloop::announce(address, path, &shared);
            }
        }
        let archy = open_archy(&parts, &shared).await;

        let http_service = Arc::new(HttpService::new(HttpState {
            shared: Arc::clone(&shared),
            hosts: HostList::for_listener(address),
            authenticator: tcp_authenticator,
        }));
        let tasks = &parts.tasks;
        tasks.spawn(
            "listener",
            tcp_listener::accept(tcp, http_service, Arc::clone(&shared), None),
        );
        let accept = unix_listener::accept(
            unix_listener,
            socket.clone(),
            unix_authenticator,
            Arc::clone(&shared),
        );
        tasks.spawn("unix-listener", accept);
        tasks.spawn_until_stop("token-refresher", token_refresher.run(owner_version));
        let apply = apply_settings(parts.bus.clone(), parts.settings.clone());
        tasks.spawn_until_stop("gateway-settings", apply);
        Ok(Gateway {
            address,
            taken,
            dialects,
            archy,
            socket,
            accepting: shared.accepting.clone(),
        })
    }

    /// The address of the WebSocket and HTTP listener.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// All listeners, each as `surface address`.
    pub fn listeners(&self) -> Vec<String> {
        let mut listeners = vec![
            format!("ws {}", self.address),
            format!("unix {}", self.socket.display()),
        ];
        let dialects = self.dialects.iter();
        listeners.extend(dialects.map(|(surface, address)| format!("{surface} {address}")));
        let archy = self.archy.iter();
        listeners.extend(archy.map(|archy| format!("{} {archy}", archy::SURFACE)));
        listeners
    }

    /// Warnings about the addresses, for the user.
    pub fn notes(&self) -> Vec<String> {
        let taken = self.taken.iter();
        // The other program would receive the tokens of clients that keep the old address.
        let note = taken.map(|taken| {
            format!(
                "Another program has port {}, so hob listens on {}. A client that has the usual address stored sends its token to that program: give the client the new address, or free the port and run 'hob restart'.",
                taken.port(),
                self.address
            )
        });
        note.collect()
    }

    /// Stops accepting connections and reports it on `/ready`. Open connections stay until the bus
    /// is drained.
    pub fn stop_accepting(&self) {
        self.accepting.cancel();
    }
}

/// The addresses to bind, from the settings.
struct ListenAddresses {
    address: SocketAddr,
    /// The user chose the address, so no other port is tried.
    chosen: bool,
    dialects: Vec<(DialectListener, SocketAddr)>,
}

/// An opt-in listener that serves one dialect at its root.
#[derive(Clone, Copy)]
struct DialectListener {
    surface: &'static str,
    /// The program whose clients connect, for the log.
    clients: &'static str,
    http_service: fn(HttpState) -> HttpService,
}

const VARGOS: DialectListener = DialectListener {
    surface: vargos::SURFACE,
    clients: "Vargos",
    http_service: vargos::http_service,
};
const AGENTLOOP: DialectListener = DialectListener {
    surface: agentloop::SURFACE,
    clients: "AgentLoop",
    http_service: agentloop::http_service,
};
const LOOPRUNNER: DialectListener = DialectListener {
    surface: looprunner::SURFACE,
    clients: "Loop Runner",
    http_service: looprunner::http_service,
};

impl ListenAddresses {
    fn from_settings(parts: &GatewayParts<'_>) -> Result<ListenAddresses, GatewayError> {
        let current = parts.settings.borrow();
        let (text, chosen) = match &parts.listen {
            Some(text) => (text.as_str(), true),
            None => settings::listen_address(&current),
        };
        let read = |text: &str| address::parse(text).map_err(GatewayError::Address);
        let enabled = [
            (VARGOS, settings::vargos_address(&current)),
            (AGENTLOOP, settings::agentloop_address(&current)),
            (LOOPRUNNER, settings::looprunner_address(&current)),
        ];
        let enabled = enabled.into_iter();
        let enabled = enabled.filter_map(|(dialect, text)| Some((dialect, text?)));
        let dialects = enabled.map(|(dialect, text)| Ok((dialect, read(&text)?)));
        Ok(ListenAddresses {
            address: read(text)?,
            chosen,
            dialects: dialects.collect::<Result<_, GatewayError>>()?,
        })
    }

    fn bind_error(&self) -> impl Fn(io::Error) -> GatewayError {
        let address = self.address;
        move |source| GatewayError::Bind { address, source }
    }
}

fn token_refresher(parts: &GatewayParts<'_>, token_cache: &Arc<TokenCache>) -> TokenRefresher {
    TokenRefresher {
        bus: parts.bus.clone(),
        token_cache: Arc::clone(token_cache),
        clock: parts.clock.clone(),
        randomness: parts.randomness.clone(),
        mask: parts.mask.clone(),
        owner_token: parts.home.owner_token(),
    }
}

fn token_service(parts: &GatewayParts<'_>, token_cache: &Arc<TokenCache>) -> tokens::TokenService {
    tokens::TokenService {
        bus: parts.bus.clone(),
        store: parts.store.clone(),
        token_cache: Arc::clone(token_cache),
        clock: parts.clock.clone(),
        randomness: parts.randomness.clone(),
    }
}

fn gateway_shared(
    parts: &GatewayParts<'_>,
    authenticators: Vec<Arc<Authenticator>>,
) -> GatewayShared {
    let connections_max = settings::connections_max(&parts.settings.borrow());
    GatewayShared {
        bus: parts.bus.clone(),
        store: parts.store.clone(),
        home: parts.home.clone(),
        clock: parts.clock.clone(),
        randomness: parts.randomness.clone(),
        tasks: parts.tasks.clone(),
        settings: parts.settings.clone(),
        // A child token: the gateway can stop accepting before the daemon stops its tasks.
        accepting: parts.tasks.stop_token().child_token(),
        connections_max,
        connections: Arc::new(Semaphore::new(connections_max)),
        hook_limits: hooks::HookLimits::new(),
        authenticators,
        figures: parts.figures.clone(),
    }
}

async fn open_dialect(
    wanted: SocketAddr,
    shared: &Arc<GatewayShared>,
    (authenticator, check): (Arc<Authenticator>, PeerCheck),
    dialect: DialectListener,
) -> Result<SocketAddr, GatewayError> {
    let tcp = tcp_listener::bind(wanted, false).await?;
    let failed = |source| GatewayError::Bind {
        address: wanted,
        source,
    };
    // The Host check needs the real port, which differs from the setting if that is 0.
    let address = tcp.local_addr().map_err(failed)?;
    let http_service = Arc::new((dialect.http_service)(HttpState {
        shared: Arc::clone(shared),
        hosts: HostList::for_listener(address),
        authenticator,
    }));
    let accept = tcp_listener::accept(tcp, http_service, Arc::clone(shared), Some(check));
    shared.tasks.spawn("dialect-listener", accept);
    peer_check::announce(dialect.clients, address);
    Ok(address)
}

/// Opens Archy's socket if it is configured. Its path may be in a shared folder such as `/tmp`, so
/// a failure is reported and does not stop the daemon.
async fn open_archy(parts: &GatewayParts<'_>, shared: &Arc<GatewayShared>) -> Option<String> {
    let path = settings::archy_socket(&parts.settings.borrow())?;
    let shown = path.display().to_string();
    let check = PeerCheck::new(archy::SURFACE, parts.peers.clone());
    match archy::open(path, shared, check).await {
        Ok(()) => Some(shown),
        // Shown by `listeners`, so that the user sees why the socket is missing.
        Err(refused) => {
            tracing::warn!("Archy's socket was not opened: {refused}");
            Some(format!("not open: {refused}"))
        }
    }
}

/// Passes live settings on to the bus.
async fn apply_settings(bus: Bus, mut current: watch::Receiver<Arc<Settings>>) {
    loop {
        let timeout_ms = settings::request_timeout_ms(&current.borrow_and_update());
        bus.limits().set_request_timeout_ms(timeout_ms);
        if current.changed().await.is_err() {
            return;
        }
    }
}

impl std::fmt::Debug for GatewayParts<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("GatewayParts").finish_non_exhaustive()
    }
}
