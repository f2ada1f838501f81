"""The types of queries, and the words that speak for each. Tables for ``query``.

English mostly; the commonest words of Spanish, German, French, Chinese and Japanese too. A table lists
words and phrases with commas between them; ``*`` stands for the rest of a word. What takes more than words
stands in ``query_forms``. Nothing repeats inside a repetition, so the cost is linear in the text.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum


class QueryType(StrEnum):
    """What a question is about, and with that, what is needed to answer it (E8)."""

    CODE = "code"
    """How the code works, where something is."""
    DOCUMENTATION = "documentation"
    """What documents and notes say; how to install, configure, use."""
    RESEARCH = "research"
    """Comparisons, reasons, history, broad questions, knowledge from outside."""
    CONVERSATIONAL = "conversational"
    """Greetings, thanks, small talk; the assistant and the chat themselves."""
    ACTION = "action"
    """Something is to be done: changed, run, made."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cue:
    """A pattern that speaks for a type, and how loudly."""

    type: QueryType
    weight: float
    pattern: re.Pattern[str]
    why: str
    grows: bool = False
    """Each further word that fits makes it louder: who speaks of five things in code speaks of code."""


def cue(type_: QueryType, weight: float, why: str, forms: str) -> Cue:
    """A cue from regular expressions, one a line; a line set further in goes on with the line above."""
    return Cue(type=type_, weight=weight, why=why, pattern=re.compile(one_of(forms)))


def one_of(forms: str) -> str:
    """The lines of a table as one expression."""
    lines = [line for line in forms.splitlines() if line.strip()]
    depth = min(len(line) - len(line.lstrip()) for line in lines)
    return "".join(("" if line[depth] == " " else "|") + line.strip() for line in lines).removeprefix("|")


def _says(type_: QueryType, weight: float, why: str, phrases: str, *, grows: bool = False) -> Cue:
    """A cue from words and phrases; scripts that do not part their words have no borders to look for."""
    listed = [" ".join(phrase.split()) for phrase in phrases.split(",")]
    parted = [phrase.replace("*", r"\w*") for phrase in listed if phrase[0] < _UNPARTED]
    joined = [phrase for phrase in listed if phrase[0] >= _UNPARTED]
    pattern = "|".join([rf"(?<!\w)(?:{'|'.join(parted)})(?!\w)", *joined])
    return Cue(type=type_, weight=weight, why=why, pattern=re.compile(pattern), grows=grows)


_UNPARTED = "\u2e80"
"""Where Chinese, Japanese and Korean letters begin."""

_RESEARCH, _CODE, _DOCS = QueryType.RESEARCH, QueryType.CODE, QueryType.DOCUMENTATION
_CHAT, _ACTION = QueryType.CONVERSATIONAL, QueryType.ACTION

WORDS: tuple[Cue, ...] = (
    _says(
        _CHAT,
        4,
        "it is small talk",
        """
        joke, jokes, say hello, say hi, the ai, this ai, a bot, a robot, be human, pets, hobbies,
        cats or dogs, something funny, something nice, the pleasure, no idea, a poem, what's up, whats up,
        yourself, the weather, time is it, day is it, start over, new topic, another topic,
        change the topic, change the subject, one more question, another question, my first question,
        my last question, my question, keep it up, exactly what i needed, exactly what i wanted,
        long time no see, apologi*, stop talking, be honest, be nice, be brief, be concise, be polite,
        forget it, misunderst*, kidding me, to meet you, figured it out, i see, who am i, hear me,
        call you, call me, were we talking, do you have feelings, my name is, good luck, te llamas,
        tu t'appelles, i'm back, i am back, talk later, wie geht's, wie geht es, ça va, qué tal,
        how's life, one moment, a moment
        """,
    ),
    _says(
        _ACTION,
        3,
        "it asks for something to be done, in another language",
        """
        hinzu, hinzufügen, erstellen, ändern, 添加, 创建, 新建, 删除, 修改, 修复, 运行, 重构, 更新,
        追加して, 作成して, 削除して, 修正して, 実行して, 変更して, 추가해, 만들어
        """,
    ),
    _says(
        _ACTION,
        3,
        "it asks for something to be done",
        """
        for me, on my behalf, and push it, and commit it, go ahead, get rid of, make sure, do the same,
        take care of, get it to, do it, fix it, fix this, fix that, apply it, apply that, make it, and add,
        and fix, and remove, and rename, and write
        """,
    ),
    _says(
        _RESEARCH,
        5,
        "it compares",
        """
        compare*, compari*, compair, vs, versus, pros and cons, pros/cons, pros & cons, trade-off*,
        tradeoff*, advantages, disadvantages, upsides, downsides, drawbacks, benefits of, alternative,
        alternatives, better than, better for, better fit, is better, are better, better libraries,
        which is best, differently, different from, differ, differs, similarities, for and against,
        arguments for, arguments against, arguments in, argument for, argument against, in favour of,
        in favor of, argue, competitors, competition, gegenüber, ventajas, desventajas, vorteile,
        nachteile, avantages, inconvénients, or the better, 比较, 优缺点, 还是, 比較, 長所
        """,
    ),
    _says(
        _RESEARCH,
        2.5,
        "it asks for a difference",
        """
        difference between, differences between, difference in, differences in, différence*, unterschied*,
        diferencia*, differenz*, relationship between, relation between, how are related
        """,
    ),
    _says(
        _RESEARCH,
        4,
        "it asks for reasons or history",
        """
        history, histories, historic*, historically, originally, origin of, origins of, evolved, evolve,
        evolution, over the years, over time, over the last, over the past, in the past, past year,
        last year, story behind, story of, came about, came into being, end up with, ended up, used to be,
        moved from, move from, moving away, moved away, changed since, changed between, change since,
        lesson*, learn from, learned from, happened to, abandoned, reason, reasons, background on,
        background of, came to be, rationale, reasoning, motivat*, decision to, decision made,
        the decision, decided, who decided, whose idea, thinking behind, caused, root cause, root causes,
        led to, drove, pourquoi, warum, por qué, weshalb, wieso, when and why, else was considered,
        historia, geschichte, 为什么, 历史, なぜ, 歴史
        """,
    ),
    _says(
        _RESEARCH,
        4,
        "it asks for a study",
        """
        investigate, investigation, analyse, analyze, analysis, evaluate, evaluation, assess, assessment,
        survey, estimate, rank, a study, study of, explore, deep dive, in-depth, in depth, dig into,
        look into, critical*, critique, examine, brainstorm, literature, papers, paper on, evidence, trend,
        trends, state of the art, best practice, best practices, prior art, consensus, research on,
        any research, benchmarks of, latest developments, recent developments, theory, theoretical*,
        connect the dots, contradict*, inconsisten*, no longer match, big picture, known about,
        known vulnerabilities, holistic*, failure modes, correlat*, what would it take, implications,
        consequences, the impact of, impact of, hypothes*, feasibility, case study, case studies, studies,
        concept of, better way, best way, research say, research says, current research, case for,
        case against, expert, experts, find out why, getting worse, getting slower, state of, landscape,
        ecosystem, future of, challenges, use cases, limitations of, pitfalls, approaches, approaches to,
        techniques, types of, kinds of, invented, insight*, advice, ideas for, theorem, paradox,
        principle of, principles of
        """,
    ),
    _says(
        _RESEARCH,
        3,
        "it asks for a judgement",
        """
        cheap, cheaper, cheapest, expensive, how much would, how much effort, would it cost, cost of,
        costs of, costs, their costs, roi, worth, make sense, makes sense, good idea, bad idea, good for a,
        good enough, good choice, realistic, unrealistic, feasible, viable, likely, probable, risk, risks,
        risky, riskiest, weakness*, weak point*, weakest, strengths, mature, maturity, popular, suitable,
        recommend*, strategy, strategic, roadmap, philosophy, philosophies, outgrow, bottleneck*,
        could be improved, how well, how good, how safe, how secure, most important, in common, should the,
        should our, should we, be rewritten, scale to, scales to, mejor, bessere, besser, meilleur*,
        sollten wir, 应该, すべき, future-proof, sustainable, complain*, when would i, when would we,
        best database, best framework, best language, best library, best tool, factor, factors, influence,
        influences, concerns, ethical, obsolete, outdated, still need, still relevant, overrated, adoption,
        popularity, justif*, effectiveness, compliance, long term, long-term, outlook, forecast, spricht,
        préférer, raisons, razones, gründe, which of these, choose between, pick between
        """,
    ),
    _says(
        _RESEARCH,
        3,
        "it looks beyond the project",
        """
        people use, people do, most people, everybody, everyone, others do, who else, what else,
        anyone else, companies, other companies, other teams, other projects, other frameworks,
        other tools, other open source, these days, nowadays, generally, in general, typical, typically,
        usually, commonly, common causes, common mistakes, common pitfalls, in practice, in the wild,
        on the market, market, industry, business, customer*, pricing, legal*, law, laws, regulation*,
        gdpr, ai act, academic, scientific, big tech, big cloud, cloud providers, cost to run,
        open source projects, big projects, most agents, most projects, the internet, on the web,
        in the world
        """,
    ),
    _says(
        _RESEARCH,
        4,
        "it is broad",
        """
        everything in this project, everything we know, across all, across code, across the code,
        across our, throughout the, all our, all of our, whole code base and, entire code base and,
        parts of the system, of our modules, of our services
        """,
    ),
    _says(
        _DOCS,
        3,
        "it asks what a document says",
        """
        doc, docs, document, documents, documentation, documented, rules, summary, summarise, summarize,
        readme, manual, manuals, guide, guides, handbook, tutorial, tutorials, wiki, faq, glossary,
        changelog, release notes, note, notes, contributing, adr, adrs, how-to, howto, runbook,
        white paper, whitepaper, spec, specs, specification, quickstart, quick start, getting started,
        get started, onboarding, api reference, cli reference, reference for, license, licence, licensed,
        policy, policies, privacy, terms of service, troubleshooting, meeting, minutes, agenda, retro,
        acceptance criteria, style guide, anleitung, dokumentation, handbuch, documentación, guía, manuel,
        文档, 手册, 说明, ドキュメント, マニュアル, walkthrough, cheat sheet, cookbook
        """,
    ),
    _says(
        _DOCS,
        1.5,
        "it asks what is said",
        """
        say, says, said, mention, mentions, mentioned, describes, described, explains, explained,
        according to, written in, wrote, write down, wrote down, page, section, chapter, per the, agree on,
        agreed on, read about, read more, dice, sagt, dit
        """,
    ),
    _says(
        _DOCS,
        2.5,
        "it asks about setting up or using",
        """
        instal*, set up, setting up, setup, configure, configuring, configuration options,
        system requirements, requirements, prerequisite*, upgrade, upgrading, supported, instructions,
        instruction, steps, step to, options, settings, setting, flag, flags, api key, api keys,
        environment variable, environment variables, version, versions, guideline*, convention,
        conventions, defaults, default settings, shortcuts, shortcut, what's new, new in, release,
        releases, command, commands, command line, permissions, quota, contact, email address,
        commercially, support for, for support, syntax, exit code, exit codes, checklist, keyboard,
        offline, docker image, file formats, formats, example of, examples of, an example, usage, minimum,
        platforms, browsers, bug report, bug reports, report a, behind a proxy, behind nginx, upload size,
        rate limit, rate limits, public api, format of, process for, procedure, procedures,
        release process, deployment process, limit on, limits on, limits of, raspberry pi, on windows,
        on mac, on macos, on linux, concepts, terms, project about, this about, 安装, 配置, 步骤, 怎么用,
        インストール, 設定, 手順, 使い方
        """,
    ),
    _says(
        _CODE,
        2,
        "it speaks of code",
        """
        code base, codebase, function, functions, class, classes, subclass, subclasses, method, methods,
        module, modules, variable, variables, constant, constants, implement*, defined, definition, define,
        defines, caller, callers, called, calls, call stack, import, imports, imported, usages, exception,
        exceptions, raise, raises, raised, return, returns, returned, decorator, decorators, interface,
        interfaces, struct, structs, enum, enums, regex, argument, arguments, parameter, parameters,
        handler, handlers, middleware, endpoint, endpoints, router, routers, reducer, reducers, component,
        components, render, renders, re-render, recursion, recursive, loop, loops, lock, locks, deadlock,
        mutex, thread, threads, callback, callbacks, hook, hooks, parser, parsers, parse, parses, parsed,
        compile, compiles, stack trace, traceback, unit test, test that, test for, tests for, tests fake,
        tests fail, invalidated, wired, null, none, circular, column, columns, data structure, algorithm,
        stdout, instance, instances, property, field, fields, branch for, inherits, extends, thrown,
        throws, depends on, depend on, structure of the, clase, función, klasse, funktion, classe,
        fonction, fichier, archivo, datei, défini*, aufgerufen, logique, 实现, 函数, 代码, 実装, 関数,
        クラス, コード
        """,
        grows=True,
    ),
    _says(
        _CODE,
        1.5,
        "it asks what the code does",
        """
        handle, handles, handled, validate, validates, validated, compute, computes, computed, calculate,
        calculates, calculated, detect, detects, detected, loaded, emit, emits, emitted, dispatch,
        dispatched, serialised, serialized, mapped, initialised, initialized, triggered, passed, converts,
        converted, evict, evicted, retried, scheduled, persisted, propagated, resolved, instantiated
        """,
    ),
    _says(
        _CODE,
        1,
        "it says code",
        """
        code, source, logged, stored, cached, written to, line, lines, queue, worker, session, sessions,
        token, logic, script, scripts, schema, repo, repository, file, files, folder, flow, route, routes,
        table, tables, event, events, cache, bug, logger, job, jobs, service
        """,
    ),
)
