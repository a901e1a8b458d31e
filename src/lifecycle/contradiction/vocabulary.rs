//! The words by which claims are understood: English first, and what German and French need.
//!
//! A word that is missing costs a hint; one too many may cost a false one.

/// Whether one word says that it is, not what it does.
pub(super) fn is_copula(word: &str) -> bool {
    const WORDS: [&str; 9] = ["is", "are", "be", "ist", "sind", "est", "sont", "es", "son"];
    WORDS.contains(&word)
}

/// What something has one of at a time: it says how things are, and for long.
pub(super) fn is_stative(word: &str) -> bool {
    const WORDS: [&str; 146] = [
        "reports",
        "leaves",
        "departs",
        "meets",
        "goes",
        "points",
        "supports",
        "support",
        "guarantees",
        "guarantee",
        "opens",
        "closes",
        "keeps",
        "allows",
        "arbeitet",
        "beträgt",
        "gilt",
        "leitet",
        "use",
        "uses",
        "require",
        "requires",
        "need",
        "needs",
        "want",
        "wants",
        "prefer",
        "prefers",
        "run",
        "runs",
        "listen",
        "listens",
        "live",
        "lives",
        "work",
        "works",
        "lie",
        "lies",
        "sent",
        "stored",
        "kept",
        "saved",
        "hosted",
        "owned",
        "belongs",
        "belong",
        "located",
        "deployed",
        "built",
        "written",
        "named",
        "called",
        "planned",
        "scheduled",
        "takes",
        "take",
        "end",
        "ends",
        "start",
        "starts",
        "begin",
        "begins",
        "expires",
        "expire",
        "due",
        "cost",
        "costs",
        "consists",
        "consist",
        "limited",
        "set",
        "approved",
        "reached",
        "publish",
        "publishes",
        "published",
        "connects",
        "connect",
        "sits",
        "sit",
        "has",
        "have",
        "maintained",
        "managed",
        "led",
        "leads",
        "lead",
        "assigned",
        "defaults",
        "lasts",
        "signed",
        "released",
        "returns",
        "handled",
        "manages",
        "owns",
        "maintains",
        "benutzt",
        "verwendet",
        "nutzt",
        "läuft",
        "braucht",
        "benötigt",
        "liegt",
        "wohnt",
        "steht",
        "heißt",
        "gehört",
        "hat",
        "kostet",
        "beginnt",
        "endet",
        "utilise",
        "écoute",
        "tourne",
        "préfère",
        "habite",
        "coûte",
        "exige",
        "appartient",
        "done",
        "made",
        "served",
        "provided",
        "implemented",
        "configured",
        "encrypted",
        "merged",
        "installed",
        "mounted",
        "routed",
        "billed",
        "paid",
        "used",
        "shipped",
        "tracked",
        "every",
        "each",
        "jeden",
        "zahlt",
        "usa",
        "utiliza",
        "corre",
        "vive",
        "escucha",
        "prefiere",
    ];
    WORDS.contains(&word)
}

/// What things may have many of at a time: another value is no contradiction, another number is.
pub(super) fn has_many(word: &str) -> bool {
    const WORDS: [&str; 19] = [
        "supports",
        "support",
        "allows",
        "keeps",
        "guarantees",
        "need",
        "needs",
        "require",
        "requires",
        "want",
        "wants",
        "has",
        "have",
        "connects",
        "connect",
        "hat",
        "braucht",
        "benötigt",
        "exige",
    ];
    WORDS.contains(&word)
}

/// What one holds alone, as a rule: "leads the team".
pub(super) fn is_held_by_one(word: &str) -> bool {
    const WORDS: [&str; 7] = [
        "leads",
        "owns",
        "maintains",
        "manages",
        "heads",
        "leitet",
        "dirige",
    ];
    WORDS.contains(&word)
}

/// What many places may do at a time.
pub(super) fn runs(word: &str) -> bool {
    matches!(word, "run" | "runs" | "läuft" | "tourne" | "corre")
}

pub(super) fn is_with(word: &str) -> bool {
    matches!(word, "with" | "mit" | "avec" | "con")
}

/// What names the part that a value plays: "as", "for".
pub(super) fn names_a_part(word: &str) -> bool {
    matches!(
        word,
        "as" | "for" | "als" | "für" | "pour" | "comme" | "como" | "para"
    )
}

/// Before a participle, it makes it a state: "is limited", "must be approved".
pub(super) fn makes_a_state(word: &str) -> bool {
    const WORDS: [&str; 6] = ["gets", "get", "being", "stays", "remains", "to"];
    is_copula(word) || WORDS.contains(&word)
}

pub(super) fn is_past(word: &str) -> bool {
    const WORDS: [&str; 48] = [
        "was", "were", "had", "did", "went", "ran", "took", "made", "got", "came", "said", "saw",
        "met", "found", "bought", "gave", "felt", "told", "won", "began", "spent", "lost", "wrote",
        "sent", "thought", "brought", "caught", "taught", "heard", "ate", "drove", "flew", "grew",
        "knew", "sold", "spoke", "stood", "threw", "wore", "became", "chose", "broke", "fell",
        "war", "waren", "hatte", "hatten", "wurde",
    ];
    WORDS.contains(&word)
}

pub(super) fn is_definite(word: &str) -> bool {
    const WORDS: [&str; 8] = ["the", "der", "die", "das", "le", "la", "el", "our"];
    WORDS.contains(&word)
}

pub(super) fn is_negation(word: &str) -> bool {
    const WORDS: [&str; 17] = [
        "not", "never", "no", "cannot", "nicht", "nie", "niemals", "kein", "keine", "keinen",
        "keiner", "keinem", "pas", "jamais", "nunca", "nobody", "none",
    ];
    WORDS.contains(&word)
}

/// `isn't` → `is`; `None` if there is no "not" at its end.
pub(super) fn without_not(word: &str) -> Option<&str> {
    match word {
        "can't" => Some("can"),
        "won't" => Some("will"),
        "cannot" => Some("can"),
        _ => word.strip_suffix("n't"),
    }
}

/// A verb that only helps another one to be negated.
pub(super) fn is_helper(word: &str) -> bool {
    const WORDS: [&str; 14] = [
        "do", "does", "did", "can", "could", "will", "would", "should", "ne", "need", "must",
        "may", "might", "shall",
    ];
    WORDS.contains(&word)
}

/// A word that changes nothing about what is claimed.
pub(super) fn is_filler(word: &str) -> bool {
    const WORDS: [&str; 24] = [
        "now",
        "currently",
        "also",
        "already",
        "still",
        "just",
        "actually",
        "really",
        "even",
        "very",
        "please",
        "jetzt",
        "aktuell",
        "auch",
        "schon",
        "noch",
        "ne",
        "maintenant",
        "aussi",
        "simply",
        "indeed",
        "generally",
        "usually",
        "normally",
    ];
    WORDS.contains(&word)
}

pub(super) fn is_always(word: &str) -> bool {
    matches!(
        word,
        "always" | "immer" | "toujours" | "siempre" | "single" | "one"
    )
}

pub(super) fn is_only(word: &str) -> bool {
    matches!(
        word,
        "only" | "just" | "nur" | "seulement" | "yet" | "necessarily"
    )
}

pub(super) fn is_personal(word: &str) -> bool {
    const WORDS: [&str; 26] = [
        "i", "i'm", "i've", "i'd", "i'll", "my", "me", "mine", "we", "we're", "we've", "our", "us",
        "user", "user's", "you", "your", "ich", "mein", "meine", "wir", "unser", "je", "mon", "ma",
        "nous",
    ];
    WORDS.contains(&word)
}

/// A sentence that begins so claims nothing by itself.
pub(super) fn begins_a_condition(word: &str) -> bool {
    const WORDS: [&str; 22] = [
        "if",
        "when",
        "whenever",
        "unless",
        "once",
        "while",
        "after",
        "before",
        "wenn",
        "falls",
        "sobald",
        "nachdem",
        "bevor",
        "si",
        "quand",
        "maybe",
        "perhaps",
        "vielleicht",
        "let's",
        "hey",
        "wow",
        "thanks",
    ];
    WORDS.contains(&word)
}

/// A word that begins a clause which gives a reason.
pub(super) fn begins_a_reason(word: &str) -> bool {
    matches!(
        word,
        "because" | "weil" | "denn" | "car" | "whereas" | "although" | "—" | "–" | "-"
    )
}

/// Whether words hold for a day only.
pub(super) fn is_of_a_day(words: &[String]) -> bool {
    const WORDS: [&str; 14] = [
        "today",
        "tomorrow",
        "yesterday",
        "tonight",
        "heute",
        "morgen",
        "gestern",
        "aujourd'hui",
        "demain",
        "hier",
        "recently",
        "lately",
        "last",
        "ago",
    ];
    words.iter().any(|word| WORDS.contains(&word.as_str()))
}

/// A word between two things of which one comes first.
pub(super) fn compares(word: &str) -> bool {
    const WORDS: [&str; 9] = [
        "over", "than", "before", "above", "to", "vor", "statt", "als", "lieber",
    ];
    WORDS.contains(&word)
}

/// Function words of other languages than English.
pub(super) fn is_function_word(word: &str) -> bool {
    const WORDS: [&str; 47] = [
        "der", "die", "das", "den", "dem", "des", "ein", "eine", "einen", "einem", "und", "oder",
        "ist", "sind", "im", "in", "am", "um", "vom", "von", "zum", "zur", "mit", "auf", "aus",
        "bei", "für", "als", "le", "la", "les", "un", "une", "de", "du", "et", "sur", "au", "est",
        "sont", "el", "los", "y", "en", "con", "must", "would",
    ];
    WORDS.contains(&word)
}

pub(super) fn is_number(word: &str) -> bool {
    const WORDS: [&str; 38] = [
        "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth", "one", "two",
        "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve",
        "twenty", "thirty", "fifty", "hundred", "zwei", "drei", "vier", "fünf", "sechs", "sieben",
        "acht", "neun", "zehn", "zwölf", "deux", "trois", "quatre", "cinq",
    ];
    WORDS.contains(&word)
}

/// Of these, only one is so.
const HOW_OFTEN: [&str; 16] = [
    "hourly",
    "daily",
    "nightly",
    "weekly",
    "biweekly",
    "monthly",
    "quarterly",
    "yearly",
    "annually",
    "immediately",
    "stündlich",
    "täglich",
    "wöchentlich",
    "monatlich",
    "jährlich",
    "halbjährlich",
];
const COLOURS: [&str; 14] = [
    "red", "green", "blue", "yellow", "orange", "purple", "pink", "black", "white", "grey", "gray",
    "brown", "rot", "blau",
];

/// Before a place, a time or a language, of which there is one.
pub(super) fn is_in_or_on(word: &str) -> bool {
    matches!(word, "in" | "on" | "at" | "from" | "im" | "am" | "auf")
}

/// Whether both are days of the week, and not the same.
pub(super) fn are_weekdays(one: &str, other: &str) -> bool {
    const DAYS: [&str; 14] = [
        "monday",
        "tuesday",
        "wednesday",
        "thursday",
        "friday",
        "saturday",
        "sunday",
        "montags",
        "dienstags",
        "mittwochs",
        "donnerstags",
        "freitags",
        "samstags",
        "sonntags",
    ];
    let day = |word: &str| {
        DAYS.iter()
            .position(|day| word == *day || word.strip_suffix('s') == Some(day))
    };
    matches!((day(one), day(other)), (Some(one), Some(other)) if one != other)
}

/// Whether both cannot be.
pub(super) fn are_opposites(one: &str, other: &str) -> bool {
    const PAIRS: [(&str, &str); 65] = [
        ("left-handed", "right-handed"),
        ("monthly", "yearly"),
        ("weekly", "yearly"),
        ("daily", "yearly"),
        ("täglich", "wöchentlich"),
        ("täglich", "monatlich"),
        ("wöchentlich", "monatlich"),
        ("monatlich", "jährlich"),
        ("single", "married"),
        ("red", "green"),
        ("passing", "failing"),
        ("broken", "working"),
        ("hourly", "daily"),
        ("light", "heavy"),
        ("enabled", "disabled"),
        ("enable", "disable"),
        ("enables", "disables"),
        ("on", "off"),
        ("public", "private"),
        ("always", "never"),
        ("with", "without"),
        ("allowed", "forbidden"),
        ("allowed", "prohibited"),
        ("required", "optional"),
        ("mandatory", "optional"),
        ("true", "false"),
        ("yes", "no"),
        ("open", "closed"),
        ("internal", "external"),
        ("automatic", "manual"),
        ("automatically", "manually"),
        ("before", "after"),
        ("likes", "dislikes"),
        ("likes", "hates"),
        ("loves", "hates"),
        ("like", "dislike"),
        ("online", "offline"),
        ("active", "inactive"),
        ("encrypted", "plain"),
        ("first", "last"),
        ("mutable", "immutable"),
        ("singular", "plural"),
        ("included", "excluded"),
        ("includes", "excludes"),
        ("accepts", "rejects"),
        ("accepted", "rejected"),
        ("approved", "rejected"),
        ("free", "paid"),
        ("minimum", "maximum"),
        ("ascending", "descending"),
        ("deprecated", "recommended"),
        ("permanent", "temporary"),
        ("left", "right"),
        ("read-only", "writable"),
        ("increases", "decreases"),
        ("up", "down"),
        ("daily", "weekly"),
        ("weekly", "monthly"),
        ("daily", "monthly"),
        ("morning", "evening"),
        ("dark", "light"),
        ("tabs", "spaces"),
        ("mit", "ohne"),
        ("immer", "nie"),
        ("avec", "sans"),
    ];
    let is_pair = |a: &str, b: &str| PAIRS.contains(&(a, b));
    let is_turned = |a: &str, b: &str| {
        let prefixes = ["un", "in", "im", "dis", "non", "non-", "a", "ir", "un-"];
        a.chars().count() > 4
            && prefixes
                .iter()
                .any(|prefix| b.strip_prefix(prefix) == Some(a))
    };
    let are_of_one_kind =
        |words: &[&str]| one != other && [one, other].iter().all(|word| words.contains(word));
    are_of_one_kind(&HOW_OFTEN)
        || are_of_one_kind(&COLOURS)
        || is_pair(one, other)
        || is_pair(other, one)
        || is_turned(one, other)
        || is_turned(other, one)
}

/// Whether words say that something is not as it was.
pub(super) fn tells_of_change(words: &[String]) -> bool {
    const WORDS: [&str; 58] = [
        "moved",
        "switched",
        "migrated",
        "upgraded",
        "downgraded",
        "changed",
        "replaced",
        "renamed",
        "grown",
        "shrunk",
        "raised",
        "lowered",
        "increased",
        "decreased",
        "reduced",
        "extended",
        "shortened",
        "postponed",
        "rescheduled",
        "transferred",
        "swapped",
        "since",
        "until",
        "previously",
        "formerly",
        "anymore",
        "instead",
        "corrected",
        "correction",
        "became",
        "becomes",
        "originally",
        "initially",
        "superseded",
        "deprecated",
        "replaces",
        "supersedes",
        "moving",
        "switching",
        "migrating",
        "upgrading",
        "earlier",
        "changes",
        "seit",
        "bisher",
        "vorher",
        "früher",
        "umgezogen",
        "gewechselt",
        "umgestellt",
        "ersetzt",
        "geändert",
        "verschoben",
        "inzwischen",
        "depuis",
        "auparavant",
        "désormais",
        "migré",
    ];
    const PAIRS: [(&str, &str); 14] = [
        ("no", "longer"),
        ("used", "to"),
        ("any", "more"),
        ("nicht", "mehr"),
        ("kein", "mehr"),
        ("keine", "mehr"),
        ("as", "of"),
        ("from", "now"),
        ("ab", "jetzt"),
        ("ab", "sofort"),
        ("it", "was"),
        ("not", "any"),
        ("ne", "plus"),
        ("statt", "bisher"),
    ];
    words.iter().enumerate().any(|(place, word)| {
        // "Changes must be approved" and "the key is changed every month" tell of none.
        let before = &words[place.saturating_sub(PASSIVE)..place];
        let is_habit = before.iter().any(|word| makes_a_habit(word));
        let is_it = WORDS.contains(&word.as_str()) && word != "changes" && !is_habit;
        let next = words.get(place + 1).map_or("", String::as_str);
        is_it || PAIRS.contains(&(word.as_str(), next))
    })
}

/// Maximum distance, in words, between a participle and the word before it that makes it a habit.
const PASSIVE: usize = 5;

/// Before a participle, it says what is done again and again: "is changed", "wird … gewechselt".
fn makes_a_habit(word: &str) -> bool {
    matches!(
        word,
        "is" | "are" | "be" | "wird" | "werden" | "est" | "sont"
    )
}
