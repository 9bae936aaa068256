//! Plain-language requests from a shell: one tool, and the system prompt that this tool brings. Pure.

use hob_wire::rooms::agent::AgentRunParams;

/// Makes a run a plain-language request. It drops the workspace, because the tool has a folder of its
/// own and the question shows it.
pub fn configure_run(params: &mut AgentRunParams) {
    let mut tools = hob_tools::builtins();
    let Some((tool, prompt)) = tools.find_map(|(name, it)| Some((name, it.traits.plain_language?)))
    else {
        return;
    };
    let stands = params.workspace.take();
    params.folder.clone_from(&stands);
    let stands = stands.map(|folder| {
        format!(
            "The person stands in {folder}. The terminal may be elsewhere: name that folder in a \
             command where it matters.\n"
        )
    });
    params.system = Some(format!("{}{prompt}", stands.unwrap_or_default()));
    params.tools = Some(vec![tool.to_owned()]);
}
