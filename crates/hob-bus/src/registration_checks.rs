//! Checks whether a registration is allowed, by the routing table and the credential. Pure.

use crate::endpoint::Endpoint;
use crate::event_filter::{first_segment, is_name};
use crate::route_table::RouteTable;
use hob_wire::limits::REGISTRATIONS_MAX;
use hob_wire::rooms::gateway::GatewayRegisterParams;
use hob_wire::scope::is_service_name;
use hob_wire::{ErrorCode, Scopes, WireError};
use std::sync::Arc;

/// Checks the form of the names and the credential's scopes.
pub(crate) fn check_form(params: &GatewayRegisterParams, scopes: &Scopes) -> Result<(), WireError> {
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
            return refuse(format!(
                "'{shown}' is not a valid name for a method or an event"
            ));
        }
        if !scopes.allow_any_service() && first_segment(name) != service {
            return refuse(format!(
                "'{name}' is outside '{service}.', and this credential may offer only names below it"
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

/// Checks for conflicts with registered services. Returns the connection that this one replaces.
pub(crate) fn check_available(
    params: &GatewayRegisterParams,
    endpoint: &Endpoint,
    routes: &RouteTable,
) -> Result<Option<Arc<Endpoint>>, WireError> {
    let service = params.service.as_str();
    for name in params.methods.iter().chain(&params.events) {
        // A credential for any service may use names outside its own prefix, so this prefix needs
        // its own check.
        if first_segment(name) == "gateway" {
            return refuse(format!(
                "'{name}' is under 'gateway.', which is reserved for the bus"
            ));
        }
    }
    for name in &params.events {
        if let Some(owner) = routes.builtin_event(name) {
            return refuse(format!(
                "the event '{name}' is built in and belongs to the service '{}'",
                owner.service
            ));
        }
    }
    for name in &params.methods {
        // The names of the service itself are free: this registration replaces its former offer.
        if let Some(route) = routes.method(name)
            && *route.method.service != *service
            && !is_owned_by(route.owner.as_deref(), endpoint)
        {
            let owner = &route.method.service;
            return refuse(format!(
                "the method '{name}' belongs to the service '{owner}'"
            ));
        }
    }
    let mut replaced = None;
    for held in routes.holders(service) {
        let Some(owner) = held.owner.as_ref().filter(|_| !held.offer.builtin) else {
            return refuse(format!("the service '{service}' is built in"));
        };
        if owner.peer.principal != endpoint.peer.principal {
            return refuse(format!(
                "the service '{service}' is registered by another credential"
            ));
        }
        // A service that reconnects may find its old connection still open. The same credential
        // proves that it is the same service. Connections that offer no methods take nothing from
        // each other, so they share the name.
        let both_serve = !params.methods.is_empty() && !held.offer.methods.is_empty();
        if both_serve && owner.id != endpoint.id {
            replaced = Some(Arc::clone(owner));
        }
    }
    Ok(replaced)
}

/// Returns true if `endpoint` owns the route itself, under a service name it is about to give up.
fn is_owned_by(owner: Option<&Endpoint>, endpoint: &Endpoint) -> bool {
    owner.is_some_and(|owner| owner.id == endpoint.id)
}

fn refuse<T>(message: impl Into<String>) -> Result<T, WireError> {
    Err(WireError::new(ErrorCode::RegisterFailed, message))
}
