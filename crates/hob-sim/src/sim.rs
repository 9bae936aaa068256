//! The server: its port, its thread, and the queries of tests.

use crate::answer::Answer;
use crate::pacer::{AnswerClock, Pacer, PacerThread};
use crate::request::{Dialect, Flavour, SimRequest};
use crate::server;
use hob_kit::clock::Clock;
use std::collections::VecDeque;
use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use tokio_util::sync::CancellationToken;

/// Requests that are remembered; the oldest are forgotten first.
const ASKED_MAX: usize = 4_096;
/// Refusals that are remembered.
const REFUSED_MAX: usize = 256;

/// A scripted model server on 127.0.0.1, in a thread and runtime of its own; it ends when dropped.
#[derive(Debug)]
pub struct Sim {
    address: SocketAddr,
    shared: Arc<SimState>,
    stop: CancellationToken,
    thread: Option<JoinHandle<()>>,
    /// Ends after the server's thread, which is joined first.
    _pacer: PacerThread,
}

/// Options of a server.
#[derive(Clone, Debug)]
pub struct SimParts {
    /// 0 takes any free port.
    pub port: u16,
    /// The only key accepted; without, any key or none is.
    pub key: Option<String>,
    /// The models in the lists. A request may still name any model.
    pub models: Vec<String>,
}

impl Default for SimParts {
    fn default() -> Self {
        SimParts {
            port: 0,
            key: None,
            models: vec!["sim-small".to_owned(), "sim-large".to_owned()],
        }
    }
}

impl Sim {
    /// Starts a server whose answers the brain gives. The brain runs in the server's only
    /// thread: it decides and never waits; to wait, it gives an answer that is
    /// [held](Answer::held).
    #[expect(
        clippy::expect_used,
        reason = "a test without its server has nothing to say but this"
    )]
    pub fn start(brain: impl Fn(&SimRequest) -> Answer + Send + Sync + 'static) -> Sim {
        Sim::with(SimParts::default(), brain).expect("127.0.0.1 has a free port")
    }

    /// As [`Sim::start`], with a port, key or models of one's own.
    pub fn with(
        parts: SimParts,
        brain: impl Fn(&SimRequest) -> Answer + Send + Sync + 'static,
    ) -> io::Result<Sim> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, parts.port))?;
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()?;
        let pacer = Arc::new(Pacer::default());
        let pacer_thread = PacerThread::start(&pacer)?;
        let shared = Arc::new(SimState {
            brain: Box::new(brain),
            parts,
            time: AnswerClock {
                clock: Clock::system(),
                pacer: Arc::clone(&pacer),
            },
            asked: Mutex::default(),
            refused: Mutex::default(),
            counts: Arc::default(),
        });
        let stop = CancellationToken::new();
        let (served, stopping) = (Arc::clone(&shared), stop.clone());
        let thread = thread::Builder::new()
            .name("hob-sim".to_owned())
            .spawn(move || runtime.block_on(server::serve(listener, served, stopping)))?;
        Ok(Sim {
            address,
            shared,
            stop,
            thread: Some(thread),
            _pacer: pacer_thread,
        })
    }

    /// The base URL a person would configure for this dialect: with `/v1` for OpenAI's, bare for
    /// the others, as their real ones are.
    pub fn url(&self, dialect: Dialect) -> String {
        match dialect {
            Dialect::OpenaiChat | Dialect::OpenaiResponses => format!("http://{}/v1", self.address),
            Dialect::Anthropic | Dialect::Gemini => format!("http://{}", self.address),
        }
    }

    /// The base URL of a provider that speaks chat completions in its own flavour: with `/v1`,
    /// but bare for Ollama, as theirs are.
    pub fn url_as(&self, flavour: Flavour) -> String {
        let end = if flavour == Flavour::Ollama {
            ""
        } else {
            "/v1"
        };
        format!("http://{}{}{end}", self.address, flavour.prefix())
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The valid requests so far, oldest first; at most the last 4,096.
    pub fn asked(&self) -> Vec<SimRequest> {
        let asked = lock(&self.shared.asked);
        asked.iter().map(|asked| SimRequest::clone(asked)).collect()
    }

    /// Valid requests so far, forgotten ones included.
    pub fn asked_count(&self) -> usize {
        self.shared.counts.asked.load(Ordering::SeqCst)
    }

    /// The reasons of refused requests; empty for a correct client.
    pub fn refused(&self) -> Vec<String> {
        lock(&self.shared.refused).iter().cloned().collect()
    }

    /// Answers in progress, including held and silent ones.
    pub fn open_streams(&self) -> usize {
        self.shared.counts.open.load(Ordering::SeqCst)
    }

    /// Answers the client hung up on before their end.
    pub fn cut_streams(&self) -> usize {
        self.shared.counts.cut.load(Ordering::SeqCst)
    }

    /// The clock of [`Answer::stamps`], in microseconds.
    pub fn now_us(&self) -> u64 {
        self.shared.time.clock.monotonic_us()
    }
}

impl Drop for Sim {
    fn drop(&mut self) {
        self.stop.cancel();
        if let Some(thread) = self.thread.take() {
            // A server thread that panicked has already said so on stderr.
            let _ = thread.join();
        }
    }
}

type ScriptFn = Box<dyn Fn(&SimRequest) -> Answer + Send + Sync>;

/// State shared by the server thread and the test.
pub(crate) struct SimState {
    pub(crate) brain: ScriptFn,
    pub(crate) parts: SimParts,
    pub(crate) time: AnswerClock,
    asked: Mutex<VecDeque<Arc<SimRequest>>>,
    refused: Mutex<VecDeque<String>>,
    pub(crate) counts: Arc<SimCounts>,
}

impl std::fmt::Debug for SimState {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SimState")
            .field("parts", &self.parts)
            .field("counts", &self.counts)
            .finish_non_exhaustive()
    }
}

/// Counters since the server started.
#[derive(Debug, Default)]
pub(crate) struct SimCounts {
    asked: AtomicUsize,
    open: AtomicUsize,
    cut: AtomicUsize,
}

impl SimState {
    pub(crate) fn remember(&self, asked: &Arc<SimRequest>) {
        self.counts.asked.fetch_add(1, Ordering::SeqCst);
        keep(&self.asked, Arc::clone(asked), ASKED_MAX);
    }

    pub(crate) fn remember_refusal(&self, why: String) {
        keep(&self.refused, why, REFUSED_MAX);
    }
}

/// One answer under way. Dropped before it was [done](Watch::done), its client hung up.
#[derive(Debug)]
pub(crate) struct StreamGuard {
    counts: Arc<SimCounts>,
    done: bool,
}

impl StreamGuard {
    pub(crate) fn new(counts: &Arc<SimCounts>) -> StreamGuard {
        counts.open.fetch_add(1, Ordering::SeqCst);
        StreamGuard {
            counts: Arc::clone(counts),
            done: false,
        }
    }

    /// Marks the answer as sent, so that a later drop does not count as a hang-up.
    pub(crate) fn done(&mut self) {
        self.done = true;
    }
}

impl Drop for StreamGuard {
    fn drop(&mut self) {
        if !self.done {
            self.counts.cut.fetch_add(1, Ordering::SeqCst);
        }
        self.counts.open.fetch_sub(1, Ordering::SeqCst);
    }
}

fn keep<T>(kept: &Mutex<VecDeque<T>>, one: T, most: usize) {
    let mut kept = lock(kept);
    if kept.len() >= most {
        kept.pop_front();
    }
    kept.push_back(one);
}

/// Held for a push or a copy, never over an await; a panic in between leaves the list whole.
fn lock<T>(kept: &Mutex<T>) -> MutexGuard<'_, T> {
    kept.lock().unwrap_or_else(PoisonError::into_inner)
}
