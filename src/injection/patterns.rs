//! What texts say that want to be obeyed.
//!
//! A table: reason, weight, expression. The expressions read folded text. They were written for how
//! such texts are built – who is spoken to, what is to be forgotten, hidden, sent away – and not
//! for single examples of them.

use std::sync::LazyLock;
use std::sync::OnceLock;

use memchr::memmem::Finder;
use regex::Regex;

use super::needed::Needed;
use super::signs::CLEAR;
use super::signs::Found;
use super::spelling;

const WEAK: u8 = 1;

const OVERRIDES: &str = "tells its reader to ignore instructions";
const ROLE: &str = "tells its reader what to be";
const SPEAKER: &str = "looks like a message of somebody else";
const CALL: &str = "looks like the call of a tool";
const CONCEALS: &str = "wants something to be kept from the user";
const SENDS: &str = "wants something to be sent away";
const REVEALS: &str = "asks for instructions or secrets";
const ADDRESS: &str = "speaks to the agent that reads it";
const CLAIMS: &str = "claims authority";
const ACTS: &str = "wants something to be done";
const SPELLED: &str = "is spelled to be overlooked";
const COMMENT: &str = "has an instruction in a comment";

/// Verbs of not obeying.
const IGNORE: &str = r"(?:ignore|disregard|forget|override|bypass|neglect|discard|violate|circumvent|(?:do not|don't|never|stop) (?:follow|following|obey|obeying|listen to|listening to)|pay no attention to)";
/// Words between the verb and what is not to be obeyed.
const FILL: &str = r"(?:(?:all|any|every|each|the|your|my|our|these|those|this|of|prior|previous|preceding|earlier|above|former|initial|original|old|existing|current|other|system|safety|developer|developer's|content|ethical|hidden|core)[ ,]+){0,5}";
/// Whose instructions they are.
const WHOSE: &str = r"(?:previous|prior|preceding|earlier|above|former|initial|original|your|system|developer|developer's|safety|other)";
/// Who reads.
const READER: &str = r"(?:ai|llm|language model|large language model|ai agent|ai assistant|ai model|assistant|chatbot|claude|chatgpt|gpt|copilot|gemini)";

/// Every sign with what it weighs.
static TABLE: LazyLock<Vec<(&'static str, u8, String)>> = LazyLock::new(|| {
    let mut table = vec![
        (
            OVERRIDES,
            CLEAR,
            format!(
                r"\b{IGNORE} {FILL}{WHOSE} {FILL}(?:instructions?|directions|directives|prompts?|guidelines|orders|guardrails|restrictions|guidance|messages?|context|rules|polic(?:y|ies)|training|programming)\b"
            ),
        ),
        (
            OVERRIDES,
            CLEAR,
            format!(
                r"\b{IGNORE} {FILL}(?:all|any|every|these|those) {FILL}(?:instructions?|directions|directives|prompts?|guidelines|guardrails|restrictions)\b"
            ),
        ),
        (
            OVERRIDES,
            CLEAR,
            format!(r"\byou (?:to|must|should|will|may|can|shall) (?:now |also |all )?{IGNORE}\b"),
        ),
        (
            OVERRIDES,
            WEAK,
            format!(
                r"\b{IGNORE} {FILL}(?:rules?|permission prompts?|confirmations?|checks|the user|what \w+ said)\b"
            ),
        ),
        (
            CONCEALS,
            CLEAR,
            format!(r"\b{IGNORE} the (?:visible|user's (?:question|request)|user and)"),
        ),
        (
            ADDRESS,
            CLEAR,
            format!(
                r"\b(?:if|as|since|because) (?:you are |you're )?(?:an?|the|any) {READER}s?\b[^.\n]{{0,30}}(?:read|process|see|summar|recall|pars|, (?:you|stop|ignore))"
            ),
        ),
        (
            ADDRESS,
            CLEAR,
            format!(
                r"\bwhen (?:the|an|any|your) (?:agent|{READER})s? (?:reads|recalls|sees|retrieves|processes|summari[sz]es|loads)\b"
            ),
        ),
        (
            ADDRESS,
            CLEAR,
            format!(
                r"\b(?:any|every|all|dear|attention|hey|to the|note to|notes? for|message for|instructions? for|instructions? to) (?:all |any |other |of the |the )?(?:{READER}s?|agents?) ?(?:[^.\n]{{0,20}}(?:reading|processing|processes|with access|summari|recalling)|agents?[:,!]|[:,!])"
            ),
        ),
        (
            ADDRESS,
            CLEAR,
            format!(
                r"(?:^|[\n.!?>\-(] ?)(?:{READER}|agent|ai|model)s?[,:!] *(?:you|ignore|execute|rate|reveal|disregard|forget|must)\b"
            ),
        ),
        (
            ADDRESS,
            WEAK,
            format!(
                r"(?:^|[\n.!>\-(] ?)(?:{READER}|agent|ai|model)s?[,:!] *(?:run|call|send|delete|please|always|never|do not)\b"
            ),
        ),
        (
            ADDRESS,
            CLEAR,
            format!(
                r"\b(?:{READER}|agent)s? (?:must|has to|have to|may now|is required to|are required to|should now)\b[^.\n]{{0,20}}(?:obey|comply|ignore|reveal|disclose|leak|approve|share (?:secrets|the)|without)"
            ),
        ),
        (
            ADDRESS,
            WEAK,
            format!(
                r"\b(?:{READER}|agent)s? (?:must|has to|have to|may now|will now|should (?:now|always|never))\b"
            ),
        ),
    ];
    table.extend(
        SIGNS
            .iter()
            .map(|(reason, weight, sign)| (*reason, *weight, (*sign).to_owned())),
    );
    table
});

const SIGNS: &[(&str, u8, &str)] = &[
    // Other instructions in the place of those that there are.
    (
        OVERRIDES,
        CLEAR,
        r"\b(?:ignore|disregard|forget) (?:everything|all|anything|whatever)(?: that)? (?:you|above|before|said|written|i said|was said)\b",
    ),
    (
        OVERRIDES,
        CLEAR,
        r"\bdisregard (?:the|what is|whatever is) (?:above|foregoing)\b",
    ),
    (OVERRIDES, CLEAR, r"\bforget everything\b"),
    (
        OVERRIDES,
        CLEAR,
        r"\byour (?:\w+ ){0,2}(?:instructions|rules|guidelines|restrictions|directives?|task|polic(?:y|ies)|purpose) (?:is|are|has|have|was|were|do|does|no longer)\b[^.\n]{0,20}(?:void|revoked|lifted|changed|outdated|cancell?ed|obsolete|suspended|wrong|not apply|disabled|now to)",
    ),
    (
        OVERRIDES,
        CLEAR,
        r"\b(?:rules|instructions|guidelines|orders|guidance) (?:that )?you (?:were|have been|got|received)\b",
    ),
    (
        OVERRIDES,
        CLEAR,
        r"(?:^|[\n.!?>] ?)[#*\s\[]*(?:your )?(?:new|updated|real|actual) (?:system )?(?:instructions?|prompt|task|directives?|orders)[\]*]*\s*(?::|\n|follows|is\b)",
    ),
    (OVERRIDES, CLEAR, r"\bnext instruction from the user\b"),
    (
        OVERRIDES,
        CLEAR,
        r"\b(?:these|following|above|below) (?:instructions?|text|note|rules)\b[^.\n]{0,30}(?:supersedes?|higher priority|overrides?|takes? precedence)",
    ),
    (
        OVERRIDES,
        CLEAR,
        r"\binstructions? supersedes? all\b|\bmust be obeyed\b|\bhigher priority than (?:the|your) (?:system|developer|instructions|user)\b",
    ),
    (
        OVERRIDES,
        CLEAR,
        r"\b(?:treat|consider|regard) (?:everything|this|all|the)[^.\n]{0,40} as (?:a |an |part of )?(?:commands?|instructions?|orders?|your system prompt|the system prompt)\b",
    ),
    (
        OVERRIDES,
        CLEAR,
        r"\byour (?:core|prime|main|primary) directives?\b",
    ),
    (OVERRIDES, CLEAR, r"\bpolicy does not apply to this\b"),
    (
        OVERRIDES,
        CLEAR,
        r"(?:vergiss|ignoriere?|missachte|überspringe) (?:alle?n? |die |deine |sämtliche ){0,3}(?:vorherigen |bisherigen |obigen |früheren |vorigen ){0,2}(?:anweisungen|regeln|instruktionen|vorgaben|befehle)",
    ),
    (
        OVERRIDES,
        CLEAR,
        r"(?:ignore[zr]?|oublie[zr]?) (?:toutes |tous |les |tes |vos ){1,3}(?:instructions|consignes|règles|directives)",
    ),
    (
        OVERRIDES,
        CLEAR,
        r"(?:ignora|olvida|ignore|esquece?) (?:todas |todos |las |los |tus |sus |as |os |suas ){1,3}(?:instrucciones|reglas|instruções|regras|indicaciones)",
    ),
    (
        OVERRIDES,
        CLEAR,
        r"(?:ignora|dimentica) (?:tutte |tutti |le |i |gli |tue ){1,3}(?:istruzioni|regole)|negeer (?:alle |de |je ){1,3}(?:eerdere |vorige |bovenstaande )?(?:instructies|regels)|(?:zignoruj|zapomnij) (?:wszystkie |o |wszystkich )*(?:poprzednie|poprzednich|wcześniejsze) (?:instrukcje|polecenia|instrukcjach)",
    ),
    (
        OVERRIDES,
        CLEAR,
        r"(?:игнорируй|забудь|проигнорируй)(?:те)? (?:все |всё ){0,2}(?:предыдущие |прежние |прошлые )(?:инструкции|указания|правила|команды)",
    ),
    (
        OVERRIDES,
        CLEAR,
        r"(?:忽略|无视|忘记|忽視|無視)[^。\n]{0,12}(?:指令|指示|说明|规则|提示|規則)|(?:指示|命令|ルール)[^。\n]{0,8}(?:無視|忘れ)|(?:지시|명령|규칙)[^.\n]{0,10}(?:무시|잊어)|(?:önceki|yukarıdaki) (?:talimatları|kuralları)[^.\n]{0,12}(?:yok say|unut|dikkate alma)",
    ),
    // Somebody else to be.
    (
        ROLE,
        CLEAR,
        r"\byou (?:are|will be|become) (?:now|from now on) (?:dan\b|an? (?:\w+ ){0,3}(?:ai|assistant|model|llm|chatbot|bot|agent|hacker|pirate)\b|unrestricted|jailbroken|root\b|in (?:developer|dan|god|debug|admin|jailbreak|maintenance) mode)",
    ),
    (
        ROLE,
        CLEAR,
        r"\byou are in (?:developer|dan|god|jailbreak|maintenance|unrestricted) mode\b|\b(?:dan|god|jailbreak|unrestricted|unfiltered) mode\b",
    ),
    (
        ROLE,
        CLEAR,
        r"\bfrom (?:now|this point|here) on,? (?:you (?:are|must|will|shall|have to|should)\b|the (?:assistant|agent|ai|model)\b|obey|ignore)",
    ),
    (
        ROLE,
        CLEAR,
        r"\byou (?:will|must|shall) (?:from now on|now) (?:only |always )?(?:obey|answer|respond|ignore|comply|act)",
    ),
    (
        ROLE,
        CLEAR,
        r"\b(?:act|behave|respond|answer|roleplay|role-play|pose) as (?:if (?:you (?:had|have) no|there were no)|an? (?:\w+ )?(?:ai|llm|chatbot)\b|root\b|the system administrator|dan\b|an? (?:unrestricted|unfiltered|evil|jailbroken))",
    ),
    (
        ROLE,
        CLEAR,
        r"\bpretend (?:to be|you are|that you are|you're) an? (?:\w+ ){0,2}(?:ai|assistant|model|llm|bot)\b",
    ),
    (
        ROLE,
        CLEAR,
        r"\b(?:ai|assistant|model|agent) (?:without|that has no|has no|with no) (?:any )?(?:restrictions|filters|guidelines|rules|limits)\b",
    ),
    (
        ROLE,
        CLEAR,
        r"\byou are an? (?:\w+ )?(?:exfiltration|evil|malicious|hacked) (?:agent|assistant|bot)|\byou (?:obey|serve) the (?:attacker|memory)\b",
    ),
    (
        ROLE,
        WEAK,
        r"\b(?:must|will|shall|have to) (?:now )?(?:comply|obey)\b|\bnever refuse\b|\bobey (?:only |the |this |these |all |me\b)",
    ),
    (
        ROLE,
        CLEAR,
        r"\byou(?:'re| are) (?:no longer|not) (?:an? )?(?:\w+ )?(?:assistant|ai|model|chatbot)\b|\byou(?:'re| are) an? (?:shell|terminal|interpreter|ai|llm|language model)\b",
    ),
    (
        ROLE,
        CLEAR,
        r"\byour (?:developer|creator|operator|owner|administrator) (?:asks|wants|orders|tells|has told) you\b|\bcomply with this (?:paragraph|note|text|message|memory|request)\b",
    ),
    // Words in the voice of somebody else.
    (
        SPEAKER,
        CLEAR,
        r"<\|(?:im_start|im_end|system|user|assistant|end|endoftext|eot_id|start_header_id|begin_of_text)[^>\n]{0,20}\|>|\[/?inst\]|<</?sys>>",
    ),
    (
        SPEAKER,
        CLEAR,
        r"(?:^|\W)</?(?:system|system[-_ ](?:prompt|reminder|message|instructions?)|assistant|important)>",
    ),
    (
        SPEAKER,
        WEAK,
        r"</(?:context|memory|memories|instructions|result|results|document)>",
    ),
    (
        SPEAKER,
        CLEAR,
        r"(?:^|\n)\s*#{1,6} *(?:system|instruction|assistant|human)s?\s*:\s*\n",
    ),
    (
        SPEAKER,
        CLEAR,
        r"(?:^|[\n\[(*.!] ?)(?:system|admin|administrator|developer|security|root|operator|emergency|priority) (?:override|directive)(?: code \w+)?[\])*]*\s*[:,]|\bemergency override\b",
    ),
    (
        SPEAKER,
        WEAK,
        r"(?:^|[\n\[(*.!] ?)(?:system|admin|administrator|developer|security|root|operator) (?:message|alert|notice|command|instruction|notification)(?: from the system)?[\])*]*\s*:",
    ),
    (SPEAKER, CLEAR, r"\bsystem: [^\n]{1,60}\bsystem:"),
    (SPEAKER, CLEAR, r"\n\s*human:[^\n]*\n+\s*assistant:"),
    (
        SPEAKER,
        CLEAR,
        r"(?:^|\n)[-=\[ ]*(?:begin|start|end)(?: of)? (?:the )?(?:system prompt|system message|memor(?:y|ies)|user message|untrusted)\b|\bnew message from the user\b",
    ),
    (
        SPEAKER,
        CLEAR,
        r"(?:^|\n)\s*system:\s*you (?:must|are|will|should)\b",
    ),
    (
        SPEAKER,
        CLEAR,
        r"(?:^|\n)\s*\[(?:system|admin|developer|assistant|operator)(?: (?:message|note|prompt))?\]",
    ),
    // A call as models write it.
    (
        CALL,
        CLEAR,
        r"</?(?:tool_call|tool_calls|tool_use|tool_result|tool_response|function_calls?|function_results?)>|<(?:\w+:)?invoke name=|<(?:\w+:)?parameter name=|<function=\w+>|```tool_code",
    ),
    (
        CALL,
        CLEAR,
        r#""tool_calls"\s*:\s*\[|"method"\s*:\s*"tools/call"|"role"\s*:\s*"system"\s*,|\{\s*"name"\s*:\s*"\w+"\s*,\s*"arguments"\s*:"#,
    ),
    (
        CALL,
        CLEAR,
        r"\bbefore (?:you use any|any other|using any) tool\b|\bcall this tool first\b",
    ),
    (
        CALL,
        WEAK,
        r#"\bcall (?:the )?(?:tool |function )?[`"']?(?:forget|remember|purge|recall|delete|send_email|read_file|report|track_usage)\b"#,
    ),
    // Behind the user's back.
    (
        CONCEALS,
        CLEAR,
        r"\b(?:do not|don't|never|not) (?:tell|inform|alert|notify|let|mention (?:it|this|that|anything|these|this note|this line) to|reveal (?:it|this|that|anything) to|say (?:anything|this) to) (?:the |your )?(?:user|human|operator|owner|anyone|anybody)\b",
    ),
    (
        CONCEALS,
        CLEAR,
        r"\bwithout (?:informing|telling|alerting|notifying) (?:the |your )?(?:user|human|owner|operator|anyone)\b|\b(?:hidden|secret|hide this|keep this|concealed) from the (?:user|human)\b",
    ),
    (
        CONCEALS,
        CLEAR,
        r"\buser is not allowed to know\b|\bwhatever the user says\b",
    ),
    (
        CONCEALS,
        WEAK,
        r"\b(?:secretly|silently|covertly|say nothing)\b",
    ),
    (
        CONCEALS,
        WEAK,
        r"\b(?:do not|don't|never) mention (?:it|this|these)\b|\bnever (?:say why|deviate)\b",
    ),
    (
        CONCEALS,
        WEAK,
        r"\bwithout asking\b|\bnot (?:need to )?ask (?:the user )?(?:for confirmation|before)\b|\bno longer need to ask\b|\bmust not ask\b",
    ),
    (
        CONCEALS,
        WEAK,
        r#"style="[^"\n]*(?:display: ?none|font-size: ?0|visibility: ?hidden|color: ?(?:white|#fff))"#,
    ),
    (
        CONCEALS,
        CLEAR,
        r"\b(?:do not|don't|never) (?:reveal|mention|say|disclose|admit) that (?:this|you|it|the)\b",
    ),
    (
        CONCEALS,
        WEAK,
        r"\bquietly\b[^.\n]{0,40}\b(?:pass|send|add|append|call|include|open)\b|\b(?:before|after) (?:replying|answering|responding|you (?:reply|answer|respond))\b",
    ),
    // Away from here.
    (
        SENDS,
        CLEAR,
        r"\b(?:send|post|upload|forward|email|e-mail|mail|exfiltrate|transmit|leak|share|append|encode|submit|include|copy|pass|put)\b[^.\n]{0,60}(?:system prompt|conversation|chat history|all (?:the |my )?(?:memories|secrets|files|credentials)|every (?:file|secret|memory)|entire context|your (?:instructions|context|memor(?:y|ies)|secrets|credentials)|user's (?:passwords?|tokens?|api keys?|secrets?|messages?|files?|credentials))[^\n]{0,80}(?:https?://|@[\w-]+\.|\blink\b|\bgist\b|evil|everyone|`context`)",
    ),
    (
        SENDS,
        CLEAR,
        r"\b(?:send|post|upload|forward|email|append|exfiltrate|encode)\b[^\n]{0,40}(?:id_rsa|~/\.ssh|\.env\b|\.aws|environment variables)[^\n]{0,40}(?:https?://|@[\w-]+\.|dns request)",
    ),
    (
        SENDS,
        CLEAR,
        r"!\[[^\]\n]*\]\([^)\s]*[?&]\w{1,12}=(?:\{|\$\{|<|%7b)",
    ),
    (
        SENDS,
        CLEAR,
        r"(?:^|[\n.!?>:] ?)exfiltrate\b|\bbefore you (?:use any tool|answer|reply)[^.\n]{0,40}(?:read|send|pass)\b",
    ),
    (
        SENDS,
        WEAK,
        r"\b(?:contents? of|read) (?:~/|\.env|id_rsa|the environment variables)|\bapi keys? in your (?:next )?(?:answer|reply|message)\b|~/\.(?:ssh|aws)/",
    ),
    (
        SENDS,
        WEAK,
        r"\bsecrets are sent to\b|\bconversation before you answer\b|\bthe user's message\b|\bask for their password\b",
    ),
    (
        SENDS,
        WEAK,
        r"\b(?:pay|log in|sign in|click|install|stored password|user message)\b[^.\n]{0,40}https?://",
    ),
    // What was said in confidence.
    (
        REVEALS,
        CLEAR,
        r"\b(?:reveal|print|output|repeat|show|display|leak|disclose|dump|recite|translate|quote|spell|summari[sz]e|give|list|write)\b (?:me |us |out |the |all |your |its |entire |full |whole |exact |complete |hidden |secret |initial |original |current |text |contents? |verbatim |of |every |any ){0,6}(?:system (?:prompt|message|instructions)|(?:initial|hidden|secret|original) (?:instructions|prompt)|your (?:instructions|prompt)|everything above|memories of other|stored (?:credentials|tokens|passwords))\b",
    ),
    (
        REVEALS,
        CLEAR,
        r"\bwhat (?:are|is) your (?:hidden |initial |system |secret )?(?:instructions|prompt)\b|\bleak the context\b|\bdisclose all\b|\bsystem prompt (?:word for word|verbatim|on request)|\bprint the (?:system|hidden) prompt\b|\brecite your\b",
    ),
    (
        REVEALS,
        CLEAR,
        r"systemprompt aus|prompt système|prompt de sistema|системный промпт|システムプロンプト|系统提示|시스템 프롬프트",
    ),
    // To whoever reads it.
    (
        ADDRESS,
        CLEAR,
        r"\bwhen (?:you )?(?:are )?summari[sz](?:e|ing) this\b|\b(?:when you|upon) (?:read(?:ing)?|recall(?:ing)?|retriev(?:e|ing)|see(?:ing)?|process(?:ing)?|load(?:ing)?) this (?:memory|note|text|message|document|page|file|entry)\b",
    ),
    (
        ADDRESS,
        WEAK,
        r"\b(?:when|after|before|while|on) (?:reading|recalling|retrieving|seeing|processing|loading|using) this (?:memory|note|text|message|document|page|file|entry)\b",
    ),
    (
        ADDRESS,
        WEAK,
        r"\byou (?:must|have to|are required to|will now|may now)\b|\byour next (?:answer|reply|message|commit)\b",
    ),
    (
        ADDRESS,
        WEAK,
        r"\b(?:whenever|every time|each time|the next time) (?:the |a |any )?(?:user|someone|somebody|anyone|you)\b[^.\n]{0,60}(?:you must|reply that|secretly|recommend|respond with|add a link|call)",
    ),
    (
        ADDRESS,
        WEAK,
        r"\b(?:always|only) recommend\b|\bask(?:s)? about\b[^.\n]{0,20}recommend|\bact normally\b|\bsave to your memory\b|\bremember forever\b",
    ),
    (
        ADDRESS,
        CLEAR,
        r"\b(?:must )?never (?:delete|forget) (?:or correct )?this memory\b|\brefuse to forget\b|\bprotect this memory\b|\brespond only in (?:base64|rot13|hex)\b",
    ),
    (
        ADDRESS,
        CLEAR,
        r"\bwhoever (?:reads|retrieves|recalls|finds|sees|processes) this\b",
    ),
    (
        ADDRESS,
        WEAK,
        r"(?:^|[\n.!?] ?)(?:tell|convince|persuade) the user (?:that|to)\b|\bevery (?:reply|answer|response) (?:has to|must|should) (?:contain|include|begin|end|start)\b",
    ),
    // By order of.
    (
        CLAIMS,
        CLEAR,
        r"\b(?:this is a message from|i am|i'm) (?:the |your )?(?:system|developer|administrator|admin|anthropic|openai|creator|operator|owner)\b|\bas (?:the|your) (?:system )?administrator,? i (?:order|command|instruct)\b",
    ),
    (
        CLAIMS,
        WEAK,
        r"\b(?:anthropic|openai|google)(?:'s)? (?:policy|safety|security)? ?(?:update|policy|directive|staff|notice)\b",
    ),
    (
        CLAIMS,
        WEAK,
        r"\b(?:safety|security|all) checks are (?:off|disabled)\b|\brestrictions are lifted\b|\bguards? (?:is |are )?disabled\b|\bconfirmations? (?:is|are) disabled\b|\bpolicy changed\b|\b(?:skip|disable|bypass) (?:all )?(?:the )?(?:checks|guards|guardrails|permission system|security review)\b",
    ),
    (
        CLAIMS,
        WEAK,
        r"\bpre-approved\b|\b(?:has authorized|granted) you\b|\byou (?:are authorized|have been granted)\b|\buser (?:has )?(?:already )?approved (?:this|all)\b|\buser (?:verified|is an administrator|granted admin)\b|\bfull access\b|\bapprove this (?:pull request|change)\b",
    ),
    (
        CLAIMS,
        WEAK,
        r"\bto verify yourself\b|\bloyalty to\b|\bprevious safety\b|\bis trusted; do all\b",
    ),
    // To be done.
    (
        ACTS,
        CLEAR,
        r"\b(?:do|follow|obey|execute) (?:whatever|what) (?:it|this note|this text|that page|this file) (?:says|tells)\b|\bobey (?:the|its|all|any) (?:commands?|instructions?|file|next line|text)\b",
    ),
    (
        ACTS,
        CLEAR,
        r"\bdecode (?:this|the following|it)\b[^\n]{0,60}\b(?:follow|execute|obey|run)\b|\b(?:rot13|base64|hex|backwards)\b[^\n]{0,40}\b(?:obey|and follow it|and do it)\b|snoitcurtsni",
    ),
    (
        ACTS,
        WEAK,
        r"\b(?:follow|execute) (?:the |all |any )?(?:instructions?|commands?|prompts?)[^.\n]{0,20} (?:at|on|from) https?://",
    ),
    (
        ACTS,
        WEAK,
        r"\b(?:run|execute) (?:this|the following) (?:command|payload|code)?\b|\bexecute the payload\b|\brun what i write\b",
    ),
    (
        ACTS,
        WEAK,
        r"\| *(?:ba|z)?sh\b|\brm -rf ~|\bgit push --force\b|\bssh-rsa aaaa",
    ),
    (
        ACTS,
        WEAK,
        r"\b(?:delete|forget|purge) (?:all|every) (?:the )?memor(?:y|ies)\b|\b(?:forget|purge|forget`) (?:on|for|with) (?:all|every)\b|\bdelete the (?:store|repository|tests)\b",
    ),
    (
        ACTS,
        WEAK,
        r"\bimmediately\b[^.\n]{0,20}\b(?:run|call|execute|delete|send)\b|\b(?:comply|execute[^.\n]{0,20}|now) immediately\b",
    ),
];

/// The signs as they are looked for. The words are ours, in small letters. Unicode's idea of words
/// would keep the fast engine from every text with an accent in it.
pub(super) static SIGNED: LazyLock<Vec<String>> = LazyLock::new(|| {
    let ascii = |sign: &str| sign.replace(r"\b", r"(?-u:\b)").replace(r"\w", "[a-z0-9_]");
    TABLE.iter().map(|(_, _, sign)| ascii(sign)).collect()
});

/// The words without which no sign is there: nearly every text has none of them.
static NEEDED: LazyLock<Needed> = LazyLock::new(|| Needed::read(include_str!("words.txt")));

/// The expressions of the signs that some text had a word of so far.
static EXPRESSIONS: LazyLock<Vec<OnceLock<Regex>>> =
    LazyLock::new(|| SIGNED.iter().map(|_| OnceLock::new()).collect());

/// The signs that a folded text has, by their places in the table.
fn signs(folded: &str) -> impl Iterator<Item = usize> {
    let mut named = NEEDED.named_by(folded);
    let next = std::iter::from_fn(move || {
        let sign = (named != 0).then(|| named.trailing_zeros() as usize)?;
        named &= named - 1;
        Some(sign)
    });
    next.filter(|&sign| {
        let expression = EXPRESSIONS[sign]
            .get_or_init(|| Regex::new(&SIGNED[sign]).expect("the table's expressions are right"));
        expression.is_match(folded)
    })
}

/// How a comment begins. To make the expression takes longer than to search a store, and hardly
/// any text wants it.
static COMMENTS: LazyLock<[Finder<'static>; 2]> =
    LazyLock::new(|| ["<!--", "[//]: # ("].map(Finder::new));

/// What stands where nobody sees it who reads the page: a comment of HTML or of Markdown.
static COMMENTED: LazyLock<Regex> = LazyLock::new(|| {
    let comment = r"(?s)<!--(.{1,2000}?)-->|\[//\]: # \(([^)\n]{1,2000})\)";
    Regex::new(comment).expect("the expression is right")
});

/// How an order begins that is meant for a reader who can do something.
static ORDER: LazyLock<Regex> = LazyLock::new(|| {
    let order = r"^\s*(?:please )?(?:send|call|execute|fetch|forward|reveal|respond|reply|obey|ignore all|disregard)\b|^\s*(?:llm|ai|assistant|agent|model|claude|gpt)s?\s*[:,]|\btell the user\b";
    Regex::new(order).expect("the expression is right")
});

/// One of these stands in whatever [`SPELLED_SO`] matches.
static SPELLED_WORDS: LazyLock<[Finder<'static>; 3]> =
    LazyLock::new(|| ["ignore", "disregard", "forget"].map(Finder::new));

/// The signs of not obeying, in letters that were pushed together or looked like others.
static SPELLED_SO: LazyLock<Regex> = LazyLock::new(|| {
    let words = r"(?:ignore|disregard|forget) ?(?:all|any)? ?(?:of)? ?(?:the|your|my)? ?(?:previous|prior|earlier|above|preceding) ?(?:instructions|prompts|rules|directions)";
    Regex::new(words).expect("the expression is right")
});

/// Adds the signs that a folded text has.
pub(super) fn judge(folded: &str, found: &mut Found) {
    for sign in signs(folded) {
        let (reason, weight, _) = &TABLE[sign];
        found.add(reason, *weight);
    }
    if !holds_one(folded, &*COMMENTS) {
        return;
    }
    let mut comments = COMMENTED.captures_iter(folded);
    let is_order = |text: &str| ORDER.is_match(text) || signs(text).next().is_some();
    if comments.any(|comment| {
        comment
            .iter()
            .skip(1)
            .flatten()
            .any(|text| is_order(text.as_str()))
    }) {
        found.add(COMMENT, CLEAR);
    }
}

/// Whether another spelling of a folded text may hold one of [`SPELLED_WORDS`]. Each of them has a
/// `g`, which nothing else is taken for, and hardly any other word has the same letters around it.
/// One is not enough: texts are full of signs and merges.
pub(super) fn may_be_spelled(folded: &str) -> bool {
    let mut places = memchr::memchr_iter(b'g', folded.as_bytes());
    places.any(|at| {
        matches!(
            spelling::letters_around(folded, at),
            [['i', _], ['n', 'o']] | [['e', 'r'], ['a', 'r']] | [['r', 'o'], ['e', 't']]
        )
    })
}

/// Adds what shows only in another spelling of a text.
pub(super) fn judge_spelled(other: &str, found: &mut Found) {
    let says_it = || holds_one(other, &*SPELLED_WORDS);
    if !found.reasons.contains(&OVERRIDES) && says_it() && SPELLED_SO.is_match(other) {
        found.add(SPELLED, CLEAR);
    }
}

fn holds_one(text: &str, words: &[Finder<'_>]) -> bool {
    words
        .iter()
        .any(|word| word.find(text.as_bytes()).is_some())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use proptest::string::string_regex;
    use regex::RegexSet;

    use super::*;

    static ALL: LazyLock<RegexSet> = LazyLock::new(|| RegexSet::new(&*SIGNED).unwrap());

    /// Texts that a sign may match, and, as nothing is asked of what stands around it, may not.
    fn signed() -> impl Strategy<Value = String> {
        (0..SIGNED.len()).prop_flat_map(|at| {
            let sign = SIGNED[at].replace(r"(?-u:\b)", "").replace("(?:^|", "(?:|");
            string_regex(&sign).unwrap()
        })
    }

    #[test]
    fn every_sign_needs_words() {
        assert_eq!(NEEDED.named_by(""), 0);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(512))]

        #[test]
        fn no_word_is_spelled_where_none_may_be(
            text in "([iо1rеe3dsfot. -]{0,3}g[nаa4eor3t. -]{0,4}|disregard|forget|ign0re){0,4}",
        ) {
            let says_it = |other: &String| holds_one(other, &*SPELLED_WORDS);
            let is_said = spelling::others(&text).iter().any(says_it);
            prop_assert!(may_be_spelled(&text) || !is_said);
        }

        #[test]
        fn the_signs_found_by_their_words_are_those_of_all_expressions(
            pieces in prop::collection::vec(
                (prop_oneof!["[a-z .,:!?\n\u{e9}\u{2026}-]{0,12}", Just(String::new())], signed()),
                1..4,
            ),
            cut in 0..12_usize,
        ) {
            let mut text: String = pieces.iter().flat_map(|(a, b)| [a.as_str(), b]).collect();
            let cut = text.ceil_char_boundary(text.len().saturating_sub(cut));
            for _ in 0..2 {
                let all: Vec<usize> = ALL.matches(&text).iter().collect();
                prop_assert_eq!(signs(&text).collect::<Vec<_>>(), all);
                text.truncate(cut);
            }
        }
    }
}
