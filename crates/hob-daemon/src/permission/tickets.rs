//! Tickets: what an allowed call is run with, once, and only as it was allowed.

use super::desk::Desk;
use hob_core::permission::{Full, NoTicket, Work};
use hob_kit::failpoint;
use hob_wire::rooms::permission::{Decision, RedeemParams, Redeemed, Ruling};
use hob_wire::{ErrorCode, WireError};

/// Random bytes of a ticket.
const TICKET_BYTES: usize = 24;
/// How long a caller should wait when the book is full.
const FULL_RETRY_MS: u64 = 5_000;

impl Desk {
    /// A ruling that allows, with its ticket. What it rests on is in the record already.
    pub(super) fn allow(&self, by: &str, digest: &str) -> Result<Ruling, WireError> {
        let ticket = self.parts.dice.hex(TICKET_BYTES);
        let now_ms = self.parts.clock.monotonic_ms();
        let granted = self.state().book.grant(&ticket, digest, now_ms);
        granted.map_err(full)?;
        Ok(Ruling {
            decision: Decision::Allow,
            ticket: Some(ticket),
            by: by.to_owned(),
            digest: Some(digest.to_owned()),
            reason: None,
            grant: None,
        })
    }

    /// Takes up a ticket, once.
    pub(super) fn redeem(&self, params: RedeemParams) -> Result<Redeemed, WireError> {
        let work = Work {
            tool: params.tool,
            fingerprint: params.fingerprint,
            args: params.args,
            context: params.context,
            state: params.state,
        };
        let digest = work.digest();
        let now_ms = self.parts.clock.monotonic_ms();
        let redeemed = self.state().book.redeem(&params.ticket, &digest, now_ms);
        match redeemed {
            Ok(()) => Ok(Redeemed { digest }),
            Err(NoTicket::OtherDigest) if failpoint::broken(71) => Ok(Redeemed { digest }),
            Err(reason) => Err(void(reason)),
        }
    }
}

/// A ruling that denies.
pub(super) fn denied(by: &str, reason: Option<String>) -> Ruling {
    Ruling {
        decision: Decision::Deny,
        ticket: None,
        by: by.to_owned(),
        digest: None,
        reason,
        grant: None,
    }
}

pub(super) fn full(full: Full) -> WireError {
    let message = match full {
        Full::Questions => "Too many questions wait for an answer already.",
        Full::QuestionsOfRun => "Too many questions of this run wait for an answer already.",
        Full::Tickets => "Too many allowed calls have not begun yet.",
    };
    WireError::new(ErrorCode::Overloaded, message).retry_after(FULL_RETRY_MS)
}

fn void(reason: NoTicket) -> WireError {
    let message = match reason {
        NoTicket::Unknown => "There is no such approval, or it was used already; ask again.",
        NoTicket::Expired => "The approval is too old; ask again.",
        NoTicket::OtherDigest => {
            "What would run is not what was approved; nothing was run. Ask again."
        }
    };
    WireError::new(ErrorCode::Forbidden, message)
}
