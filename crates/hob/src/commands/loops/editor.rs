//! Opens a text in the user's editor.

use crate::context::CommandContext;
use crate::failure::CommandFailure;
use std::io::{IsTerminal, Write};
use std::process::Stdio;

/// The editor if neither VISUAL nor EDITOR is set.
const DEFAULT_EDITOR: &str = "vi";

/// Opens `text` in the editor and returns the edited text. The temporary file is private and removed
/// afterwards.
pub(super) async fn edit_text(
    context: &CommandContext,
    text: &str,
) -> Result<String, CommandFailure> {
    if !std::io::stdin().is_terminal() || !std::io::stdout().is_terminal() {
        return Err(CommandFailure::usage("An editor needs a terminal.")
            .next("Without one, set the text: hob loop persistent NAME - < FILE"));
    }
    let env = &context.host.env;
    let named = env.text("VISUAL").or_else(|| env.text("EDITOR"));
    let named = named
        .filter(|it| !it.trim().is_empty())
        .unwrap_or(DEFAULT_EDITOR);
    let (editor, text) = (named.to_owned(), text.to_owned());
    let folder = context.host.home.run();
    let name = format!("edit-{}.md", context.host.randomness.hex(8));
    let path = folder.join(name);
    let done = tokio::task::spawn_blocking(move || {
        let opened = run_editor(&editor, &path, &text);
        // A file that cannot be removed stays in a private folder that the next start empties.
        let _ = std::fs::remove_file(&path);
        opened
    });
    done.await
        .unwrap_or_else(|error| Err(std::io::Error::other(error)))
        .map_err(|error| {
            CommandFailure::failed(format!("The editor '{named}' failed: {error}."))
                .next("Set EDITOR to one that works.")
        })
}

fn run_editor(editor: &str, path: &std::path::Path, text: &str) -> std::io::Result<String> {
    use std::os::unix::fs::OpenOptionsExt;
    let mut file = std::fs::OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(path)?;
    file.write_all(text.as_bytes())?;
    drop(file);
    #[expect(
        clippy::disallowed_methods,
        reason = "the user's editor needs the user's terminal, which a sandboxed child does not have"
    )]
    let mut command = std::process::Command::new("sh");
    // As in git, the variable may hold a program with arguments, so a shell splits it.
    let status = command
        .arg("-c")
        .arg(format!("{editor} \"$1\""))
        .arg(editor)
        .arg(path)
        .stdin(Stdio::inherit())
        .status()?;
    if !status.success() {
        return Err(std::io::Error::other(format!("it ended with {status}")));
    }
    let text = std::fs::read_to_string(path)?;
    Ok(text.trim_end_matches('\n').to_owned())
}
