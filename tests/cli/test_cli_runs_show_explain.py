"""Looking at runs: ``runs``, ``show``, ``explain``, ``audit``."""

from __future__ import annotations

import sqlite3
from importlib.metadata import version
from pathlib import Path

import pytest
from cli_program import Endstop
from cli_runs import awaiting_user, of_unknown_price, under_review, with_sources

RUN_KEYS = {
    *("run", "state", "agent", "model", "question", "user", "project", "turns", "tokens", "cost_usd"),
    *("started_at", "changed_at", "ended_at", "ending", "exit_code", "next"),
}


def test_runs_says_how_to_begin_when_there_is_none(endstop: Endstop) -> None:
    done = endstop("runs")
    assert (done.code, done.out) == (0, "No run yet. Start some with: endstop demo\n")
    assert endstop("runs", "--json").json == []
    assert endstop("runs", "--open").out == "No such run.\n"


def test_demo_lists_what_there_is_and_runs_none(endstop: Endstop, home: Path) -> None:
    assert "repeats_call" in endstop("demo", "--list").out
    listed = endstop("demo", "--list", "--json").json
    assert {"name": "runaway", "does": "Makes a new tool call each turn, for ever."} in listed
    assert not home.exists()


def test_the_version_is_told(endstop: Endstop) -> None:
    assert endstop("--version").out == f"endstop {version('endstop')}\n"


def test_runs_lists_the_newest_first_with_what_they_used_and_how_they_ended(in_gallery: Endstop) -> None:
    lines = in_gallery("runs").out.splitlines()
    assert " ".join(lines[0].split()) == "run started agent question state turns tokens cost how it ended"
    assert [line.split()[3] for line in lines[1:]] == [
        "demo:repeats_call",
        "demo:fails_access",
        "demo:recovers",
        "demo:says_odd_text",
    ]
    assert "echo was called 3 times in a row" in lines[1]
    assert "failed (model_access)" in lines[2]


@pytest.mark.guarantee("J1")
def test_runs_as_json_have_stable_keys(in_gallery: Endstop) -> None:
    runs = in_gallery("runs", "--json").json
    assert [run["exit_code"] for run in runs] == [3, 1, 0, 3]
    assert all(set(run) == RUN_KEYS for run in runs)
    assert all(run["state"] == "ended" for run in runs)


def test_runs_says_when_there_are_more_than_it_shows(in_gallery: Endstop) -> None:
    done = in_gallery("runs", "--limit", "2")
    assert "There are more than these 2" in done.out
    assert len(in_gallery("runs", "--limit", "2", "--json").json) == 2
    assert len(in_gallery("runs", "--all", "--json").json) == 4


def test_runs_that_wait_are_found_and_say_how_to_go_on(endstop: Endstop, home: Path) -> None:
    reviewed, awaited = under_review(home), awaiting_user(home)
    opened = {run["run"]: run for run in endstop("runs", "--open", "--json").json}
    assert opened[reviewed]["state"] == "waits for review"
    assert opened[reviewed]["next"] == f"endstop review {reviewed}"
    assert opened[awaited]["next"] == f'endstop resume {awaited} --answer "…"'
    assert [run["run"] for run in endstop("runs", "--reviews", "--json").json] == [reviewed]
    assert f"waits for review: endstop review {reviewed}" in endstop("runs").out


@pytest.mark.guarantee("A10")
def test_an_unknown_cost_is_called_unknown(endstop: Endstop, home: Path) -> None:
    run = of_unknown_price(home)
    assert "unknown" in endstop("runs").out
    assert endstop("runs", "--json").json[0]["cost_usd"] is None
    assert "cost unknown" in endstop("show", run).out


def test_show_tells_question_budget_timeline_and_the_answer_marked_as_forced(in_gallery: Endstop) -> None:
    done = in_gallery("show", "last")
    assert done.code == 0
    assert "question   Makes the same tool call every turn." in done.out
    assert "turns 3/12 · tokens" in done.out
    assert 'Call: echo: {"query":"the same again"}' in done.out
    assert "Answer (forced: echo was called 3 times in a row" in done.out


def test_show_as_json_is_one_document(in_gallery: Endstop) -> None:
    shown = in_gallery("show", "last", "--json").json
    assert set(shown) == RUN_KEYS | {"meters", "timeline", "answer", "is_forced", "sources"}
    assert shown["is_forced"] is True
    assert shown["meters"]["turns"] == {"used": 3, "limit": 12}
    assert [moment["seq"] for moment in shown["timeline"]] == list(range(len(shown["timeline"])))


def test_show_names_what_an_answer_rests_on(endstop: Endstop, home: Path) -> None:
    run = with_sources(home)
    assert "docs/notes.md:3  Notes" in endstop("show", run).out
    assert endstop("show", run, "--json").json["sources"] == [
        {"title": "Notes", "location": "docs/notes.md:3", "passage": "It is here."}
    ]


def test_show_shortens_what_repeats_and_what_is_long_unless_all_is_asked_for(endstop: Endstop) -> None:
    assert endstop("demo", "many_calls", "says_odd_text").code == 0
    odd, many = (run["run"] for run in endstop("runs", "--json").json)
    assert "more like this" in endstop("show", many).out
    assert "lines left out: --all shows them" in endstop("show", odd).out
    whole = endstop("show", many, "--all").out
    assert "left out:" not in whole
    assert whole.count("Call: echo") > 300


def test_show_of_a_run_that_waits_says_for_what(endstop: Endstop, home: Path) -> None:
    out = endstop("show", under_review(home)).out
    assert "waits for" in out
    assert "next       endstop review" in out


def test_follow_ends_by_itself_when_the_run_has_ended(in_gallery: Endstop) -> None:
    done = in_gallery("show", "last", "--follow")
    assert done.code == 0
    assert "has ended: forced to complete" in done.out
    lines = in_gallery("show", "last", "--follow", "--json").json_lines
    assert lines[-1]["type"] == "run.ended"


def test_what_a_model_wrote_cannot_drive_the_terminal(in_gallery: Endstop) -> None:
    run = in_gallery("runs", "--json").json[-1]["run"]
    done = in_gallery("show", run, "--all")
    assert "�" in done.out
    assert not {each for each in done.out if ord(each) < 32} - {"\n"}


def test_explain_gives_rule_evidence_and_the_next_commands(in_gallery: Endstop) -> None:
    done = in_gallery("explain", "last")
    assert done.out.startswith("Forced to complete after 3 turns: no progress.\n")
    assert "turn 1, call t1_1: echo" in done.out
    assert "\n  endstop demo repeats_call\n" in done.out


def test_explain_as_json(in_gallery: Endstop) -> None:
    told = in_gallery("explain", "last", "--json").json
    assert set(told) == {
        *("run", "state", "headline", "why", "evidence", "spent", "kept", "to_do", "next"),
    }
    assert len(told["evidence"]) == 3


def test_explain_of_a_run_that_waits_tells_how_to_decide_it(endstop: Endstop, home: Path) -> None:
    run = under_review(home)
    done = endstop("explain", run)
    assert "It waits for a person" in done.out
    assert f"endstop review {run} approve --turns 10 --resume" in done.out
    assert f'endstop resume {awaiting_user(home)} --answer "…"' in endstop("explain", "last").out


def test_a_run_is_found_by_its_first_letters_with_or_without_the_prefix(in_gallery: Endstop) -> None:
    run = in_gallery("runs", "--json").json[0]["run"]
    assert in_gallery("explain", run[:-1], "--json").json["run"] == run
    assert in_gallery("explain", run.removeprefix("run_")[:-1], "--json").json["run"] == run


@pytest.mark.guarantee("I7")
@pytest.mark.parametrize("command", ["show", "explain", "audit", "resume", "cancel", "review"])
def test_an_unknown_run_is_said_in_words_and_as_json(in_gallery: Endstop, command: str) -> None:
    done = in_gallery(command, "nope")
    assert done.code == 2
    assert done.err.startswith("endstop: There is no run 'nope'.\n  Allowed: ")
    assert "To do: See them all with endstop runs --all." in done.err
    error = in_gallery(command, "nope", "--json").error
    assert set(error) == {"code", "what", "allowed", "to_do"}
    assert error["code"] == "unknown_run"


def test_letters_that_fit_several_runs_are_refused_with_their_names(in_gallery: Endstop) -> None:
    done = in_gallery("show", "run_")
    assert done.code == 2
    assert "4 do: run_" in done.err


def test_last_of_nothing_says_how_to_begin(endstop: Endstop) -> None:
    done = endstop("show", "last")
    assert (done.code, "Start some with endstop demo" in done.err) == (2, True)


@pytest.mark.guarantee("A14")
def test_audit_prints_each_check(in_gallery: Endstop) -> None:
    done = in_gallery("audit", "last")
    assert done.code == 0
    assert done.out.count("\n  holds ") == 6
    told = in_gallery("audit", "last", "--json").json
    assert set(told) == {"run", "holds", "checks"}
    assert all(check["holds"] for check in told["checks"])


@pytest.mark.guarantee("A14")
def test_audit_of_all_looks_at_every_run_that_has_ended(endstop: Endstop, home: Path) -> None:
    assert endstop("audit", "--all").out == "0 of 0 hold\n"
    assert endstop("demo", "recovers").code == 0
    under_review(home)
    done = endstop("audit", "--all")
    assert done.code == 0
    assert "1 of 1 hold; 1 not looked at, because they have not ended" in done.out
    assert len(endstop("audit", "--all", "--json").json) == 1


@pytest.mark.guarantee("A14")
@pytest.mark.parametrize(
    ("damage", "named"),
    [
        ("DELETE FROM facts WHERE seq = 3", "BROKEN"),
        ("UPDATE facts SET line = 'nonsense' WHERE seq = 3", "the record can be read"),
    ],
)
def test_a_record_that_was_tampered_with_does_not_hold(
    endstop: Endstop, home: Path, damage: str, named: str
) -> None:
    assert endstop("demo", "recovers").code == 0
    with sqlite3.connect(home / "endstop.db") as database:
        database.execute(damage.replace("facts", _facts_table(database)))
    database.close()
    done = endstop("audit", "last")
    assert (done.code, named in done.out) == (1, True)
    assert endstop("audit", "last", "--json").code == 1
    assert "0 of 1 hold" in endstop("audit", "--all").out


def test_audit_wants_a_run_or_all(in_gallery: Endstop) -> None:
    assert in_gallery("audit").code == 2
    assert in_gallery("audit", "last", "--all").code == 2


def test_a_run_that_has_not_ended_is_not_audited(endstop: Endstop, home: Path) -> None:
    done = endstop("audit", under_review(home))
    assert done.code == 2
    assert "has not ended" in done.err


def _facts_table(database: sqlite3.Connection) -> str:
    names = [row[0] for row in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
    return next(name for name in names if name.endswith("facts"))
