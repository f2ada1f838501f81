import { Check, Copy } from "lucide-react";
import { useEffect, useState } from "react";
import { Button } from "./button";

type CopyButtonProps = { label: string; text: () => string; isIconOnly?: boolean; className?: string };

/** Copies a text, and says whether that worked. */
export function CopyButton({ label, text, isIconOnly = false, className }: CopyButtonProps) {
  const [came, setCame] = useState<"copied" | "failed" | null>(null);
  useEffect(() => {
    if (came === null) return;
    const timer = window.setTimeout(() => setCame(null), 2_000);
    return () => window.clearTimeout(timer);
  }, [came]);
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(text());
      setCame("copied");
    } catch {
      setCame("failed"); // not allowed, or the page did not come over a safe connection
    }
  };
  const words = came === null ? label : came === "copied" ? "Copied" : "Could not copy";
  const Icon = came === "copied" ? Check : Copy;
  return (
    <Button
      look="ghost"
      size="small"
      className={className}
      onClick={() => void copy()}
      title={words}
      {...(isIconOnly ? { "aria-label": words } : {})}
    >
      <Icon aria-hidden className="size-3.5" />
      {!isIconOnly && <span aria-live="polite">{words}</span>}
    </Button>
  );
}
