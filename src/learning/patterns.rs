//! Expressions by which people say what is worth keeping, and what is not, in lower-case English.
//!
//! They were chosen on the labelled talks 01 to 38 in `fixtures/proposals/`, and by reading what they find in
//! other chats. Each says what it stands for; `judge` says in which order they count.

use std::sync::LazyLock;

use regex::Regex;

/// An expression, compiled when it is first used.
pub(super) type Pattern = LazyLock<Regex>;

/// Compiles an expression whose `\b` are boundaries of ASCII words: these need no tables of Unicode.
fn pattern(text: &str) -> Regex {
    Regex::new(&text.replace(r"\b", r"(?-u:\b)")).expect("it is valid")
}

/// Words before what a sentence says: "and so, yes, …".
pub(super) static FILLER: Pattern = LazyLock::new(|| {
    pattern(
        r"^(?:(?:and|also|so|then|but|ok|okay|oh|ah|hm+|uh|well|yes|yeah|yep|yup|sure|right|great|good|nice|perfect|fine|cool|thanks|thank you|alright|all right|fyi|btw|by the way|for the record|actually|tbh|honestly|please note|note|background|better|agreed|agree|absolutely|of course|obviously|no|nope|nah|stop|wait|sorry|god|phew|ugh|one more|one thing)\b[,:;.! ]*(?:-+ )?)+",
    )
});

/// A reply that rejects: "no, …", "stop, …", "actually …".
pub(super) static REJECTION: Pattern = LazyLock::new(|| {
    pattern(
        r"^(?:(?:and|but|oh|hm+|ah|sorry|well|ok)[, ]+)*(?:no|nope|nah|stop|wrong|not quite|actually|wait)\b",
    )
});

/// Sentences that only acknowledge: "ok, thanks".
pub(super) static ACKNOWLEDGEMENT: Pattern = LazyLock::new(|| {
    pattern(
        r"^[^\w]*(?:(?:ok(?:ay)?|yes|yeah|yep|no|nope|thanks?|thank you|great|good|nice|perfect|cool|sweet|fine|sure|right|done|works?|got it|good to know|good idea|good catch|makes sense|i see|interesting|wonderful|lovely|awesome|sounds good|do it|do that|go ahead|go on|please|phew|maybe|later|not now|agreed|deal|exactly|hm+|ah|oh|alright|will do|ship it|same here|me too|that's it|so|now|then|all|very|much|well|you|it|is|was|that|this|too|indeed)\b[^\w]*)+$",
    )
});

/// Beginnings of questions, also of those without a question mark.
pub(super) static QUESTION: Pattern = LazyLock::new(|| {
    pattern(
        r"^(?:when (?:do|does|did|is|are|was|will|would|can|could|should|shall)|what|why|how|where|who|whom|whose|which|is|are|was|were|do|does|did|can|could|would|will|should|shall|may|has|have|had|any|am)\b \w",
    )
});

/// A request to the reader: "could you …".
pub(super) static REQUEST: Pattern =
    LazyLock::new(|| pattern(r"^(?:and |also |ok |please )*(?:can|could|would|will) you\b"));

/// The question behind a statement in one sentence: "I'm a nurse, can you …?" It begins where the match does.
pub(super) static QUESTION_BEHIND: Pattern = LazyLock::new(|| {
    pattern(
        r"(?:,? (?:and|so|but)|,|;| -|—|–)? ?\b(?:can you|could you|would you|do you|what|how|which|should i|is there|any (?:ideas|tips|advice)|did you|i'm (?:now |just )?(?:trying|wondering|looking|having|curious|not sure)|i am (?:trying|wondering|looking)|i(?:'d| would) (?:like|love) (?:you|to)|i want|i need|help me|right|ok)\b.*\?$",
    )
});

/// Something that is thought about, and neither so nor decided.
pub(super) static HYPOTHESIS: Pattern = LazyLock::new(|| {
    pattern(
        r"\b(?:what if|i wonder|wondering|imagine|suppose|maybe|perhaps|might|if we ever|if i ever|we could|i could|you could|could always|can always|would be|would have|i'd have|hypothetically|(?:was|were) going to|not convinced|i thought|i think|i guess|thinking about|thinking of|considering)\b",
    )
});

/// A sentence that begins with a condition.
pub(super) static CONDITION: Pattern =
    LazyLock::new(|| pattern(r"^(?:if|unless|in case|assuming)\b"));

/// A decision in so many words: "we decided", "I'll go with", "decision:".
pub(super) static DECIDED: Pattern = LazyLock::new(|| {
    pattern(
        r"\b(?:(?:we|i|they)(?:'ve| have|'d| had)?(?: all| both| now| finally| just)? (?:decided|agreed|settled|chose|picked|opted|concluded|committed)\b|(?:we're|i'm|we are|i am|we'll|i'll|we will|i will|i'd|let's)(?: just| rather)? (?:going|go|stick|sticking|stay|staying|settle|settling) (?:with|for|on)\b|(?:it's|it is|that's) (?:decided|settled|final)\b|decision:|the decision is|final decision)",
    )
});

/// "Let's use …", with a verb that settles something.
pub(super) static LETS: Pattern = LazyLock::new(|| {
    pattern(
        r"(?:^|[,;:] )(?:so |then |ok |okay )*let's (?:not )?(?:just )?(?:use|move|go|keep|make|stick|skip|drop|switch|call|put|leave|take|have|do|set|name|store|write|build|add|remove|replace|host|run|meet|start|stay|say|send|order|book|split|merge|postpone|wait|cancel|limit)\b",
    )
});

/// A choice in few words: "go with the filter", "both: …", "sold".
pub(super) static CHOICE: Pattern = LazyLock::new(|| {
    pattern(
        r"(?:^|[,;:] )(?:go|going) (?:with|for|ahead with)\b|^[\w ./'-]{2,40} it is$|^(?:both|neither)\b|^(?:sold|deal)\b|\bis out\b|\b(?:is|are) (?:off|out of) the table\b|^make (?:it|that) (?:a |an |the )?[\w.]+$|^assume\b|^refuse\b",
    )
});

/// A choice that ends with "then": "plain workspaces then".
pub(super) static CHOICE_THEN: Pattern = LazyLock::new(|| pattern(r"^[^,;:]{2,60} then$"));

/// Something that somebody wants or does not want of the work at hand: "I don't want another …".
pub(super) static WANTED: Pattern = LazyLock::new(|| {
    pattern(
        r"\bi don't want (?:another|any|a|an|the|to|more)\b|\bi want (?:it|them|the|this|that|to keep)\b|\b(?:undo|revert) (?:the|that|this)\b",
    )
});

/// Words of somebody else, and a question whether it is so.
pub(super) static HEARSAY: Pattern = LazyLock::new(|| {
    pattern(
        r"\b(?:is (?:he|she|that|it|this) (?:right|true|correct)|(?:my|a|the|our) \w+ (?:told|tells) me)\b",
    )
});

/// A decision whose object only its surroundings name: "let's go with this approach".
pub(super) static DEICTIC: Pattern = LazyLock::new(|| {
    pattern(
        r"\b(?:with|for|on|do|try|use|follow) (?:this|that|these|those|it)(?: (?:approach|plan|steps?|idea|one|ones|way|schedule|list|option|suggestions?|tips?|then))?$",
    )
});

/// A request for good, or a rule: "please never …", "we always …", "… is forbidden".
pub(super) static FOR_GOOD: Pattern = LazyLock::new(|| {
    pattern(
        r"\b(?:please|pls)[, ]+(?:never|don't ever|do not ever|always|no|don't|do not|avoid)\b|\bno [\w' -]{2,40} please\b|\bdon't [\w' ]{2,40} please\b|\buse [\w' -]{2,40} please\b|\b(?:we|i|you) (?:always|never) \w+|\b(?:never|always) (?:use|do|write|put|add|call|run|push|commit|show|ask|answer|explain|send|book|include|mention)\b|, ever$|\b(?:is|are) (?:forbidden|not allowed|banned|a no-go|mandatory|required here)\b|\brule (?:on|in|of) (?:our|my|the) \w+|\b(?:our|the|my|house) (?:rule|convention|policy|style) (?:is|here)\b|\bin (?:every|all|each) \w+ (?:that )?(?:you|we|i)\b|\b(?:we|our \w+) (?:\w+[ '-]){1,6}here\b|\bin general$|\bfrom now on\b|\bgoing forward\b|^by default\b|\bwhen(?:ever)? you (?:give|write|answer|send|show|explain|draft)\b|\w here (?:start|begin|end|use|have|are)\b|\bin this (?:repo|repository|project|codebase) (?:start|begin|end|use|have|are)\b",
    )
});

/// A habit or a feeling that looks like a rule: "I always forget".
pub(super) static HABIT: Pattern = LazyLock::new(|| {
    pattern(
        r"\b(?:i|we) (?:always|never) (?:forget|forgot|wanted|thought|knew|know|said|felt|had|get|got|expected|imagined|loved|dreamed|enjoy|look forward)\b",
    )
});

/// Something that has been so for long, and is no rule: "we have always deployed on Fridays".
pub(super) static LONG_SO: Pattern =
    LazyLock::new(|| pattern(r"\b(?:has|have|had|'ve) (?:always|never)\b"));

/// A like or a dislike.
pub(super) static LIKING: Pattern = LazyLock::new(|| {
    pattern(
        r#"\b(?:i|we|he|she|they|mum|mom|dad|granny)(?:'m| am|'re| are)? (?:really |absolutely |just |also |only |usually |mostly |strongly |still |do )*(?:prefer|prefers|hate|hates|dislike|dislikes|can't stand|cannot stand|don't like|doesn't like|do not like|didn't like|allergic to|vegetarian|vegan|not a fan|a fan of|fond of|rather not|would rather|avoid|avoids|not keen)\b|\bi'd (?:rather|prefer)\b|\b(?:my|our) (?:favou?rite|preferred|preference|go-to)(?: \w+)? (?:is|are|would be)\b|\bwhat i (?:like|love|hate|want|prefer)\b|^(?:didn't|don't) like\b|\bkeep [\w" ]{1,30} out of\b"#,
    )
});

/// Something that is still to be done or to be found out.
pub(super) static OPEN: Pattern = LazyLock::new(|| {
    pattern(
        r"\b(?:todo|to-do:|next steps?|open question|still (?:need|needs|missing|open|to do|unclear|unresolved|waiting|outstanding|pending)|not (?:done|finished|decided|sure) (?:yet|about)|haven't (?:done|decided|asked|heard|tried|had time|figured|checked)|hasn't (?:been|answered|replied|decided)|nobody has \w+|(?:please |you )?remind me (?:to|about|on)|remains to|left to do|follow[- ]up|at some point|when i(?:'m| am) back|let me (?:check|ask|talk|decide|look)|have to (?:look|ask|check|call|talk|find|see|sort|go|think|rerun|redo|wait|decide|fix|write|buy|book|tell)|has to (?:sign|approve|go through|check|answer|decide|look|confirm)|need to (?:look|ask|check|call|talk|find|sort|tell|think|decide|fix|write|buy|book|get|see|wait|remember|figure|finish)|needs to (?:be|sign|approve|check|look|answer|decide|confirm)|should (?:probably )?(?:also )?(?:approve|fuzz|check|sign|do|ask|look|test|write|fix|revisit|have a look|clean)|first thing (?:tomorrow|in the morning)|before (?:i|we|it|that) (?:touch|go|goes|change|merge|release|ship|start|decide|send|can)|waiting (?:for|on)|blocked (?:by|on)|until (?:he|she|they|\w+) (?:answers|replies|decides|confirms|is back)|tomorrow then)\b|\bi still need\b",
    )
});

/// An intention or a duty.
pub(super) static INTENTION: Pattern = LazyLock::new(|| {
    pattern(
        r"\b(?:i'll|i will|we'll|we will|i'm going to|gonna|gotta|i have to|we have to|i must|still to) \w+",
    )
});

/// A time that is to come, or an order of things.
pub(super) static LATER: Pattern = LazyLock::new(|| {
    pattern(
        r"\b(?:tomorrow|tonight|on (?:mon|tues|wednes|thurs|fri|satur|sun)day|next (?:week|month|year|time)|this (?:week|weekend|evening|afternoon)|at (?:easter|christmas)|later|first|once|when (?:i|we|he|she|they)|before|after|by then|some)\b",
    )
});

/// The end of an order that says how it is to be done: "…, not Latin American", "… only …".
pub(super) static ORDER_OF_MANNER: Pattern =
    LazyLock::new(|| pattern(r"(?:, (?:not|never|no) [\w' ./-]+$|\bonly\b)"));

/// Something of another than what was said: "…, not main", "it's called tank", "everywhere".
pub(super) static CONTRAST: Pattern = LazyLock::new(|| {
    pattern(
        r#"(?:, (?:not|never)|,? (?:instead of|rather than)) (?:in |on |the |a |an |by )?[\w./"`'-]+(?: [\w./-]+){0,5}$|\beverywhere\b|\bshould be\b|\bit's called\b|\bis called\b|\bname is\b|\bare named\b|\bmeans? (?:that|they|it|the|he|she|we|you|i|no|not)\b|^we're on\b|\bin this repo\b|^use the\b"#,
    )
});

/// Verbs of statements about how something is.
const STATES: &str = r"(?:is|are|was|were|has|have|had|runs?|lives?|sits?|lies?|stands?|works?|uses?|starts?|begins?|ends?|goes|go|happens?|counts?|cuts?|wants?|says|needs?|means?|meant|costs?|takes?|holds?|keeps?|comes?|came|went|belongs?|hates?|loves?|likes?|can't|cannot|can|don't|doesn't|gets?|got|closes?|opens?|arrives?|allows?|supports?|speaks?|teaches|plays?|moved|migrated|broke|ate|retired|expects?|reports?|depends?|only|never|always|stays?|points?|contains?|exists?|handles?|owns?|maintains?)";

/// "My …", "our …" with a verb of state.
pub(super) static MINE: Pattern = LazyLock::new(|| {
    pattern(&format!(
        r"\b(?:my|our|his|her|their) (?:[\w'-]+ ){{1,3}}?{STATES}\b"
    ))
});

/// "We use …", "I have …": what whoever speaks is, has or does.
pub(super) static WE: Pattern = LazyLock::new(|| {
    pattern(
        r"(?:^|[,;:] |\band |\bbut |\bbecause |\bsince )(?:we|i)(?:'re| are|'m| am|'ve| have)? (?:also |only |just |mostly |usually |always |never |already |currently |all |still )*(?:on|at|in|a|an|from|below|above|self-employed|have|had|use|run|live|work|don't|do not|can't|cannot|moved|migrated|switched|lived|studied|started|speak|play|played|swim|own|teach|get|eat|pay|host|deploy|keep|pipe|store|members|never|always|bought|married|born|based|responsible|lead|manage|earn|drive|commute|inherited|been)\b",
    )
});

/// "We" with any verb; the verb is the first group.
pub(super) static WE_DO: Pattern = LazyLock::new(|| {
    pattern(
        r"(?:^| )we(?: (?:also|only|just|mostly|usually|always|never|already|currently|all|still|then|now))* ([a-z']+)",
    )
});

/// A statement about somebody who was named before, or about something of one's own.
pub(super) static OF_OTHERS: Pattern = LazyLock::new(|| {
    pattern(r"^(?:he|she|they|he's|she's|they're|it's (?:our|my|his|her|their))\b")
});

/// Boundaries of clauses; the first group begins the next one.
pub(super) static CLAUSE_END: Pattern = LazyLock::new(|| {
    pattern(
        r"(?:(?:,|;|:| -| –|—)? (?:but|because|since|so that|as|so|and)|,) ((?:i|i'm|we|we're|he|she|they|it|it's|my|our|the|his|her|their|there|there's)\b)|[;:] |[()]",
    )
});

/// A statement about something that is named first: "The mail workers are …".
pub(super) static NAMED_FIRST: Pattern =
    LazyLock::new(|| pattern(&format!(r#"^(?:[\w'()/.:,"-]+ ){{1,6}}?{STATES}\b"#)));

/// Troubles of the day, which nobody needs later.
pub(super) static TROUBLE: Pattern = LazyLock::new(|| {
    pattern(
        r"\b(?:fails?|failed|failing|errors?|died|dies|broken|crash(?:es|ed)?|bug|stuck|doesn't work|not working|wrong|off by|logged out|oomkilled|tunnel|leaks?|drains|slow|red|killed|hangs?|weird|strange|warning|complains?|attached|looks? (?:harsh|good|bad|fine|great|weird|wrong))\b",
    )
});

/// A plan, a wish or a request.
pub(super) static ENDEAVOUR: Pattern = LazyLock::new(|| {
    pattern(
        r"\b(?:i'm|i am|we're|we are) (?:just |now |currently |also |about |really )*(?:trying|going|about|working|looking|getting|wondering|thinking|stuck|not sure|sure|sorry|glad|happy|afraid|curious|worried|organising|planning|hoping|running into|having|confused|struggling|to)\b|\bi (?:just |really |also |only )*(?:want|need|would like|wish)\b|\bi've been\b|\bhelp me\b",
    )
});

/// An order about the work at hand.
pub(super) static ORDER: Pattern = LazyLock::new(|| {
    pattern(
        r"^(?:please |can you |could you |now |just |then )*(?:add|fix|run|write|review|check|look|plan|explain|show|tell|give|make|create|change|rename|remove|delete|commit|push|open|update|help|draft|translate|find|list|compare|summari[sz]e|generate|convert|try|test|build|install|deploy|move|put|wait|read|search|do|go|keep|use|undo|revert|redo|continue|start|stop|switch|drop|set|leave|ship|send|bring|take|ask|call|remember|don't|do not|never mind)\b",
    )
});

/// Thanks and praise at the beginning.
pub(super) static THANKS: Pattern = LazyLock::new(|| {
    pattern(
        r"^(?:thanks|thank you|thx|cheers|sounds|looks|great|wow|haha|congrat|awesome|glad|excited|can't wait|you're|you've|you got|your|keep it up|good luck|i(?:'m| am) (?:so |really |very |super |just )*(?:glad|happy|excited|proud|thrilled|grateful|sorry|amazed|impressed))\b",
    )
});

/// Words that praise: such statements say how somebody feels.
pub(super) static PRAISE: Pattern = LazyLock::new(|| {
    pattern(
        r"\b(?:good|great|nice|awesome|fun|rewarding|beautiful|amazing|interesting|helpful|useful|cool|lovely|special|proud|exciting|inspiring|wonderful|incredible|fantastic|thrilled|grateful|thankful|blast|perfect|clear|solid|reasonable|comfortable)\b",
    )
});

/// An answer that only agrees, or postpones.
pub(super) static AGREEMENT: Pattern = LazyLock::new(|| {
    pattern(
        r"^(?:let's|i (?:agree|see|understand|know|think so|will|can)|that|this|it|sounds?|looks?|makes sense|let me|why not|both are)\b",
    )
});

/// An answer that tells what happened.
pub(super) static PAST_ANSWER: Pattern = LazyLock::new(|| {
    pattern(
        r"^(?:i|we) (?:\w+ed|did|was|were|went|got|had|saw|found|bought|ran|made|put|took|just)\b",
    )
});

/// A question for a fact, and not for a decision: "which version …?"
pub(super) static ASKS_FACT: Pattern = LazyLock::new(|| {
    pattern(
        r"\b(?:version|what is|what's|what are|how (?:many|much|long|old|often)|where|when|who|did you|do you (?:have|own|use|charge)|are you|is your|budget|what about)\b",
    )
});

/// A time for which, or since which, something is so.
pub(super) static TIME: Pattern = LazyLock::new(|| {
    pattern(
        r"\b(?:since|until|as of|monday|tuesday|wednesday|thursday|friday|saturday|sunday|january|february|march|april|may|june|july|august|september|october|november|december|last (?:week|month|year|summer|winter)|in the (?:summer|winter|spring|autumn)|every (?:day|week|month|year|night|time)|a month|a year|anymore|\d{1,2}(?:st|nd|rd|th))\b",
    )
});

/// Something that is one thing among others: a number, a name, an identifier. In the case that it was written in.
pub(super) static SPECIFIC: Pattern =
    LazyLock::new(|| pattern(r"\d|[A-Z][a-z]+|[A-Z]{2,}|\b\w+[._/-]\w+|`"));
