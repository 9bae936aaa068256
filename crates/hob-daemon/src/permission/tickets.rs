//! Tickets: an allowed call runs with one, once, and only exactly as it was allowed.

use super::service::PermissionService;
use hob_core::permission::{ApprovalsFull, PreparedCall, TicketError};
use hob_wire::rooms::permission::{
    PermissionDecision, PermissionRedeemParams, PermissionRedeemResult, PermissionRuling,
};
use hob_wire::{ErrorCode, WireError};

/// Random bytes of a ticket.
const TICKET_BYTES: usize = 24;
/// Retry delay when there are too many questions or tickets.
const FULL_RETRY_MS: u64 = 5_000;

impl PermissionService {
    /// Issues a ticket and returns the ruling that allows the call. The decision is recorded
    /// before.
    pub(super) fn issue_ticket(
        &self,
        by: &str,
        digest: &str,
    ) -> Result<PermissionRuling, WireError> {
        let ticket = self.deps.randomness.hex(TICKET_BYTES);
        let now_ms = self.deps.clock.monotonic_ms();
        let granted = self.state().book.add_ticket(&ticket, digest, now_ms);
        granted.map_err(overloaded_error)?;
        Ok(PermissionRuling {
            decision: PermissionDecision::Allow,
            ticket: Some(ticket),
            by: by.to_owned(),
            digest: Some(digest.to_owned()),
            reason: None,
            grant: None,
        })
    }
}

/// Redeems a ticket, once.
pub(super) async fn redeem(
    service: &PermissionService,
    params: PermissionRedeemParams,
) -> Result<PermissionRedeemResult, WireError> {
    let work = PreparedCall {
        tool: params.tool,
        fingerprint: params.fingerprint,
        args: params.args,
        context: params.context,
        state: params.state,
    };
    // Computed from what would run now: a call changed after its approval has another digest.
    let digest = work.digest();
    let now_ms = service.deps.clock.monotonic_ms();
    let redeemed = service
        .state()
        .book
        .redeem_ticket(&params.ticket, &digest, now_ms);
    match redeemed {
        Ok(()) => Ok(PermissionRedeemResult { digest }),
        Err(reason) => Err(ticket_error(reason)),
    }
}

/// A ruling that denies.
pub(super) fn deny(by: &str, reason: Option<String>) -> PermissionRuling {
    PermissionRuling {
        decision: PermissionDecision::Deny,
        ticket: None,
        by: by.to_owned(),
        digest: None,
        reason,
        grant: None,
    }
}

pub(super) fn overloaded_error(full: ApprovalsFull) -> WireError {
    let message = match full {
        ApprovalsFull::Questions => "Too many questions wait for an answer already.",
        ApprovalsFull::QuestionsOfRun => {
            "Too many questions of this run wait for an answer already."
        }
        ApprovalsFull::Tickets => "Too many allowed calls have not begun yet.",
    };
    WireError::new(ErrorCode::Overloaded, message).retry_after(FULL_RETRY_MS)
}

fn ticket_error(reason: TicketError) -> WireError {
    let message = match reason {
        TicketError::Unknown => "There is no such approval, or it was used already; ask again.",
        TicketError::Expired => "The approval is too old; ask again.",
        TicketError::OtherDigest => {
            "What would run is not what was approved; nothing was run. Ask again."
        }
    };
    WireError::new(ErrorCode::Forbidden, message)
}
