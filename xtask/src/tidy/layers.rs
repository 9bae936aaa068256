//! Every crate has a layer and depends only on lower layers. Some external crates (SQL, HTTP
//! listeners, the command line) may be used only by the crates listed here.

use super::TidyFinding;
use crate::workspace::{CrateDependency, Workspace, WorkspaceCrate};

/// The layers, lowest first.
const LAYERS: &[&str] = &[
    "wire",
    "core",
    "infrastructure",
    "plugins",
    "daemon",
    "client",
    "ui",
    "dev",
];

/// Pairs of crates of one layer: the first may use the second. Each needs a reason beside it.
const SAME_LAYER: &[(&str, &str)] = &[
    // A dialect is a part of the gateway that has a crate of its own, so that only this crate names
    // foreign products.
    ("hob-dialects", "hob-gateway"),
    // The binary opens the terminal UI, which is a crate of its own so that it stays a client.
    ("hob", "hob-tui"),
];

/// The only lower layers that a layer may use. The client and the user interfaces talk to the
/// daemon over the wire, so they must not link its crates.
const VISIBLE_LAYERS: &[(&str, &[&str])] =
    &[("client", &["wire", "core"]), ("ui", &["wire", "client"])];

/// The composition root. It constructs the daemon, so it may use every lower layer.
const ROOT: &str = "hob";

/// External crates and the only crates that may use them outside tests.
const RESTRICTED_CRATES: &[(&str, &[&str])] = &[
    ("rusqlite", &["hob-store", "hob-bench"]),
    ("axum", &["hob-gateway", "hob-dialects", "hob-services"]),
    ("hyper", &["hob-gateway", "hob-sim"]),
    (
        "tokio-tungstenite",
        &["hob-gateway", "hob-client", "hob-bench"],
    ),
    ("toml_edit", &["hob-kit", "hob-services"]),
    ("clap", &["hob", "hob-bench", "hob-sim"]),
    ("anyhow", &["hob", "hob-bench", "xtask"]),
];

pub(super) fn check(workspace: &Workspace) -> Vec<TidyFinding> {
    let mut findings = Vec::new();
    for member in &workspace.members {
        let Some(layer) = layer_of(member) else {
            findings.push(TidyFinding::new(
                &member.manifest,
                1,
                format!("`{}` has no layer", member.name),
                "Add `[package.metadata.hob] layer = \"…\"` with a layer of ARCHITECTURE.md.",
            ));
            continue;
        };
        let shipped = member.dependencies.iter().filter(|found| !found.dev);
        for dependency in shipped {
            findings.extend(upward_dependency(workspace, member, layer, dependency));
            findings.extend(restricted_dependency(member, dependency));
        }
    }
    findings
}

fn upward_dependency(
    workspace: &Workspace,
    member: &WorkspaceCrate,
    layer: usize,
    dependency: &CrateDependency,
) -> Option<TidyFinding> {
    let below = workspace.member(&dependency.name)?;
    let pair = (member.name.as_str(), below.name.as_str());
    let below_layer = layer_of(below)?;
    let is_below = below_layer < layer || SAME_LAYER.contains(&pair);
    if is_below && (member.name == ROOT || is_visible(LAYERS[layer], LAYERS[below_layer])) {
        return None;
    }
    Some(TidyFinding::new(
        &member.manifest,
        member.line_of(&dependency.name),
        format!(
            "`{}` ({}) depends on `{}` ({})",
            member.name, LAYERS[layer], below.name, LAYERS[below_layer]
        ),
        "Depend downward: move the shared part to a lower layer, or call it over the bus.",
    ))
}

fn restricted_dependency(
    member: &WorkspaceCrate,
    dependency: &CrateDependency,
) -> Option<TidyFinding> {
    let (_, rooms) = RESTRICTED_CRATES
        .iter()
        .find(|(name, _)| *name == dependency.name)?;
    if rooms.contains(&member.name.as_str()) {
        return None;
    }
    Some(TidyFinding::new(
        &member.manifest,
        member.line_of(&dependency.name),
        format!("`{}` uses `{}` itself", member.name, dependency.name),
        "Go through a crate that may use it (xtask/src/tidy/layers.rs, `RESTRICTED_CRATES`).",
    ))
}

fn is_visible(layer: &str, below: &str) -> bool {
    let sight = VISIBLE_LAYERS.iter().find(|(name, _)| *name == layer);
    sight.is_none_or(|(_, layers)| layers.contains(&below))
}

fn layer_of(member: &WorkspaceCrate) -> Option<usize> {
    let layer = member.layer.as_deref()?;
    LAYERS.iter().position(|name| *name == layer)
}

#[cfg(test)]
#[path = "layers_tests.rs"]
mod tests;
