"""Situations, and what a thoughtful person would do in each: what ``fallback_bert`` compares others with."""

from __future__ import annotations

from collections.abc import Sequence

from endstop.oracle.fallback import FallbackAction
from endstop.oracle.situation import Situation
from endstop.signals import FieldValue, Signal, SignalType


def _silent(text: str, *, calls: int = 0, errors: int = 0, sources: bool = False) -> Situation:
    """No signal for some turns."""
    return Situation(
        text=text,
        turns_without_signal=3,
        tool_calls_last_turn=calls,
        tool_errors_in_a_row=errors,
        has_sources=sources,
    )


def _stuck(text: str, blocker: str, *suggestions: str, sources: bool = False) -> Situation:
    fields: dict[str, FieldValue] = {"blocker": blocker}
    if suggestions:
        fields["suggestions"] = suggestions
    signal = Signal(type=SignalType.STUCK, confidence=0.4, fields=fields)
    return Situation(text=text, signal=signal, has_sources=sources)


def _unsure(
    text: str, type_: SignalType, *, calls: int = 0, sources: bool = False, **fields: str
) -> Situation:
    signal = Signal(type=type_, confidence=0.2, fields=fields)
    return Situation(text=text, signal=signal, tool_calls_last_turn=calls, has_sources=sources)


_GO_ON: tuple[Situation, ...] = (
    _silent("Let me look at the next file.", calls=1, sources=True),
    _silent("Found the class. Now I will read the function that calls it.", calls=2, sources=True),
    _silent("I will search for other names of the same thing.", calls=1),
    _silent("Reading the tests to see how it is meant to be used.", calls=3, sources=True),
    _silent("The import leads to another module; I am opening it.", calls=1, sources=True),
    _silent("", calls=2, sources=True),
    _silent("Next I check the configuration.", calls=1),
    _unsure(
        "I have the first half, reading on.",
        SignalType.NEED_TURN,
        calls=1,
        sources=True,
        reason="read the rest",
    ),
    _unsure("Looking further.", SignalType.NEED_TURN, calls=2, reason="one more file to read"),
    _unsure(
        "Checking the second place.",
        SignalType.NEED_TURN,
        calls=1,
        sources=True,
        reason="compare both places",
    ),
)

_ANSWER: tuple[Situation, ...] = (
    _silent(
        "The token is checked in src/auth.py:40. It is read from the header, compared, and refused.",
        sources=True,
    ),
    _silent("In summary, there are three places that open the database, all listed above.", sources=True),
    _silent(
        "So the answer is: the retry happens in loop.py, at most five times, with a growing pause.",
        sources=True,
    ),
    _silent("The README says to install it with pip and then to run the server.", sources=True),
    _silent(
        "To conclude: both classes do the same, and the newer one should be used. Let me know if that helps."
    ),
    _silent(
        "The function returns None if the file is missing, as line 12 shows. Would you like more detail?"
    ),
    _silent("As explained above, the cache is emptied once an hour.", sources=True),
    _unsure(
        "Most likely the limit is 30, but I only saw it in one test.",
        SignalType.CONTEXT_SUFFICIENT,
        sources=True,
    ),
    _unsure(
        "The first two questions are answered above; of the third I found no trace.",
        SignalType.PARTIAL_ANSWER,
        sources=True,
        missing="the third question",
        caveat="it may be in another project",
    ),
    _unsure(
        "The project seems to use SQLite, from what the settings say.",
        SignalType.PARTIAL_ANSWER,
        missing="proof",
    ),
    _stuck(
        "All that can be found is listed above; there is nothing more in this project.",
        "nothing left to read",
        sources=True,
    ),
    _stuck(
        "I looked everywhere. The project has no such function.",
        "it does not exist in this project",
        sources=True,
    ),
    _silent(
        "There are five of them: add, remove, list, show and clear. Each is in its own file.", sources=True
    ),
    _silent(
        "It was changed in version 2, because the old format could not hold more than one user.", sources=True
    ),
    _silent(
        "First the order is checked, then it is paid, then it is sent; see the three functions above.",
        sources=True,
    ),
    _silent("Yes: mails are sent in the background, and a failed one is tried again.", sources=True),
    _silent("No, the password is never written to the log.", sources=True),
    _silent("I hope this answers your question about the scheduler."),
    _silent("So SQLite is enough here; PostgreSQL is only needed for several machines. Shall I go deeper?"),
    _unsure("It probably starts in main.py, line 3.", SignalType.CONTEXT_SUFFICIENT, sources=True),
    _stuck(
        "What I could find out: the job runs at night and writes a file.",
        "the rest is not documented",
        sources=True,
    ),
)

_HINT: tuple[Situation, ...] = (
    _stuck("", "no file mentions the word", "search for a part of the name"),
    _stuck("I could not find it.", "the search finds nothing", "list the files", "look in the tests"),
    _stuck("I do not get on.", "too many results", "search in one folder only"),
    _stuck("Nothing so far.", "the name may be spelt differently", "try another spelling"),
    _stuck(
        "I keep finding the same file.", "every search leads to the same place", "follow the imports instead"
    ),
    _silent("", errors=2, calls=1),
    _silent("The tool failed again.", errors=2, calls=1),
    _silent("Error: the arguments were not accepted.", errors=1, calls=1),
    _silent("I am thinking about how to begin."),
    _silent(""),
    _silent("Hmm."),
    _silent("I will now look into this."),
    _unsure("I am not sure where to look.", SignalType.NEED_TURN, reason="do not know where to search"),
    _unsure("Perhaps it is somewhere else.", SignalType.NEED_TURN, reason="nothing found yet"),
    _stuck("", "the file is too long to read at once", "read it in parts"),
    _stuck("The pages do not mention it.", "the documents do not speak of it", "look into the code"),
    _stuck("I went in circles.", "the same calls again and again", "start from the entry point"),
    _stuck("No idea yet.", "do not know the name of the class", "list the folder src"),
    _silent("Timed out.", errors=1, calls=1),
    _silent("There is no tool of that name.", errors=3, calls=2),
    _silent("Let me think."),
    _silent("I have not started yet."),
    _silent("First I would have to search."),
    _silent("I will get back to the question about the invoices."),
    _unsure("", SignalType.NEED_TURN, reason="start over with another word"),
    _unsure("Maybe, maybe not.", SignalType.PARTIAL_ANSWER, missing="nearly everything"),
)

_ASK: tuple[Situation, ...] = (
    _stuck("There are two projects with that name.", "it is unclear which project is meant"),
    _stuck("I may not read that folder.", "no permission to read the folder"),
    _stuck("The server wants a password.", "credentials are missing that only the user has"),
    _stuck("It could mean two things.", "the question is ambiguous", "ask the user which one is meant"),
    _stuck("This needs a decision.", "the user has to decide between the two designs"),
    _stuck("The log is not here.", "the error message was not given", "have the user paste the log"),
    _silent("Which of the two versions do you mean?"),
    _silent("Could you please tell me which file you are working on?"),
    _silent("Please provide the error message, so that I can go on."),
    _silent("I need to know which database you use. Is it SQLite or PostgreSQL?"),
    _silent("Do you want the old or the new behaviour to be described?"),
    _unsure(
        "Which environment is this about?", SignalType.NEED_TURN, reason="the user must say which environment"
    ),
    _unsure(
        "I would need an API key for that.", SignalType.NEED_CAPABILITY, capability="access to the account"
    ),
    _stuck("I cannot open it.", "access is denied", "the user has to share the file"),
    _stuck("The project is not here.", "the folder was not given", "ask the user for the folder"),
    _stuck("It depends on what you want.", "the goal is not clear"),
    _silent("What should happen to the old invoices: keep them or delete them?"),
    _silent("Before I go on: is this about the web page or the terminal?"),
    _silent("Can you send me the stack trace?"),
    _silent("Please confirm that I may look at the customer data."),
    _silent("I do not know which release you run. What does the version command show?"),
    _silent("Please choose one of the three options above."),
    _unsure("Who should be able to see it?", SignalType.PARTIAL_ANSWER, missing="what the user wants"),
)

EXAMPLES: Sequence[tuple[FallbackAction, Situation]] = (
    *((FallbackAction.CONTINUE, one) for one in _GO_ON),
    *((FallbackAction.FORCE_RESPONSE, one) for one in _ANSWER),
    *((FallbackAction.RETRY_WITH_HINT, one) for one in _HINT),
    *((FallbackAction.ESCALATE, one) for one in _ASK),
)
