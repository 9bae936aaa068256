//! The presets of the keymap: hob's own, and those of the programs whose users come to hob. Each is
//! the lines that differ from the table of actions.

/// Keys as people know them from the terminal interface of AgentLoop.
const AGENTLOOP: &str = "\
screen-services = ctrl-s alt-3
search = alt-s
copy = ctrl-y alt-c
paste-cut = alt-y
";

/// Keys as people know them from the terminal interface of Pryx: its views have numbers.
const PRYX: &str = "\
screen-costs = alt-7
screen-runs = alt-8
screen-permissions = alt-9
screen-doctor = alt-5
screen-models = alt-4
";

const PRESETS: [(&str, &str); 3] = [("hob", ""), ("agentloop", AGENTLOOP), ("pryx", PRYX)];

/// The lines of a preset.
pub(crate) fn named(name: &str) -> Option<&'static str> {
    let found = PRESETS.iter().find(|(known, _)| *known == name);
    found.map(|(_, lines)| *lines)
}

pub(crate) fn names() -> Vec<&'static str> {
    PRESETS.iter().map(|(name, _)| *name).collect()
}
