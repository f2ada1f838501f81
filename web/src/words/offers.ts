/** What a run that waits is offered, and what a person may say to it: the same everywhere on the page. */

/** How many more turns, unless it had fewer at first. */
export const MORE_TURNS = 10;

/** As much as the server takes of what a person writes: an answer, a reason, what to do otherwise. */
export const MOST_CHARS_SAID = 20_000;
