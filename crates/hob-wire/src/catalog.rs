//! Every built-in method and event in one list. A new room adds its two lines here.

use crate::event::EventSpec;
use crate::method::MethodSpec;
use crate::rooms::{
    agent, audit, config, cost, cron, daemon, desktop, gateway, log, loops, model, model_files,
    onboard, permission, service, session, speech, terminal, timeline, token, tool,
};

const METHOD_LISTS: &[&[MethodSpec]] = &[
    gateway::METHODS,
    daemon::METHODS,
    session::METHODS,
    agent::METHODS,
    timeline::METHODS,
    cost::METHODS,
    config::METHODS,
    token::METHODS,
    tool::METHODS,
    permission::METHODS,
    audit::METHODS,
    model::METHODS,
    model_files::METHODS,
    onboard::METHODS,
    service::METHODS,
    speech::METHODS,
    loops::METHODS,
    cron::METHODS,
    terminal::METHODS,
    desktop::METHODS,
];

const EVENT_LISTS: &[&[EventSpec]] = &[
    gateway::EVENTS,
    session::EVENTS,
    agent::EVENTS,
    config::EVENTS,
    log::EVENTS,
    permission::EVENTS,
    tool::EVENTS,
    model_files::EVENTS,
    service::EVENTS,
    loops::EVENTS,
    cron::EVENTS,
    terminal::EVENTS,
];

pub fn methods() -> impl Iterator<Item = &'static MethodSpec> {
    METHOD_LISTS.iter().copied().flatten()
}

pub fn events() -> impl Iterator<Item = &'static EventSpec> {
    EVENT_LISTS.iter().copied().flatten()
}

pub fn method(name: &str) -> Option<&'static MethodSpec> {
    methods().find(|spec| spec.name == name)
}

pub fn event(topic: &str) -> Option<&'static EventSpec> {
    events().find(|spec| spec.topic == topic)
}
