"""Makes notes to measure with, and questions that such notes answer. The same number gives the same notes, always."""
import datetime
import hashlib
import itertools
import os
import random
import subprocess

WORDS = """postgres sqlite rust python async mutex deadlock retry timeout cache index vector search token login cookie
docker kubernetes nginx tls certificate git commit rebase merge branch deploy rollback release schema migration backup
restore replica queue kafka redis json yaml markdown editor agent memory recall prompt context latency profile heap
thread signal watcher atomic rename checksum uuid timezone unicode parser regex compiler fixture benchmark budget
invoice customer meeting decision preference allergy travel berlin tokyo birthday recipe garden piano""".split()
SYLLABLES = "ba co di fu ga he ji ko lu ma ne pi qua ro sa te ul vi wo xa ye zo tra ste plo".split()


def vocabulary(dice):
    made = {"".join(dice.choice(SYLLABLES) for _ in range(dice.randint(2, 4))) for _ in range(8000)}
    words = sorted(made)
    dice.shuffle(words)
    for word in WORDS:
        words.insert(dice.randint(20, 1500), word)
    return words


def sentences_of(dice, words):
    """Makes texts of words that are as frequent as those of a language, one for each call."""
    totals = list(itertools.accumulate(1 / (place + 2.7) for place in range(len(words))))

    def sentences():
        body = dice.choices(words, cum_weights=totals, k=int(dice.triangular(60, 400, 160)))
        return [" ".join(body[i:i + 12]).capitalize() + "." for i in range(0, len(body), 12)]

    return sentences


def texts(count):
    """Texts of about 1.9 KB, which none of the notes has."""
    sentences = sentences_of(random.Random(43), vocabulary(random.Random(42)))
    return [f"# A memory of round {number}\n\n" + "\n".join(sentences()) for number in range(count)]


def make_notes(folder, count):
    dice = random.Random(42)
    sentences_of_note = sentences_of(dice, vocabulary(dice))
    at = datetime.datetime(2024, 1, 1, 8, tzinfo=datetime.timezone.utc)
    for number in range(count):
        at += datetime.timedelta(seconds=dice.randint(60, 5000))
        handle = hashlib.sha1(str(number).encode()).hexdigest()[:7] + "a"
        title = " ".join(dice.choice(WORDS) for _ in range(3)).title() + f" {number}"
        sentences = sentences_of_note()
        if number % max(1, count // 20) == 0:
            sentences.append(f"Marker zqneedle{number // max(1, count // 20)} here.")
        topics = ", ".join(dice.sample(WORDS, 4))
        with open(os.path.join(folder, f"{at:%Y%m%d_%H%M%S}_{handle}.md"), "w") as note:
            note.write(
                f"---\nid: {handle}\ntimestamp: {at.isoformat()}\nagent: claude\nuser: alice\n"
                f"topics: [{topics}]\ntitle: {title}\n---\n\n# {title}\n\n" + "\n".join(sentences) + "\n"
            )


def indexed_store(program, home, count):
    """Makes an indexed store of so many notes in `home`, and returns the variables of who uses it without git and models."""
    store = os.path.join(home, "store")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("MEMDIR", "AIAML", "GIT_"))}
    environment = {**kept, "HOME": home, "XDG_STATE_HOME": os.path.join(home, "state"), "MEMDIR_STORE": store,
                   "MEMDIR_NAMESPACE": "global", "MEMDIR_GIT": "off", "MEMDIR_EMBEDDING": "off", "TZ": "UTC"}
    subprocess.run([program, "init", "--no-git", store], check=True, env=environment, stdout=subprocess.DEVNULL)
    make_notes(os.path.join(store, "files"), count)
    subprocess.run([program, "reindex"], check=True, env=environment, stdout=subprocess.DEVNULL)
    return environment


def questions(count):
    dice = random.Random(7)
    words = vocabulary(random.Random(42))
    kinds = [
        lambda: f"zqneedle{dice.randint(0, 19)}",
        lambda: dice.choice(WORDS),
        lambda: f"{dice.choice(WORDS)} {dice.choice(WORDS)}",
        lambda: f"{dice.choice(words[200:3000])} {dice.choice(WORDS)}",
        lambda: " ".join(dice.choice(words[50:3000]) for _ in range(3)),
    ]
    return [kinds[number % len(kinds)]() for number in range(count)]
