//! Finding the daemon again after it was lost: `hob_core::reconnect` decides, this waits.

use crate::error::ClientError;
use crate::link::Link;
use crate::start::Launch;
use crate::target::Target;
use hob_core::reconnect::{Reconnect, Step};
use hob_kit::clock::Clock;
use hob_kit::dice::Dice;
use std::time::Duration;

/// Up to this share of a wait is taken off at random, so that many clients of one daemon do not
/// come back in the same instant.
const JITTER_PERCENT: u64 = 20;

#[derive(Clone, Debug)]
pub(crate) struct Connector {
    pub(crate) target: Target,
    /// How to start a daemon, if this client may.
    pub(crate) launch: Option<Launch>,
    pub(crate) clock: Clock,
    pub(crate) dice: Dice,
    search: Reconnect,
}

impl Connector {
    pub(crate) fn new(target: Target, launch: Option<Launch>) -> Self {
        Connector {
            target,
            launch,
            clock: Clock::system(),
            dice: Dice::system(),
            search: Reconnect::default(),
        }
    }

    /// One try.
    pub(crate) async fn open(&self) -> Result<Link, ClientError> {
        Link::open(&self.target).await
    }

    /// Says what to do about a failed try: nothing (the error is final), or waits as long as the
    /// machine says and lets the caller try again.
    pub(crate) async fn after_failure(&mut self, error: ClientError) -> Result<(), ClientError> {
        if !error.is_passing() {
            return Err(error);
        }
        let now_ms = self.clock.monotonic_ms();
        match self.search.failed(now_ms, self.launch.is_some()) {
            Step::Wait { ms } => {
                let early = self.dice.below(ms * JITTER_PERCENT / 100 + 1);
                tokio::time::sleep(Duration::from_millis(ms - early)).await;
            }
            Step::Start => {
                if let Some(launch) = &self.launch {
                    // A start that fails is another absence; the search goes on.
                    if let Err(error) = launch.ensure().await {
                        tracing::warn!("{error}");
                    }
                }
            }
        }
        Ok(())
    }

    /// Tries until the daemon answers; an error is final.
    pub(crate) async fn again(&mut self) -> Result<Link, ClientError> {
        loop {
            match self.open().await {
                Ok(link) => {
                    self.search.connected();
                    return Ok(link);
                }
                Err(error) => self.after_failure(error).await?,
            }
        }
    }
}
