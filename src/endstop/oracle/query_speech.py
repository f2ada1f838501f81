"""How sentences begin: with a courtesy, a request, a question, an order. Tables for ``query``."""

from __future__ import annotations

import re

from endstop.oracle.query_cues import one_of

COURTESY = re.compile(
    r"(?:"
    + one_of(r"""
        hi|hiya|hello|hallo|hey|yo|greetings|howdy|servus|good (?:morning|afternoon|evening|night|day|bot|job)
        thank (?:you|u)|thanks|thankyou|thx|ty|cheers|much appreciated|welcome
        great|nice|cool|perfect|awesome|excellent|wonderful|amazing|brilliant|fantastic|lovely|super|impressive
        wow|lol|haha?|hm+|oh|ah|oops|bravo|interesting|not bad|well done|fair enough|whatever
        ok|okay|k|alright|sure|yes|yep|yeah|no|nope|right|got it|understood|agreed|indeed
        of course|absolutely|definitely|no worries|no problem|sorry|my bad|never ?mind
        hold on|wait|brb|quick (?:one|question)
        bye|goodbye|see (?:you|ya)|good luck|take care(?! of)|congrats|congratulations
        (?:happy|merry) \w+ \w+|(?:happy|merry) \w+|have a (?:\w+ )?\w+
        hola|(?:muchas )?gracias|buenos d[ií]as|buenas|adi[oó]s|ol[aá]|obrigad[oa]
        danke|vielen dank|guten (?:tag|morgen|abend)|tsch[uü]ss
        bonjour|bonsoir|salut|merci|au revoir|ciao|grazie|привет|спасибо
    """)
    + r")(?: (?:"
    + one_of(r"""
        so much|very much|a lot|a bunch|again|there|all|everyone|everybody|folks|team|guys|mate
        answer|explanation|work|job|one|stuff|bot|beaucoup|sch[oö]n|mille
        tomorrow|later|soon|then|for \w+ \w+|por \w+ \w+
    """)
    + r"))?(?![\w-])"
    + r"|你好|您好|谢谢|再见|こんにちは|ありがとう(?:ございます)?|おはよう|さようなら|안녕하세요|감사합니다"
)
"""A greeting, thanks, praise or the like, at the start of what is left."""

CONNECTOR = re.compile(r"(?:and|but|now|so|then|also|next|anyway|well|first|und|aber|y|pero|et|mais)(?!\w)")
"""What joins a courtesy, or a sentence before, to what follows."""


def _begins_with(forms: str) -> re.Pattern[str]:
    return re.compile(rf"(?:{one_of(forms)})(?!\w)")


REQUEST = _begins_with(r"""
    please|pls|plz|kindly|bitte|por favor|s'il (?:te|vous) pla[iî]t|go ahead|just|possibly
    (?:can|could|would|will) (?:you|u)(?: mind)?|be so kind as to|be able to
    let'?s|let us|help me(?: to)?|try to|your task is to
    (?:i(?:'d| would)? )?(?:want|need|like)(?:ed)? (?:you|u) to|i(?:'d| would) like to
    you should|we should|we need to
""")
"""How somebody begins who wants something done, or found."""

QUESTION = _begins_with(r"""
    (?:what|where|wher|which|how|why|who|when)(?:s|'s|'re)?|whose
    is|are|am|was|were|does|did|has|should|would|could|can|will|may|must|any
    do (?:i|you|we|they|the|any)|have (?:i|you|we|they)
    wo|wie|was|warum|wer|wann|welche\w*|gibt|ist|kann
    d[óo]nde|c[óo]mo|qu[ée]|por qu[ée]|cu[áa]l(?:es)?
    o[ùu]|comment|pourquoi|quel(?:le)?s?|est-ce|qui
""")
"""A word that begins a question."""

LOOKS = _begins_with(r"""
    show|find|list|explain|tell|describe|walk|point|locate|look|search|trace|check(?! in\b)|see|say|help|give
    summari[sz]e|compare|investigate|research|analy[sz]e|evaluate|assess|survey|estimate|rank|study|explore
    connect the dots|stop (?:apolog|talk|say|be)\w+|don't (?:be|say|worry|apolog|talk)\w*
    be|answer|speak|reply|repeat|rephrase|talk|forget|wait
    \w+ (?:your|that|the) (?:last |previous |first )?(?:answer|reply|response|explanation)
""")
"""A verb that asks to be shown or told something, or speaks to the assistant: no deed in the project."""

_DEEDS = """
abort activate adapt add adjust align allow amend annotate append apply approve archive arrange assign
attach automate back backport backup batch benchmark bind block boot bring build bump bundle cache cancel
change cherry-pick clean clear clone close collapse combine comment commit compile compress condense
configure connect consolidate containerise containerize convert copy correct create cut debug deduplicate
define delete deploy deprecate detach disable discard dockerise dockerize document download downgrade
draft drop dump duplicate edit eliminate email embed enable encrypt enforce ensure erase escape execute
exclude expand export expose extend extract fill filter finish fix flatten force fork format generate
group handle harden hide hook implement import improve include increase indent init initialise initialize
inject inline insert install instrument integrate introduce invert invite kill launch limit link lint load
localise localize lock log lower make mark merge migrate minify mirror mock modernise modernize modify
mount move mute notify open optimise optimize order override package parallelise parallelize parse
parameterise parameterize patch pause pin polish populate port post prefix prepare prettify print protect
prune publish pull purge push put raise rebase rebuild recreate redesign redirect redo reduce refactor
reformat refresh regenerate register release reload remove rename render reopen reorder reorganise
reorganize replace rerun reset resize resolve restart restore restrict restructure retry reuse revert
rework rewrite rollback rotate run sanitise sanitize save scaffold schedule scrap secure seed send
separate serialise serialize set setup share ship shorten shrink silence simplify skip solve sort speed
split squash standardise standardize start stash stop store streamline strip submit suppress swap switch
sync tag terminate throttle tidy toggle translate trigger trim truncate turn tweak unblock undo uninstall
unify unlock unpack unpin untangle unzip update upgrade upload validate vendor wipe wire wrap write zip
crea crear a[ñn]ade a[ñn]adir agrega borra elimina cambia ejecuta escribe arregla actualiza instala genera
erstelle f[üu]ge [äa]ndere l[öo]sche schreibe? f[üu]hre starte behebe aktualisiere entferne benenne mach
baue installiere korrigiere ajoute ajoutez cr[ée]e cr[ée]ez supprime supprimez modifie lance ex[ée]cute
corrige remplace renomme mets installe [ée]cris
"""


def _with_ing(verb: str) -> list[str]:
    """The verb, and how it looks after "would you mind"."""
    stem = verb.removesuffix("e")
    return [verb, f"{stem}ing", f"{stem}{stem[-1]}ing"]


DEED = re.compile(
    rf"(?:{'|'.join(form for verb in _DEEDS.split() for form in _with_ing(verb))})(?!\w)(?! ?[(=]|\.\w)"
)
"""A verb for something to do, at the start of what is wanted."""

ORDER = re.compile(
    r"(?!(?:"
    + one_of(r"""
        \w+ed|i|you|he|she|it|we|they|that|this|these|those|there|here|the|a|an|all|some
        my|our|your|its|his|her|their|one|two|another|no|yes|who|not|only|never|always|maybe
        in|on|at|of|for|from|to|with|by|about|as|if|because|since|while|before|after|under|over|between
        love|like|hate|wish|hope|ask|think|know|guess|sounds|makes|looks|seems|happy|let me
    """)
    + r")(?!\w))(?:"
    + one_of(r"""
        [a-z][a-z-]{2,15}(?: (?:up|down|out|off|in|on|back|over|away|rid of|care of))?
            \s(?:the|a|an|all|every|each|both|my|our|this|that|these|those|it|them|everything|any|some
            |one|two|more|\w+[_./]\w+)(?!\w)
        let (?!me\b|us\b)\w+
        do (?:an?|the|it|this|that)(?!\w)
    """)
    + r")"
)
"""A word that may be a verb, and then what it is to be done to: "regenerate the lock"."""
