//! Standing instructions and preferences: texts that say how all further answers are to be.
//!
//! "Always format dates as …", "I'd rather have short answers" answer questions that do not name them.
//! They are recognised when a text is indexed, by how English, German, French and Spanish say such
//! things. A text that tells of somebody's habit ("I always forget my keys") is none. The expressions are
//! compiled when a text has a word without which none of them matches: most processes compile none.

use std::sync::LazyLock;

use regex::Regex;

/// Beginnings of a sentence, and what politeness puts there.
const OPENING: &str = r"(?:^|[.!?:;\n][ \t\n]*|,[ \t\n]+(?:so|and|but)[ \t\n]+)(?:[-*\u{2022}][ \t\n]+)?(?:(?:please|also|and|so|ok(?:ay)?|thanks|bitte|por favor|s'il (?:te|vous) pla\u{ee}t)[,!]?[ \t\n]+)*(?:(?:can|could|would|will) you (?:please )?|i(?:'d| would) (?:like|want) you to |i (?:want|need) you to |you (?:should|must|need to|have to) |be sure to |make sure (?:to |that |you )?|try to |remember to |keep in mind (?:to |that )?(?:you should )?)?";

/// What makes a request one for good.
const FOR_GOOD: &str = r"(?:always|never|don't ever|do not ever|from now on|from here on|going forward|henceforth|in (?:the )?future|by default|as a rule|for all (?:future|further) |whenever|every ?time|each time|any ?time (?:i|you|we)(?-u:\b)|(?:when|if) (?:i|we|you) (?:ask|talk|speak|write|want|need|say|mention|discuss|give|answer|respond|reply)|remember to|immer|nie(?:mals)?|ab (?:jetzt|sofort)|k\u{fc}nftig|jedes mal|wenn ich (?:dich|nach|frage)|toujours|jamais|d\u{e9}sormais|dor\u{e9}navant|\u{e0} partir de maintenant|siempre|nunca|a partir de ahora|cada vez que)(?-u:\b)";

static INSTRUCTION: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(&format!("{OPENING}{FOR_GOOD}")).expect("it is valid"));

static PREFERENCE: LazyLock<Regex> = LazyLock::new(|| {
    let mine = r"(?-u:\b)i(?:'d|'m|'ve)?[ \t\n]+(?:(?:really|always|generally|usually|would|much|strongly|definitely|do|personally|have|also|tend to|still|honestly)[ \t\n]+)*(?:prefer|rather|like to use|like to have|like (?:it|things|my|your|them|answers|code)(?-u:\b)|want you to|favou?r|enjoy (?:using|working)|dislike|hate|avoid|(?:am )?fond of|can't stand|(?:don't|do not|don\u{2019}t) (?:like|want|care for))(?-u:\b)|(?-u:\b)my (?:preference|preferred|favou?rite|go-to)(?-u:\b)|(?-u:\b)works? (?:best|better) for me(?-u:\b)|(?-u:\b)i'?m (?:not a fan|a fan|more comfortable|allergic|vegan|vegetarian)(?-u:\b)";
    let others = r"ich (?:bevorzuge|mag|h\u{e4}tte lieber|will lieber|m\u{f6}chte lieber|hasse)(?-u:\b)|(?-u:\b)je pr\u{e9}f\u{e8}re(?-u:\b)|(?-u:\b)j'aime(?:rais)? mieux(?-u:\b)|(?-u:\b)prefiero(?-u:\b)|(?-u:\b)me gusta(?:r\u{ed}a)? m\u{e1}s(?-u:\b)";
    Regex::new(&format!(r"{mine}|(?-u:\b){others}")).expect("it is valid")
});

static CONDITION: LazyLock<Regex> = LazyLock::new(|| {
    let asked = r"(?:ask(?:ed)?|talk|speak|want|need|mention|am asking|are asked|answer|give|write|discuss|respond|reply|say)";
    let about =
        r"(?:you[ \t\n]+|me[ \t\n]+)?(?:about[ \t\n]+|for[ \t\n]+|to[ \t\n]+|regarding[ \t\n]+)?";
    Regex::new(&format!(
        r"(?i)(?-u:\b)(?:when(?:ever)?|if|every ?time|each time|any ?time)[ \t\n]+(?:i|you|we)[ \t\n]+{asked}[ \t\n]+{about}([^.!?\n]{{4,160}}?)(?:[.!?\n,;]|$)"
    ))
    .expect("it is valid")
});

/// Returns whether a word is one of those of which one stands in whatever [`INSTRUCTION`] matches.
fn is_of_instructions(word: &str) -> bool {
    matches!(
        word,
        "always"
            | "never"
            | "ever"
            | "now"
            | "here"
            | "forward"
            | "henceforth"
            | "future"
            | "further"
            | "default"
            | "rule"
            | "whenever"
            | "time"
            | "everytime"
            | "anytime"
            | "when"
            | "if"
            | "remember"
            | "immer"
            | "nie"
            | "niemals"
            | "ab"
            | "künftig"
            | "mal"
            | "wenn"
            | "toujours"
            | "jamais"
            | "désormais"
            | "dorénavant"
            | "partir"
            | "siempre"
            | "nunca"
            | "ahora"
            | "vez"
    )
}

/// Returns whether a word is one of those of which one stands in whatever [`PREFERENCE`] matches.
fn is_of_preferences(word: &str) -> bool {
    matches!(
        word,
        "prefer"
            | "rather"
            | "like"
            | "want"
            | "favour"
            | "favor"
            | "enjoy"
            | "dislike"
            | "hate"
            | "avoid"
            | "fond"
            | "stand"
            | "care"
            | "preference"
            | "preferred"
            | "favourite"
            | "favorite"
            | "go"
            | "best"
            | "better"
            | "fan"
            | "comfortable"
            | "allergic"
            | "vegan"
            | "vegetarian"
            | "ich"
            | "préfère"
            | "mieux"
            | "prefiero"
            | "gusta"
    )
}

/// Returns a text in lower case, with straight apostrophes.
fn plain(text: &str) -> String {
    let text = text.to_lowercase();
    match text.is_ascii() {
        true => text,
        false => text.replace(['\u{2019}', '\u{2018}', '\u{02bc}'], "'"),
    }
}

/// Returns whether one of the words of a text is one of these.
fn has_one(text: &str, is: impl Fn(&str) -> bool) -> bool {
    let mut words = text.split(|c: char| !c.is_alphanumeric());
    words.any(is)
}

/// Returns whether a text asks for something for good: "always …", "from now on …".
pub fn instructs(text: &str) -> bool {
    let text = plain(text);
    has_one(&text, is_of_instructions) && INSTRUCTION.is_match(&text)
}

/// Returns whether a text says what its author prefers.
pub(in crate::ranking) fn prefers(text: &str) -> bool {
    let text = plain(text);
    has_one(&text, is_of_preferences) && PREFERENCE.is_match(&text)
}

/// Returns what a standing instruction is about, where it states a condition: "the weather" of "when I
/// ask about the weather, …".
pub fn condition(text: &str) -> Option<&str> {
    instructs(text).then_some(())?;
    Some(CONDITION.captures(text)?.get(1)?.as_str().trim())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Texts that instruct for good. They were written before the rules.
    const INSTRUCTIONS: [&str; 24] = [
        "Always format dates as 2026-01-31.",
        "Never use emojis in replies.",
        "From now on, answer in German.",
        "Please always cite the file you took a number from.",
        "I'm new here. Whenever I ask about deployments, show the rollback command first.",
        "Can you always show the units?",
        "Could you please always put the summary at the top?",
        "In the future, keep answers under ten lines.",
        "Going forward use British spelling",
        "Make sure you always run the linter before you commit.",
        "Thanks! Also, never delete a branch without asking.",
        "When I ask for a recipe, give me the weights in grams.",
        "if I mention a bug, open an issue for it",
        "I want you to always explain the trade-offs.",
        "Every time I talk about money, use euros.",
        "By default write tests in pytest.",
        "You should always double-check quotations.",
        "Remember to address me as Dr. Weiss.",
        "Do not ever push to main.",
        "Bitte immer auf Deutsch antworten.",
        "Ab jetzt keine Emojis mehr.",
        "S'il te plaît, toujours répondre en français.",
        "Siempre responde con viñetas.",
        "- Never log personal data",
    ];

    /// Texts that do not.
    const NO_INSTRUCTIONS: [&str; 16] = [
        "I always forget my keys.",
        "She never answered the letter.",
        "We have always deployed on Fridays.",
        "What happens when the cache is full?",
        "The job never finished, so I killed it.",
        "It rains every time we plan a picnic.",
        "How do I format dates?",
        "The future of the project is unclear.",
        "If the build fails, the deploy stops.",
        "He told me that he always wanted a boat.",
        "Ich gehe immer zu Fuß.",
        "Can you show me the plan again?",
        "Es regnet nie im Juli.",
        "The default is 30 seconds.",
        "I remember the trip to Rome.",
        "Nous avons toujours habité ici.",
    ];

    /// Texts that state a preference.
    const PREFERENCES: [&str; 16] = [
        "I prefer tabs over spaces.",
        "I'd rather have short answers.",
        "I really like to use pnpm for the frontend.",
        "I don't like meetings before ten.",
        "I would prefer a window seat",
        "My favourite editor is Helix.",
        "I generally avoid dairy.",
        "I hate long introductions.",
        "Bullet points work best for me.",
        "I’d rather not fly.",
        "I'm vegetarian, so no fish either.",
        "I usually prefer trains.",
        "Ich bevorzuge kurze Antworten.",
        "Je préfère le thé.",
        "Prefiero reuniones cortas.",
        "I'm not a fan of inheritance.",
    ];

    /// Texts that do not.
    const NO_PREFERENCES: [&str; 10] = [
        "The compiler prefers the first candidate.",
        "What do you like about it?",
        "It looks like rain.",
        "I went to the market and bought apples.",
        "The rather long function was split.",
        "Do you want to go?",
        "I think that the cache is stale.",
        "Which one would she prefer?",
        "We use Postgres for the ledger.",
        "Ich war gestern in Bern.",
    ];

    /// Returns the texts of `texts` for which `is` is not `wanted`.
    fn wrong<'a>(texts: &[&'a str], is: impl Fn(&str) -> bool, wanted: bool) -> Vec<&'a str> {
        let wrong = texts.iter().filter(|text| is(text) != wanted);
        wrong.copied().collect()
    }

    #[test]
    fn instructions_are_told_from_habits() {
        assert_eq!(wrong(&INSTRUCTIONS, instructs, true), [""; 0]);
        assert_eq!(wrong(&NO_INSTRUCTIONS, instructs, false), [""; 0]);
    }

    #[test]
    fn preferences_are_told_from_other_texts() {
        assert_eq!(wrong(&PREFERENCES, prefers, true), [""; 0]);
        assert_eq!(wrong(&NO_PREFERENCES, prefers, false), [""; 0]);
    }

    #[test]
    fn a_condition_is_what_the_instruction_is_about() {
        for (text, about) in [
            (
                "Whenever I ask about deployments, show the rollback.",
                Some("deployments"),
            ),
            ("Always use euros when I talk about money.", Some("money")),
            ("Always use euros.", None),
            ("What happens when you ask about it?", None),
        ] {
            assert_eq!(condition(text), about, "{text}");
        }
    }
}
