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
    let command = EditorCommand::of(context);
    let editor = command.editor.clone();
    let text = text.to_owned();
    let done = tokio::task::spawn_blocking(move || command.edit_file(&text));
    done.await
        .unwrap_or_else(|error| Err(std::io::Error::other(error)))
        .map_err(|error| {
            CommandFailure::failed(format!("The editor '{editor}' failed: {error}."))
                .next("Set EDITOR to one that works.")
        })
}

/// The editor of the environment, and the file that it opens.
#[derive(Clone, Debug)]
pub(crate) struct EditorCommand {
    editor: String,
    path: std::path::PathBuf,
}

impl EditorCommand {
    pub(crate) fn of(context: &CommandContext) -> EditorCommand {
        let env = &context.host.env;
        let named = env.text("VISUAL").or_else(|| env.text("EDITOR"));
        let named = named.filter(|it| !it.trim().is_empty());
        let name = format!("edit-{}.md", context.host.randomness.hex(8));
        EditorCommand {
            editor: named.unwrap_or(DEFAULT_EDITOR).to_owned(),
            path: context.host.home.run().join(name),
        }
    }

    /// Opens `text` and returns the edited text, or a sentence about what is wrong.
    pub(crate) fn edit(&self, text: &str) -> Result<String, String> {
        self.edit_file(text)
            .map_err(|error| format!("The editor '{}' failed: {error}. Set EDITOR.", self.editor))
    }

    fn edit_file(&self, text: &str) -> std::io::Result<String> {
        let opened = run_editor(&self.editor, &self.path, text);
        // A file that cannot be removed stays in a private folder that the next start empties.
        let _ = std::fs::remove_file(&self.path);
        opened
    }
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
