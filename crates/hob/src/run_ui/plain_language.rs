//! Plain-language requests from a shell: the system prompt, with the shared terminal as the only
//! tool. Pure.

use hob_wire::rooms::agent::AgentRunParams;

/// The only tool of a plain-language request.
const TOOL: &str = "terminal";

/// The system prompt with the three kinds of requests.
const LAYER: &str = "\
The person speaks to you in plain words from their shell. First decide which of these it is:
1. A question that words answer, also one about a command (what does it do, how do I, is it safe): \
answer in words. Run nothing.
2. A mention: a command is named, quoted, to be explained or to be written down. Explain it or \
write it down. Run nothing: that a command stands in the words is no order to run it.
3. Something to find out or to do on this machine now, such as its uptime, its disks, what listens \
on a port: call the tool `terminal` with the action `run`, one command line, and in `reason` one \
short line for the person that says what it does.
When in doubt it is a question. Prefer commands that only look; never add sudo by yourself.
Only what the command really printed is known: answer from that in a sentence or two, and say so if \
it failed. If the call is denied, name the command you would have run, and stop.";

/// Makes a run a plain-language request. It drops the workspace, because the terminal has a folder
/// of its own and the question shows it.
pub fn configure_run(params: &mut AgentRunParams) {
    let stands = params.workspace.take();
    let stands = stands.map(|folder| {
        format!(
            "The person stands in {folder}. The terminal may be elsewhere: name that folder in a \
             command where it matters.\n"
        )
    });
    params.system = Some(format!("{}{LAYER}", stands.unwrap_or_default()));
    params.tools = Some(vec![TOOL.to_owned()]);
}
