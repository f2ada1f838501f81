import { FlaskConical } from "lucide-react";
import type { ReactNode } from "react";
import { Card } from "@/ui/card";
import { Fold } from "@/ui/fold";
import { Page } from "@/ui/page";
import { Loading, ProblemNotice } from "@/ui/states";
import { BeginForm } from "./begin-form";
import { useOffer, useSessions } from "./coding-queries";
import { isExample } from "./coding-words";
import { Examples } from "./examples";
import { SessionList } from "./session-list";

/** A new session left, those that there are right. */
export function Component() {
  const offer = useOffer();
  const canCode = offer.data?.can_code ?? true;
  return (
    <Page
      title="Coding"
      lead="Say what you want built. It is specified and priced first, and built only within what you approve."
    >
      <div className="grid gap-6 lg:grid-cols-[minmax(0,1fr)_20rem]">
        <div className="min-w-0 space-y-4">
          {!canCode && <NoModel />}
          <Card title="A new session">
            <NewSession />
          </Card>
          {canCode && (
            <Fold line={<Flask>Watch an example: it needs no key</Flask>}>
              <div className="pt-2">
                <Examples />
              </div>
            </Fold>
          )}
        </div>
        <section aria-label="Your sessions" className="min-w-0">
          <h2 className="mb-2 text-sm font-semibold">Your sessions</h2>
          <SessionList />
        </section>
      </div>
    </Page>
  );
}

function NewSession() {
  const offer = useOffer();
  const sessions = useSessions();
  // The form begins with what is known: it waits for it, rather than change under somebody's hands.
  if (offer.isPending || sessions.isPending) return <Loading />;
  if (offer.data === undefined) {
    return <ProblemNotice error={offer.error} onRetry={() => void offer.refetch()} />;
  }
  const own = (sessions.data ?? []).filter((one) => !isExample(one.model));
  const known = [...new Set(own.map((one) => one.repository).filter(Boolean))];
  return <BeginForm offer={offer.data} known={known} />;
}

/** Nothing here can write code yet: how a session goes can be seen all the same. */
function NoModel() {
  return (
    <section aria-label="Examples" className="rounded-card border border-line bg-canvas p-4">
      <h2 className="text-sm font-semibold">
        <Flask>No model that writes code is set up here yet</Flask>
      </h2>
      <p className="mt-1 mb-3 text-sm text-ink-soft">
        The built-in one only finds what is written. Give a provider its key and start the server with{" "}
        <code className="font-mono text-xs text-ink">ENDSTOP_MODEL=provider:model</code>. Until then, watch
        how a session goes: a script stands for the model, and the repository, the files, the tests and the
        commits are real.
      </p>
      <Examples />
    </section>
  );
}

function Flask({ children }: { children: ReactNode }) {
  return (
    <span className="inline-flex items-center gap-1.5">
      <FlaskConical aria-hidden className="size-4 shrink-0" />
      {children}
    </span>
  );
}
