//! Routes of the paths.

use crate::request::{Dialect, Flavour};
use hyper::Method;
use hyper::header::HeaderMap;

/// The target of a path.
pub(crate) enum Route {
    Ask(Dialect, RouteTarget),
    Models(Dialect, Option<String>),
}

/// The request options in the path.
#[derive(Default)]
pub(crate) struct RouteTarget {
    pub(crate) flavour: Flavour,
    /// Empty where the body says it.
    pub(crate) model: String,
    pub(crate) stream: bool,
    /// True for an event stream, false for a JSON array.
    pub(crate) events: bool,
}

pub(crate) fn route(
    method: &Method,
    path: &str,
    query: &str,
    headers: &HeaderMap,
) -> Option<Route> {
    let (flavour, path) = flavoured(path);
    let ask = |dialect| {
        let target = RouteTarget {
            flavour,
            ..RouteTarget::default()
        };
        Some(Route::Ask(dialect, target))
    };
    if let Some(rest) = path.strip_prefix("/v1beta/models") {
        return gemini_route(method, rest, query);
    }
    if *method == Method::POST {
        return match path {
            "/v1/chat/completions" => ask(Dialect::OpenaiChat),
            "/v1/responses" => ask(Dialect::OpenaiResponses),
            "/v1/messages" => ask(Dialect::Anthropic),
            // Gemini answers under both of its versions.
            _ => gemini_route(method, path.strip_prefix("/v1/models")?, query),
        };
    }
    let rest = path.strip_prefix("/v1/models")?;
    let dialect = if headers.contains_key("anthropic-version") {
        Dialect::Anthropic
    } else if headers.contains_key("x-goog-api-key") {
        Dialect::Gemini
    } else {
        Dialect::OpenaiChat
    };
    listing(method, dialect, rest)
}

fn listing(method: &Method, dialect: Dialect, rest: &str) -> Option<Route> {
    let one = rest.strip_prefix('/').map(str::to_owned);
    let known = *method == Method::GET && (rest.is_empty() || one.is_some());
    known.then_some(Route::Models(dialect, one))
}

fn gemini_route(method: &Method, rest: &str, query: &str) -> Option<Route> {
    let Some((model, verb)) = rest.strip_prefix('/').and_then(|rest| rest.split_once(':')) else {
        return listing(method, Dialect::Gemini, rest);
    };
    let stream = match verb {
        "streamGenerateContent" => true,
        "generateContent" => false,
        _ => return None,
    };
    let target = RouteTarget {
        flavour: Flavour::Openai,
        model: model.to_owned(),
        stream,
        events: query.split('&').any(|pair| pair == "alt=sse"),
    };
    (*method == Method::POST).then_some(Route::Ask(Dialect::Gemini, target))
}

/// The flavour a path begins with, and the rest of it.
fn flavoured(path: &str) -> (Flavour, &str) {
    let named = Flavour::ALL.into_iter().skip(1);
    let mut found = named.filter_map(|flavour| {
        let rest = path.strip_prefix(flavour.prefix())?;
        rest.starts_with('/').then_some((flavour, rest))
    });
    found.next().unwrap_or((Flavour::Openai, path))
}
