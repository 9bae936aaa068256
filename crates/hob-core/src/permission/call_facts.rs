//! What a call names that rules speak of: its tool, how far it reaches, its paths, hosts and
//! commands, read from what the tool declares and the arguments it is called with. Pure.

use super::canonical::canonical;
use super::place::{Host, Place, path_of};
use crate::command_line::CommandLine;
use hob_wire::work::{NeedKind, Tier, ToolContext, ToolSpec};
use serde_json::Value;
use std::borrow::Cow;
use std::cell::OnceCell;

/// The value of a network switch that opens this machine's own network.
const HOST_NETWORK: &str = "host";
/// Texts of one argument that are looked at: a longer list of paths cannot be told.
const TEXTS_MAX: usize = 256;

#[derive(Clone, Debug)]
pub(super) struct Facts<'c> {
    pub(super) tool: &'c ToolSpec,
    pub(super) context: &'c ToolContext,
    /// The tool's tier, lifted by a call that reaches the network.
    pub(super) tier: Tier,
    pub(super) arguments: Vec<Argument<'c>>,
    pub(super) paths: Vec<Place>,
    /// Hosts; none where the words do not tell which.
    pub(super) hosts: Vec<Option<Host>>,
    /// An argument opens the network to the call.
    pub(super) network: bool,
    /// With the network: it may reach any host, because no argument limits it to `hosts`.
    pub(super) any_host: bool,
    /// With the network: services on this machine too. The argument that says so.
    pub(super) host_network: Option<&'c str>,
}

/// An argument as patterns see it.
#[derive(Clone, Debug)]
pub(super) struct Argument<'c> {
    pub(super) name: &'c str,
    pub(super) kind: Option<NeedKind>,
    /// Its ways to be written: a path as it came, absolute, and below the workspace.
    pub(super) texts: Vec<Cow<'c, str>>,
    /// A path that goes up on its way.
    pub(super) crooked: bool,
    /// It came as a text, not as a list or a number.
    pub(super) is_text: bool,
    /// Taken apart when a rule first needs it.
    command_line: OnceCell<CommandLine>,
}

impl<'c> Facts<'c> {
    pub(super) fn of(tool: &'c ToolSpec, args: &'c Value, context: &'c ToolContext) -> Facts<'c> {
        let mut facts = Facts {
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
            facts.take(need.kind, args.get(&need.arg));
        }
        if facts.network {
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
                .map(|(name, value)| Argument::of(name, kind(name), value, context))
                .collect();
        }
        facts
    }

    pub(super) fn argument(&self, name: &str) -> Option<&Argument<'c>> {
        self.arguments.iter().find(|argument| argument.name == name)
    }

    /// Finds out how far a call with the network reaches.
    fn limit_network(&mut self, args: &'c Value) {
        let needs = self.tool.needs.iter();
        let of_kind = |kind| needs.clone().filter(move |need| need.kind == kind);
        let says_host = |name: &&str| args.get(*name).and_then(Value::as_str) == Some(HOST_NETWORK);
        let mut switches = of_kind(NeedKind::Network).map(|need| need.arg.as_str());
        self.host_network = switches.find(says_host);
        let limits = of_kind(NeedKind::Hosts).filter_map(|need| args.get(&need.arg));
        let limits: Vec<Option<&str>> = limits.flat_map(texts).collect();
        // A limit that does not hold, or holds nothing, is none.
        let is_no_limit = |text: Option<&str>| text.is_none_or(|text| text == "*");
        let is_wide = limits.is_empty() || limits.iter().copied().any(is_no_limit);
        self.any_host = self.host_network.is_some() || is_wide;
        if !self.any_host {
            let host = |text: Option<&str>| text.and_then(Host::of_limit);
            self.hosts.extend(limits.into_iter().map(host));
        }
    }

    fn take(&mut self, kind: NeedKind, value: Option<&Value>) {
        let base = self.context.workspace.as_deref();
        match (kind, value) {
            // The tool then means the workspace itself.
            (NeedKind::Path, None | Some(Value::Null)) => {
                self.paths.push(Place::of(".", base));
            }
            (NeedKind::Path, Some(value)) => {
                let place =
                    |text: Option<&str>| text.map_or(Place::Unknown, |text| Place::of(text, base));
                self.paths.extend(texts(value).into_iter().map(place));
            }
            (NeedKind::Host, Some(value)) if !value.is_null() => {
                let host = |text: Option<&str>| text.and_then(Host::of);
                self.hosts.extend(texts(value).into_iter().map(host));
            }
            (NeedKind::Network, Some(value)) => {
                let off = matches!(value, Value::Null | Value::Bool(false));
                self.network |= !off;
            }
            _ => {}
        }
    }
}

impl<'c> Argument<'c> {
    fn of(
        name: &'c str,
        kind: Option<NeedKind>,
        value: &'c Value,
        context: &'c ToolContext,
    ) -> Self {
        let mut argument = Argument {
            name,
            kind,
            texts: Vec::new(),
            crooked: false,
            is_text: value.is_string(),
            command_line: OnceCell::new(),
        };
        match value {
            Value::String(text) => argument.texts.push(Cow::Borrowed(text)),
            other => argument.texts.push(Cow::Owned(canonical(other))),
        }
        if let (Some(NeedKind::Path), Value::String(text)) = (kind, value) {
            argument.add_ways(text, context.workspace.as_deref());
        }
        argument
    }

    /// Its text as a shell would take it apart.
    pub(super) fn command_line(&self) -> &CommandLine {
        let line = self.texts.first().map_or("", |text| text);
        self.command_line.get_or_init(|| CommandLine::parse(line))
    }

    fn add_ways(&mut self, text: &str, workspace: Option<&str>) {
        let Place::At { steps, straight } = Place::of(text, workspace) else {
            self.crooked = true;
            return;
        };
        self.crooked = !straight;
        let root = workspace.and_then(super::place::folder);
        if let Some(below) = root.and_then(|root| steps.strip_prefix(&root[..]).map(<[_]>::to_vec))
        {
            self.texts.push(Cow::Owned(below.join("/")));
        }
        self.texts.push(Cow::Owned(path_of(&steps)));
    }
}

/// The texts of a value; none stands for what is no text.
fn texts(value: &Value) -> Vec<Option<&str>> {
    match value {
        Value::Array(items) if items.len() <= TEXTS_MAX => {
            items.iter().map(Value::as_str).collect()
        }
        other => vec![other.as_str()],
    }
}
