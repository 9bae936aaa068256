//! `audit.*`: reads the record of every decision. Whoever decides writes the entry in the
//! transaction of the decision; this room never writes. The hash chain is
//! `hob_core::permission::AuditChain`.

mod redaction;

use hob_bus::Room;
use hob_core::permission::AuditChain;
use hob_store::Store;
use hob_wire::rooms::audit::{AuditVerifyResult, Export, List, Verify};
use hob_wire::{Scope, WireError};

/// The service `audit`.
pub fn room(store: &Store) -> Room {
    let of = || store.clone();
    let (lists, verifies, exports) = (of(), of(), of());
    Room::new("audit")
        .method::<List, _, _>(move |call, params| {
            let store = lists.clone();
            async move {
                let mut found = store.list_audit(params).await?;
                if !call.scopes.allow(Scope::Admin) {
                    let entries = found.entries.into_iter();
                    found.entries = entries.map(redaction::without_typed_text).collect();
                }
                Ok(found)
            }
        })
        .method::<Verify, _, _>(move |_, params| {
            let store = verifies.clone();
            async move { verify(&store, params.head.as_deref()).await }
        })
        .method::<Export, _, _>(move |_, params| {
            let store = exports.clone();
            async move { Ok(store.audit_after(params.after).await?) }
        })
}

/// Verifies the whole hash chain.
async fn verify(store: &Store, awaited: Option<&str>) -> Result<AuditVerifyResult, WireError> {
    let mut chain = AuditChain::new(awaited);
    let problem = store.verify_audit(&mut chain).await?;
    let problem = problem.or_else(|| chain.problem_at_end());
    Ok(AuditVerifyResult {
        entries: chain.entries(),
        head: chain.head().to_owned(),
        problem,
    })
}
