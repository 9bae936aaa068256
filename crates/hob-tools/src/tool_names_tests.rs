//! Nothing outside a tool's folder knows its name: what is special about a tool is a field of its
//! entry.

use crate::builtins;
use std::path::{Path, PathBuf};

/// The crates that use tools.
const CRATES: [&str; 5] = ["hob-core", "hob-daemon", "hob-gateway", "hob-store", "hob"];
/// A file that may name tools: agents of another system are lists of tools, so names are its content.
const EXEMPT: &str = "agent_packs.rs";

#[test]
fn no_other_crate_names_a_tool() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut found = Vec::new();
    for name in CRATES {
        for file in sources(&crates.join(name).join("src")) {
            let text = std::fs::read_to_string(&file).expect("is text");
            let named = named_tools(&text).into_iter();
            found.extend(named.map(|it| format!("{}: {it}", file.display())));
        }
    }
    assert!(found.is_empty(), "{}", found.join("\n"));
}

#[test]
fn a_name_is_found_where_it_can_only_be_a_tool() {
    for code in [
        "const MEMORY: &str = \"loop_memory\";",
        "let open = name.starts_with(\"sessions_\");",
        "const TERMINAL: &str = \"terminal\";",
        "const COMMAND_TOOLS: [&str; 2] = [\n    \"exec\",\n    \"process\",\n];",
        "if call.tool == \"exec\" {",
        "matches!(tool.as_str(), \"read\" | \"list\")",
        "let terminal = \"Call the tool `terminal` now.\";",
    ] {
        assert!(!named_tools(code).is_empty(), "{code}");
    }
    for code in [
        "// The tool \"exec\" is special.\nlet x = 1;",
        "Some((\"list\", matches)) => list(context, matches).await,",
        "let kind = table.word(\"kind\", &[\"http\", \"process\"]);",
        "const ROOM: &str = \"terminal.\";",
        "tools.list(); let scope = \"read\";",
    ] {
        assert_eq!(named_tools(code), Vec::<String>::new(), "{code}");
    }
}

/// The names of tools in the string literals of some code. A name of several words is found wherever
/// it is the whole literal or stands in backticks. A name of one word has other meanings, so it is
/// found only in backticks after `tool`, as the value of a constant, and in a statement that also
/// speaks of tools.
fn named_tools(code: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut statement = String::new();
    for piece in pieces(code) {
        match piece {
            Piece::Code(letter) if matches!(letter, ';' | '{' | '}') => {
                // The type `[&str; 2]` does not end a constant.
                if letter != ';' || !statement.ends_with("&str") {
                    statement.clear();
                }
            }
            Piece::Code(letter) => statement.push(letter.to_ascii_lowercase()),
            Piece::Text(text) => {
                let is_about_tools = statement.contains("tool");
                let is_constant = statement.trim_end().ends_with(": &str =");
                let tools = builtins().map(|(name, _)| name);
                let is_named = |name: &&str| {
                    let has_words = name.contains('_');
                    let before = if has_words { "" } else { "tool " };
                    let is_whole = text == *name && (has_words || is_about_tools || is_constant);
                    is_whole || text.contains(&format!("{before}`{name}`"))
                };
                found.extend(tools.filter(is_named).map(str::to_owned));
                if text == "sessions_" {
                    found.push(text);
                }
            }
        }
    }
    found
}

enum Piece {
    Code(char),
    /// A string literal.
    Text(String),
}

/// Splits code into letters and string literals; comments are left out.
fn pieces(code: &str) -> Vec<Piece> {
    let mut pieces = Vec::new();
    let mut letters = code.chars().peekable();
    while let Some(letter) = letters.next() {
        match letter {
            '/' if letters.peek() == Some(&'/') => {
                while letters.next_if(|letter| *letter != '\n').is_some() {}
            }
            // A character literal may be a quote.
            '\'' if letters.peek() == Some(&'"') => {
                letters.next();
            }
            '"' => {
                let mut text = String::new();
                while let Some(letter) = letters.next().filter(|letter| *letter != '"') {
                    match letter {
                        '\\' => text.extend(letters.next()),
                        letter => text.push(letter),
                    }
                }
                pieces.push(Piece::Text(text));
            }
            letter => pieces.push(Piece::Code(letter)),
        }
    }
    pieces
}

/// The files of production code below a folder.
fn sources(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder).expect("is a folder") {
        let path = entry.expect("can be read").path();
        let shown = path.display().to_string();
        let is_exempt = shown.ends_with("_tests.rs") || shown.ends_with(EXEMPT);
        if path.is_dir() {
            files.extend(sources(&path));
        } else if path.extension().is_some_and(|it| it == "rs") && !is_exempt {
            files.push(path);
        }
    }
    files
}
