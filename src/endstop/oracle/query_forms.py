"""The forms of sentences that speak for a type of query, which no list of words can tell. For ``query``.

One form a line (one that is set further in goes on with the line above); any of them is enough for the cue.
"""

from __future__ import annotations

from endstop.oracle.query_cues import Cue, QueryType, cue

_RESEARCH, _CODE, _DOCS = QueryType.RESEARCH, QueryType.CODE, QueryType.DOCUMENTATION
_CHAT, _ACTION = QueryType.CONVERSATIONAL, QueryType.ACTION

FORMS: tuple[Cue, ...] = (
    # ── the chat and the assistant ──
    cue(
        _CHAT,
        5,
        "it is about the assistant",
        r"""
            \b(?:who|what|how old|where) are (?:you|u)\b(?! (?:\w+ing|using))
            \bwho (?:made|built|created|trained) you\b
            \byour (?:name|day|age|creator|favou?rite|opinion|purpose|job)\b
            \b(?:which|what) (?:ai |language |llm )?model are you\b
            \bare you (?:a|an|still|there|real|ok|okay|sure|human|alive|busy|happy|conscious|able
                |chatgpt|claude|gpt|certain)\b
            \bhow (?:are|do|have) you\b(?=(?: doing| been| feel(?:ing)?| work| know(?: that
                | this)?)?(?: today| now)?\s*(?:[?!,.]|$))
            \bwhat (?:else )?(?:can|could) (?:you|u) (?:do|help)\b
            \b(?:what|which)(?: \w+){1,4} (?:can|could|do) you (?:answer|tell|know|help|discuss)\b
            \bif you(?:'re| are) (?:a|an|real)\b
            \bare you familiar with\b
            \b(?:can|could) you help(?: me)?(?: out)?(?: with something)?\W*$
            (?<!how )\bdo you (?:speak|like|think|feel|remember|sleep|know who|get|have (?:feelings
                |a name))\b
            \blanguages (?:can|do) you\b
            ^(?:can|could|do) you \w+\W*$
            \bis this a (?:bot|human|person|real)
            \bask you (?:something|a question)
            \bi have a question\W*$
        """,
    ),
    cue(
        _CHAT,
        5,
        "it is about the chat itself",
        r"""
            \b(?:did|what) i (?:just )?(?:ask|say|mean)
            \bour (?:conversation|chat|discussion)\b
            \bwe (?:talked|spoke)\b
            \b(?:repeat|rephrase|say|explain) (?:that|it|this)(?: again)?(?: (?:in|with
                |more) \w+(?: words| terms)?)?\s*[?.!]?$
            \b(?:be|answer|reply|respond|write|talk|speak)(?: \w+)? (?:more |less )?(?:brief|briefly
                |concise|shorter|short|polite|simply|honest)\b
            \b(?:answer|reply|respond|talk|speak)(?: to)?(?: me)? in \w+\b
            \bspeak (?:english|german|french|spanish)\b
            ^what\W*$
            \b(?:repeat|rephrase|say|explain) (?:that|it|this) (?:again|once more|differently|slowly)\b
            \byour (?:last |previous |first )?(?:answer|reply|message|response|english)\b
            \bsimpler (?:words|terms)\b
            \b(?:repeat|rephrase|phrase|say) (?:that|it|this|again|yourself|(?:the|that|your) \w+)(?: \w+)?
                (?: again| please| to me| for me)?\W*$
            \bbe repeated\b
            \bwhy did you (?:say|answer|think|do)\b
            \bnot what i (?:meant|asked|wanted)\b
            \bwhat (?:do|did) you mean\b
        """,
    ),
    cue(
        _CHAT,
        4.5,
        "it speaks to the assistant",
        r"""
            (?<!can )(?<!could )(?<!would )(?<!will )(?<!how do )(?<!how would )(?<!if )(?<!when )
                (?<!want )(?<!need )(?<!like )(?<!once )(?<!before )(?<!after )(?<!until )(?<!unless )
                (?<!that )(?<!as )(?<!let )(?<!lets )\byou\b(?!r| see\b| recommend| suggest| have an? \w+ on
                | have an?(?: \w+)? (?:guide|tutorial|example)| suggested)
            \byour (?!docs|code|api|config)
            \b(?:est[áa]s|eres|du|dich)\b
            \bi(?: am|'m)? (?:talking|speaking) (?:to|with)\b
        """,
    ),
    cue(
        _CHAT,
        3.5,
        "it is about how the talk goes on",
        r"""
            \b(?:continue|talk|go on|speak|chat) (?:\w+ ){0,2}(?:later|tomorrow|soon|again|now)\b
            ^in (?:one|two|a few|fewer|other) (?:short )?(?:words?|sentences?|lines?)\b
            ^(?:shorter|longer|simpler|again|more|less|next|go on|continue|stop
                |wait)\b[\s,.!]*(?:please|pls)?[.! ]*$
            ^i (?:don't|do not|didn't|can't) (?:understand|follow|get|know|agree)\b[^,]{0,30}$
            ^i (?:dis)?agree\b
            ^i (?:can't|cannot|couldn't|won't) (?:say|tell|think|believe|decide)\b
            ^i (?:guess|suppose|doubt|believe|think)\b
            ^how(?:'s| is) it \w+\W*$
            ^i (?:love|like) (?:this|it|you)\b
            ^ich (?:verstehe|wei(?:ß|ss))\b
            ^(?:was|is) that (?:a|right|true|correct|all|you)\b
            ^not (?:sure|really|quite|now|yet|helpful)\b
            ^(?:sounds|looks|seems|feels) (?:good|great|right|fine|ok|wrong)\b
            ^good (?:to|point|idea|question)\b
            ^let me (?:think|see|know|check)\b
            ^how(?:'s| is| are|'re) (?:it|things|life|everything)(?: going)?\W*$
            ^i(?:'m| am) (?:so |very |a bit )?(?:tired|bored|happy|sad|hungry|back|done|confused|lost
                |fine|good)\b
            ^i(?:'ll| will) (?:try|do|think|have a look|be back|let you)\b
            ^that (?:answer|solve|explain|settle)(?:s|d|ed)\b
            ^that(?:'s| is| was| makes?| helped| helps| works?)(?: a lot| so| really| very| totally
                | a)?(?: (?:wrong|right|sense|great|good|helpful|nice|all|it|perfect|funny|cool|fine|true
                |clear|quick|shame|pity|lot))?[.! ]*$
        """,
    ),
    # ── deeds ──
    cue(
        _ACTION,
        4,
        "it says what is wanted",
        r"""
            ^(?:show|display|give) (?:an?|the \w+ an?) (?!list|overview|summary|example|complete|short
                |brief|quick)\w+(?![^?]*\?)
            \bi(?:'d| would) like (?:the|a|an|it|this|all|every|some|to have)\b
            ^(?:try|start|stop|keep) \w+ing (?:it|the|with|all)\b
            \bi want (?:the|a|an|this|it|all) .{1,60}\bto\b
            \bit should (?:be|have|use|show)\b[^?]{0,80}$
            ^(?:we|i|it) (?:needs?|wants?|lacks?) (?:a|an|some|another) (?:new )?(?!example|guide
                |list of|overview)\w+
            ^(?:do|have|let) (?:the|a|an|users?|guests?|it|them) (?!nice|good|great|question|you
                |in-depth|deep|study|survey|analysis|review|comparison)\w+(?![^?]*\?)
            ^check in (?:the|all|my)\b
            \b(?:can|could) (?:you|u) (?:also )?(?:make|get|have) (?:it|the|this|that)\b
        """,
    ),
    cue(
        _ACTION,
        8,
        "it says what is to be used",
        r"""
            ^use (?:an? |the )?\w+ (?:\w+ )?(?:instead of|for|in|rather than)\b[^?]*$
        """,
    ),
    # ── research ──
    cue(
        _RESEARCH,
        2.5,
        "it weighs things up",
        r"""
            \b(?:better|best|worse|worst|biggest|largest|greatest|hardest|slowest|weakest|strongest|whether)\b
            \b(?:the main|main reasons?|good (?!one|morning|afternoon|evening|night|day|bot|job|luck)\w+)\b
            \b(?:how|when|why) did (?!you\b|i\b)
        """,
    ),
    cue(
        _RESEARCH,
        2.5,
        "it asks what something is, as such",
        r"""
            ^what(?:'s| is| are) (?:an? )?(?!the\b|your\b|our\b|my\b|this\b|that\b|in\b|it\b|there\b
                |called\b|passed\b|new\b|written\b|documented\b|inside\b|all\b
                |supported\b)[a-z-]+(?: [a-z-]+){0,3}\s*\??$
        """,
    ),
    cue(
        _RESEARCH,
        3,
        "it asks why, of no one place in the code",
        r"""
            ^why (?!(?:does|doesn't|isn't|am|are you|did you)\b|do (?:i|my|the|you)\b|is (?:the|this|it
                |my|that|`|\w+_)|are (?:the|my|these)\b|`)
        """,
    ),
    cue(
        _RESEARCH,
        3.5,
        "it asks about something in general",
        r"""
            ^explain (?!the\b|this\b|that\b|it\b|what\b|how (?:the|this|our|it|we|\w+[_(.])|our\b
                |line\b|`|me\b|why\b|to\b|\w*[_(./])
            ^how do (?!i\b|we\b|you\b|one\b|users?\b|the\b|our\b|these\b|those\b|its?\b|they\b|`
                |\w*[_(.])\w+
            ^(?:\w+ )?\w+ or (?:\w+ )?\w+ ?\?$
            ^what can (?:we|one|i) learn\b
            \bhow did (?:we|the (?:project|team|company|design)|they)\b
            \b(?:first|original|old|early|previous) (?:design|approach|idea)\b
            \b(?:most|least) (?:\w+-prone|\w+able|likely|complex|common)\b
            \bwhich (?:\w+ ){1,3}(?:should we|fits?|suits?|suitable|supports?)\b
            \bworth \w+ing\b
            \bbest \w+ (?:\w+ )?for\b
            \b(?:choose|pick|prefer) .{1,40}\b(?:over|or)\b
            \bhow has\b.{1,40}\bchanged\b
            \band (?:for what reason|why)\b
        """,
    ),
    cue(
        _RESEARCH,
        4,
        "it wants several sources",
        r"""
            \b(?:docs|adrs?|notes|issues|commits|tests|documentation|code|papers|posts|tickets
                |discussions|readme|changelog)(?:, (?:and )?| and | & | against | with )
                (?:the |in the |our )?(?:docs|adrs?|notes|issues|commits|tests|documentation|code|papers
                |posts|tickets|discussions|readme|changelog)\b
        """,
    ),
    # ── documentation ──
    cue(
        _DOCS,
        3.5,
        "it asks how to use something",
        r"""
            \bhow (?:do|can|should|would|could|must|shall) (?:i|one|you|users?)\b(?! (?:know|think|feel
                |stand|differ|get from))
            \bhow to\b
            \bhow (?:can|should|must) we\b
            \bhow does one\b
            \bc[óo]mo (?:se |puedo |puede )
            \bcomment (?:puis-je |faire |\w+er\b)
            \bwie (?:kann|richte|installiere|konfiguriere|benutze|verwende)\b
            如何
            怎么
            怎样
            どうやって
            方法
            steps? for\b
        """,
    ),
    cue(
        _DOCS,
        3,
        "it asks what one can or must do",
        r"""
            (?<!how )(?<!if )\b(?:can|could|do|may|must|should|did) i\b(?! (?:just )?(?:ask|say|mean))
            \bcan (?:several|multiple|many|users?)\b
            \b(?:supposed|meant|intended|allowed|possible|permitted) to\b
            \bis it possible\b
            (?<!cheapest )(?<!best )\bway to\b
            \bpuedo\b
            \bkann (?:ich|man)\b
            \bpuis-je\b
            可以
            \bwhat should (?:a|an|i)\b
            \bdo i (?:have|need)\b
            \bi have to\b
        """,
    ),
    cue(
        _DOCS,
        2.5,
        "it asks what there is for users",
        r"""
            \bis there (?:a|an|any) (?:\w+ )?(?:way|example|image|guide|option|command|flag|template
                |page|support|plugin|package|demo|list|cli|ui|limit)\b
            \b(?:which|what) (?:\w+ )?(?:ports?|fields|permissions?|languages|providers
                |plans?) (?!are you|can you|do you)
            \bmeaning of\b
            \bdoes (?:it|this) (?:run|work|support|come|need|cost|require|have)\b
            ^what (?:is|does) (?:this|the) project\b
            \.(?:md|rst|adoc|txt)\b
            \b(?:is|are) .{1,40} supported\b
        """,
    ),
    cue(
        _DOCS,
        1,
        "it asks as a user",
        r"""
            ^(?:what|where|which|how|can|could|is|does|do|when|who|will|should)\b.{0,80}\b(?:i|my)\b
        """,
    ),
    # ── code ──
    cue(
        _CODE,
        2.5,
        "it asks where something is",
        r"""
            \bwhere?(?! (?:do|can|should|could) i\b)(?:s|'s| is| are| do| does| did| can| in)?\b
            \bwhich (?:file|line|module|class|function|method|test|tests|component|regex|exceptions?
                |endpoint|route|query|table|folder|modules|files|signal|event|thread|one is)\b(?! formats)
            \bin (?:which|what) (?:file|module)
            \bfind the (?:place|definition|code|function|class|spot|line)\b
            \bd[óo]nde\b
            \bwo (?:wird|ist|werden|steht)\b
            \bo[ùu] (?:est|sont)\b
            \bwelche (?:klasse|funktion|datei)\b
            \bquel (?:fichier|module)\b
            哪里
            在哪
            どこ
            где
            어디
        """,
    ),
    cue(
        _CODE,
        2.5,
        "it asks how the code works",
        r"""
            \bhow (?:does|is|are) (?:the|our|this|these|its?|an?|(?!one\b|you\b|other)\w+)\b
            \bhow do (?:the|our|these|those|its?|we|they)\b(?! other)
            \bwhat (?:happens|does|do) (?:when|if|the|this|it|`?\w+[._(])
            \bwhat(?:'s| is| are) (?:in|inside|passed|all the|the (?:type|return|value|signature|second
                |first|subclass\w*|arguments?|shape|complexity|lifecycle|default value|purpose of))\b
            \bwhat (?:calls|uses|imports|raises|triggers|algorithm|state|subclasses|data|order)\b
            \bwho (?:calls|writes|reads|uses|owns|creates|is responsible)\b
            \bwalk me through\b
            \bstep by step\b
            \bis there a(?: unit)? test\b
            \bis there anything\b
            \bdoes (?:anything|anybody|any|\w+ing)\b
            \bare there any\b
            \bexplain (?:what|how)\b
            \b(?:tell me about|point me to) the\b
            \bwhat would break\b
            \bhow come\b
        """,
    ),
    cue(
        _CODE,
        1.5,
        "it asks about a thing in the project",
        r"""
            ^(?:is|are|can|could|does|do|has|when (?:is|does|are)|why (?:is|does|are)) (?:the|our|this
                |these|a|an)\b
            ^why (?:does|doesn't|isn't)\b
            ^how (?:are|is) \w+ \w+ed\b
            \bhow (?:\w+ ){1,3}(?:is|are|gets?) \w+ed\b
        """,
    ),
    cue(
        _CODE,
        3,
        "it shows an error",
        r"""
            \b\w*(?:error|exception)\b:\s
            \btraceback\b
            \bline \d+\b
            \bsegfault\b
            \bstack ?trace\b
            \bi(?:'m| am)? (?:get|getting|see|seeing) (?:an? |the )?(?:\"|'|`|error|exception|\w+error)
        """,
    ),
)
