//! Whether a registration is allowed. Pure: it looks at the routing table and the credential.

use crate::filter::{first_segment, is_name};
use crate::party::Party;
use crate::routes::Routes;
use hob_wire::limits::REGISTRATIONS_MAX;
use hob_wire::rooms::gateway::RegisterParams;
use hob_wire::scope::is_service_name;
use hob_wire::{ErrorCode, Scopes, WireError};
use std::sync::Arc;

/// Checks all that the credential and the form of the names decide.
pub(crate) fn check_form(params: &RegisterParams, scopes: &Scopes) -> Result<(), WireError> {
    let service = params.service.as_str();
    if !is_service_name(service) {
        return refuse("a service's name is made of letters, digits, '-' and '_'");
    }
    if !scopes.allow_service(service) {
        let message = format!(
            "registering '{service}' needs the scope 'admin' or 'service:{service}', which this credential lacks"
        );
        return Err(WireError::new(ErrorCode::Forbidden, message));
    }
    if params.methods.len().max(params.events.len()) > REGISTRATIONS_MAX {
        return refuse(format!(
            "a service may register {REGISTRATIONS_MAX} methods and {REGISTRATIONS_MAX} events"
        ));
    }
    for name in params.methods.iter().chain(&params.events) {
        if !is_name(name) {
            let shown: String = name.chars().take(64).collect();
            return refuse(format!("'{shown}' is not a name of a method or an event"));
        }
        if !scopes.allow_any_service() && first_segment(name) != service {
            return refuse(format!(
                "'{name}' is not under '{service}.', which is all that this credential may offer"
            ));
        }
    }
    match params
        .volatile
        .iter()
        .find(|name| !params.events.contains(name))
    {
        Some(name) => refuse(format!("'{name}' is in `volatile` but not in `events`")),
        None => Ok(()),
    }
}

/// Checks all that the other services decide. Answers the former connection of the same service,
/// which the new one takes the place of.
pub(crate) fn check_free(
    params: &RegisterParams,
    party: &Party,
    routes: &Routes,
) -> Result<Option<Arc<Party>>, WireError> {
    let service = params.service.as_str();
    for name in params.methods.iter().chain(&params.events) {
        if first_segment(name) == "gateway" {
            return refuse(format!(
                "'{name}' is under 'gateway.', which is the bus's own"
            ));
        }
    }
    for name in &params.events {
        if let Some(owner) = routes.builtin_event(name) {
            return refuse(format!(
                "the event '{name}' is built in: it is '{}' who emits it",
                owner.service
            ));
        }
    }
    for name in &params.methods {
        if let Some(route) = routes.method(name)
            && *route.method.service != *service
            && !held_by(route.owner.as_deref(), party)
        {
            let owner = &route.method.service;
            return refuse(format!(
                "the method '{name}' belongs to the service '{owner}'"
            ));
        }
    }
    let Some(held) = routes.services.get(service) else {
        return Ok(None);
    };
    match &held.owner {
        Some(owner) if !held.offer.builtin => {
            if owner.id == party.id {
                Ok(None)
            } else if owner.peer.principal == party.peer.principal {
                Ok(Some(Arc::clone(owner)))
            } else {
                refuse(format!(
                    "the service '{service}' is registered by another credential"
                ))
            }
        }
        _ => refuse(format!("the service '{service}' is built in")),
    }
}

/// Whether a route's owner is `party` itself, under a name it is about to give up.
fn held_by(owner: Option<&Party>, party: &Party) -> bool {
    owner.is_some_and(|owner| owner.id == party.id)
}

fn refuse<T>(message: impl Into<String>) -> Result<T, WireError> {
    Err(WireError::new(ErrorCode::RegisterFailed, message))
}
