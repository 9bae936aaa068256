//! The facts of a call that rules refer to: its tool, tier, paths, hosts and commands, read from
//! the tool's declaration and the arguments. Pure.

use super::canonical_json::canonical_json;
use super::paths_and_hosts::{CallHost, CallPath, path_of};
use crate::command_line::CommandLine;
use hob_wire::work::{NeedKind, Tier, ToolContext, ToolSpec};
use serde_json::Value;
use std::borrow::Cow;
use std::cell::OnceCell;

/// The value of a network switch that opens the host's own network.
const HOST_NETWORK: &str = "host";
/// The most texts of one argument that are examined; a longer list counts as unknown.
const TEXTS_MAX: usize = 256;

#[derive(Clone, Debug)]
pub(super) struct CallFacts<'c> {
    pub(super) tool: &'c ToolSpec,
    pub(super) context: &'c ToolContext,
    /// The tool's tier, raised for a call that reaches the network.
    pub(super) tier: Tier,
    pub(super) arguments: Vec<CallArgument<'c>>,
    pub(super) paths: Vec<CallPath>,
    /// Hosts; `None` for an argument whose host cannot be determined.
    pub(super) hosts: Vec<Option<CallHost>>,
    /// An argument opens the network to the call.
    pub(super) network: bool,
    /// With the network: the call may reach any host, because no argument limits it to `hosts`.
    pub(super) any_host: bool,
    /// With the network: the argument that also opens services on this machine.
    pub(super) host_network: Option<&'c str>,
}

/// An argument as patterns see it.
#[derive(Clone, Debug)]
pub(super) struct CallArgument<'c> {
    pub(super) name: &'c str,
    pub(super) kind: Option<NeedKind>,
    /// Its spellings: a path as written, absolute, and relative to the workspace.
    pub(super) texts: Vec<Cow<'c, str>>,
    /// A path that contains `..`.
    pub(super) goes_up: bool,
    /// It is a string, not a list or a number.
    pub(super) is_text: bool,
    /// Parsed when a rule first needs it.
    command_line: OnceCell<CommandLine>,
}

impl<'c> CallFacts<'c> {
    pub(super) fn from_call(
        tool: &'c ToolSpec,
        args: &'c Value,
        context: &'c ToolContext,
    ) -> CallFacts<'c> {
        let mut facts = CallFacts {
            tool,
            context,
            tier: tool.tier,
            arguments: Vec::new(),
            paths: Vec::new(),
            hosts: Vec::new(),
            network: false,
            any_host: false,
            host_network: None,
        };
        for need in &tool.needs {
            facts.add_need(need.kind, args.get(&need.arg));
        }
        if facts.network {
            // A call that opens the network is external, whatever its tool's own tier is.
            facts.tier = facts.tier.max(Tier::External);
            facts.limit_network(args);
        }
        if let Value::Object(fields) = args {
            let kind = |name: &str| {
                let mut needs = tool.needs.iter();
                needs.find(|need| need.arg == name).map(|need| need.kind)
            };
            let arguments = fields.iter().filter(|(_, value)| !value.is_null());
            facts.arguments = arguments
                .map(|(name, value)| CallArgument::new(name, kind(name), value, context))
                .collect();
        }
        facts
    }

    pub(super) fn argument(&self, name: &str) -> Option<&CallArgument<'c>> {
        self.arguments.iter().find(|argument| argument.name == name)
    }

    /// Determines how far a call with the network reaches.
    fn limit_network(&mut self, args: &'c Value) {
        let needs = self.tool.needs.iter();
        let of_kind = |kind| needs.clone().filter(move |need| need.kind == kind);
        let says_host = |name: &&str| args.get(*name).and_then(Value::as_str) == Some(HOST_NETWORK);
        let mut switches = of_kind(NeedKind::Network).map(|need| need.arg.as_str());
        self.host_network = switches.find(says_host);
        let limits = of_kind(NeedKind::Hosts).filter_map(|need| args.get(&need.arg));
        let limits: Vec<Option<&str>> = limits.flat_map(texts_of).collect();
        // An invalid or empty limit does not limit anything.
        let is_no_limit = |text: Option<&str>| text.is_none_or(|text| text == "*");
        let is_wide = limits.is_empty() || limits.iter().copied().any(is_no_limit);
        self.any_host = self.host_network.is_some() || is_wide;
        if !self.any_host {
            let host = |text: Option<&str>| text.and_then(CallHost::parse_limit);
            self.hosts.extend(limits.into_iter().map(host));
        }
    }

    fn add_need(&mut self, kind: NeedKind, value: Option<&Value>) {
        let base = self.context.workspace.as_deref();
        match (kind, value) {
            // A missing path means the workspace itself.
            (NeedKind::Path, None | Some(Value::Null)) => {
                self.paths.push(CallPath::resolve(".", base));
            }
            (NeedKind::Path, Some(value)) => {
                let place = |text: Option<&str>| {
                    text.map_or(CallPath::Unknown, |text| CallPath::resolve(text, base))
                };
                self.paths.extend(texts_of(value).into_iter().map(place));
            }
            (NeedKind::Host, Some(value)) if !value.is_null() => {
                let host = |text: Option<&str>| text.and_then(CallHost::parse);
                self.hosts.extend(texts_of(value).into_iter().map(host));
            }
            (NeedKind::Network, Some(value)) => {
                let off = matches!(value, Value::Null | Value::Bool(false));
                self.network |= !off;
            }
            _ => {}
        }
    }
}

impl<'c> CallArgument<'c> {
    fn new(
        name: &'c str,
        kind: Option<NeedKind>,
        value: &'c Value,
        context: &'c ToolContext,
    ) -> Self {
        let mut argument = CallArgument {
            name,
            kind,
            texts: Vec::new(),
            goes_up: false,
            is_text: value.is_string(),
            command_line: OnceCell::new(),
        };
        match value {
            Value::String(text) => argument.texts.push(Cow::Borrowed(text)),
            other => argument.texts.push(Cow::Owned(canonical_json(other))),
        }
        if let (Some(NeedKind::Path), Value::String(text)) = (kind, value) {
            argument.add_spellings(text, context.workspace.as_deref());
        }
        argument
    }

    /// Returns its text parsed as a command line.
    pub(super) fn command_line(&self) -> &CommandLine {
        let line = self.texts.first().map_or("", |text| text);
        self.command_line.get_or_init(|| CommandLine::parse(line))
    }

    fn add_spellings(&mut self, text: &str, workspace: Option<&str>) {
        let CallPath::Known { steps, straight } = CallPath::resolve(text, workspace) else {
            // Where it leads is unknown, so only a rule with exactly its text may allow it.
            self.goes_up = true;
            return;
        };
        self.goes_up = !straight;
        let root = workspace.and_then(super::paths_and_hosts::folder_steps);
        if let Some(below) = root.and_then(|root| steps.strip_prefix(&root[..]).map(<[_]>::to_vec))
        {
            self.texts.push(Cow::Owned(below.join("/")));
        }
        self.texts.push(Cow::Owned(path_of(&steps)));
    }
}

/// Returns the strings of a value; `None` stands for anything else.
fn texts_of(value: &Value) -> Vec<Option<&str>> {
    match value {
        // A longer list becomes one unknown text, so a person is asked.
        Value::Array(items) if items.len() <= TEXTS_MAX => {
            items.iter().map(Value::as_str).collect()
        }
        other => vec![other.as_str()],
    }
}
