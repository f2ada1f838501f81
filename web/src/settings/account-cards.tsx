import { useState } from "react";
import { useSession, useSignOut } from "@/api/session";
import { chooseTheme, chosenTheme, type Theme } from "@/app/theme";
import { Button } from "@/ui/button";
import { Card } from "@/ui/card";
import { cx } from "@/ui/cx";
import { ProblemNotice } from "@/ui/states";

const THEMES: readonly { theme: Theme; word: string }[] = [
  { theme: "system", word: "As the machine has it" },
  { theme: "light", word: "Light" },
  { theme: "dark", word: "Dark" },
];

export function ThemeCard() {
  const [chosen, setChosen] = useState(chosenTheme);
  const choose = (theme: Theme) => {
    chooseTheme(theme);
    setChosen(theme);
  };
  return (
    <Card title="Colours">
      <fieldset className="flex flex-wrap gap-2">
        <legend className="sr-only">Colours</legend>
        {THEMES.map(({ theme, word }) => (
          <label
            key={theme}
            className={cx(
              "flex h-9 cursor-pointer items-center gap-2 rounded-control border px-3 text-sm",
              chosen === theme ? "border-accent bg-accent-soft" : "border-line hover:bg-canvas",
            )}
          >
            <input
              type="radio"
              name="theme"
              checked={chosen === theme}
              onChange={() => choose(theme)}
              className="accent-accent"
            />
            {word}
          </label>
        ))}
      </fieldset>
    </Card>
  );
}

export function AccountCard() {
  const session = useSession();
  const signOut = useSignOut();
  const [isLeaving, setLeaving] = useState(false);
  const [error, setError] = useState<unknown>(null);
  const leave = async () => {
    setLeaving(true);
    setError(null);
    try {
      await signOut();
      window.location.assign("/"); // loaded anew: nothing of this user stays on the page
    } catch (problem) {
      setError(problem);
      setLeaving(false);
    }
  };
  return (
    <Card title="You">
      <div className="flex flex-wrap items-center justify-between gap-3 text-sm">
        <div className="min-w-0">
          <p className="break-words">
            Signed in as <span className="font-medium">{session.data?.user ?? "unknown"}</span>.
          </p>
          <p className="text-ink-soft">
            To come back, open the link that <code className="font-mono text-xs text-ink">endstop serve</code>{" "}
            prints, or use a token. Runs go on without you.
          </p>
        </div>
        <Button disabled={isLeaving} onClick={() => void leave()}>
          {isLeaving ? "Signing out …" : "Sign out"}
        </Button>
      </div>
      {error !== null && <ProblemNotice error={error} className="mt-3" />}
    </Card>
  );
}
