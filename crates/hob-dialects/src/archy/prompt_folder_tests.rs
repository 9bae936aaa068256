//! Prompts as shells show them.

use super::prompt_folder;

#[test]
fn prompts_of_many_kinds_show_their_folder() {
    for (text, expected) in [
        ("me@box:~$ ", "~"),
        ("me@box:/var/log# ls\n", "/var/log"),
        ("one\ntwo\nme@box:~/a b$", "~/a b"),
        ("[me@arch work]$ ", "work"),
        ("[root@arch ~]# pacman -Syu", "~"),
        ("/srv/data $ ", "/srv/data"),
        ("~/code/hob ❯ ", "~/code/hob"),
        ("me@box:~$ cat a:b$c", "~"),
        ("me@box:/old$ cd /new\nme@box:/new$ \n\n", "/new"),
        ("(venv) /tmp/x $", "/tmp/x"),
    ] {
        assert_eq!(prompt_folder(text).as_deref(), Some(expected), "{text:?}");
    }
}

#[test]
fn other_texts_show_none() {
    for text in [
        "",
        "\n\n",
        "hello",
        "error: file not found",
        "Price: 5$",
        "total 5 [done]",
        "list[0] is fine",
        "$ ",
        "me@box:~$ \n1\n2\n3\n4\n5\n",
    ] {
        assert_eq!(prompt_folder(text), None, "{text:?}");
    }
}
