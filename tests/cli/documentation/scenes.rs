//! What is there before the commands of a block, which programs stand in for others, and which
//! commands are not run.
//!
//! A scene is a script for bash. `called 42b49cc5 COMMAND…` runs a command that prints an id, and
//! has that id stand for the one in the page.

/// Commands that are not run, by how they begin, each with the reason.
pub const EXEMPT: &[(&str, &str)] = &[
    (
        "tests/clients/conformance.sh",
        "installs the protocol's conformance suite from the network",
    ),
    (
        "memdir model download           #",
        "downloads 23 MB from the network",
    ),
    (
        "memdir model download ms-marco-MiniLM-L-6-v2",
        "downloads 24 MB from the network",
    ),
    (
        "memdir model use all-MiniLM-L6-v2",
        "uses what was downloaded from the network",
    ),
    (
        "memdir model status --json",
        "shows what was downloaded from the network",
    ),
];

/// Programs that the pages use and that a test cannot.
pub const STAND_INS: &[(&str, &str)] = &[
    // Builds and runs nothing, but everything that its arguments name must be there.
    (
        "cargo",
        r#"cd "$(cat $ROOT/checkout)"
[ "$1" = +nightly ] && shift
case "$1" in build|install|test|deny|fuzz) ;; *) exit 1;; esac
[ "$1" = deny ] && exec test -f deny.toml
if [ "$1" = fuzz ]; then
    [ "$3 $4" = "--fuzz-dir tests/fuzz" ] && exec test -f "tests/fuzz/targets/$5.rs"
fi
shift
while [ $# -gt 0 ]; do
    case "$1" in
        --) break;;
        --path) test -f "$2/Cargo.toml"; shift;;
        --test) test -f "tests/$2.rs" || test -f "tests/$2/main.rs"; folder=tests/$2; shift;;
        --locked|--bins|--examples) ;;
        *::) test -d "$folder/${1%::}" || test -f "$folder/${1%::}.rs";;
        *) name=${1//:://}; test -e "$folder/$name.rs" || test -d "$folder/$name";;
    esac
    shift
done"#,
    ),
    // The tests and measurements in Python take minutes. Each must be there and know its options.
    (
        "python3",
        r#"cd "$(cat $ROOT/checkout)"
test -f "$1"
for option in "${@:2}"; do
    case "$option" in --*) grep -q -e "\"$option\"" "$1";; esac
done"#,
    ),
    // The client starts the server that it is told of, and says hello.
    (
        "claude",
        r#"[ "$1 $2" = "mcp add" ]
while [ "$1" != -- ]; do shift; done
shift
exec "$@""#,
    ),
    (
        "loci",
        r#"[ "$*" = export ]
echo '{"id":"0190b8f0-0000-7000-8000-000000000001","type":"semantic","content":"Deploys go out on Tuesdays.","created_at":"2026-01-07T00:00:00Z"}'"#,
    ),
    // A remote without a network: the other side's program runs here.
    (
        "ssh",
        r#"[ "$1" = -G ] && exit 1
cd $ROOT/remotes
exec sh -c "${@: -1}""#,
    ),
];

pub const SCENES: &[(&str, &str)] = &[
    (
        "checkout",
        r#"mkdir ~/memdir && cd ~/memdir
cp -r "$(cat $ROOT/checkout)/examples" ."#,
    ),
    (
        "history",
        r"memdir init ~/memories && cd ~/memories
called 4f99d222 memdir remember --topics deploy 'Deploys go out on Tuesdays, after the backup.'
memdir update $(of 4f99d222) --content 'Deploys go out on Wednesdays.'",
    ),
    (
        "added",
        r"memdir init ~/memories && cd ~/memories
called 4f99d222 memdir remember 'Deploys go out on Tuesdays.'",
    ),
    ("clients", "mkdir ~/.claude ~/.codex ~/.cursor"),
    (
        "remote",
        r"git init -q --bare $ROOT/remotes/mira/memories.git
memdir remember 'A store that is there already.'",
    ),
    (
        "in-step",
        r"git init -q --bare $ROOT/remotes/mira/memories.git
memdir init ~/other --remote git@example.org:mira/memories.git
memdir --store ~/other remember 'One.' && memdir --store ~/other remember 'Two.' && memdir --store ~/other sync
memdir init ~/memories --remote git@example.org:mira/memories.git
memdir --store ~/other remember 'Three.' && memdir --store ~/other remember 'Four.' && memdir --store ~/other sync
cd ~/memories && memdir remember 'Five.'",
    ),
    (
        "status",
        r"git init -q --bare $ROOT/remotes/mira/memories.git
memdir init ~/memories --remote git@example.org:mira/memories.git && cd ~/memories
memdir remember 'One.' && memdir remember 'Two.' && memdir remember 'Three.' && memdir sync && memdir reindex
echo 'A note.' > files/notes.md",
    ),
    (
        "emptied",
        r"git init -q --bare $ROOT/remotes/mira/memories.git
memdir init ~/memories --remote git@example.org:mira/memories.git && cd ~/memories
called 4f99d222 memdir remember 'Deploys go out on Tuesdays.'
memdir forget $(memdir remember 'It rains.') && memdir sync",
    ),
    (
        "token",
        r#"memdir init ~/memories && cd ~/memories
token=ghp_$(printf 'a1B2c3D4e5F6%.0s' 1 2 3)
called 1f3a9c02 memdir remember --topics deploy "The registry's token is $token" 2> /dev/null"#,
    ),
    (
        "tiles",
        r"memdir init ~/memories && cd ~/memories
called 42b49cc5 memdir remember --topics atlas,database --title 'Tiles live in PostgreSQL' \
    'Atlas keeps tile metadata in PostgreSQL 17: two writers, and backups exist already. See the runbook.'",
    ),
    (
        "deploys",
        r"memdir init ~/memories && cd ~/memories
note 20261121_151559_42b49cc5 'Atlas keeps tile metadata in PostgreSQL 17: two writers, and backups exist already. See the runbook.'
memdir update 42b49cc5 --topics atlas,database --title 'Tiles live in PostgreSQL'
note 20261121_151559_d2851d84 'Deploys go out on Tuesdays, after the backup.'
memdir update d2851d84 --topics deploy --kind procedural --expires 2027-01-31 --meta ticket=ATL-212
note 20261121_151601_c2571abe 'Deploys go out on Wednesdays.'
memdir update c2571abe --topics deploy
memdir supersede d2851d84 c2571abe",
    ),
    (
        "tulips",
        r"memdir init ~/memories && cd ~/memories
note 20240306_060708_1f3a9c02 'They stand beside the [[tulips]].'
echo 'Plant them in autumn.' > files/tulips.md && touch -d 2024-03-05T06:07:08Z files/tulips.md",
    ),
    (
        "vault",
        r"mkdir ~/vault && memdir init ~/memories && cd ~/memories
called 42b49cc5 memdir remember 'Tiles live in PostgreSQL.'",
    ),
    (
        "duplicates",
        r"memdir init ~/memories && cd ~/memories
called d2851d84 memdir remember 'Deploys go out on Tuesdays, after the backup.'
called 5c1f0ab2 memdir remember --title 'How we deploy' 'By hand.'",
    ),
    (
        "expired",
        r"memdir init ~/memories && cd ~/memories
called 42b49cc5 memdir remember --timestamp 2026-01-14 --expires 2026-01-31 'Mira is away.'",
    ),
    (
        "episodes",
        r#"memdir init ~/memories && cd ~/memories
for day in 05 06 07 08 09; do
    note 202601${day}_000000_000000$day "Mira fixed ticket $day."
    memdir update 000000$day --kind episodic
done"#,
    ),
    (
        "used",
        r"memdir init ~/memories && cd ~/memories
called 42b49cc5 memdir remember --topics atlas,database --title 'Tiles live in PostgreSQL' \
    'Atlas keeps tile metadata in PostgreSQL 17: two writers, and backups exist already. See the runbook.'
called d2851d84 memdir remember --title 'How we deploy atlas' 'With a tag.'
memdir update $(of 42b49cc5) --tier mid
memdir link $(of d2851d84) $(of 42b49cc5) --type depends-on
memdir recall $(of 42b49cc5) && memdir recall $(of 42b49cc5) && memdir recall $(of 42b49cc5)",
    ),
    (
        "conflict",
        r"memdir init ~/memories && cd ~/memories
note 20261121_212840_4f99d222 'We meet on Tuesday.'
note 20261121_212840_af21c3d0 'We meet on Friday.'
memdir link 4f99d222 af21c3d0 --type conflicts-with",
    ),
    (
        "unmerged",
        r"memdir init ~/memories && cd ~/memories
note 20261121_212840_4f99d222 'We meet on Tuesday.'
note 20261121_212840_af21c3d0 'We meet on Friday.'
memdir link 4f99d222 af21c3d0 --type conflicts-with
note 20261121_151559_1f3a9c02 $'Atlas.\n\n<<<<<<< HEAD\nMay.\n=======\nJune.\n>>>>>>> theirs\n'",
    ),
    (
        "stick",
        r"memdir init ~/memories && cd ~/memories
memdir init /media/stick/memories
called 8ba07f35 memdir remember 'It rains.'
memdir sync --with /media/stick/memories
memdir --store /media/stick/memories forget $(of 8ba07f35)
called 4f99d222 memdir --store /media/stick/memories remember 'Deploys go out on Tuesdays.'
head -c 20000000 /dev/zero | tr '\0' x > /media/stick/memories/files/huge.md",
    ),
    (
        "three",
        r"memdir init ~/memories && cd ~/memories
memdir remember 'One.' && memdir remember 'Two.' && memdir remember 'Three.'
rm -r .memdir",
    ),
    ("certificate", r"cp $ROOT/cert.pem $ROOT/key.pem ."),
    (
        "served",
        r"cp $ROOT/*.pem .
memdir remember 'Deploys go out on Tuesdays.'
echo export MEMDIR_TOKEN=$(memdir token show) > $ROOT/env
memdir serve --listen 0.0.0.0:9077 --socket /run/memdir.sock --allow-host localhost --tls-cert cert.pem --tls-key key.pem",
    ),
    (
        "import",
        r#"echo '{"memories":[{"id":"0190b8f0-0000-7000-8000-000000000001","title":"Deploys","content":"On Tuesdays."}],"links":[]}' > ai-memory.db
mkdir vault && echo 'Deploys go out on [[Tuesdays]].' > vault/deploys.md"#,
    ),
    (
        "dataset",
        r#"mkdir DATASET
echo '{"id":"a","timestamp":"2026-01-07T00:00:00Z","user":"mira","agent":"cli","text":"Deploys go out on Tuesdays."}' > DATASET/corpus.jsonl
echo '{"qid":"q","query":"when do deploys go out","relevant_ids":["a"]}' > DATASET/queries.jsonl
echo '[{"sample_id":"c1","conversation":{"session_1_date_time":"1:56 pm on 8 May, 2023","session_1":[{"speaker":"Ana","dia_id":"D1:1","text":"I deploy on Tuesdays."}]},"qa":[{"question":"When does Ana deploy?","evidence":["D1:1"],"category":1}]}]' > locomo10.json"#,
    ),
];

pub fn named(name: &str) -> &'static str {
    let scene = SCENES.iter().find(|(known, _)| *known == name);
    scene
        .unwrap_or_else(|| panic!("no scene is called {name}"))
        .1
}
