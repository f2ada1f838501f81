"""A few actions in turn, round after round (B4)."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from endstop.kernel.detectors import Cycles
from endstop.kernel.finding import Pattern
from endstop.kernel.observation import CallStatus
from endstop.kernel.thresholds import Thresholds
from endstop.testing import ObservationScript, call, watch


def script_of(letters: str, *, per_turn: int = 1, news: bool = True) -> ObservationScript:
    """A turn for each letter: a capital is a call, U a message of the user, w waiting, a blank only text.

    With ``news`` every result differs, so that only the order of the actions can be found.
    """
    script, turn = ObservationScript(), list[str]()
    for number, letter in enumerate(letters):
        if letter == "U":
            script.user()
        elif letter == " ":
            script.turn(text="Hm.")
        elif letter == "w":
            script.turn(call("wait", waiting=True))
        else:
            turn.append(f"{letter}{number if news else ''}")
            if len(turn) == per_turn:
                script.turn(*[call(each[0], result=each) for each in turn])
                turn.clear()
    return script


def times(
    letters: str, *, rounds: int = 3, longest: int = 3, per_turn: int = 1, news: bool = True
) -> list[int]:
    thresholds = Thresholds(cycle_rounds=rounds, longest_cycle=longest)
    script = script_of(letters, per_turn=per_turn, news=news)
    _, findings = watch(Cycles(thresholds=thresholds), script)
    return [finding.times for finding in findings]


@pytest.mark.guarantee("B4", "B8")
def test_a_finding_names_the_actions_and_where_they_were_taken() -> None:
    _, (finding,) = watch(Cycles(), script_of("CABABAB"))
    assert finding.pattern is Pattern.CYCLE
    assert (
        finding.message == "The same 2 actions were taken in turn, 3 rounds long (turns 2 to 7): A({}), B({})"
    )
    assert finding.advice.startswith("Going round changes nothing")
    assert [each.turn for each in finding.evidence] == [1, 2, 3, 4, 5, 6]
    assert finding.evidence[0].call == "call-1-0"


@pytest.mark.guarantee("B4")
@pytest.mark.parametrize(
    ("letters", "expected"),
    [
        ("ABABA", []),
        ("ABABAB", [3]),
        ("ABABABA", [3]),
        ("ABABABABABAB", [3, 6]),
        ("ABABAC", []),
        ("ABCABCAB", []),
        ("ABCABCABC", [3]),
        ("ABCABCABCA", [3]),
        ("ABCABCABCABCABCABC", [3, 6]),
        ("ABCABCABD", []),
        ("AABAABAAB", [3]),
        ("ABCDABCDABCD", []),
        ("XYZABABAB", [3]),
        ("AAAAAAAAAAAA", []),
        ("ABABABCBCBCB", [3, 3]),
    ],
)
def test_three_rounds_of_two_or_three_actions_are_a_cycle(letters: str, expected: list[int]) -> None:
    assert times(letters) == expected


@pytest.mark.guarantee("B4", "B11")
@pytest.mark.parametrize(
    ("letters", "rounds", "longest", "expected"),
    [
        ("ABAB", 2, 3, [2]),
        ("ABA", 2, 3, []),
        ("ABABABA", 4, 3, []),
        ("ABABABAB", 4, 3, [4]),
        ("ABCABCABC", 3, 2, []),
        ("ABCDABCDABCD", 3, 4, [3]),
        ("ABCDABCDABC", 3, 4, []),
        ("ABCDEFGHABCDEFGH", 2, 8, [2]),
        ("ABCDEFGHABCDEFGHABCDEFG", 2, 8, [2]),
        ("ABABABABABAB", 3, 8, [3, 6]),
    ],
)
def test_rounds_and_the_longest_cycle_can_be_set(
    letters: str, rounds: int, longest: int, expected: list[int]
) -> None:
    assert times(letters, rounds=rounds, longest=longest) == expected


@pytest.mark.guarantee("B4")
def test_text_between_does_not_break_a_cycle() -> None:
    assert times("A BA B A  B") == [3]


@pytest.mark.guarantee("B4")
def test_a_message_of_the_user_begins_anew() -> None:
    assert times("ABABUAB") == []
    assert times("ABABUABABAB") == [3]


@pytest.mark.guarantee("B4", "B9")
def test_declared_waiting_begins_anew() -> None:
    assert times("ABABwAB") == []
    assert times("ABABwABABAB") == [3]
    assert times("AwAwAwAwAw") == []


@pytest.mark.guarantee("B4")
def test_rounds_inside_one_turn_count() -> None:
    assert times("ABABAB", per_turn=6) == [3]
    assert times("ABABAB", per_turn=2) == [3]


@pytest.mark.guarantee("B4")
def test_a_cycle_of_parallel_calls_is_found_whichever_finishes_first() -> None:
    script = ObservationScript()
    for order in ((0, 1), (1, 0), (0, 1)):
        script.turn(call("A"), call("B"), answered_in=order)
    assert [finding.times for finding in watch(Cycles(), script)[1]] == [3]


@pytest.mark.guarantee("B4")
def test_a_cursor_counts_as_the_same_action_only_with_the_same_page() -> None:
    def rounds(*pages: str) -> list[int]:
        script = ObservationScript()
        for page in pages:
            script.turn(call("next_page", {"after": page}, result=page, cursor=True)).turn(call("summarise"))
        return [finding.times for finding in watch(Cycles(), script)[1]]

    assert rounds("1", "2", "3", "4") == []
    assert rounds("9", "9", "9") == [3]


@pytest.mark.guarantee("B4")
def test_a_cursor_call_that_was_not_run_is_passed_over() -> None:
    script = script_of("ABAB").turn(call("next_page", cursor=True, status=CallStatus.SKIPPED)).turn(call("A"))
    assert [finding.times for finding in watch(Cycles(), script.turn(call("B")))[1]] == [3]


@pytest.mark.guarantee("B4")
@pytest.mark.parametrize(
    ("letters", "expected"),
    [
        ("ABBAB", []),
        ("ABBABA", [3]),
        ("ABBABAB", [3]),
        ("AABBAA", [3]),
        ("ABBABABBABBA", [3, 6]),
        ("CABBABA", [3]),
        ("AAACBB", []),
        ("ACABBABA", [3]),
        ("AAAAAB", []),
        ("BAAAAA", []),
        ("AAAAAABA", []),
    ],
)
def test_two_actions_in_any_order_with_nothing_new_are_a_cycle(letters: str, expected: list[int]) -> None:
    assert times(letters, news=False) == expected


@pytest.mark.guarantee("B4", "B8")
def test_going_to_and_fro_is_told_as_such() -> None:
    _, (finding,) = watch(Cycles(), script_of("ABBABA", news=False))
    assert finding.message == (
        "The last 6 actions were only 2 different ones, each with the same result every time "
        "(turns 1 to 6): A({}), B({})"
    )
    assert finding.times == 3


@pytest.mark.guarantee("B4")
def test_two_actions_with_news_in_their_results_are_no_cycle() -> None:
    assert times("ABBABAABBAAB", news=True) == []


@pytest.mark.guarantee("B4")
def test_one_cycle_is_not_reported_under_two_names() -> None:
    # At the sixth action both kinds of row are on their way; the seventh completes A B A B A B as well.
    assert times("AABABAB", news=False) == [3]


def test_one_action_with_two_results_is_no_pair() -> None:
    script = ObservationScript()
    for number in range(12):
        script.turn(call("A", result=str(number % 2)))
    assert watch(Cycles(), script)[1] == []


def test_what_does_not_concern_it_leaves_the_detector_as_it_is() -> None:
    detector = Cycles()
    for observation in ObservationScript().user().turn(text="Hello."):
        assert detector.observe(observation)[0] is detector


def reference(letters: str, *, rounds: int, longest: int) -> list[int]:
    """The same rules, said over the whole history each time. Every result is the same."""
    found: list[tuple[int, set[str]]] = []
    times: list[int] = []
    for end in range(1, len(letters) + 1):
        so_far = letters[:end]
        if found:
            at, actions = found[-1]
            if end - at < 2 * rounds and set(letters[at:end]) <= actions:
                continue
        for length in range(2, longest + 1):
            row = length
            while row < end and so_far[-row - 1] == so_far[-row - 1 + length]:
                row += 1
            is_due = row > length and row % (length * rounds) == 0 and len(set(so_far[-length:])) > 1
            if is_due and row <= end:
                found.append((end, set(so_far[-length:])))
                times.append(row // length)
                break
        else:
            row = max(size for size in range(1, end + 1) if len(set(so_far[-size:])) <= 2)
            last = so_far[-row:]
            if row % (2 * rounds) == 0 and len(set(last)) == 2 and min(map(last.count, set(last))) > 1:
                found.append((end, set(last)))
                times.append(row // 2)
    return times


@pytest.mark.guarantee("B4")
@settings(deadline=None)
@given(st.text("ABC", max_size=40), st.integers(2, 4), st.integers(2, 5))
def test_it_agrees_with_a_look_at_the_whole_history(letters: str, rounds: int, longest: int) -> None:
    assert times(letters, rounds=rounds, longest=longest, news=False) == reference(
        letters, rounds=rounds, longest=longest
    )


def test_what_it_keeps_does_not_grow() -> None:
    detector, _ = watch(Cycles(), script_of("ABCAABBACB" * 200))
    assert len(detector.recent) == 24
    assert len(detector.matches) == 2
    assert len(detector.reported) <= 3
