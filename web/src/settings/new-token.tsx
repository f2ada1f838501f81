import { Check, Copy } from "lucide-react";
import { type FormEvent, useId, useRef, useState } from "react";
import { Button } from "@/ui/button";
import { Dialog } from "@/ui/dialog";
import { NumberField } from "@/ui/number-field";
import { ProblemNotice } from "@/ui/states";
import { useMakeToken } from "./token-queries";
import { daysOf } from "./token-words";

const USUAL_DAYS = "90";

/** Makes a token, and shows it this once. */
export function NewToken() {
  const id = useId();
  const [name, setName] = useState("");
  const [days, setDays] = useState(USUAL_DAYS);
  const make = useMakeToken();
  const wanted = daysOf(days);
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (wanted === null || name.trim() === "" || make.isPending) return;
    make.mutate({ name: name.trim(), days: wanted }, { onSuccess: () => setName("") });
  };
  return (
    <form onSubmit={submit} className="mb-4 rounded-control bg-canvas p-3">
      <div className="flex flex-wrap items-end gap-3">
        <div className="min-w-0 grow basis-48">
          <label htmlFor={`${id}-name`} className="mb-1 block text-sm font-medium">
            What is it for?
          </label>
          <input
            id={`${id}-name`}
            value={name}
            maxLength={100}
            autoComplete="off"
            placeholder="laptop"
            onChange={(event) => setName(event.target.value)}
            className="h-9 w-full rounded-control border border-line-strong bg-panel px-2.5 text-sm placeholder:text-ink-faint"
          />
        </div>
        <div>
          <label htmlFor={`${id}-days`} className="mb-1 block text-sm font-medium">
            Good for
          </label>
          <NumberField
            id={`${id}-days`}
            text={days}
            onText={setDays}
            unit="days"
            isWrong={wanted === null}
            describedBy={`${id}-wrong`}
            className="w-28"
          />
        </div>
        <Button
          type="submit"
          look="primary"
          disabled={make.isPending || wanted === null || name.trim() === ""}
        >
          {make.isPending ? "Making it …" : "Make a token"}
        </Button>
      </div>
      <p id={`${id}-wrong`} aria-live="polite" className="mt-1 text-sm text-stop empty:hidden">
        {wanted === null ? "Good for 1 to 3650 whole days." : ""}
      </p>
      {make.isError && <ProblemNotice error={make.error} className="mt-3" />}
      <Made secret={make.data?.token ?? null} name={make.data?.name ?? ""} onClose={() => make.reset()} />
    </form>
  );
}

function Made({ secret, name, onClose }: { secret: string | null; name: string; onClose: () => void }) {
  const field = useRef<HTMLInputElement>(null);
  const [copied, setCopied] = useState<"" | "copied" | "by hand">("");
  const close = () => {
    setCopied("");
    onClose();
  };
  const copy = async () => {
    field.current?.select();
    try {
      await navigator.clipboard.writeText(secret ?? "");
      setCopied("copied");
    } catch {
      setCopied("by hand"); // a browser lets pages copy only over https or from this machine
    }
  };
  return (
    <Dialog
      title={`Your token ${name}`}
      description="Copy it now: it is shown this once, and nobody can show it again."
      isOpen={secret !== null}
      onOpenChange={(isOpen) => !isOpen && close()}
    >
      <div className="flex gap-2">
        <input
          ref={field}
          readOnly
          aria-label="The token"
          value={secret ?? ""}
          onFocus={(event) => event.target.select()}
          className="h-9 min-w-0 grow rounded-control border border-line-strong bg-canvas px-2.5 font-mono text-xs"
        />
        <Button look="primary" onClick={() => void copy()}>
          {copied === "copied" ? (
            <Check aria-hidden className="size-4" />
          ) : (
            <Copy aria-hidden className="size-4" />
          )}
          {copied === "copied" ? "Copied" : "Copy"}
        </Button>
      </div>
      <p aria-live="polite" className="mt-2 min-h-6 text-sm text-ink-soft">
        {copied === "by hand"
          ? "Your browser does not let the page copy. It is selected: press Ctrl or ⌘ and C."
          : ""}
      </p>
      <div className="flex justify-end">
        <Button onClick={close}>I have it</Button>
      </div>
    </Dialog>
  );
}
