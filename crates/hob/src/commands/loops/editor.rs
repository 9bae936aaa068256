//! A text in the person's own editor.

use crate::context::Context;
use crate::failure::Failure;
use std::io::{IsTerminal, Write};
use std::process::Stdio;

/// What is opened when the environment names nothing.
const EDITOR: &str = "vi";

/// `text` as the editor left it. The file is private and gone afterwards.
pub(super) async fn edited(context: &Context, text: &str) -> Result<String, Failure> {
    if !std::io::stdin().is_terminal() || !std::io::stdout().is_terminal() {
        return Err(Failure::usage("An editor needs a terminal.")
            .next("Without one, set the text: hob loop persistent NAME - < FILE"));
    }
    let env = &context.world.env;
    let named = env.text("VISUAL").or_else(|| env.text("EDITOR"));
    let named = named.filter(|it| !it.trim().is_empty()).unwrap_or(EDITOR);
    let (editor, text) = (named.to_owned(), text.to_owned());
    let folder = context.world.home.run();
    let name = format!("edit-{}.md", context.world.dice.hex(8));
    let path = folder.join(name);
    let done = tokio::task::spawn_blocking(move || {
        let opened = open(&editor, &path, &text);
        // What cannot be removed lies in a private folder that the next start empties.
        let _ = std::fs::remove_file(&path);
        opened
    });
    done.await
        .unwrap_or_else(|error| Err(std::io::Error::other(error)))
        .map_err(|error| {
            Failure::failed(format!("The editor '{named}' did not work: {error}."))
                .next("Set EDITOR to one that does.")
        })
}

fn open(editor: &str, path: &std::path::Path, text: &str) -> std::io::Result<String> {
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
        reason = "the person's own editor on their own terminal, which a child of the sandbox does not have"
    )]
    let mut command = std::process::Command::new("sh");
    // The variable may hold a program with its arguments, as git takes it.
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
