import { CircleDollarSign, LoaderCircle } from "lucide-react";
import { Button } from "@/ui/button";
import { ProblemNotice } from "@/ui/states";
import { money, plural } from "@/words/format";
import { useAnswering } from "./coding-queries";
import { alternativeWord, minutesWords, policyWords } from "./coding-words";
import type { Alternative, Price, PriceRules } from "./shapes";

type PriceCardProps = {
  runId: string;
  price: Price;
  /** For what. */
  title: string;
  /** What the policy says to prices, if that is known. */
  rules: PriceRules | null;
  /** The answer before, if it was not understood. */
  notUnderstood: string | null;
};

/** The price of a build, to be decided about before anything is built. */
export function PriceCard({ runId, price, title, rules, notUnderstood }: PriceCardProps) {
  const { send, sent, isUnderWay, isError, error } = useAnswering(runId);
  const isRejected = price.verdict === "rejected";
  const chosen = isUnderWay ? sent : null;
  return (
    <section aria-label="The price" className="rounded-card border border-notice-line bg-notice-soft p-4">
      <h2 className="flex items-center gap-2 text-sm font-semibold">
        <CircleDollarSign aria-hidden className="size-4 text-notice" />
        {isRejected ? "This costs more than the policy allows" : "May it cost this much?"}
      </h2>
      <Amount price={price} title={title} />
      {rules !== null && (
        <p className="mt-2 text-sm break-words text-ink-soft">{policyWords(rules, isRejected)}</p>
      )}
      <p role="status" className="text-sm break-words text-notice">
        {notUnderstood !== null && `That was not understood: ${notUnderstood}`}
      </p>
      {isRejected ? (
        <Alternatives
          alternatives={price.alternatives}
          chosen={chosen}
          isUnderWay={isUnderWay}
          onChoose={send}
        />
      ) : (
        <p className="text-sm text-ink-soft">
          What you approve becomes the budget of the build: it ends there, whatever happens.
        </p>
      )}
      <div className="mt-3 flex flex-wrap gap-2">
        {!isRejected && (
          <Button look="primary" disabled={isUnderWay} onClick={() => send("yes")}>
            {chosen === "yes" && <LoaderCircle aria-hidden className="size-4 animate-spin" />}
            {price.price_usd === null ? "Approve it" : `Approve ${money(price.price_usd)}`}
          </Button>
        )}
        <Button disabled={isUnderWay} onClick={() => send("no")}>
          {chosen === "no" && <LoaderCircle aria-hidden className="size-4 animate-spin" />}
          {isRejected ? "None of these: end it here" : "Reject, and end it here"}
        </Button>
      </div>
      {isError && (
        <ProblemNotice className="mt-2" error={error} onRetry={() => sent !== undefined && send(sent)} />
      )}
    </section>
  );
}

function Amount({ price, title }: { price: Price; title: string }) {
  return (
    <>
      <p className="mt-2">
        <span className="text-2xl font-semibold tabular-nums">
          {price.price_usd === null ? "Unknown" : money(price.price_usd)}
        </span>{" "}
        <span className="text-sm break-words text-ink-soft">
          {price.price_usd === null ? "" : "at most, "}for: {title || "this change"}
        </span>
      </p>
      <p className="text-sm text-ink-soft tabular-nums">
        {plural(price.tokens, "token")} · {plural(price.model_calls, "model call")} ·{" "}
        {minutesWords(price.minutes)}
      </p>
      {price.why !== "" && <p className="mt-2 text-sm break-words whitespace-pre-wrap">{price.why}</p>}
    </>
  );
}

type AlternativesProps = {
  alternatives: readonly Alternative[];
  chosen: string | null | undefined;
  isUnderWay: boolean;
  onChoose: (answer: string) => void;
};

function Alternatives({ alternatives, chosen, isUnderWay, onChoose }: AlternativesProps) {
  return (
    <ul aria-label="Instead" className="mt-3 grid gap-2 md:grid-cols-3">
      {alternatives.map((one, index) => {
        // As the session numbers them in its question.
        const number = String(index + 1);
        return (
          <li
            key={one.kind}
            className="flex flex-col gap-2 rounded-card border border-line bg-panel p-3 text-sm"
          >
            <h3 className="flex flex-wrap items-baseline justify-between gap-x-2 font-medium">
              {alternativeWord(one.kind)}
              <span className="font-normal text-ink-soft tabular-nums">
                {one.price_usd === null ? "price unknown" : `at most ${money(one.price_usd)}`}
              </span>
            </h3>
            <p className="flex-1 break-words text-ink-soft">{one.what}</p>
            <Button
              disabled={isUnderWay}
              onClick={() => onChoose(number)}
              aria-label={`Choose this: ${alternativeWord(one.kind)}`}
            >
              {chosen === number && <LoaderCircle aria-hidden className="size-4 animate-spin" />}
              Choose this
            </Button>
          </li>
        );
      })}
    </ul>
  );
}
