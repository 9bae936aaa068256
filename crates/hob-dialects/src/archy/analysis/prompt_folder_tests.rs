//! Prompts as shells and their themes show them.

use super::folder_of;

#[test]
fn the_last_prompt_names_the_folder() {
    for (text, expected) in [
        (
            "ann@desk:~/work$ ls\na b\nann@desk:~/work/hob$ ",
            Some("~/work/hob"),
        ),
        ("root@desk:/etc# ", Some("/etc")),
        ("[ann@desk hob]$ make", Some("hob")),
        ("➜  hob git:(main) ✗ ", Some("hob")),
        ("~/work ❯ ", Some("~/work")),
        ("/srv > ls", Some("/srv")),
        ("/srv $\n\n\n", Some("/srv")),
        ("just text\nand: more $ of it", None),
        ("/usr/bin/ls", None),
        ("cost: 5$ a@b", None),
        ("", None),
    ] {
        assert_eq!(folder_of(text), expected, "{text:?}");
    }
}
