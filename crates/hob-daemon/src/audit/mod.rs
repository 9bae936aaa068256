//! `audit.*`: reads the record of every decision. Whoever decides writes the entry in the
//! transaction of the decision; this room never writes. The hash chain is
//! `hob_core::permission::AuditChain`.

mod redaction;

use crate::RoomContext;
use hob_bus::{RequestContext, Room};
use hob_core::permission::AuditChain;
use hob_store::{Store, StoreError};
use hob_wire::rooms::audit::{
    AuditExportParams, AuditExportResult, AuditListParams, AuditListResult, AuditVerifyParams,
    AuditVerifyResult, Export, List, Verify,
};
use hob_wire::{Scope, WireError};
use std::sync::Arc;

/// Serves the room `audit`.
pub fn serve(context: &RoomContext) -> Result<(), WireError> {
    let room = Room::new("audit")
        .state(Arc::new(context.store.clone()))
        .method(List, list)
        .method(Verify, verify)
        .method(Export, export);
    context.bus.serve(room)
}

async fn list(
    store: &Store,
    call: RequestContext,
    params: AuditListParams,
) -> Result<AuditListResult, WireError> {
    let mut found = store.list_audit(params).await?;
    if !call.scopes.allow(Scope::Admin) {
        let entries = found.entries.into_iter();
        found.entries = entries.map(redaction::without_typed_text).collect();
    }
    Ok(found)
}

/// Verifies the whole hash chain.
async fn verify(store: &Store, params: AuditVerifyParams) -> Result<AuditVerifyResult, WireError> {
    let mut chain = AuditChain::new(params.head.as_deref());
    let problem = store.verify_audit(&mut chain).await?;
    // A record that was cut short has no wrong entry; only a head kept elsewhere shows it.
    let problem = problem.or_else(|| chain.problem_at_end());
    Ok(AuditVerifyResult {
        entries: chain.entries(),
        head: chain.head().to_owned(),
        problem,
    })
}

async fn export(store: &Store, params: AuditExportParams) -> Result<AuditExportResult, StoreError> {
    store.audit_after(params.after).await
}
