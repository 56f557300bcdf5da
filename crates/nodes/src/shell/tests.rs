use std::sync::{Arc, Weak};

use jiff::Timestamp;
use parking_lot::Mutex;

use super::*;
use crate::files::{Tree, absolute};

fn world() -> Arc<World> {
    let mut tree = Tree::default();
    for directory in ["tmp", "data"] {
        tree.create_all(&absolute("/", directory), Timestamp::UNIX_EPOCH)
            .unwrap();
    }
    Arc::new(World {
        files: Files::new((tree, false), Vec::new(), Timestamp::UNIX_EPOCH),
        hostname: "web-0".to_owned(),
        ip: Some("10.244.0.2".to_owned()),
        namespace: "default".to_owned(),
        user: 0,
        group: 0,
        groups: vec![0],
        is_privileged: false,
        clock: Arc::new(|| Timestamp::UNIX_EPOCH),
        network: Network::new(Weak::new()),
        traps: Mutex::default(),
    })
}

/// Runs a script. Returns its exit code and output.
async fn run_in(world: &Arc<World>, script: &str) -> (i32, String) {
    let (writer, reader) = tokio::io::duplex(1 << 16);
    let writer = Writer::new(writer);
    let io = Stdio {
        stdin: Reader::new(std::io::Cursor::new(b"first\nsecond\n".to_vec())),
        stdout: writer.clone(),
        stderr: writer,
    };
    let env = BTreeMap::from([("HOME".to_owned(), "/root".to_owned())]);
    let reader = Reader::new(reader);
    let shell = Shell::new(world.clone(), env, "/");
    let (code, text) = tokio::join!(shell.evaluate(script, io), reader.all());
    (code, String::from_utf8(text.unwrap()).unwrap())
}

async fn run(script: &str) -> (i32, String) {
    run_in(&world(), script).await
}

#[tokio::test(start_paused = true)]
async fn scripts_run() {
    for (script, code, printed) in [
        ("echo 'a  b' c; false || exit 7; echo never", 7, "a  b c\n"),
        (
            "x=3; while [ $x -gt 0 ]; do echo $x; x=$((x - 1)); done",
            0,
            "3\n2\n1\n",
        ),
        (
            "for i in a b 'c d'; do echo \"<$i>\"; done",
            0,
            "<a>\n<b>\n<c d>\n",
        ),
        (
            "if test -e /missing; then echo yes; elif true; then echo no; fi",
            0,
            "no\n",
        ),
        (
            "case abc in a*) echo star;; *) echo other;; esac",
            0,
            "star\n",
        ),
        ("echo one two | wc -w", 0, "2\n"),
        (
            "echo $(echo nested $(echo twice)) `hostname`",
            0,
            "nested twice web-0\n",
        ),
        (
            "echo ${missing:-default} ${#HOME} ${HOME#/} ${HOME%t}",
            0,
            "default 5 root /roo\n",
        ),
        (
            "f() { echo \"$# $1\"; return 4; }; f 'x y' z; echo $?",
            0,
            "2 x y\n4\n",
        ),
        ("seq 1 1000000 | head -n 2", 0, "1\n2\n"),
        ("yes | head -n 1", 0, "y\n"),
        ("set -e; false; echo never", 1, ""),
        (
            "set -e; if false; then :; fi; false || true; echo here",
            0,
            "here\n",
        ),
        ("(exit 3); echo $?; ! true; echo $?", 0, "3\n1\n"),
        ("exit $(expr 5 % 2)", 1, ""),
        ("missing 2>/dev/null; echo $?", 0, "127\n"),
        ("read a; read b; echo $b $a", 0, "second first\n"),
        (
            "sh -c 'echo $0 $1' name arg; X=1 sh -c 'echo $X'; echo [$X]",
            0,
            "name arg\n1\n[]\n",
        ),
        ("sleep 3600 & sleep 1; echo done", 0, "done\n"),
        (
            "(sleep 2; echo late) & echo early; wait",
            0,
            "early\nlate\n",
        ),
        ("printf '%s=%d\\n' a 1 b 2", 0, "a=1\nb=2\n"),
        (
            "echo b a | tr ' ' '\\n' | sort | sed 's/a/<&>/'",
            0,
            "<a>\nb\n",
        ),
        (
            "for i in 1 2 3; do [ $i = 2 ] && continue; [ $i = 3 ] && break; echo $i; done",
            0,
            "1\n",
        ),
        (
            "echo 'x",
            2,
            "sh: syntax error: unterminated quoted string\n",
        ),
    ] {
        assert_eq!(run(script).await, (code, printed.to_owned()), "{script}");
    }
}

#[tokio::test]
async fn scripts_use_the_files_of_their_container() {
    let world = world();
    let first = "if [[ -r /data/foo ]] ; then exit 0 ; else touch /data/foo ; exit 1 ; fi";
    assert_eq!(run_in(&world, first).await.0, 1);
    assert_eq!(run_in(&world, first).await.0, 0);
    let script =
        "cd /tmp && echo 1 > a && echo 2 >> a && cat < a && ls && mv -v a b && rm b && ls | wc -l";
    let printed = "1\n2\na\nrenamed 'a' -> '/tmp/b'\n0\n";
    assert_eq!(run_in(&world, script).await, (0, printed.to_owned()));
    let script = "mkdir -p /tmp/x/y; touch /tmp/x/y/1.txt /tmp/x/y/2.txt; echo /tmp/x/*/*.txt; find /tmp/x -name '2*'";
    let printed = "/tmp/x/y/1.txt /tmp/x/y/2.txt\n/tmp/x/y/2.txt\n";
    assert_eq!(run_in(&world, script).await, (0, printed.to_owned()));
    let script = "tar cf - -C /tmp x | (mkdir /data/in; tar xf - -C /data/in); ls /data/in/x/y";
    assert_eq!(
        run_in(&world, script).await,
        (0, "1.txt\n2.txt\n".to_owned())
    );
}

#[tokio::test(start_paused = true)]
async fn endless_scripts_yield_to_other_tasks() {
    let endless = run("while true; do :; done");
    let limit = std::time::Duration::from_secs(1);
    assert!(tokio::time::timeout(limit, endless).await.is_err());
}

#[tokio::test]
async fn scripts_are_bounded() {
    for script in ["f() { f; }; f", "sh -c 'eval \"$0\"' 'eval \"$0\"'"] {
        let (code, _) = run(script).await;
        assert_ne!(code, 0, "{script}");
    }
}
