import { useRef, useState } from "react";
import { Badge } from "@/ui/badge";
import { Button } from "@/ui/button";
import { Card } from "@/ui/card";
import { Confirm } from "@/ui/confirm";
import { Loading, ProblemNotice } from "@/ui/states";
import { plural } from "@/words/format";
import { NewToken } from "./new-token";
import { type Token, useRevokeToken, useTokens } from "./token-queries";
import { tokenMoments, tokenWords } from "./token-words";

/** Tokens let programs in, and people on other machines. */
export function TokensCard() {
  const tokens = useTokens();
  return (
    <Card title="Access tokens">
      <p className="mb-3 text-sm text-ink-soft">
        A token lets a program, or a browser elsewhere, in as you. Whoever has it can do all that you can, but
        make other tokens. Give each its own, and revoke it when it is no longer needed.
      </p>
      <NewToken />
      {tokens.isPending && <Loading what="Reading your tokens" />}
      {tokens.isError && <ProblemNotice error={tokens.error} onRetry={() => void tokens.refetch()} />}
      {tokens.data && <Tokens tokens={tokens.data} />}
    </Card>
  );
}

function Tokens({ tokens }: { tokens: readonly Token[] }) {
  const [asked, setAsked] = useState<Token | null>(null);
  const place = useRef<HTMLDivElement>(null);
  const good = tokens.filter((one) => one.state === "good");
  const ended = tokens.filter((one) => one.state !== "good");
  return (
    <div ref={place} tabIndex={-1} className="outline-none">
      {good.length === 0 ? (
        <p className="text-sm text-ink-soft">You have no tokens that are good.</p>
      ) : (
        <ul aria-label="Tokens that are good">
          {good.map((one) => (
            <TokenLine key={one.id} token={one} onRevoke={() => setAsked(one)} />
          ))}
        </ul>
      )}
      {ended.length > 0 && (
        <details className="mt-2">
          <summary className="cursor-pointer rounded py-1 text-sm font-medium text-ink-soft hover:text-ink">
            {plural(ended.length, "token")} that {ended.length === 1 ? "has" : "have"} ended
          </summary>
          <ul aria-label="Tokens that have ended">
            {ended.map((one) => (
              <TokenLine key={one.id} token={one} />
            ))}
          </ul>
        </details>
      )}
      <Revoke token={asked} onClose={() => setAsked(null)} onRevoked={() => place.current?.focus()} />
    </div>
  );
}

function TokenLine({ token, onRevoke }: { token: Token; onRevoke?: () => void }) {
  const name = nameOf(token);
  return (
    <li className="flex items-center justify-between gap-3 border-line py-2.5 text-sm not-first:border-t">
      <div className="min-w-0">
        <div className="flex flex-wrap items-center gap-x-2">
          <span className="font-medium break-all">{name}</span>
          {token.state !== "good" && <Badge>{token.state === "revoked" ? "Revoked" : "Expired"}</Badge>}
        </div>
        <p className="text-ink-soft" title={tokenMoments(token)}>
          {tokenWords(token)}
        </p>
      </div>
      {onRevoke && (
        <Button size="small" onClick={onRevoke} aria-label={`Revoke ${name}`}>
          Revoke
        </Button>
      )}
    </li>
  );
}

type RevokeProps = { token: Token | null; onClose: () => void; onRevoked: () => void };

function Revoke({ token, onClose, onRevoked }: RevokeProps) {
  const revoke = useRevokeToken();
  const isDone = useRef(false);
  const close = () => {
    revoke.reset();
    onClose();
  };
  const done = () => {
    isDone.current = true;
    close();
  };
  return (
    <Confirm
      title={`Revoke ${token === null ? "the token" : nameOf(token)}?`}
      description="Whoever uses it is out within seconds, streams included. It cannot be made good again."
      action="Revoke"
      isOpen={token !== null}
      isUnderWay={revoke.isPending}
      onOpenChange={(isOpen) => !isOpen && close()}
      onConfirm={() => token !== null && revoke.mutate(token.id, { onSuccess: done })}
      onClosed={(event) => {
        if (!isDone.current) return;
        isDone.current = false;
        event.preventDefault(); // the button that opened this is gone
        onRevoked();
      }}
    >
      {revoke.isError && <ProblemNotice error={revoke.error} className="mt-3" />}
    </Confirm>
  );
}

function nameOf(token: Token): string {
  return token.name === "" ? token.id : token.name;
}
