//! `hob completions`: prints a shell's completion script.

use crate::context::CommandContext;
use crate::failure::CommandFailure;
use crate::tree;
use crate::tree::help_text::examples;
use clap_complete::Shell;

/// Prints the completion script of a shell.
#[derive(Debug, clap::Args)]
#[command(after_help = examples(&[
    "hob completions bash > ~/.local/share/bash-completion/completions/hob",
    "hob completions fish > ~/.config/fish/completions/hob.fish",
    "hob completions zsh > ~/.zfunc/_hob",
]))]
pub struct CompletionsArgs {
    /// The shell.
    shell: Shell,
}

pub fn run(context: &CommandContext, args: &CompletionsArgs) -> Result<(), CommandFailure> {
    Ok(context.terminal.bytes(&script(args.shell))?)
}

/// The script of a shell: commands and flags from the command tree, and names from the daemon.
pub fn script(shell: Shell) -> Vec<u8> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut tree::command(), "hob", &mut script);
    match shell {
        Shell::Bash => script.extend_from_slice(BASH_NAMES.as_bytes()),
        Shell::Fish => script.extend_from_slice(FISH_NAMES.as_bytes()),
        Shell::Zsh => script = zsh_with_names(&script),
        _ => {}
    }
    script
}

/// The generated script ends by calling or registering its function; the one with names takes that
/// place.
fn zsh_with_names(script: &[u8]) -> Vec<u8> {
    let text = String::from_utf8_lossy(script);
    let (functions, _) = text.split_once(ZSH_END).unwrap_or((&text, ""));
    format!("{functions}{ZSH_NAMES}").into_bytes()
}

const ZSH_END: &str = "if [ \"$funcstack[1]\"";

/// Names first, else what the generated function knows. Bash splits words at colons, which sessions
/// have, so the part before the last colon is cut from each answer.
const BASH_NAMES: &str = r#"
_hob_names() {
    local line="${COMP_LINE:0:COMP_POINT}" words word names name
    read -ra words <<< "$line"
    [[ "$line" == *" " ]] && words+=("")
    word="${words[-1]}"
    names="$(hob complete-names -- "${words[@]:1}" 2>/dev/null)"
    if [[ -z "$names" ]]; then
        _hob "$@"
        return
    fi
    COMPREPLY=()
    while IFS= read -r name; do
        COMPREPLY+=("${name#"${word%"${word##*[:=]}"}"}")
    done <<< "$names"
}
complete -F _hob_names -o nosort -o bashdefault -o default hob 2>/dev/null ||
    complete -F _hob_names -o bashdefault -o default hob
"#;
const ZSH_NAMES: &str = r#"
_hob_names() {
    local -a names
    names=("${(@f)$(hob complete-names -- "${(@)words[2,CURRENT]}" 2>/dev/null)}")
    if [[ -n "$names" ]]; then
        compadd -a names
    else
        _hob "$@"
    fi
}
if [ "$funcstack[1]" = "_hob" ]; then
    _hob_names "$@"
else
    compdef _hob_names hob
fi
"#;
const FISH_NAMES: &str = r"
complete -c hob -a '(hob complete-names -- (commandline -opc)[2..-1] (commandline -ct) 2>/dev/null)'
";
