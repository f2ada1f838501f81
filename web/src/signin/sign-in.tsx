import { useMutation, useQueryClient } from "@tanstack/react-query";
import { type FormEvent, useState } from "react";
import { api, given } from "@/api/client";
import { keepKey } from "@/api/key";
import { SESSION } from "@/api/session";
import { Button } from "@/ui/button";
import { Card } from "@/ui/card";
import { ProblemNotice } from "@/ui/states";

/** Shown when the server does not know who is there. */
export function SignIn() {
  return (
    <main className="flex min-h-full items-center justify-center p-4">
      <div className="w-full max-w-md space-y-4">
        <div>
          <h1 className="text-xl font-semibold">Sign in to Endstop</h1>
          <p className="mt-1 text-sm text-ink-soft">There are two ways in.</p>
        </div>
        <Card title="On your own machine">
          <p className="text-sm text-ink-soft">
            Open the link that <code className="font-mono text-ink">endstop serve</code> printed in the
            terminal. It works once; starting the server again prints a new one.
          </p>
        </Card>
        <Card title="With a token">
          <TokenForm />
        </Card>
      </div>
    </main>
  );
}

function TokenForm() {
  const queries = useQueryClient();
  const [token, setToken] = useState("");
  const signingIn = useMutation({
    mutationFn: (typed: string) => given(api.POST("/api/session", { body: { token: typed } })),
    onSuccess: async ({ key }) => {
      keepKey(key);
      await queries.resetQueries({ queryKey: SESSION });
    },
  });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (token.trim() !== "" && !signingIn.isPending) signingIn.mutate(token.trim());
  };
  return (
    <form onSubmit={submit} className="space-y-3">
      <label className="block text-sm">
        <span className="text-ink-soft">
          Whoever runs the server makes one with{" "}
          <code className="font-mono text-ink">endstop tokens create</code>.
        </span>
        <span className="sr-only"> Token</span>
        <input
          type="password"
          name="token"
          value={token}
          onChange={(event) => setToken(event.target.value)}
          placeholder="es_…"
          autoComplete="current-password"
          spellCheck={false}
          aria-invalid={signingIn.isError}
          className="mt-2 block h-10 w-full rounded-control border border-line-strong bg-panel px-3 font-mono text-sm placeholder:text-ink-faint"
        />
      </label>
      {signingIn.isError && <ProblemNotice error={signingIn.error} />}
      <Button
        look="primary"
        type="submit"
        className="w-full"
        disabled={token.trim() === "" || signingIn.isPending}
      >
        {signingIn.isPending ? "Signing in …" : "Sign in"}
      </Button>
    </form>
  );
}
